"""The ledger against the real Kueue: every interval is what the conditions said, to the second."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from django.utils import timezone

from kube.checkpoints import CHECKPOINT_EVERY
from queues.models import Eviction, Gap, Interval, Lifetime, Workload
from queues.selectors.history import job_history
from queues.selectors.intervals import held_seconds
from queues.services import gaps
from tenants.models import Tenant
from tests.real import registered
from tests.real.situations import KUEUE, priority_class, stage
from tests.stack import wait_for

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.real]
GPUS = 2


@pytest.fixture
def scene(control_plane, admin, name):
    with stage(control_plane, name) as made:
        yield made


@pytest.fixture
def cluster(admin, place, settings, scene):
    registered.seal_with_fresh_keys(settings)
    return registered.register(admin, place, registered.person("dave", "admin"))


def since(workload, name, status):
    """Return when a condition flipped, once it has this status; a time of the witness."""
    for each in workload.get("status", {}).get("conditions", []):
        if (each["type"], each["status"]) == (name, status):
            return datetime.fromisoformat(each["lastTransitionTime"])
    return None


def when(scene, job, name, status, after=None):
    """Wait for a flip that is later than another, and return its time."""

    def flipped():
        found = since(scene.workload(job), name, status)
        return found if after is None or (found and found > after) else None

    return wait_for(flipped)


def life_of(scene, job):
    """Return the lifetime of a job of this test; the cluster has those of others too."""
    return Lifetime.objects.filter(namespace=scene.name, job_name=job).first()


def ended(scene, job, how="finished_at"):
    life = life_of(scene, job)
    return getattr(life, how) if life else None


def holds(scene, job):
    life = life_of(scene, job)
    return life.devices if life else 0


def spans(scene, job):
    rows = Interval.objects.filter(lifetime=life_of(scene, job)).order_by("starts")
    return [(x.phase, x.starts, x.ends, x.devices) for x in rows]


def lasted(*points):
    """Turn (phase, start, devices) into the intervals between them, without empty ones."""
    found = []
    for (phase, start, devices), (_, end, _) in pairwise(points):
        if phase and start != end:
            found.append((phase, start, end, devices))
    return found


def delete(scene, job):
    scene.plane.api.request(
        "DELETE", f"/apis/batch/v1/namespaces/{scene.name}/jobs/{job}?propagationPolicy=Background"
    )


def test_a_preempted_job_has_every_interval_to_the_second(scene, cluster):
    entry = scene.queue("ledger", preemption={"withinClusterQueue": "LowerPriority"})
    low, high = priority_class(scene, "low", 10), priority_class(scene, "high", 1000)
    more = {"priority": low, "seconds": 9, "annotations": {CHECKPOINT_EVERY: "2s"}}
    with registered.observing(cluster):
        scene.job("victim", entry, GPUS, **more)
        reserved = when(scene, "victim", "QuotaReserved", "True")
        admitted = when(scene, "victim", "Admitted", "True")
        wait_for(lambda: datetime.now(UTC) > admitted + timedelta(seconds=4))
        scene.job("boss", entry, GPUS, priority=high, seconds=4)
        evicted = when(scene, "victim", "Evicted", "True")
        freed = when(scene, "victim", "QuotaReserved", "False", after=reserved)
        again = when(scene, "victim", "QuotaReserved", "True", after=freed)
        started = when(scene, "victim", "Admitted", "True", after=freed)
        finished = when(scene, "victim", "Finished", "True")
        witness = scene.workload("victim")
        wait_for(lambda: ended(scene, "victim"))
        wait_for(lambda: ended(scene, "boss"))
    created = datetime.fromisoformat(witness["metadata"]["creationTimestamp"])
    assert spans(scene, "victim") == lasted(
        ("queued", created, 0), ("reserved", reserved, GPUS), ("admitted", admitted, GPUS),
        ("draining", evicted, GPUS), ("evicted", freed, 0), ("reserved", again, GPUS),
        ("admitted", started, GPUS), ("", finished, 0),
    )  # fmt: skip
    rows = Interval.objects.filter(lifetime=life_of(scene, "victim"))
    assert {(x.starts_quality, x.ends_quality) for x in rows} == {("exact", "exact")}
    past = witness["status"]["accumulatedPastExecutionTimeSeconds"]
    assert past == (freed - admitted).total_seconds()

    boss = scene.workload("boss")
    held = (freed - reserved) + (finished - again)
    held += since(boss, "Finished", "True") - since(boss, "QuotaReserved", "True")
    total = held_seconds(cluster.pk, created, timezone.now())
    mine = {each: number for each, number in total.items() if each.queue == f"{scene.name}-ledger"}
    devices = [number for each, number in mine.items() if each.resource == "nvidia.com/gpu"]
    assert sum(devices) == GPUS * held.total_seconds()
    assert {each.flavor for each in mine} == {f"{scene.name}-plain"}

    loss = Eviction.objects.get(lifetime=life_of(scene, "victim"))
    assert (loss.cause, loss.at, loss.quality) == ("preempted_in_queue", evicted, "exact")
    assert (loss.preemptor_uid, loss.devices) == (boss["metadata"]["uid"], GPUS)
    assert loss.lost_seconds == GPUS * ((evicted - admitted).total_seconds() % 2)
    row = Workload.objects.get(cluster=cluster, namespace=scene.name, job_name="victim")
    history = job_history(row, Tenant.objects.none())
    assert (history.requeues, history.losses[0].by, history.losses[0].by_other) == (1, "", True)
    assert scene.name not in repr(history.chain)


def test_a_job_that_gives_pods_back_and_is_deleted_holds_less_and_then_nothing(scene, cluster):
    entry = scene.queue("parts", gpus=4)
    with registered.observing(cluster):
        scene.job("parts", entry, GPUS, pods=2)
        reserved = when(scene, "parts", "QuotaReserved", "True")
        pods = f"/api/v1/namespaces/{scene.name}/pods"

        def running():
            items = scene.plane.api.get(pods)["items"]
            found = [pod for pod in items if pod["status"].get("phase") == "Running"]
            return found if len(found) == 2 else None

        first = wait_for(running)[0]["metadata"]["name"]
        wait_for(lambda: timezone.now() > reserved + timedelta(seconds=3))
        before = timezone.now()
        scene.patch(f"{pods}/{first}/status", {"status": {"phase": "Succeeded"}})
        wait_for(lambda: holds(scene, "parts") == GPUS)
        less = timezone.now()
        wait_for(lambda: timezone.now() > less + timedelta(seconds=3))
        asked = timezone.now()
        delete(scene, "parts")
        wait_for(lambda: ended(scene, "parts", "gone_at"))
        gone = timezone.now()
    one = timedelta(seconds=1)
    full, part = spans(scene, "parts")[-2:]
    assert (full[0], full[1], full[3]) == ("admitted", reserved, 4)
    held = Interval.objects.get(lifetime=life_of(scene, "parts"), starts=reserved, devices=4)
    # On a busy machine a look comes late, and says so.
    assert before - one <= (held.ends_latest or held.ends)
    assert (held.ends_earliest or held.ends) <= less
    assert (part[0], part[1], part[3]) == ("admitted", full[2], 2)
    assert asked - one <= part[2] <= gone
    end = Interval.objects.filter(lifetime=life_of(scene, "parts")).latest("ends")
    assert (end.ended_by, end.ends_quality) == ("deleted", "seen")
    assert end.ends_latest - end.ends_earliest <= timedelta(seconds=2)


def test_what_ends_while_nobody_looks_is_bounded_and_the_gap_is_on_record(
    scene, cluster, monkeypatch
):
    monkeypatch.setattr(gaps, "SILENT", timedelta(seconds=1))
    entry = scene.queue("dark", gpus=4)
    with registered.observing(cluster):
        scene.job("ends", entry, GPUS)
        scene.job("stays", entry, GPUS)
        for job in ("ends", "stays"):
            scene.admitted(job)
            wait_for(lambda job=job: holds(scene, job))
    workload = scene.workload("ends")["metadata"]["name"]
    stopped = timezone.now()
    wait_for(lambda: timezone.now() > stopped + timedelta(seconds=3))
    delete(scene, "ends")

    def is_gone():
        items = scene.plane.api.get(f"{KUEUE}/namespaces/{scene.name}/workloads")["items"]
        return workload not in {each["metadata"]["name"] for each in items}

    wait_for(is_gone)
    over = timezone.now()
    wait_for(lambda: timezone.now() > over + timedelta(seconds=3))
    before = list(Lifetime.objects.filter(namespace=scene.name, job_name="stays").values())
    with registered.observing(cluster):
        wait_for(lambda: ended(scene, "ends", "gone_at"))
        wait_for(lambda: Gap.objects.filter(cluster=cluster, kind="Workload").exists())
    end = Interval.objects.filter(lifetime=life_of(scene, "ends")).latest("ends")
    assert (end.ended_by, end.ends_quality) == ("vanished", "bounded")
    assert end.ends_earliest <= over <= end.ends_latest + timedelta(seconds=1)
    gap = Gap.objects.get(cluster=cluster, kind="Workload")
    assert gap.healed == "listed"
    assert gap.starts <= over <= gap.ends
    assert list(Lifetime.objects.filter(namespace=scene.name, job_name="stays").values()) == before
