"""Whatever an API server holds, an explanation comes back, and the order of things says nothing."""

import copy
import random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kube.explain import Stage, State, explain
from kube.explain_job import explain_job
from kube.lenient import amount, moment
from kube.manager_facts import Manager
from kube.pod_requests import pod_requests, pod_sets
from kube.quota_tree import QuotaTree
from kube.reason_codes import CODES
from kube.reasons import FreedBy
from tests.kube import recorded
from tests.kube.waiting import GPU

#: Keys and words that the rules look for, so that random objects reach deep into them.
WORDS = st.sampled_from([
    "metadata", "spec", "status", "conditions", "type", "QuotaReserved", "Admitted", "Evicted", "True", "False",
    "reason", "message", "name", "podSets", "template", "containers", "resources", "requests", "limits", GPU,
    "admissionChecks", "state", "Pending", "Retry", "requeueState", "requeueAt", "active", "resourceGroups",
    "flavors", "coveredResources", "nominalQuota", "cohortName", "parentName", "namespaceSelector", "labels",
    "deletionTimestamp", "2026-11-29T10:00:00Z", "PodsReady", "Finished", "phase", "containerStatuses",
    "unhealthyNodes", "admission", "podSetAssignments", "flavorsReservation", "total", "regarding", "note",
    "ErrWorkloadCompose", "FailedCreate", "ClusterQueue q is inactive", "annotations", "ownerReferences", "kind",
])  # fmt: skip
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | WORDS
JSON = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(WORDS | st.text(max_size=4), inner, max_size=6)
    ),
    max_leaves=40,
)
LISTS = st.none() | st.lists(JSON, max_size=3)


def sound(found):
    assert found.reasons
    assert found.state in set(State)
    for reason in found.reasons:
        assert reason.code in CODES
        assert reason.stage is None or reason.stage in set(Stage)
        assert reason.freed_by in set(FreedBy)
        assert all(isinstance(value, str) for value in reason.params.values())
    return found.as_json()


@settings(max_examples=120)
@given(JSON, JSON, JSON, LISTS, LISTS, LISTS, LISTS, LISTS)
@example({"status": {"conditions": [{"type": "QuotaReserved", "status": "False", "message": None}]}}, None, None, None, None, None, None, None)  # fmt: skip
def test_no_input_makes_it_raise(job, entry, queue, queues, cohorts, pods, events, others):
    known = {
        "local_queue": entry, "cluster_queue": queue, "cluster_queues": queues, "cohorts": cohorts,
        "pods": pods, "events": events, "others": others, "checks": others, "flavors": queues,
        "limit_ranges": pods, "namespace": entry,
    }  # fmt: skip
    sound(explain(job, **{key: value for key, value in known.items() if value is not None}))


@given(st.sampled_from(recorded.names()), st.data())
def test_no_single_odd_value_makes_it_raise(key, data):
    """One value anywhere in a real object is replaced by nonsense."""
    release, name = key
    job = copy.deepcopy(recorded.workload(name, release))
    known = copy.deepcopy(recorded.related(name, release))
    spots = [*_spots(job), *(spot for each in known.values() for spot in _spots(each))]
    where, place = data.draw(st.sampled_from(spots))
    where[place] = data.draw(JSON)
    sound(explain(job, **known))


def _spots(value):
    here = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    found = []
    for key, inner in list(here):
        found += [(value, key), *_spots(inner)]
    return found


@given(JSON, LISTS, LISTS, JSON)
def test_no_job_makes_it_raise(job, classes, events, namespace):
    known = {"priority_classes": classes, "events": events, "namespace": namespace}
    sound(explain_job(job, **{key: value for key, value in known.items() if value is not None}))


@given(st.text(max_size=60), st.text(max_size=20))
def test_no_configuration_makes_it_raise(configuration, version):
    Manager.read(version=version, configuration=configuration)


SHUFFLED = [key for key in recorded.names() if recorded.around(key[1], key[0])]


@given(st.sampled_from(SHUFFLED), st.integers())
def test_the_order_of_everything_says_nothing(key, seed):
    """Conditions, pod sets, flavors, checks, pods and events come in any order."""
    release, name = key
    job = copy.deepcopy(recorded.workload(name, release))
    known = copy.deepcopy(recorded.related(name, release))
    before = explain(job, **known).as_json()
    mixed = random.Random(seed)  # noqa: S311 - a shuffle
    _shuffle(mixed, job["status"].get("conditions"), job["status"].get("admissionChecks"))
    _shuffle(mixed, *(known.get(each) for each in ("pods", "events", "flavors", "checks")))
    for group in (known.get("cluster_queue") or {}).get("spec", {}).get("resourceGroups", []):
        _shuffle(mixed, group["flavors"])
    for each in known.get("pods", []):
        _shuffle(mixed, each["status"].get("conditions"))
    assert explain(job, **known).as_json() == before


def _shuffle(mixed, *lists):
    for each in lists:
        if each:
            mixed.shuffle(each)


# --- reading ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("resource", "value", "expected"),
    [
        ("cpu", "1500m", 1500), ("cpu", 2, 2000), ("memory", "1Gi", 1 << 30), (GPU, "8", 8), (GPU, "8500m", 9),
        (GPU, 1.5, 2), (GPU, True, 0), (GPU, None, 0), (GPU, "lots", 0), (GPU, "1e300", 2**63 - 1),
        (GPU, "-3", -3), (GPU, [], 0),
    ],
)  # fmt: skip
def test_amounts(resource, value, expected):
    assert amount(resource, value) == expected


@pytest.mark.parametrize("value", ["", None, "soon", "9999-99-99", [], "0001-01-01T00:00:00+14:00"])
def test_times_that_are_none(value):
    assert moment(value) is None


def container(requests=None, limits=None, **more):
    return {"resources": {"requests": requests or {}, "limits": limits or {}}} | more


def test_a_pod_needs_its_peak():
    spec = {
        "containers": [container({GPU: "2", "cpu": "1"}), container(limits={GPU: "1"})],
        "initContainers": [
            container({"cpu": "8"}), container({"cpu": "500m"}, restartPolicy="Always"),
            container({GPU: "1", "cpu": "1"}),
        ],
        "overhead": {"cpu": "100m"},
    }  # fmt: skip
    assert pod_requests(spec) == {GPU: 3, "cpu": 8100}


def test_a_pod_may_ask_as_a_whole():
    spec = {"containers": [container({"cpu": "1"})], "resources": {"requests": {"cpu": "3"}}}
    assert pod_requests(spec) == {"cpu": 3000}


def test_pod_sets_of_odd_form():
    sets = [{"count": -3, "template": {"spec": {"containers": [container({GPU: "1"})]}}}, 7]
    found = pod_sets({"spec": {"podSets": sets}})
    assert [(each.name, each.count, each.requests) for each in found] == [("main", 0, {GPU: 0})]


def test_a_tree_of_nothing_knows_nothing():
    assert QuotaTree([]).beside("a") == []
