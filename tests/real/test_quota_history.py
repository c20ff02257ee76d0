"""The history of quotas against the real Kueue: since when, how much, and nothing twice."""

from datetime import UTC, datetime, timedelta

import pytest

from queues.models import NodeChange, QuotaChange
from tests.real import registered
from tests.real.situations import KUEUE, stage
from tests.stack import wait_for

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.real]
SECOND = timedelta(seconds=1)


@pytest.fixture
def scene(control_plane, admin, name):
    with stage(control_plane, name) as made:
        yield made


@pytest.fixture
def cluster(admin, place, settings, scene):
    registered.seal_with_fresh_keys(settings)
    return registered.register(admin, place, registered.person("dave", "admin"))


def changes(cluster, queue):
    return list(QuotaChange.objects.filter(cluster=cluster, name=queue).order_by("pk"))


def devices(row):
    return [each["nominal"] for each in row.lines if each["resource"] == "nvidia.com/gpu"]


def test_a_quota_is_noted_when_it_changes_and_when_it_goes(scene, cluster):
    scene.queue("ledger", 2)
    queue = f"{scene.name}-ledger"
    path = f"{KUEUE}/clusterqueues/{queue}"
    body = scene.plane.api.request("GET", path)
    made = datetime.fromisoformat(body["metadata"]["creationTimestamp"])

    with registered.observing(cluster):
        wait_for(lambda: changes(cluster, queue))
        before = datetime.now(UTC)
        groups = body["spec"]["resourceGroups"]
        for each in groups[0]["flavors"][0]["resources"]:
            each["nominalQuota"] = "5" if each["name"] == "nvidia.com/gpu" else each["nominalQuota"]
        scene.patch(path, {"spec": {"resourceGroups": groups}})
        after = datetime.now(UTC)
        wait_for(lambda: len(changes(cluster, queue)) == 2)
    with registered.observing(cluster):
        wait_for(lambda: NodeChange.objects.filter(cluster=cluster).exists())
        scene.plane.api.request("DELETE", path)
        wait_for(lambda: len(changes(cluster, queue)) == 3)

    first, second, third = changes(cluster, queue)
    # The generation of a queue that nobody has changed is 1: it has stood since it was made.
    assert (first.quality, first.since, devices(first)) == ("exact", made, [2])
    assert devices(second) == [5]
    assert second.earliest <= after + SECOND
    assert before - SECOND <= second.latest
    assert (third.removed, third.lines) == (True, [])
