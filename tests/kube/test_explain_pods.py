"""Admitted and not running: the pods say why."""

from datetime import timedelta

import pytest

from kube.event_facts import read_events
from kube.explain import explain
from kube.manager_facts import Manager
from kube.pod_facts import ORDER
from kube.reason_codes import CODES
from kube.scheduling_texts import why_unschedulable
from tests.kube.waiting import (
    GPU,
    admitted,
    cluster_queue,
    condition,
    event,
    flavors,
    line,
    pod,
    used,
)

NOT_READY = condition("PodsReady", "False", "WaitForStart", "Not all pods are ready or succeeded")
READY = condition("PodsReady", "True", "Started")
RECOVERS = condition("PodsReady", "False", "WaitForRecovery", "At least one pod has failed")
PLACES = {"admission": {"podSetAssignments": [{"count": 2}]}}


def told(found):
    return found.state, [reason.code for reason in found.reasons]


@pytest.mark.parametrize(
    ("pods", "state", "code"),
    [
        ([], "starting", "no_pods_yet"),
        ([pod("Running"), pod("Succeeded", name="b")], "running", "running"),
        ([pod("Running"), pod(name="b", scheduled=True)], "running", "container_starting"),
        ([pod(waiting="ContainerCreating")], "running", "container_starting"),
        ([pod(scheduled="0/4 nodes")], "starting", "unschedulable"),
        ([pod(waiting="ImagePullBackOff")], "starting", "image"),
        ([pod(waiting="CrashLoopBackOff")], "starting", "container_waiting"),
        ([pod("Running", waiting="CrashLoopBackOff")], "starting", "container_waiting"),
        ([pod(waiting="CreateContainerConfigError")], "starting", "container_config"),
        ([pod(gates=["kueue.x-k8s.io/topology"])], "starting", "pod_gated"),
        ([pod(gates=["kueue.x-k8s.io/admission", "a.b/c"])], "starting", "pod_gated"),
        ([pod(gates=["a.b/c"])], "starting", "pod_gated_elsewhere"),
        ([pod(scheduled="no"), pod(name="b", waiting="ErrImagePull")], "starting", "unschedulable"),
        ([pod("Running", deletionTimestamp="x")], "starting", "no_pods_yet"),
        ([pod("Failed", ended="OOMKilled")], "running", "pods_failed"),
    ],
)
def test_pods_of_an_admitted_workload(pods, state, code):
    found = explain(admitted(), pods=pods)
    assert (found.state, found.code) == (state, code)


def test_pods_go_before_the_condition_that_lags():
    assert told(explain(admitted(NOT_READY), pods=[pod("Running")])) == ("running", ["running"])


def test_without_pods_the_condition_is_all_there_is():
    assert told(explain(admitted(NOT_READY))) == ("running", ["pods_starting"])
    assert told(explain(admitted(RECOVERS))) == ("running", ["pods_recovering"])
    assert told(explain(admitted(READY))) == ("running", ["running"])


def test_a_job_whose_pods_were_all_ready_once_runs_while_one_comes_back():
    pods = [pod("Running"), pod(name="b", scheduled="0/4 nodes")]
    assert told(explain(admitted(), pods=pods))[0] == "starting"
    assert told(explain(admitted(READY), pods=pods)) == ("running", ["unschedulable"])
    assert told(explain(admitted(RECOVERS), pods=pods)) == (
        "running", ["unschedulable", "pods_recovering"],
    )  # fmt: skip


def test_a_pod_that_runs_and_is_not_ready():
    running = pod("Running")
    running["status"]["conditions"].append(condition("Ready", "False", "", "[ train ]"))
    assert told(explain(admitted(), pods=[running])) == ("running", ["pods_not_ready"])


def test_a_failed_pod_with_a_successor_is_history():
    replaced = [pod("Failed"), pod("Running", name="b"), pod("Running", name="c")]
    assert told(explain(admitted(**PLACES), pods=replaced)) == ("running", ["running"])
    assert told(explain(admitted(RECOVERS, **PLACES), pods=replaced))[1] == [
        "pods_failed", "pods_recovering",
    ]  # fmt: skip
    short = replaced[:2]
    found = explain(admitted(**PLACES), pods=short)
    assert told(found) == ("running", ["pods_failed"])


def test_a_pod_that_was_thrown_off_its_machine_says_why():
    gone = pod("Failed")
    gone["status"] |= {"reason": "Evicted", "message": "The node was low on resource: memory"}
    found = explain(admitted(), pods=[gone])
    assert (found.params["cause"], found.raw) == ("Evicted", "The node was low on resource: memory")
    assert explain(admitted(), pods=[pod("Failed")]).params["waiting"] == "1"


def test_every_kind_of_trouble_is_listed_with_its_number():
    pods = [
        pod(name="a", scheduled="0/4 nodes"), pod(name="b", scheduled="0/4 nodes"),
        pod(name="c", waiting="ErrImagePull"), pod("Running", name="d"),
    ]  # fmt: skip
    found = explain(admitted(), pods=pods)
    counts = [(each.code, each.params["waiting"], each.params["pods"]) for each in found.reasons]
    assert counts == [("unschedulable", "2", "4"), ("image", "1", "4")]


def test_a_pod_that_is_told_twice_counts_once():
    found = explain(admitted(), pods=[pod(scheduled="no"), pod(scheduled="no")])
    assert found.params["pods"] == "1"


def test_init_containers_speak_too():
    held = pod()
    held["status"]["initContainerStatuses"] = [{"state": {"waiting": {"reason": "ErrImagePull"}}}]
    assert explain(admitted(), pods=[held]).code == "image"


# --- events -----------------------------------------------------------------------------------------


def test_a_job_whose_pods_are_refused():
    note = 'Error creating: pods "w" is forbidden: exceeded quota: team'
    refused = event("FailedCreate", note, "Job")
    found = explain(admitted(), pods=[], events=[refused])
    assert (found.state, found.code, found.raw) == ("starting", "pods_refused", note)


def test_a_volume_that_cannot_be_mounted():
    mount = event("FailedMount", 'MountVolume.SetUp failed for volume "x"', "Pod", "p")
    found = explain(admitted(), pods=[pod(scheduled=True)], events=[mount])
    assert (found.code, found.raw) == ("pods_wait_for_volume", mount["note"])
    other = event("FailedMount", "x", "Pod", "elsewhere")
    assert (
        explain(admitted(), pods=[pod(scheduled=True)], events=[other]).code == "container_starting"
    )


def test_an_event_of_the_scheduler_where_the_pod_says_nothing_yet():
    failed = event(
        "FailedScheduling", "0/4 nodes are available: 4 Insufficient nvidia.com/gpu.", "Pod", "p"
    )
    found = explain(admitted(), pods=[pod()], events=[failed])
    assert (found.state, found.code, found.first.resource) == ("starting", "pods_lack_room", GPU)
    assert explain(admitted(), pods=[pod()]).code == "container_starting"


def test_events_are_read_in_both_forms_the_newest_first():
    old = {
        "involvedObject": {"kind": "Pod", "name": "p"},
        "reason": "A",
        "message": "m",
        "lastTimestamp": "2026-11-29T10:00:00Z",
        "type": "Warning",
    }
    new = event("B", "n", "Pod", "p", eventTime="2026-11-29T10:00:01Z")
    series = event("C", "n", "Pod", "p", series={"lastObservedTime": "2026-11-29T10:00:02Z"})
    found = read_events([old, new, series, event("D", "n"), None])
    assert [each.reason for each in found] == ["C", "B", "A", "D", ""]
    assert (found[2].note, found[2].warning, found[2].about("Pod", "p")) == ("m", True, True)


# --- why there is no machine ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "code", "params"),
    [
        (
            "0/4 nodes are available: 1 Insufficient cpu, 3 node(s) didn't match Pod's node affinity/selector.",
            "pods_lack_room", {"nodes": "4", "of_these": "1", "resource": "cpu"},
        ),
        ("0/4 nodes are available: 4 Too many pods.", "pods_lack_room", {"nodes": "4"}),
        (
            "0/9 nodes are available: 9 node(s) didn't match Pod's node affinity/selector. no new "
            "claims to deallocate, preemption: 0/9 nodes are available: 9 Preemption is not helpful",
            "pods_match_no_node", {"nodes": "9", "of_these": "9"},
        ),
        ("0/4 nodes are available: 4 node(s) were unschedulable. preemption: none", "pods_nodes_closed", {}),
        (
            "0/4 nodes are available: 4 node(s) had untolerated taint {node.kubernetes.io/not-ready: }.",
            "pods_nodes_closed", {},
        ),
        (
            "0/4 nodes are available: 2 node(s) had untolerated taint {spot: true}, 2 node(s) didn't "
            "match Pod's node affinity/selector.",
            "pods_untolerated_taint", {"taint": "spot: true", "of_these": "2"},
        ),
        ("0/4 nodes are available: 4 node(s) had untolerated taint(s).", "pods_untolerated_taint", {}),
        ("0/4 nodes are available: 4 node(s) had volume node affinity conflict.", "pods_wait_for_volume", {}),
        ('persistentvolumeclaim "data" not found', "pods_wait_for_volume", {}),
        ("pod has unbound immediate PersistentVolumeClaims", "pods_wait_for_volume", {}),
        ("0/4 nodes are available: 4 node(s) didn't have free ports.", "unschedulable", {"nodes": "4"}),
        ("words of a later release", "unschedulable", {}),
    ],
)  # fmt: skip
def test_why_there_is_no_machine(text, code, params):
    found, named = why_unschedulable(text)
    assert found == code
    assert params.items() <= named.items()
    assert explain(admitted(), pods=[pod(scheduled=text)]).code == code


def test_a_pod_that_is_not_scheduled_without_a_word():
    held = pod(scheduled="")
    assert explain(admitted(), pods=[held]).code == "unschedulable"


def test_every_code_about_pods_has_a_rank():
    assert set(ORDER) <= set(CODES)


# --- beside the pods --------------------------------------------------------------------------------


def test_a_machine_that_is_not_well():
    job = admitted(unhealthyNodes=[{"name": "n-2"}, {"name": "n-1"}])
    found = explain(job, pods=[pod("Running")])
    assert (found.state, found.code, found.params["nodes"]) == (
        "running",
        "node_unhealthy",
        "n-1, n-2",
    )


def test_quota_that_is_held_without_an_owner():
    job = admitted(NOT_READY)
    del job["metadata"]["ownerReferences"]
    assert told(explain(job)) == ("running", ["orphaned", "pods_starting"])
    assert told(explain(job, pods=[])) == ("running", ["orphaned", "pods_starting"])
    job["status"]["conditions"].pop()
    assert told(explain(job, pods=[])) == ("running", ["orphaned"])


def test_until_when_pods_must_be_ready():
    manager = Manager(pods_ready_within=timedelta(minutes=30))
    for pods in (None, [pod(scheduled="no")]):
        found = explain(admitted(NOT_READY), pods=pods, manager=manager)
        assert found.params["deadline"] == "2026-11-29T10:35:00+00:00"
    assert "deadline" not in explain(admitted(NOT_READY), manager=Manager()).params
    assert (
        "deadline"
        not in explain(admitted(READY), pods=[pod(scheduled="no")], manager=manager).params
    )
    endless = Manager(pods_ready_within=timedelta.max)
    assert "deadline" not in explain(admitted(NOT_READY), manager=endless).params


def test_a_check_that_will_stop_a_running_job():
    checks = [
        {"name": "a", "state": "Pending"},
        {"name": "b", "state": "Retry", "requeueAfterSeconds": 60, "lastTransitionTime": "2026-11-29T10:00:00Z"},
    ]  # fmt: skip
    found = explain(admitted(READY, admissionChecks=checks))
    assert told(found) == ("running", ["running", "check_retry"])
    assert found.reasons[1].params["requeue_at"] == "2026-11-29T10:01:00+00:00"


# --- borrowed quota ---------------------------------------------------------------------------------


def holding(flavor="a100", held=3):
    assignment = {"count": 1, "flavors": {GPU: flavor}, "resourceUsage": {GPU: str(held)}}
    return admitted(READY, admission={"podSetAssignments": [assignment]})


def lender(nominal=4, held=0, reclaim="Any"):
    spec = {"preemption": {"reclaimWithinCohort": reclaim}}
    return cluster_queue("b", flavors(a100=line(nominal)), "co", status=used(a100=held), **spec)


def borrows(*others, nominal=1, held=3, job=None):
    queue = cluster_queue("q", flavors(a100=line(nominal)), "co", status=used(a100=held))
    queues = [queue, *others]
    found = explain(job or holding(), cluster_queue=queue, cluster_queues=queues, cohorts=[])
    return [each for each in found.reasons if each.code == "may_be_reclaimed"]


def test_a_job_on_borrowed_quota_may_lose_it():
    """1 promised and 3 held, after the quota was lowered: another queue may take 2 back."""
    (found,) = borrows(lender())
    assert (found.flavor, found.resource, found.params) == (
        "a100", GPU, {"borrowed": "2", "at_risk": "2"},
    )  # fmt: skip
    assert borrows(lender(nominal=1))[0].params == {"borrowed": "2", "at_risk": "1"}


@pytest.mark.parametrize(
    "found",
    [
        borrows(lender(reclaim="Never")), borrows(lender(held=4)), borrows(lender(), nominal=3),
        borrows(), borrows(lender(), job=holding("h100")),
    ],
    ids=["no-policy", "uses-its-own", "own-quota", "nobody", "other-flavor"],
)  # fmt: skip
def test_quota_that_nobody_can_take_back_is_no_news(found):
    assert found == []
