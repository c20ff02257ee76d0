"""Bad input, row by row, through the form and through the service: one answer, never a 500.

The numbers are those of the catalogue of bad input that the project works with: numbers of
devices 1-12, memory and CPU 14-19, relations 20-25, names 26-37, texts 38-41, labels 42-44.
"""

from dataclasses import replace
from urllib.parse import unquote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from kube import catalog_json
from kube.catalog import (
    Catalog,
    CohortSpec,
    EntrySpec,
    FlavorSpec,
    PrioritySpec,
    QuotaSpec,
    TenantSpec,
    Toleration,
    TopologySpec,
)
from kube.edits import (
    PutCohort,
    PutFlavor,
    PutPriority,
    PutQueue,
    PutTenant,
    PutTopology,
    SetQuota,
    dump_edits,
    load_edits,
)
from kube.problems import InvalidCatalog
from tenants.forms import QuotaRequestForm
from tenants.forms.catalog import FlavorForm, PriorityForm, TenantForm, TopologyForm
from tenants.forms.queues import DepartmentForm, EntryForm, QueueForm
from tenants.models import Request
from tenants.services import requests
from tests import cast

KEY = "key-0123456789"
CATALOG = cast.catalog()
QUEUE = CATALOG.tenants[0].queues[0]
GPU = "nlp-train/a100/nominal"


def quota_form(**values):
    sent = {GPU: "20", "nlp-train/a100/borrowing_limit": "unlimited",
            "nlp-train/a100/lending_limit": "everything", "reason": "Because."}  # fmt: skip
    return QuotaRequestForm({**sent, **values}, catalog=CATALOG, tenant="nlp")


def codes(form, name):
    form.is_valid()
    return [error.code for error in form.errors.as_data().get(name, [])]


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


def flavor_form(spec=CATALOG.flavors[0], **values):
    shown = {field.name: field.value() for field in FlavorForm(catalog=CATALOG, spec=spec)}
    sent = {name: "" if value is None else value for name, value in shown.items()}
    return FlavorForm({**sent, "reason": "r", **values}, catalog=CATALOG, spec=spec)


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


# --- relations: form and service say the same, at the same field ----------------------------------------


def refusal_of(people, edits, *, kind="catalog", tenant=None, actor=None):
    with pytest.raises(requests.Invalid) as refused:
        requests.submit(
            actor=actor or people.dave, cluster=people.cluster, tenant=tenant, kind=kind,
            edits=edits, reason="r", key=KEY,
        )  # fmt: skip
    assert not Request.objects.exists()
    return refused.value.problems


def quota(**more):
    return SetQuota(
        **{
            "queue": "nlp-train",
            "flavor": "a100",
            "resource": "nvidia.com/gpu",
            "nominal": 16,
            **more,
        }
    )


def with_queue(**changes):
    return PutQueue(tenant="nlp", queue=replace(QUEUE, **changes))


def with_flavor(**changes):
    return PutFlavor(flavor=replace(CATALOG.flavors[0], **changes))


LINES = QUEUE.quotas
RELATIONS = {
    "20 lending above nominal": (quota(lending_limit=17), "lending_limit", "GP-2166"),
    "20 borrowing without department": (
        with_queue(cohort="", quotas=cast.lines(16, borrowing=4)), "borrowing_limit", "GP-2164"),
    "20 negative": (quota(borrowing_limit=-1), "borrowing_limit", "GP-2113"),
    "21 devices without CPU": (with_queue(quotas=LINES[2:]), "quotas", "GP-2162"),
    "21 line twice": (with_queue(quotas=(*LINES, LINES[2])), "quotas", "GP-2160"),
    "21 no lines": (with_queue(quotas=()), "quotas", "GP-2167"),
    "21 missing flavor": (
        with_queue(quotas=tuple(replace(line, flavor="h100") for line in LINES)), "quotas", "GP-2151"),
    "22 above the pool": (quota(nominal=25), "flavors[a100]", "GP-2176"),
    "23 own parent": (PutCohort(cohort=CohortSpec(name="research", parent="research")), "parent", "GP-2154"),
    "23 missing parent": (PutCohort(cohort=CohortSpec(name="a", parent="b")), "parent", "GP-2151"),
    "24 levels changed": (
        PutTopology(topology=TopologySpec(name="racks", levels=("a.io/b",))), "levels", "GP-2213"),
    "25 weight": (with_queue(weight="-1"), "weight", "GP-2123"),
    "25 fine weight": (with_queue(weight="0.3333"), "weight", "GP-2123"),
    "33 namespace": (
        with_queue(entries=(EntrySpec(namespace="kube-system", name="a"), *QUEUE.entries)), "namespace", "GP-2134"),
    "36 namespace of another tenant": (
        with_queue(entries=(EntrySpec(namespace="cv", name="a"), *QUEUE.entries)), "entries", "GP-2152"),
    "42 reserved word": (PutPriority(priority=PrioritySpec(name="null", value=1)), "name", "GP-2135"),
    "43 label value": (with_flavor(node_labels=(("a.io/b", "x" * 64),)), "node_labels", "GP-2139"),
    "43 label key": (with_flavor(node_labels=(("a/b/c", "x"),)), "node_labels", "GP-2137"),
    "44 many labels": (
        with_flavor(node_labels=tuple((f"a.io/{n}", "x") for n in range(9))), "node_labels", "GP-2183"),
    "72 toleration": (with_flavor(tolerations=(Toleration(),)), "tolerations", "GP-2185"),
    "72 level twice": (
        PutTopology(topology=TopologySpec(name="t", levels=("a.io/b", "a.io/b"))), "levels", "GP-2189"),
    "72 hostname first": (
        PutTopology(topology=TopologySpec(name="t", levels=("kubernetes.io/hostname", "a.io/b"))),
        "levels", "GP-2188"),
    "priority above int32": (
        PutPriority(priority=PrioritySpec(name="p", value=3_000_000_000)), "value", "GP-2175"),
}  # fmt: skip


@pytest.mark.parametrize(("edit", "field", "code"), RELATIONS.values(), ids=RELATIONS)
def test_service_refuses_what_does_not_go_together(people, edit, field, code):
    problems = refusal_of(people, [edit])

    found = [each for each in problems if each.code == code]
    assert found, problems
    assert field in found[0].field
    assert found[0].message


def test_service_refuses_a_circle_of_three(people):
    tree = [
        PutCohort(cohort=CohortSpec(name="research", parent="")),
        PutCohort(cohort=CohortSpec(name="a", parent="research")),
        PutCohort(cohort=CohortSpec(name="b", parent="a")),
        PutCohort(cohort=CohortSpec(name="research", parent="b")),
    ]

    assert "GP-2153" in {each.code for each in refusal_of(people, tree)}


FORM_RELATIONS = {
    "lending above nominal": (
        {"nlp-train/a100/lending_limit": "21"},
        "nlp-train/a100/lending_limit",
    ),
    "above the pool": ({GPU: "25"}, GPU),
}


@pytest.mark.parametrize(("values", "field"), FORM_RELATIONS.values(), ids=FORM_RELATIONS)
def test_form_shows_the_refusal_at_its_field(people, values, field):
    form = quota_form(**values)
    assert form.is_valid(), form.errors
    with pytest.raises(requests.Invalid) as refused:
        requests.submit(
            actor=people.alice, cluster=people.cluster, tenant=people.nlp, kind="quota",
            edits=form.edits(), reason="r", key=KEY,
        )  # fmt: skip

    form.take(refused.value.problems)

    assert list(form.errors) == [field]


def test_queue_form_shows_refusals_at_their_fields(people, client):
    client.force_login(people.dave)
    url = "/catalog/lab/queues/nlp-train/edit"
    shown = {field.name: field.value() for field in client.get(url).context["form"]}
    sent = {name: "" if value is None else value for name, value in shown.items()}
    bad = {"cohort": "", "a100/borrowing_limit": "4", "borrow_within_cohort": "LowerPriority",
           "max_priority_threshold": "9999999999", "reason": "r", "form_key": "form-key-0123456789"}  # fmt: skip

    answer = client.post(url, {**sent, **bad})

    assert {"a100/borrowing_limit", "borrow_within_cohort", "max_priority_threshold"} <= set(
        answer.context["form"].errors
    )


def test_queue_form_keeps_its_entries(people, client):
    client.force_login(people.dave)
    url = "/catalog/lab/queues/nlp-train/edit"
    shown = {field.name: field.value() for field in client.get(url).context["form"]}
    sent = {name: "" if value is None else value for name, value in shown.items()}
    sent |= {"entries": "nlp/other", "reason": "r", "form_key": "form-key-0123456789"}

    answer = client.post(url, sent)

    assert "nlp/main" in answer.context["form"].errors["entries"][0]


# --- names --------------------------------------------------------------------------------------------

NAMES_REFUSED = {
    "26": ["Team-A", "team_a", "team a", "team.a", "-a", "a-", "a--b", "a..b"],
    "27": ["a" * 64, "a" * 41],
    "28": ["команда", "团队", "tëam", "e\u0301", "ﬁ"],
    "29": ["te\u0430m"],
    "30": ["team\u202egpj", "a\u200bb", "\ufeffa", "a\u2028b", "😀", "a\u200d"],
    "31": ["a\x00b", "a\x1b[31m", "a\rb", "a\nb", "a\ud800b"],
    "32": ["abc\n", "abc\r\n", "\nabc"],
    "34": ["admin", "api", "static", "new", "..", ".", "login", "con", "nul"],
    "35": ["1e3", "0x10", "null", "true", "no", "~", "22:22", "2026-01-01", "=", "123"],
    "36": ["NLP", "nlp"],
    "37": ["x\nkind: ClusterRole", 'x"}, {"kind":"Secret', "{{7*7}}", "{% load %}", "${jndi:}",
           "$(id)", "; rm -rf", "' OR 1=1--"],
}  # fmt: skip
NAME_ROWS = [(row, value) for row, values in NAMES_REFUSED.items() for value in values]
NAME_IDS = [f"{row}-{value[:10]!a}" for row, value in NAME_ROWS]


@pytest.mark.parametrize(("row", "value"), NAME_ROWS, ids=NAME_IDS)
def test_form_refuses_a_name(row, value):
    form = TenantForm({"slug": value, "display_name": "x", "reason": "r"}, catalog=CATALOG)

    assert not form.is_valid()
    assert form.errors["slug"]


@pytest.mark.parametrize(("row", "value"), NAME_ROWS, ids=NAME_IDS)
def test_service_refuses_a_name(people, row, value):
    if value == "nlp":
        # For the service this is a change of the tenant that exists.
        problems = refusal_of(
            people, [PutTenant(slug="nlp", display_name="Language", cost_centre="1001")]
        )
    else:
        problems = refusal_of(people, [PutTenant(slug=value, display_name="x")])

    assert problems[0].message.isprintable()


@pytest.mark.parametrize(("row", "value"), NAME_ROWS, ids=NAME_IDS)
def test_page_refuses_a_name_without_an_error(client, people, row, value):
    client.force_login(people.dave)
    sent = {"slug": value.encode("utf-8", "replace").decode(), "display_name": "x", "reason": "r",
            "form_key": "form-key-0123456789"}  # fmt: skip

    answer = client.post("/catalog/lab/tenants/new", sent)

    assert answer.status_code == 422
    assert not Request.objects.exists()


def test_form_says_which_name_would_do():
    form = TenantForm({"slug": "Team A", "display_name": "x", "reason": "r"}, catalog=CATALOG)

    assert "team-a" in form.errors["slug"][0]


@pytest.mark.parametrize("value", ["a" * 63, "a-1"])
def test_name_of_63_characters_is_a_queue(value):
    sent = {"queue": "nlp-train", "namespace": value, "name": value, "reason": "r"}

    assert EntryForm(sent, catalog=CATALOG).is_valid()


# --- texts ----------------------------------------------------------------------------------------------

SHOWN_AS_TEXT = {
    "37": ["{{7*7}}", "{% load %}", "${jndi:x}", "$(id)", "; rm -rf", "' OR 1=1--"],
    "38": ["<script>alert(1)</script>", "<img src=x onerror=alert(1)>", '<p hx-get="/x" hx-trigger="load">',
           "</textarea>", "javascript:alert(1)"],
    "40": ['=HYPERLINK("http://x")', "+1", "-1+1", "@SUM", '"=1', "＝1"],  # noqa: RUF001
    "41": ["%0d%0aSet-Cookie:", "Subject: Bcc: x@y"],
}  # fmt: skip
TEXT_ROWS = [(row, value) for row, values in SHOWN_AS_TEXT.items() for value in values]


@pytest.mark.parametrize(("row", "value"), TEXT_ROWS)
def test_text_is_kept_and_shown_as_text(client, people, row, value):
    client.force_login(people.dave)
    sent = {
        "slug": "Bad Name",
        "display_name": value,
        "reason": value,
        "form_key": "form-key-0123456789",
    }

    page = client.post("/catalog/lab/tenants/new", sent).content.decode()
    row_ = requests.submit(
        actor=people.dave, cluster=people.cluster, tenant=None, kind="catalog", reason=value, key=KEY,
        edits=[PutTenant(slug="speech", display_name=value)],
    )  # fmt: skip
    trail = client.get("/audit/").content.decode()

    assert row_.reason == value
    for answer in (page, trail):
        assert "<script>alert" not in answer
        assert "<img src=x" not in answer
        assert '<p hx-get="/x"' not in answer
        assert "49" not in answer or "{{7*7}}" not in value or "{{7*7}}" in answer
    assert "</textarea></textarea>" not in page


LONG = {
    "39 long": "x" * 200_000,
    "39 lines": "x\n" * 10_000,
    "39 just over": "y" * 2001,
    "31 nul": "a\0b",
    "31 escape": "a\x1b[31m",
    "30 bidi": "a\u202eb",
    "empty": "",
    "blank": " \n ",
}


@pytest.mark.parametrize("value", LONG.values(), ids=LONG)
def test_form_and_service_refuse_a_reason(people, value):
    form = quota_form(reason=value)
    assert not form.is_valid()
    assert len(form.errors["reason"][0]) < 300

    with pytest.raises(requests.Invalid) as refused:
        requests.submit(
            actor=people.alice, cluster=people.cluster, tenant=people.nlp, kind="quota",
            edits=[quota(nominal=17)], reason=value, key=KEY,
        )  # fmt: skip
    assert refused.value.problems[0].field == "reason"


def test_reason_of_2000_characters_is_taken():
    assert quota_form(reason="y" * 2000).is_valid()


def test_line_ends_of_a_browser_count_once():
    form = quota_form(reason="a\r\nb\r\n")

    assert form.is_valid()
    assert form.cleaned_data["reason"] == "a\nb"


@pytest.mark.parametrize("value", ["команда", "Équipe", "团队", "Team & <b>"])
def test_display_name_may_be_in_any_script(value):
    form = TenantForm({"slug": "speech", "display_name": value, "reason": "r"}, catalog=CATALOG)

    assert form.is_valid(), form.errors


@pytest.mark.parametrize("value", ["e\u0301", "a\u202eb", "a\u200bb", "a\nb", "x" * 201])
def test_display_name_has_nothing_hidden(value):
    form = TenantForm({"slug": "speech", "display_name": value, "reason": "r"}, catalog=CATALOG)

    assert not form.is_valid()
    assert form.errors["display_name"]


@pytest.mark.parametrize("value", ["%0d%0aSet-Cookie:%20a=b", "%0aBcc:%20x@y", "%250d%250aX:y"])
def test_no_header_is_made_from_what_was_sent(client, people, value):  # row 41
    client.force_login(people.alice)
    paths = (f"/t/nlp/?tab={value}", f"/jobs/?q={value}", f"/t/{value}/", f"/login/?next=/{value}",
             f"/requests/?state={value}", f"/api/v1/jobs/?cursor={value}")  # fmt: skip
    for path in paths:
        answer = client.get(path, headers={"x-request-id": unquote(value)})
        assert answer.status_code < 500
        assert "a" not in answer.cookies
        assert not any("\n" in text or "\r" in text for text in answer.headers.values())
        assert "Bcc" not in answer.headers


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


def test_catalogs_of_the_tests_keep_the_rules():
    assert isinstance(CATALOG, Catalog)
    assert isinstance(CATALOG.tenants[0], TenantSpec)
    assert isinstance(LINES[0], QuotaSpec)
