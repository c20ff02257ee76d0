"""The way to the queue is looked at before any text."""

import pytest

from kube.explain import explain
from kube.queue_facts import takes
from kube.quota_tree import QuotaTree
from tests.kube.waiting import (
    cluster_queue,
    cohort,
    condition,
    entry,
    flavors,
    for_pod_set,
    line,
    short,
    waits,
    workload,
)

OLD = for_pod_set(short(4))
GROUPS = flavors(a100=line(8))


def queue(active=None, **spec):
    return cluster_queue("q", GROUPS, active=active, **spec)


def codes(found):
    return [reason.code for reason in found.reasons]


# --- the entry --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("here", "code", "never"),
    [
        (entry(stopPolicy="Hold"), "entry_stopped", False),
        (entry(stopPolicy="HoldAndDrain"), "entry_stopped", False),
        (entry(active=("False", "Stopped")), "entry_stopped", False),
        (entry(queue=""), "entry_without_queue", True),
        (entry(active=("False", "ClusterQueueDoesNotExist")), "queue_missing", True),
        (entry(active=("False", "ClusterQueueIsInactive")), "queue_inactive", False),
        (entry(), "quota_short", False),
    ],
)
def test_the_entry_is_looked_at_before_the_text(here, code, never):
    found = explain(waits(OLD), local_queue=here)
    assert (found.code, found.never) == (code, never)


def test_an_entry_that_is_being_deleted():
    going = entry()
    going["metadata"]["deletionTimestamp"] = "2026-11-29T10:00:00Z"
    assert explain(waits(OLD), local_queue=going).code == "entry_terminating"


def test_an_entry_that_was_emptied_says_so_to_the_jobs_it_stopped():
    stopped = condition("Evicted", "True", "LocalQueueStopped", "The LocalQueue is stopped")
    here = entry(stopPolicy="HoldAndDrain")
    assert explain(waits(OLD, stopped), local_queue=here).code == "entry_drained"


def test_the_queue_itself_counts_more_than_what_the_entry_says_of_it():
    here = entry(active=("False", "ClusterQueueIsInactive"))
    found = explain(waits(OLD), local_queue=here, cluster_queue=queue(stopPolicy="Hold"))
    assert found.code == "queue_stopped"


def test_a_job_for_an_entry_that_is_not_there_is_told_what_is():
    """Hours of waiting although half the devices are idle: the label says default."""
    job = workload(spec={"queueName": "default"})
    found = explain(job, entries=["team-training"])
    assert (found.code, found.stage, found.never) == ("entry_missing", "routing", True)
    assert found.params == {"entry": "default", "entries": "team-training"}
    assert explain(job, entries=[]).params == {"entry": "default"}
    assert explain(job, entries=["default"]).code == "not_looked_at"
    assert explain(workload(spec={"queueName": ""}), entries=["a"]).code == "not_looked_at"


# --- the queue --------------------------------------------------------------------------------------


ALL_AT_ONCE = (
    "Can't admit new workloads: is stopped, references missing ResourceFlavor(s): nope.v1,b, "
    "references missing AdmissionCheck(s): one, references inactive AdmissionCheck(s): two."
)
TOPOLOGY = (
    'Can\'t admit new workloads: there is no Topology "t-1" for TAS flavor "gpu", there is no '
    'Topology "t-2" for TAS flavor "b".'
)


@pytest.mark.parametrize(
    ("there", "code"),
    [
        (queue(stopPolicy="Hold"), "queue_stopped"),
        (queue(stopPolicy="HoldAndDrain"), "queue_stopped"),
        (queue(("False", "Stopped", "Can't admit new workloads: is stopped.")), "queue_stopped"),
        (queue(("False", "FlavorNotFound", "?")), "queue_flavor_missing"),
        (queue(("False", "TopologyNotFound", TOPOLOGY)), "queue_topology_missing"),
        (queue(("False", "AdmissionCheckInactive", "?")), "queue_check_inactive"),
        (queue(("False", "MultiKueueWithProvisioningRequest", "?")), "queue_remote_invalid"),
        (queue(("False", "Terminating", "?")), "queue_terminating"),
        (queue(("False", "OfTomorrow", "?")), "queue_inactive"),
        (queue(("False", "Ready", "Can admit new workloads")), "cohort_cycle"),
        (queue(("True", "Ready", "Can admit new workloads")), "quota_short"),
        (queue(), "quota_short"),
    ],
)
def test_the_queue_is_looked_at_before_the_text(there, code):
    found = explain(waits(OLD), cluster_queue=there)
    assert found.code == code
    assert found.params.get("queue", "q") == "q"


def test_a_queue_that_is_being_deleted():
    going = queue(("True", "Ready", "Can admit new workloads"))
    going["metadata"]["deletionTimestamp"] = "2026-11-29T10:00:00Z"
    assert explain(waits(OLD), cluster_queue=going).code == "queue_terminating"


def test_all_that_is_wrong_with_a_queue_is_told_what_no_waiting_ends_first():
    found = explain(
        waits(OLD), cluster_queue=queue(("False", "Stopped", ALL_AT_ONCE), stopPolicy="Hold")
    )
    assert codes(found) == [
        "queue_flavor_missing", "queue_check_missing", "queue_stopped", "queue_check_inactive",
    ]  # fmt: skip
    params = {reason.code: reason.params for reason in found.reasons}
    assert params["queue_flavor_missing"]["flavors"] == "nope.v1,b"
    assert params["queue_check_missing"]["checks"] == "one"
    assert params["queue_check_inactive"]["checks"] == "two"
    missing = explain(waits(OLD), cluster_queue=queue(("False", "TopologyNotFound", TOPOLOGY)))
    assert missing.params["topology"] == "t-2"


def test_a_queue_that_was_emptied_says_so_to_the_jobs_it_stopped():
    stopped = condition("Evicted", "True", "ClusterQueueStopped", "The ClusterQueue is stopped")
    found = explain(waits(OLD, stopped), cluster_queue=queue(stopPolicy="HoldAndDrain"))
    assert codes(found) == ["queue_drained"]


def test_a_circle_of_departments_that_the_queue_does_not_show():
    """Kueue 0.17 leaves the queue Active: only the tree tells."""
    there = cluster_queue("q", GROUPS, "one", active=("True", "Ready"))
    circle = [cohort("one", "two"), cohort("two", "one")]
    said = waits("ClusterQueue q is inactive")
    found = explain(said, cluster_queue=there, cluster_queues=[there], cohorts=circle)
    assert (found.code, found.never) == ("cohort_cycle", True)
    assert explain(said, cluster_queue=there).code == "queue_inactive"
    straight = explain(said, cluster_queue=there, tree=QuotaTree([there], [cohort("one")]))
    assert straight.code == "reopened"


# --- namespaces -------------------------------------------------------------------------------------


def test_a_namespace_that_the_queue_does_not_take():
    there = cluster_queue("q", GROUPS, namespaceSelector={"matchLabels": {"team": "cv"}})
    space = {"metadata": {"labels": {"team": "nlp"}}}
    found = explain(waits(OLD), cluster_queue=there, namespace=space)
    assert (found.code, found.params["namespace"]) == ("namespace_mismatch", "team")
    mine = {"metadata": {"labels": {"team": "cv"}}}
    assert explain(waits(OLD), cluster_queue=there, namespace=mine).code == "quota_short"
    assert explain(waits(OLD), cluster_queue=there).code == "quota_short"


def test_a_queue_without_a_selector_takes_no_namespace():
    there = cluster_queue("q", GROUPS, namespaceSelector=None)
    assert explain(workload(), cluster_queue=there).code == "namespace_mismatch"
    # What Kueue has said is newer than what it had looked at.
    assert explain(waits(OLD), cluster_queue=there).code == "quota_short"
    assert (
        explain(workload(), cluster_queue=cluster_queue("q", namespaceSelector=None)).code
        == "not_looked_at"
    )


@pytest.mark.parametrize(
    ("selector", "labels", "answer"),
    [
        (None, {"a": "1"}, False), ({}, None, True), ({"matchLabels": {"a": "1"}}, None, None),
        ({"matchLabels": {"a": "1"}}, {"a": "1"}, True), ({"matchLabels": {"a": "1"}}, {}, False),
        ({"matchExpressions": [{"key": "a", "operator": "In", "values": ["1"]}]}, {"a": "1"}, True),
        ({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["1"]}]}, {"a": "1"}, False),
        ({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["1"]}]}, {}, True),
        ({"matchExpressions": [{"key": "a", "operator": "Exists"}]}, {"a": "1"}, True),
        ({"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}, {"a": "1"}, False),
        ({"matchExpressions": [{"key": "a", "operator": "OfTomorrow"}]}, {"a": "1"}, None),
    ],
)  # fmt: skip
def test_selectors_of_namespaces(selector, labels, answer):
    assert takes(selector, labels) is answer


# --- texts about queues that are no longer so -------------------------------------------------------


OPEN = {"local_queue": entry(), "cluster_queue": queue(("True", "Ready", "ok"))}


@pytest.mark.parametrize(
    "text",
    [
        "LocalQueue entry is inactive", "LocalQueue entry is stopped", "LocalQueue entry doesn't exist",
        "ClusterQueue q is inactive", "ClusterQueue q doesn't exist", "ClusterQueue  doesn't exist",
        "The ClusterQueue is stopped", "The LocalQueue is stopped",
    ],
)  # fmt: skip
def test_a_text_about_a_shut_queue_counts_only_while_it_is_shut(text):
    """After an entry is opened again, equal jobs keep the old text until they are looked at."""
    found = explain(waits(text, reason="Inadmissible"), **OPEN)
    assert (found.code, found.first.stale, found.never, found.raw) == (
        "reopened",
        True,
        False,
        text,
    )
    alone = explain(waits(text, reason="Inadmissible"))
    assert alone.stage == "routing"
    assert not alone.first.stale


def test_what_is_only_half_known_is_not_called_open():
    said = waits("LocalQueue entry is inactive")
    assert explain(said, local_queue=entry()).code == "entry_stopped"
    said = waits("ClusterQueue q is inactive")
    assert explain(said, cluster_queue=OPEN["cluster_queue"]).code == "reopened"
    shut = queue(stopPolicy="Hold")
    assert explain(said, cluster_queue=shut).code == "queue_stopped"


def test_a_back_off_for_a_queue_that_is_open_again_is_over():
    after = condition("Requeued", "False", "ClusterQueueStopped", "The ClusterQueue is stopped")
    assert explain(waits(OLD, after), **OPEN).code == "reopened"
    assert explain(waits(OLD, after)).code == "queue_drained"
