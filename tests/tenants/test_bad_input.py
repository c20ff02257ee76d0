"""Bad input, row by row, through the form and through the service: one answer, never a 500.

The numbers are those of the catalogue of bad input that the project works with: numbers of
devices 1-12, memory and CPU 14-19; relations 20-25, names 26-37, texts 38-41 and labels 42-44
have files of their own.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from kube import catalog_json, rules
from kube.catalog import FlavorSpec, Toleration
from kube.edits import (
    PutFlavor,
    dump_edits,
    load_edits,
)
from kube.problems import InvalidCatalog
from tenants.forms import QuotaRequestForm
from tenants.forms.catalog import PriorityForm, TenantForm, TopologyForm
from tenants.models import Request
from tests.tenants.bad import CATALOG, GPU, codes, flavor_form, quota_form

# --- numbers of devices -----------------------------------------------------------------------------

GPU_REFUSED = {
    "1": ["1e3", "1E3"],
    "2": ["1.5", "0.5", "500m"],
    "3": ["-1", "-0", "+8"],
    "5": ["0x10", "0b11", "0o17", "010"],
    "6": ["１２", "٣", "①", "Ⅷ"],  # noqa: RUF001
    "7": ["1_000", "1,000", "1 000", "1.000"],
    "8": ["8\n", "8\u00a0", "8\u200b", "\t8"],
    "9": ["NaN", "Infinity", "-inf", "null", "true", "None"],
    "10": ["99999999", "2147483648", "9223372036854775808", "9" * 400, "9" * 5000],
    "11": ["8 GPU", "8x A100", "eight", "八"],
    "12": ["", "   "],
}
ROWS = [(row, value) for row, values in GPU_REFUSED.items() for value in values]


@pytest.mark.parametrize(
    ("row", "value"), ROWS, ids=[f"{row}-{value[:12]!r}" for row, value in ROWS]
)
def test_form_refuses_a_number_of_devices(row, value):
    form = quota_form(**{GPU: value})

    assert not form.is_valid()
    assert form.errors[GPU]
    assert len(str(form.errors[GPU])) < 500


@pytest.mark.parametrize(
    ("row", "value"), ROWS, ids=[f"{row}-{value[:12]!r}" for row, value in ROWS]
)
def test_service_refuses_the_same_number(row, value):
    """What a program sends arrives as JSON: a text is no number there, whatever it says."""
    edit = {
        "edit": "set_quota",
        "queue": "nlp-train",
        "flavor": "a100",
        "resource": "nvidia.com/gpu",
    }

    with pytest.raises(InvalidCatalog) as refused:
        load_edits([{**edit, "nominal": value}])

    assert refused.value.problems[0].field == "edits[0].nominal"


@pytest.mark.parametrize("value", [8.0, 8.5, True, None, [8], {"a": 1}, -1, 10**30])
def test_service_takes_only_whole_numbers(value):
    edit = {
        "edit": "set_quota",
        "queue": "nlp-train",
        "flavor": "a100",
        "resource": "nvidia.com/gpu",
    }

    with pytest.raises(InvalidCatalog):
        load_edits([{**edit, "nominal": value}])


@pytest.mark.parametrize(("value", "number"), [("0", 0), (" 8 ", 8), ("9999999", 9_999_999)])
def test_form_takes_a_number(value, number):
    form = quota_form(**{GPU: value, "none_left": "on"})

    assert form.is_valid(), form.errors
    assert form.edits()[-1].nominal == number


def test_form_asks_once_more_before_nothing_is_left():  # row 4
    form = quota_form(**{GPU: "0"})

    assert not form.is_valid()
    assert list(form.errors) == ["none_left"]
    assert "nlp-train" in form.errors["none_left"][0]
    assert quota_form(**{GPU: "0", "none_left": "on"}).is_valid()
    assert quota_form(**{GPU: "1"}).is_valid()


def test_page_asks_once_more_and_keeps_what_was_typed(client, people):  # row 4
    client.force_login(people.alice)
    sent = {GPU: "0", "nlp-train/a100/borrowing_limit": "unlimited", "reason": "We are done.",
            "nlp-train/a100/lending_limit": "everything", "form_key": "form-key-0123456789"}  # fmt: skip

    asked = client.post("/t/nlp/requests/new", sent)
    preview = client.post("/t/nlp/requests/new", {**sent, "preview": "1"}).content.decode()
    sent_again = client.post("/t/nlp/requests/new", {**sent, "none_left": "on"})

    page = asked.content.decode()
    assert asked.status_code == 422
    assert 'name="none_left"' in page
    assert 'value="0"' in page
    assert "We are done." in page
    assert "24 → 8 GPUs promised" in preview
    assert sent_again.status_code == 303
    assert Request.objects.count() == 1


def test_form_refuses_a_parameter_that_came_twice(client, people):
    client.force_login(people.dave)
    body = "slug=speech&slug=other&display_name=x&reason=r&form_key=form-key-0123456789"

    answer = client.post(
        "/catalog/lab/tenants/new", body, content_type="application/x-www-form-urlencoded"
    )

    assert "twice" in answer.context["form"].errors["slug"][0]


def test_form_refuses_a_missing_field():
    form = QuotaRequestForm({GPU: "20", "reason": "r"}, catalog=CATALOG, tenant="nlp")

    assert not form.is_valid()
    assert form.errors["nlp-train/a100/borrowing_limit"]


def test_form_ignores_fields_of_others():
    form = quota_form(**{"cv-train/a100/nominal": "32", "state": "approved", "tenant": "cv"})

    assert form.is_valid()
    assert {edit.queue for edit in form.edits()} == {"nlp-train"}


@pytest.mark.parametrize("word", ["unlimited", "Unlimited", "everything"])
def test_no_limit_is_a_word(word):
    form = quota_form(**{"nlp-train/a100/borrowing_limit": word})

    assert form.is_valid()
    assert form.edits()[-1].borrowing_limit is None


@pytest.mark.parametrize("value", ["", "none", "-1", "∞", "no", "unlimited!", "1e3"])
def test_anything_else_is_no_limit_word(value):
    assert not quota_form(**{"nlp-train/a100/borrowing_limit": value}).is_valid()


def test_zero_is_a_limit():
    form = quota_form(
        **{"nlp-train/a100/borrowing_limit": "0", "nlp-train/a100/lending_limit": "0"}
    )

    assert form.is_valid()
    assert {(edit.borrowing_limit, edit.lending_limit) for edit in form.edits()} == {(0, 0)}


# --- memory and CPU -----------------------------------------------------------------------------------


MEMORY = ["4ti", "4TI", "4TB", "4T i", "4Tib", "1.5Gi", "1e3Ki", "100m", "1n", "1Zi", "4T", "4G", "4K",
          "4k", "9Ei", "16Ei", "9" * 30 + "Pi", "-1Gi", "١Gi", "4Gi\n", "0x1Gi"]  # fmt: skip  # noqa: RUF001
CPU = ["0.0005", "1u", ".5", "5.", "1e-3", "1,5", "-1", "+1", "１", "1\n", "9" * 40]  # noqa: RUF001


@pytest.mark.parametrize("value", MEMORY)
def test_form_and_service_refuse_memory(value):
    form = flavor_form(memory_per_device=value)
    assert not form.is_valid()
    assert form.errors["memory_per_device"]

    data = {**catalog_json.encode(CATALOG.flavors[0]), "memory_per_device": value}
    with pytest.raises(InvalidCatalog) as refused:
        load_edits([{"edit": "put_flavor", "flavor": data}])
    found = refused.value.problems[0]
    assert found.field == "edits[0].flavor.memory_per_device"
    assert found.code == codes(form, "memory_per_device")[0]


@pytest.mark.parametrize("value", CPU)
def test_form_and_service_refuse_cpu(value):
    form = flavor_form(cpu_per_device=value)
    assert not form.is_valid()

    data = {**catalog_json.encode(CATALOG.flavors[0]), "cpu_per_device": value}
    with pytest.raises(InvalidCatalog) as refused:
        load_edits([{"edit": "put_flavor", "flavor": data}])
    assert refused.value.problems[0].code == codes(form, "cpu_per_device")[0]


@pytest.mark.parametrize(("value", "milli"), [("1", 1000), ("500m", 500), ("0.5", 500)])
def test_form_reads_cpu(value, milli):
    form = flavor_form(cpu_per_device=value)

    assert form.is_valid(), form.errors
    assert form.edits()[0].flavor.cpu_per_device == milli


@pytest.mark.parametrize(("value", "size"), [("4Ti", 4 * 2**40), ("4Gi", 4 * 2**30)])
def test_form_reads_memory(value, size):
    form = flavor_form(memory_per_device=value)

    assert form.is_valid(), form.errors
    assert form.edits()[0].flavor.memory_per_device == size


# --- what exists goes through a form and back unchanged ----------------------------------------------------


def test_forms_give_back_what_they_show():
    full = FlavorSpec(
        name="mig", capability="small", model="A100", resource="nvidia.com/mig-1g.10gb",
        device_kind="mig", mig_profile="1g.10gb", purchase="spot", interconnect="NVLink", region="eu",
        zone="eu-1", rack="r1", power_domain="p1", node_labels=(("a.io/b", "c"),), topology="racks",
        cpu_per_device=1500, memory_per_device=2**33, capacity=7,
        tolerations=(Toleration(key="a", operator="Equal", value="b", effect="NoExecute", toleration_seconds=30),
                     Toleration(key="c", operator="Exists"), Toleration(operator="Exists", effect="NoSchedule")),
    )  # fmt: skip
    form = flavor_form(spec=full)

    assert form.is_valid(), form.errors
    assert form.edits() == (PutFlavor(flavor=full),)


class AnyText(TestCase):
    @settings(max_examples=150, deadline=None)
    @given(st.text(max_size=60), st.text(max_size=60), st.text(max_size=60))
    def test_form_never_fails_on_text(self, one, two, three):
        for form in (
            quota_form(**{GPU: one, "nlp-train/a100/lending_limit": two, "reason": three}),
            TenantForm({"slug": one, "display_name": two, "reason": three}, catalog=CATALOG),
            flavor_form(node_labels=one, taints=two, tolerations=three, cpu_per_device=one),
            TopologyForm({"name": one, "levels": two, "reason": three}, catalog=CATALOG),
            PriorityForm(
                {"name": one, "value": two, "contract": three, "reason": "r"}, catalog=CATALOG
            ),
        ):
            if form.is_valid():
                load_edits(dump_edits(form.edits()))

    @settings(max_examples=100, deadline=None)
    @given(st.integers(0, 40), st.none() | st.integers(0, 40), st.none() | st.integers(0, 40))
    def test_edits_are_what_was_typed(self, nominal, borrowing, lending):
        form = quota_form(
            **{
                GPU: str(nominal),
                "none_left": "on",
                "nlp-train/a100/borrowing_limit": "unlimited"
                if borrowing is None
                else str(borrowing),
                "nlp-train/a100/lending_limit": "everything" if lending is None else str(lending),
            }
        )
        assert form.is_valid(), form.errors
        by_resource = {edit.resource: edit for edit in form.edits()}
        if (nominal, borrowing, lending) == (16, None, None):
            assert by_resource == {}
        else:
            line = by_resource["nvidia.com/gpu"]
            assert (line.nominal, line.borrowing_limit, line.lending_limit) == (
                nominal,
                borrowing,
                lending,
            )
            assert by_resource["cpu"].nominal == nominal * 8000


def test_the_catalog_of_these_tests_keeps_the_rules():
    assert rules.check(CATALOG) == ()
