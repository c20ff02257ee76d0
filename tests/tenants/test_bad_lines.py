"""Bad labels, taints, entries, priorities and weights: a line is refused and named."""

import pytest

from tenants.forms.catalog import PriorityForm
from tenants.forms.queues import DepartmentForm, QueueForm
from tests.tenants.bad import CATALOG, QUEUE, flavor_form

# --- labels, taints, entries -----------------------------------------------------------------------------

LINES_REFUSED = {
    "node_labels": [
        "a b=c",
        "=x",
        "a/b/c=d",
        f"a.io/b={'x' * 64}",
        "a.io/b=-a",
        f"{'a' * 254}/b=c",
        "a=b c",
    ],
    "taints": [
        "gpu",
        "gpu=yes",
        "gpu=yes:noschedule",
        "gpu=yes:NoSchedule:x",
        "=:NoSchedule",
        "a b:NoSchedule",
    ],
    "tolerations": ["gpu=yes:noschedule", "gpu=yes:NoExecute 5m", "a b", "gpu=yes:NoExecute -1s"],
}


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in LINES_REFUSED.items() for value in values]
)
def test_form_refuses_a_line_and_names_it(name, value):
    form = flavor_form(**{name: f"good.io/label=x:NoSchedule\n{value}" if name != "node_labels"
                          else f"good.io/label=x\n{value}"})  # fmt: skip

    assert not form.is_valid()
    assert form.errors[name][0].startswith("Line 2: ")


def test_form_refuses_a_thousand_lines():
    form = flavor_form(node_labels="\n".join(f"a.io/{n}=x" for n in range(1000)))

    assert not form.is_valid()
    assert "64 are allowed" in form.errors["node_labels"][0]


def test_form_takes_an_empty_label_value():
    form = flavor_form(node_labels="a.io/b=")

    assert form.is_valid(), form.errors
    assert form.edits()[0].flavor.node_labels == (("a.io/b", ""),)


@pytest.mark.parametrize(
    "value", ["nlp", "nlp/", "/main", "kube-system/a", "NLP/a", "nlp/a/b", "nlp/a.b"]
)
def test_form_refuses_an_entry(value):
    shown = {field.name: field.value() for field in QueueForm(catalog=CATALOG, spec=QUEUE)}
    sent = {name: "" if value_ is None else value_ for name, value_ in shown.items()}
    form = QueueForm({**sent, "entries": value, "reason": "r"}, catalog=CATALOG, spec=QUEUE)

    assert not form.is_valid()
    assert form.errors["entries"]


@pytest.mark.parametrize(
    "value", ["1e3", "--1", "+1", "-0", "0x1", "1.0", "९", "01", "-01", "9" * 400, "1_0"]
)
def test_form_refuses_a_priority(value):
    form = PriorityForm(
        {"name": "p", "value": value, "contract": "", "reason": "r"}, catalog=CATALOG
    )

    assert not form.is_valid()
    assert form.errors["value"]


@pytest.mark.parametrize(("value", "number"), [("-5", -5), ("0", 0), ("2147483647", 2**31 - 1)])
def test_form_reads_a_priority(value, number):
    form = PriorityForm(
        {"name": "p", "value": value, "contract": "", "reason": "r"}, catalog=CATALOG
    )

    assert form.is_valid(), form.errors
    assert form.cleaned_data["value"] == number


@pytest.mark.parametrize("value", ["-1", "1e400", "0.3333", "1,5", "NaN", "1001", "００1"])  # noqa: RUF001
def test_form_refuses_a_weight(value):
    form = DepartmentForm(
        {"name": "d", "display_name": "", "parent": "", "weight": value, "reason": "r"},
        catalog=CATALOG,
    )

    assert not form.is_valid()
    assert form.errors["weight"]


def test_choices_are_a_closed_list():
    form = flavor_form(device_kind="quantum", purchase="<b>stolen</b>", topology="nowhere")

    assert not form.is_valid()
    assert {"device_kind", "purchase", "topology"} <= set(form.errors)
    assert "stolen" not in str(form.errors)
