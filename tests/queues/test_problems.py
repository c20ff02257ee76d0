"""The cluster's complaints at the fields of the catalog."""

import pytest

from kube.render import render
from queues.services.plan_objects import Draft, Tried
from queues.services.problems import catalog_field, holder_field, of_draft
from tests import cast

CATALOG = cast.catalog()
QUEUE = next(each for each in render(CATALOG) if each.kind == "ClusterQueue")
WHERE = "tenants[cv].queues[cv-train]"


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("spec.resourceGroups[0].flavors[0].resources[0].nominalQuota", "quotas[a100/cpu].nominal"),
        (
            "spec.resourceGroups[0].flavors[0].resources[2].lendingLimit",
            "quotas[a100/nvidia.com/gpu].lending_limit",
        ),
        ("spec.resourceGroups[0].flavors[0]", "quotas[a100]"),
        ("spec.resourceGroups[0].flavors", "quotas"),
        ("spec.resourceGroups[9].flavors[9].resources[9].nominalQuota", "nominal"),
        ("spec.stopPolicy", "stop_policy"),
        ("spec.preemption.borrowWithinCohort.policy", "preemption"),
        ("spec", ""),
        ("", ""),
    ],
)
def test_a_path_leads_to_its_field(path, field):
    assert catalog_field(path, QUEUE.body, WHERE) == (f"{WHERE}.{field}" if field else WHERE)


@pytest.mark.parametrize(
    ("kind", "name", "namespace", "field"),
    [
        ("ClusterQueue", "nlp-train", "", "tenants[nlp].queues[nlp-train]"),
        ("ClusterQueue", "foreign", "", ""),
        ("Cohort", "research", "", "cohorts[research]"),
        ("ResourceFlavor", "a100", "", "flavors[a100]"),
        ("LocalQueue", "main", "nlp", "tenants[nlp].queues[nlp-train].entries[nlp/main]"),
        ("Namespace", "nlp", "", "tenants[nlp].queues[nlp-train].entries[nlp/main]"),
        ("WorkloadPriorityClass", "normal-batch", "", "priorities[normal-batch]"),
    ],
)
def test_an_object_leads_to_what_it_was_made_from(kind, name, namespace, field):
    assert holder_field(kind, name, namespace, CATALOG) == field


def test_a_refusal_without_a_field_stands_at_the_object():
    draft = Draft(QUEUE, 1, tried=Tried.REFUSED, message="no", code="GP-3107")
    [problem] = of_draft(draft, CATALOG)
    assert problem["field"] == holder_field("ClusterQueue", QUEUE.name, "", CATALOG)
    assert (problem["code"], problem["message"]) == ("GP-3107", "no")


def test_what_was_accepted_has_no_complaint():
    assert of_draft(Draft(QUEUE, 1, tried=Tried.ACCEPTED), CATALOG) == []
