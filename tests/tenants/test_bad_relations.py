"""Numbers that do not go together: form and service say the same, at the same field."""

from dataclasses import replace

import pytest

from kube.catalog import (
    CohortSpec,
    EntrySpec,
    PrioritySpec,
    Toleration,
    TopologySpec,
)
from kube.edits import (
    PutCohort,
    PutFlavor,
    PutPriority,
    PutQueue,
    PutTopology,
)
from tenants.services import requests
from tests import cast
from tests.tenants.bad import CATALOG, GPU, KEY, QUEUE, quota, quota_form, refusal_of


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
