"""The classic case on a real Kueue: 32 GPUs, normal jobs, and one urgent job of 16."""

import time

import pytest

from cluster.jobs import JobSpec
from cluster.nodes import NodeSpec
from queues.models import ObservedObject, Workload
from tenants.models import Request
from tests.real import registered
from tests.stack import wait_for

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.real]


@pytest.fixture
def story(control_plane, admin, place, settings, name):
    """The catalog `story` with names of this test, its nodes, and an observer."""
    registered.seal_with_fresh_keys(settings)
    dave = registered.person("dave", "admin")
    carol = registered.person("carol", "approver")
    control_plane.apply_nodes(
        [NodeSpec(name=f"{name}-{n}", labels={"gpuportal.io/flavor": name}) for n in range(4)]
    )
    cluster = registered.register(admin, place, dave)
    catalog = registered.example(
        "story",
        {"a100": name, "nlp": name, "nlp-train": f"{name}-train", "nlp-gpu": f"{name}-gpu",
         "boss-urgent": f"{name}-urgent", "normal-batch": f"{name}-normal"},
    )  # fmt: skip
    request = registered.commit(cluster, catalog, author=dave, approver=carol)
    assert request.state == Request.State.APPLIED
    with registered.observing(cluster):
        yield cluster
    for n in range(4):
        control_plane.api.request("DELETE", f"/api/v1/nodes/{name}-{n}")


def submit(plane, name, job, **more):
    plane.submit(
        JobSpec(name=job, namespace=name, queue=f"{name}-gpu", **({"seconds": 600} | more))
    )


def states(cluster, name):
    """Return what is said of the jobs of this test; the cluster has those of others too."""
    rows = Workload.objects.filter(cluster=cluster, namespace=name)
    return {row.job_name: (row.state, row.preempted, row.position) for row in rows}


def wait_to_see(cluster, name, expected):
    """Wait for this very picture; on failure say every other one that was there instead."""
    seen = []

    def there():
        now = states(cluster, name)
        if not seen or seen[-1] != now:
            seen.append(now)
        return now == expected

    try:
        wait_for(there)
    except AssertionError as error:
        raise AssertionError("\n".join(map(str, seen))) from error


def test_shows_two_newest_as_preempted_and_lets_them_run_again(control_plane, story, name):
    normal = [f"normal-{n}" for n in range(4)]
    for job in normal:
        submit(control_plane, name, job, priority=f"{name}-normal")
        wait_for(lambda job=job: states(story, name).get(job, ("",))[0] == "running")
        time.sleep(2.1)  # Kueue orders victims by reservation times in whole seconds
    submit(control_plane, name, "urgent", pods=2, seconds=60, priority=f"{name}-urgent")
    expected = {
        "normal-0": ("running", False, None),
        "normal-1": ("running", False, None),
        "normal-2": ("waiting", True, 1),
        "normal-3": ("waiting", True, 2),
        "urgent": ("running", False, None),
    }
    wait_to_see(story, name, expected)
    row = Workload.objects.get(cluster=story, namespace=name, job_name="normal-3")
    # The text of the eviction stands for a moment; the next cycle's text is about quota. That it
    # was preempted, and by a job of its own queue, stays.
    assert row.params["preempted_because"] == "priority"
    wait_for(lambda: states(story, name).get("urgent", ("",))[0] == "finished")
    wait_for(lambda: all(states(story, name)[job][0] == "running" for job in normal))


def test_says_that_the_queue_is_as_the_catalog_wants_it(story, name):
    rows = ObservedObject.objects.filter(cluster=story, kind="ClusterQueue", name=f"{name}-train")
    assert wait_for(lambda: rows.filter(in_sync=True).exists())
