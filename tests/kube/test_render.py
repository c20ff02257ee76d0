"""Rendered objects: complete, canonical, and the same for the same meaning."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube import keys
from kube.catalog import Catalog, CohortSpec, EntrySpec, PrioritySpec, Toleration
from kube.catalog_json import dump, load
from kube.diff import diff_lists
from kube.examples import example
from kube.manifest import Manifest
from kube.render import render
from tests.kube.make import catalog, flavor, lines, with_flavor, with_queue
from tests.kube.strategies import catalogs, shuffled


def body(made, kind, name=None):
    return next(
        dict(each.body) for each in render(made) if each.kind == kind and name in (None, each.name)
    )


def spec(made, kind, name=None):
    return body(made, kind, name)["spec"]


@given(catalogs())
def test_the_same_catalog_gives_the_same_bytes(made):
    first = [each.digest for each in render(made)]
    second = [each.digest for each in render(load(dump(made)))]
    assert first == second


@given(catalogs(), st.integers())
def test_order_without_meaning_changes_nothing(made, seed):
    first, second = render(made), render(shuffled(made, seed))
    assert [each.ref for each in first] == [each.ref for each in second]
    assert [each.digest for each in first] == [each.digest for each in second]


@given(catalogs())
def test_everything_is_rendered_once(made):
    refs = [each.ref for each in render(made)]
    entries = [entry for _tenant, queue in made.queues() for entry in queue.entries]
    expected = (
        len(made.topologies)
        + len(made.flavors)
        + len(made.cohorts)
        + len(made.priorities)
        + len(made.queues())
        + len(entries)
        + len({entry.namespace for entry in entries})
    )
    assert len(refs) == len(set(refs)) == expected


@given(catalogs())
def test_every_object_is_plain_json_and_says_what_it_is(made):
    for each in render(made):
        assert json.loads(json.dumps(each.body)) == each.body
        assert Manifest.of(each.body) == each
        assert each.body["metadata"]["labels"][keys.MANAGED] == "true"
        assert each.body["metadata"]["labels"][keys.MANAGED_BY] == "gpuportal"


@given(catalogs())
def test_nothing_is_written_empty_or_null(made):
    text = json.dumps([each.body for each in render(made)])
    assert "null" not in text
    assert "{}" not in text
    assert '""' not in text
    assert "[]" not in text


def test_capabilities_change_nothing_today():
    assert render(example("complete"), object()) == render(example("complete"))


def test_an_empty_catalog_renders_nothing():
    assert render(Catalog()) == ()


def test_manifests_can_be_put_into_sets():
    one, other = render(catalog())[0], render(catalog())[0]
    assert len({one, other}) == 1


def test_a_queue_writes_every_policy():
    assert spec(with_queue(cohort=""), "ClusterQueue") == {
        "fairSharing": {"weight": "1"},
        "flavorFungibility": {
            "whenCanBorrow": "MayStopSearch",
            "whenCanPreempt": "TryNextFlavor",
        },
        "namespaceSelector": {"matchLabels": {"gpuportal.io/tenant": "nlp"}},
        "preemption": {
            "borrowWithinCohort": {"policy": "Never"},
            "reclaimWithinCohort": "Never",
            "withinClusterQueue": "Never",
        },
        "queueingStrategy": "BestEffortFIFO",
        "resourceGroups": [
            {
                "coveredResources": ["cpu", "memory", "nvidia.com/gpu"],
                "flavors": [
                    {
                        "name": "a100",
                        "resources": [
                            {"name": "cpu", "nominalQuota": "96"},
                            {"name": "memory", "nominalQuota": "1Ti"},
                            {"name": "nvidia.com/gpu", "nominalQuota": "8"},
                        ],
                    }
                ],
            }
        ],
        "stopPolicy": "None",
    }


def test_a_queue_in_a_department_names_it():
    assert spec(catalog(), "ClusterQueue")["cohortName"] == "research"


def test_limits_are_written_only_when_set_and_zero_is_set():
    made = with_queue(quotas=lines(8, borrowing_limit=0))
    line = spec(made, "ClusterQueue")["resourceGroups"][0]["flavors"][0]["resources"][2]
    assert line == {"name": "nvidia.com/gpu", "nominalQuota": "8", "borrowingLimit": "0"}


def test_numbers_are_written_as_kubernetes_would():
    made = with_queue(quotas=lines(2_000))
    resources = spec(made, "ClusterQueue")["resourceGroups"][0]["flavors"][0]["resources"]
    assert [each["nominalQuota"] for each in resources] == ["24k", "250Ti", "2k"]


def test_flavors_are_tried_in_the_written_order():
    made = replace(
        with_queue(quotas=(*lines(1, "z"), *lines(1, "a"))), flavors=(flavor("a"), flavor("z"))
    )
    group = spec(made, "ClusterQueue")["resourceGroups"][0]
    assert [each["name"] for each in group["flavors"]] == ["z", "a"]


def test_a_threshold_is_written_only_when_set():
    borrow = spec(example("complete"), "ClusterQueue", "nlp-train")["preemption"]
    assert borrow["borrowWithinCohort"] == {"policy": "LowerPriority", "maxPriorityThreshold": 1000}


def test_a_department_always_has_a_spec():
    assert spec(catalog(), "Cohort") == {"fairSharing": {"weight": "1"}}


def test_a_department_writes_its_place_and_quota():
    made = catalog(
        cohorts=(
            CohortSpec(name="research"),
            CohortSpec(name="lab", parent="research", weight="0.5", quotas=lines(1)),
        )
    )
    lab = spec(made, "Cohort", "lab")
    assert lab["parentName"] == "research"
    assert lab["fairSharing"] == {"weight": "500m"}
    assert lab["resourceGroups"][0]["coveredResources"] == ["cpu", "memory", "nvidia.com/gpu"]


def test_an_entry_always_names_its_queue():
    made = body(catalog(), "LocalQueue")
    assert made["spec"] == {"clusterQueue": "nlp-train", "stopPolicy": "None"}
    assert made["metadata"]["namespace"] == "nlp"


def test_namespaces_carry_their_tenant():
    made = body(catalog(), "Namespace")
    assert made["apiVersion"] == "v1"
    assert made["metadata"]["labels"]["gpuportal.io/tenant"] == "nlp"
    assert "spec" not in made


def test_a_namespace_with_two_entries_is_rendered_once():
    entries = (EntrySpec(namespace="nlp", name="a"), EntrySpec(namespace="nlp", name="b"))
    kinds = [each.kind for each in render(with_queue(entries=entries))]
    assert kinds.count("Namespace") == 1
    assert kinds.count("LocalQueue") == 2


def test_a_priority_has_no_spec():
    made = body(catalog(), "WorkloadPriorityClass")
    assert made["value"] == 1000
    assert made["description"] == "Everyday work."
    assert "spec" not in made


def test_a_priority_without_contract_has_no_description():
    made = catalog(priorities=(PrioritySpec(name="p", value=0),))
    assert "description" not in body(made, "WorkloadPriorityClass")


def test_facts_of_a_flavor_are_labels_where_they_can_be():
    made = body(with_flavor(model="NVIDIA A100", zone="z1"), "ResourceFlavor")["metadata"]
    assert made["labels"]["gpuportal.io/zone"] == "z1"
    assert made["labels"]["gpuportal.io/cpu-per-device"] == "12"
    assert made["annotations"] == {
        "gpuportal.io/model": "NVIDIA A100",
        "gpuportal.io/resource": "nvidia.com/gpu",
    }


def test_a_flavor_without_anything_has_no_spec():
    assert "spec" not in body(with_flavor(node_labels=()), "ResourceFlavor")


def test_tolerations_leave_out_what_is_not_set():
    made = with_flavor(
        tolerations=(
            Toleration(key="b", value="x", effect="NoExecute", toleration_seconds=0),
            Toleration(operator="Exists"),
        )
    )
    assert spec(made, "ResourceFlavor")["tolerations"] == [
        {
            "effect": "NoExecute",
            "key": "b",
            "operator": "Equal",
            "tolerationSeconds": 0,
            "value": "x",
        },
        {"operator": "Exists"},
    ]


@pytest.mark.parametrize("name", ["two-teams", "story", "complete"])
def test_an_example_does_not_differ_from_itself(name):
    bodies = [each.body for each in render(example(name))]
    assert diff_lists(bodies, bodies) == ()


def test_the_two_teams_share_a_department_with_8_gpus_to_spare():
    queues = [
        each.body["spec"] for each in render(example("two-teams")) if each.kind == "ClusterQueue"
    ]
    nominal = [
        each["resourceGroups"][0]["flavors"][0]["resources"][2]["nominalQuota"] for each in queues
    ]
    assert nominal == ["8", "16"]
    assert {each["cohortName"] for each in queues} == {"research"}


def test_the_story_is_one_queue_of_32_gpus():
    made = spec(example("story"), "ClusterQueue")
    line = made["resourceGroups"][0]["flavors"][0]["resources"]
    assert [each["nominalQuota"] for each in line] == ["384", "4Ti", "32"]
    assert made["preemption"]["withinClusterQueue"] == "LowerPriority"
    assert "cohortName" not in made
