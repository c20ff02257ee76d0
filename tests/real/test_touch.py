"""A job that waits in a cohort which a queue has left: only a touch lets Kueue see that it fits."""

import time

import pytest

from kube.errors import ProgrammingError
from kube.explain import State, explain
from kube.manifest import Ref
from kube.touch import MANAGER as TOUCH
from kube.touch import is_neutral, touch
from tests.real.conftest import eventually
from tests.real.objects import cluster_queue, flavor, job, local_queue, namespace

MANAGER = "gpuportal-quota"


def refused_for_quota(admin, name):
    """Return whether Kueue has looked at the waiting job and found no room."""
    items, _version = admin.list_all("Workload", name)
    found = [each for each in items if each["metadata"]["name"].startswith("job-waiting")]
    return bool(found) and explain(found[0]).code == "quota_short"


@pytest.fixture
def left(admin, name):
    """The queue `a` waits for what `b` borrowed; then `b` moves away and takes its job along."""
    admin.apply(namespace(name), manager=MANAGER)
    admin.apply(flavor(name), manager=MANAGER)
    for each in ("a", "b", "c"):
        body = cluster_queue(f"{name}-{each}", "4", flavor=name, cohort=f"{name}-old")
        admin.apply(body, manager=MANAGER)
    for each in ("a", "b"):
        admin.apply(local_queue(each, name, f"{name}-{each}"), manager=MANAGER)
    admin.apply(job("borrower", name, "b", "12"), manager=MANAGER)
    eventually(lambda: _running(admin, name, "job-borrower"))
    admin.apply(job("waiting", name, "a", "4"), manager=MANAGER)
    eventually(lambda: refused_for_quota(admin, name))
    time.sleep(2.5)  # Kueue looks again in batches of a second: let all earlier news be used up.
    moved = cluster_queue(f"{name}-b", "4", flavor=name, cohort=f"{name}-new")
    admin.apply(moved, manager=MANAGER)
    return name


def _running(admin, name, prefix):
    items, _version = admin.list_all("Workload", name)
    return any(
        explain(each).state in (State.STARTING, State.RUNNING)
        for each in items
        if each["metadata"]["name"].startswith(prefix)
    )


def queue(admin, name):
    return admin.get(Ref("ClusterQueue", "", name))


def test_a_touch_wakes_the_old_cohort_and_leaves_no_trace(admin, applier, left):
    sibling = f"{left}-c"
    before = queue(admin, sibling)
    body = cluster_queue(sibling, "4", flavor=left, cohort=f"{left}-old")
    body["metadata"]["annotations"] = {"note": "an annotation wakes nobody"}
    admin.apply(body, manager=MANAGER)
    time.sleep(4)
    assert refused_for_quota(admin, left)
    touch(applier, before)
    eventually(lambda: _running(admin, left, "job-waiting"), seconds=5)
    after = queue(admin, sibling)
    assert after["spec"] == before["spec"]
    assert TOUCH not in {each["manager"] for each in after["metadata"]["managedFields"]}


def test_an_interrupted_touch_is_taken_back(admin, applier, name):
    admin.apply(cluster_queue(name), manager=MANAGER)
    before = queue(admin, name)
    half = {
        "apiVersion": before["apiVersion"],
        "kind": "ClusterQueue",
        "metadata": {"name": name},
        "spec": {"preemption": {"borrowWithinCohort": {"maxPriorityThreshold": 0}}},
    }
    applier.apply(half, manager=TOUCH)
    assert is_neutral(queue(admin, name))
    touch(applier, queue(admin, name))
    assert queue(admin, name)["spec"] == before["spec"]


def test_a_queue_with_a_threshold_of_its_own_is_left_alone(admin, applier, name):
    preemption = {
        "reclaimWithinCohort": "Any",
        "borrowWithinCohort": {"policy": "LowerPriority", "maxPriorityThreshold": 5},
    }
    admin.apply(cluster_queue(name, cohort=name, preemption=preemption), manager=MANAGER)
    with pytest.raises(ProgrammingError):
        touch(applier, queue(admin, name))
