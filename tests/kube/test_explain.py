"""Recorded workloads of real Kueue releases, and what a person is told about each."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube import pending_texts
from kube.explain import State, explain

FIXTURES = Path(__file__).parent / "fixtures"
RELEASES = ("0.17.0", "0.19.2", "0.19.2-granular")
WORKLOADS = {
    release: json.loads((FIXTURES / f"workloads-{release}.json").read_text())
    for release in RELEASES
}
EXPECTED = [
    line.split()
    for line in (FIXTURES / "explanations.txt").read_text().splitlines()
    if not line.startswith("#")
]


def recorded(name, release="0.17.0"):
    return WORKLOADS[release][name]


def queue(kind="ClusterQueue", *, spec=None, active=None, **metadata):
    conditions = [dict(zip(("status", "reason", "message"), active, strict=True))] if active else []
    conditions = [{"type": "Active"} | each for each in conditions]
    return {
        "kind": kind,
        "metadata": {"name": "q"} | metadata,
        "spec": spec or {},
        "status": {"conditions": conditions},
    }


def waiting(text, **more):
    condition = {"type": "QuotaReserved", "status": "False", "reason": "Pending", "message": text}
    return {"metadata": {"name": "w"}, "spec": {}, "status": {"conditions": [condition]} | more}


@pytest.mark.parametrize("line", EXPECTED, ids=lambda line: "-".join(line[:2]))
def test_recorded(line):
    release, name, state, stage, code, *flags = line
    found = explain(recorded(name, release))
    assert (found.state, found.stage or "-", found.code) == (state, stage, code)
    raised = {flag for flag in ("never", "preempted", "preempting") if getattr(found, flag)}
    assert raised == set(flags)


def test_every_recorded_workload_has_an_expectation():
    held = {(release, name) for release, each in WORKLOADS.items() for name in each}
    assert held == {(line[0], line[1]) for line in EXPECTED}
    assert not [line for line in EXPECTED if line[4] == "unknown"]


def test_the_missing_amount_is_told():
    found = explain(recorded("02-quota-wait"))
    assert found.params["resource"] == "nvidia.com/gpu"
    assert found.params["flavor"] == "a100"
    assert found.params["missing"] == "4"
    assert found.raw.startswith("couldn't assign flavors")
    assert found.since is not None
    assert found.since.tzinfo is UTC


def test_the_largest_possible_amount_is_told():
    found = explain(recorded("19-pytorch-two-podsets-max"))
    assert found.params["pod_set"] == "worker"
    assert [found.params[key] for key in ("earlier", "asked", "capacity")] == ["2", "14", "6"]


def test_a_check_tells_its_own_words():
    found = explain(recorded("92-check-rejected-before-eviction"))
    assert found.params["check"] == "ac-hold"
    assert found.params["message"] == "budget exceeded"


@pytest.mark.parametrize(
    ("cluster_queue", "code"),
    [
        (queue(spec={"stopPolicy": "Hold"}), "queue_stopped"),
        (queue(spec={"stopPolicy": "HoldAndDrain"}), "queue_stopped"),
        (queue(deletionTimestamp="2026-11-29T10:00:00Z"), "queue_terminating"),
        (queue(active=("False", "FlavorNotFound", "references missing")), "queue_flavor_missing"),
        (queue(active=("False", "NewReason", "?")), "queue_inactive"),
        (queue(active=("True", "Ready", "ok")), "quota_short"),
        (None, "quota_short"),
    ],
)
def test_the_queue_is_looked_at_before_the_message(cluster_queue, code):
    found = explain(recorded("31p-stopped-cq-holdanddrain-pending"), cluster_queue=cluster_queue)
    assert found.code == code
    assert "6 more needed" in found.raw or code != "quota_short"


@pytest.mark.parametrize(
    ("local_queue", "code"),
    [
        (queue("LocalQueue", spec={"stopPolicy": "Hold", "clusterQueue": "c"}), "entry_stopped"),
        (queue("LocalQueue", spec={"stopPolicy": "None"}), "entry_without_queue"),
        (
            queue(
                "LocalQueue",
                spec={"clusterQueue": "c"},
                active=("False", "ClusterQueueDoesNotExist", "Can't submit"),
            ),
            "queue_missing",
        ),
        (queue("LocalQueue", spec={"clusterQueue": "c"}), "quota_short"),
    ],
)
def test_the_entry_is_looked_at_before_the_message(local_queue, code):
    assert explain(recorded("02-quota-wait"), local_queue=local_queue).code == code


def test_a_stopped_queue_says_nothing_about_a_running_job():
    held = queue(spec={"stopPolicy": "Hold"})
    assert explain(recorded("01-running-single"), cluster_queue=held).state is State.RUNNING


def pod(phase, *, gates=(), scheduled=None, waiting=None):
    status = {"phase": phase}
    if scheduled is not None:
        condition = {"type": "PodScheduled", "status": "False", "message": scheduled}
        status["conditions"] = [condition]
    if waiting:
        status["containerStatuses"] = [{"state": {"waiting": {"reason": waiting, "message": "m"}}}]
    return {"spec": {"schedulingGates": [{"name": gate} for gate in gates]}, "status": status}


@pytest.mark.parametrize(
    ("pods", "state", "code"),
    [
        ([], "starting", "no_pods_yet"),
        ([pod("Running"), pod("Succeeded")], "running", "running"),
        ([pod("Running"), pod("Pending")], "running", "container_starting"),
        ([pod("Pending", scheduled="0/4 nodes")], "starting", "unschedulable"),
        ([pod("Pending", waiting="ImagePullBackOff")], "starting", "image"),
        ([pod("Pending", waiting="CrashLoopBackOff")], "starting", "container_waiting"),
        ([pod("Pending", gates=["kueue.x-k8s.io/topology"])], "starting", "pod_gated"),
        (
            [pod("Pending", scheduled="no room"), pod("Pending", waiting="ErrImagePull")],
            "starting",
            "unschedulable",
        ),
    ],
)
def test_pods_of_an_admitted_workload(pods, state, code):
    found = explain(recorded("97-admitted-pod-not-started"), pods=pods)
    assert (found.state, found.code) == (state, code)


def test_flavors_are_alternatives_but_pod_sets_are_all_needed():
    alternatives = (
        "couldn't assign flavors to pod set main: flavor a doesn't match node affinity, "
        "insufficient unused quota for nvidia.com/gpu in flavor b, 2 more needed"
    )
    both = (
        "couldn't assign flavors to pod set a: insufficient unused quota for cpu in flavor a, 1 "
        "more needed; couldn't assign flavors to pod set b: insufficient quota for cpu in flavor "
        "a, previously considered podsets requests (0) + current podset request (9) > maximum "
        "capacity (4)"
    )
    assert explain(waiting(alternatives)).code == "quota_short"
    found = explain(waiting(both))
    assert found.code == "max_capacity"
    assert found.params["pod_set"] == "b"
    assert [reason.code for reason in found.reasons] == ["max_capacity", "quota_short"]


def test_devices_come_before_cpu():
    text = (
        "couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor a100, "
        "24 more needed, insufficient unused quota for nvidia.com/gpu in flavor a100, 3 more needed"
    )
    found = explain(waiting(text))
    assert [(each.resource, each.missing) for each in found.reasons] == [
        ("nvidia.com/gpu", 3),
        ("cpu", 24_000),
    ]


def test_groups_of_resources_are_all_needed():
    text = (
        "couldn't assign flavors to pod set main: flavor gpu doesn't match node affinity, "
        "insufficient unused quota for cpu in flavor plain, 2 more needed"
    )
    groups = [{"flavors": [{"name": "gpu"}]}, {"flavors": [{"name": "plain"}]}]
    found = explain(waiting(text), cluster_queue=queue(spec={"resourceGroups": groups}))
    assert found.code == "selector_mismatch"
    assert found.never


def test_an_unknown_text_is_kept():
    found = explain(waiting("the moon is in the wrong house"))
    assert (found.stage, found.code, found.raw) == (
        "order",
        "unknown",
        "the moon is in the wrong house",
    )


def test_noise_is_not_a_reason():
    text = (
        "couldn't assign flavors to pod set main: insufficient unused quota for nvidia.com/gpu in "
        "flavor a100, 1 more needed, skipping flavor h100 as it is not found in the nomination "
        "mapping for resource nvidia.com/gpu"
    )
    assert [reason.code for reason in explain(waiting(text)).reasons] == ["quota_short"]


def test_a_finished_workload_is_finished_though_it_still_shows_its_quota():
    found = explain(recorded("80-finished-succeeded"))
    assert found.since == datetime.fromisoformat(
        next(
            each["lastTransitionTime"]
            for each in recorded("80-finished-succeeded")["status"]["conditions"]
            if each["type"] == "Finished"
        )
    )


def test_a_workload_that_is_deleted():
    workload = json.loads(json.dumps(recorded("01-running-single")))
    workload["metadata"]["deletionTimestamp"] = "2026-11-29T10:00:00Z"
    assert explain(workload).state is State.STOPPING
    workload["status"] = {}
    assert explain(workload).state is State.GONE


@given(st.text(max_size=400))
def test_any_text_is_read(text):
    found = explain(waiting(text))
    assert found.state is State.WAITING
    assert all(isinstance(value, str) for value in found.params.values())


def test_a_long_hostile_text_is_read_quickly():
    text = "couldn't assign flavors to pod set main: " + 'topology "x" allows to fit only 1 ' * 900
    assert pending_texts.read(text).reasons


@pytest.mark.parametrize("status", [{}, {"conditions": None}, {"conditions": [None, 3]}])
def test_a_workload_without_conditions_was_not_looked_at(status):
    found = explain({"metadata": {}, "status": status})
    assert (found.stage, found.code) == ("order", "not_looked_at")
