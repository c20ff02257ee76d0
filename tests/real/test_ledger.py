"""The cost ledger against the real Kueue: GPU-seconds that were counted by hand, to the second.

Times come from a witness of the API server: what its conditions say is exact, what no condition
says lies within the bounds that are on record.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from cluster.api import ApiError
from costs.ledger import ledger
from costs.services import hourly
from costs.times import HOUR, Span, hour_of, instant
from queues.models import Gap, Interval, PodInterval, PodRun, Stream
from tests.real import registered
from tests.real.situations import KUEUE, priority_class, stage
from tests.real.test_intervals import delete, ended, holds, life_of, since, when
from tests.stack import stack, wait_for

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.real]
GPUS = 2
LIVE = 2  # seconds: how far off a time is that no condition tells, on a live line


@pytest.fixture
def scene(control_plane, admin, name):
    with stage(control_plane, name) as made:
        yield made


@pytest.fixture
def cluster(admin, place, settings, scene):
    registered.seal_with_fresh_keys(settings)
    return registered.register(admin, place, registered.person("dave", "admin"))


@dataclass
class Sums:
    """GPU-seconds counted by hand: those between two conditions, and those within bounds."""

    exact: int = 0
    least: int = 0
    most: int = 0
    parts: list[str] = field(default_factory=list)

    def between(self, starts, ends, gpus=GPUS):
        self.exact += gpus * int((ends - starts).total_seconds())

    def within(self, starts, lo, hi, gpus=GPUS):
        """From a condition to something that happened after ``lo`` and before ``hi``."""
        self.least += gpus * max(0, int((lo - starts).total_seconds()))
        self.most += gpus * int((hi - starts).total_seconds() + 1)


def facts(cluster, first, last):
    """Return the facts of the hours that the test has taken, not stored, of no tenant."""
    span = Span(hour_of(instant(first)), hour_of(instant(last)) + HOUR)
    known = hourly.records(cluster.pk, span, timezone.now())
    return [fact for hour in ledger(known, span) for fact in hour.facts]


def of_flavor(scene, found, name):
    mine = [each for each in found if each.pool == (f"{scene.name}-plain", "nvidia.com/gpu")]
    return sum(getattr(each, name) for each in mine)


def over(cluster, scene):
    """Wait until nothing holds and nothing runs; return when that was."""
    wait_for(lambda: not PodRun.objects.filter(cluster=cluster, namespace=scene.name).exists())
    return timezone.now()


def wait(seconds, start=None):
    until = (start or datetime.now(UTC)) + timedelta(seconds=seconds)
    wait_for(lambda: datetime.now(UTC) > until)


def test_held_and_admitted_time_is_what_was_counted_by_hand(scene, cluster):
    """Preempted and admitted again, partly given back, deleted while it ran, finished and deleted."""
    first = timezone.now()
    entry = scene.queue("ledger", preemption={"withinClusterQueue": "LowerPriority"})
    wide = scene.queue("wide", gpus=8)
    low, high = priority_class(scene, "low", 10), priority_class(scene, "high", 1000)
    held, admitted = Sums(), Sums()

    with registered.observing(cluster):
        # Preempted, and admitted again.
        scene.job("victim", entry, GPUS, priority=low, seconds=8)
        begun = when(scene, "victim", "QuotaReserved", "True")
        wait(3, begun)
        scene.job("boss", entry, GPUS, priority=high, seconds=3)
        freed = when(scene, "victim", "QuotaReserved", "False", after=begun)
        again = when(scene, "victim", "QuotaReserved", "True", after=freed)
        done = when(scene, "victim", "Finished", "True")
        boss = scene.workload("boss")
        for sums in (held, admitted):
            sums.between(begun, freed)
            sums.between(again, done)
        reserved, ended_at = since(boss, "QuotaReserved", "True"), since(boss, "Finished", "True")
        held.between(reserved, ended_at)
        admitted.between(since(boss, "Admitted", "True"), ended_at)

        # One of two pods is done early and gives its part back.
        scene.job("parts", wide, GPUS, pods=2)
        begun = when(scene, "parts", "QuotaReserved", "True")
        pods = f"/api/v1/namespaces/{scene.name}/pods"
        running = [p["metadata"]["name"] for p in two_run(scene, pods, "parts")]
        lo = datetime.now(UTC)
        scene.patch(f"{pods}/{running[0]}/status", {"status": {"phase": "Succeeded"}})
        wait_for(lambda: holds(scene, "parts") == GPUS)
        hi = datetime.now(UTC)
        for sums in (held, admitted):
            sums.within(begun, lo, hi)
        # And is deleted while the other one runs.
        wait(2)
        lo = datetime.now(UTC)
        delete(scene, "parts")
        wait_for(lambda: ended(scene, "parts", "gone_at"))
        hi = datetime.now(UTC)
        for sums in (held, admitted):
            sums.within(begun, lo, hi)

        # Finished, and deleted at once.
        scene.job("short", wide, GPUS, seconds=2)
        begun = when(scene, "short", "QuotaReserved", "True")
        done = when(scene, "short", "Finished", "True")
        delete(scene, "short")
        wait_for(lambda: ended(scene, "short", "gone_at"))
        for sums in (held, admitted):
            sums.between(begun, done)
        last = over(cluster, scene)

    found = facts(cluster, first, last)
    for name, sums in (("held", held), ("admitted", admitted)):
        total = of_flavor(scene, found, name)
        slack = 2 * GPUS * LIVE
        assert sums.exact + sums.least - slack <= total <= sums.exact + sums.most + slack
    mine = Interval.objects.filter(cluster=cluster, lifetime__namespace=scene.name, devices__gt=0)
    rows = mine.filter(lifetime__job_name__in=["victim", "boss", "short"])
    # Where a line was lost in between, a condition that nobody saw is within its bounds.
    least, most = (sum(of(each) for each in rows) for of in (at_least, at_most))
    assert least <= held.exact <= most
    assert least == most or Gap.objects.filter(cluster=cluster, kind="Workload").exists()
    bounded = mine.filter(lifetime__job_name="parts")
    for row in bounded.exclude(ends_quality="exact"):
        assert row.ends_latest - row.ends_earliest <= timedelta(seconds=LIVE)
    # What ran was admitted before and after it: Kueue counts no pod that does not run.
    ran = of_flavor(scene, found, "running")
    assert 0 < ran <= of_flavor(scene, found, "admitted") + slack
    assert of_flavor(scene, found, "unmanaged") == 0


def at_least(row):
    starts, ends = row.starts_latest or row.starts, row.ends_earliest or row.ends
    return row.devices * max(0, int((ends - starts).total_seconds()))


def at_most(row):
    starts, ends = row.starts_earliest or row.starts, row.ends_latest or row.ends
    return row.devices * int((ends - starts).total_seconds())


def two_run(scene, pods, job):
    def running():
        found = [
            pod for pod in scene.plane.api.get(pods)["items"]
            if pod["status"].get("phase") == "Running"
            and any(owner["name"] == job for owner in pod["metadata"].get("ownerReferences", ()))
        ]  # fmt: skip
        return found if len(found) == 2 else None

    return wait_for(running)


def test_pods_run_out_after_their_quota_and_beside_it(scene, cluster):
    """Kueue gives the quota on as soon as the pods of a job are asked to end."""
    first = timezone.now()
    entry = scene.queue("grace", preemption={"withinClusterQueue": "LowerPriority"})
    low, high = priority_class(scene, "low", 10), priority_class(scene, "high", 1000)
    pods = f"/api/v1/namespaces/{scene.name}/pods"

    def slow_end(body):
        note = body["spec"]["template"]["metadata"]["annotations"]
        for what in ("delay", "jitter-delay"):
            note[f"pod-delete.stage.kwok.x-k8s.io/{what}"] = "6s"

    with registered.observing(cluster):
        scene.job("victim", entry, GPUS, priority=low, grace_seconds=20, change=slow_end)
        begun = when(scene, "victim", "QuotaReserved", "True")
        wait_for(lambda: runs(scene, pods, "victim"))
        wait_for(lambda: PodRun.objects.filter(cluster=cluster, namespace=scene.name).exists())
        scene.job("boss", entry, GPUS, priority=high, seconds=10)
        freed = when(scene, "victim", "QuotaReserved", "False", after=begun)
        ended_slowly = PodInterval.objects.filter(cluster=cluster, namespace=scene.name)
        wait_for(lambda: ended_slowly.filter(kind="terminating").exists())
        delete(scene, "victim")
        when(scene, "boss", "Finished", "True")

        # A pod that no Workload stands for.
        wild = {
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "wild"},
            "spec": {
                "terminationGracePeriodSeconds": 0,
                "nodeSelector": {"gpuportal.io/flavor": scene.name},
                "tolerations": [{"operator": "Exists"}],
                "containers": [{"name": "c", "image": "x",
                                "resources": {"limits": {"nvidia.com/gpu": "1"}}}],
            },
        }  # fmt: skip
        scene.plane.api.request("POST", pods, wild)
        wait_for(lambda: PodRun.objects.filter(cluster=cluster, name="wild").exists())
        wait(3)
        asked = datetime.now(UTC)
        scene.plane.api.request("DELETE", f"{pods}/wild")
        last = over(cluster, scene)

    found = facts(cluster, first, last)
    row = PodInterval.objects.filter(cluster=cluster, kind="terminating", namespace=scene.name)
    late = row.exclude(name="wild").earliest("starts")
    assert (late.starts_quality, late.workload_uid != "") == ("exact", True)
    assert (late.ends - late.starts).total_seconds() >= 5
    terminating = of_flavor(scene, found, "terminating")
    assert terminating >= GPUS * int((late.ends - max(late.starts, freed)).total_seconds())
    wild = PodInterval.objects.get(cluster=cluster, name="wild", kind="running")
    assert wild.starts_quality == "exact"
    assert asked - wild.ends <= timedelta(seconds=LIVE)
    assert of_flavor(scene, found, "unmanaged") == sum(
        int((each.ends - each.starts).total_seconds())
        for each in PodInterval.objects.filter(cluster=cluster, name="wild")
    )


def runs(scene, pods, job):
    return any(
        pod["status"].get("phase") == "Running"
        and any(
            owner["name"].startswith(job) for owner in pod["metadata"].get("ownerReferences", ())
        )
        for pod in scene.plane.api.get(pods)["items"]
    )


def test_an_observer_that_is_killed_leaves_a_gap_and_bounds_that_hold_the_truth(
    scene, cluster, settings, tmp_path
):
    entry = scene.queue("dark", gpus=8)
    keys = {
        "GPUPORTAL_SEALING_PUBLIC_KEY": settings.SEALING_PUBLIC_KEY,
        "GPUPORTAL_SEALING_PRIVATE_KEY": settings.SEALING_PRIVATE_KEY,
    }
    first = timezone.now()
    with stack(tmp_path, **keys) as processes:
        processes.observer(cluster.slug)
        # A job that ends soon must not end before anybody looks.
        lines = Stream.objects.filter(cluster=cluster, alive_at__isnull=False)
        wait_for(lambda: lines.filter(kind="Workload").exists())
        for job in ("deleted", "stays"):
            scene.job(job, entry, GPUS)
        scene.job("finishes", entry, GPUS, seconds=12)
        for job in ("deleted", "stays", "finishes"):
            wait_for(lambda job=job: holds(scene, job))
        wait_for(lambda: PodRun.objects.filter(cluster=cluster, namespace=scene.name).count() == 3)
        begun = {job: life_of(scene, job).starts for job in ("deleted", "stays")}
        processes.kill("observer")
        killed = timezone.now()
        delete(scene, "deleted")
        gone_lo = datetime.now(UTC)
        wait_for(lambda: not workload_of(scene, "deleted"))
        gone_hi = datetime.now(UTC)
        scene.job("unseen", entry, 1, seconds=2)
        when(scene, "unseen", "Finished", "True")
        delete(scene, "unseen")
        wait_for(lambda: not workload_of(scene, "unseen"))
        finished = when(scene, "finishes", "Finished", "True")
        wait(16, killed)  # a shorter silence is no gap
        processes.observer(cluster.slug, name="again")
        wait_for(lambda: ended(scene, "deleted", "gone_at"))
        wait_for(lambda: ended(scene, "finishes"))
        wait_for(lambda: Gap.objects.filter(cluster=cluster, kind="Pod").exists())
        back = timezone.now()
        delete(scene, "stays")
        wait_for(lambda: ended(scene, "stays", "gone_at"))
        last = over(cluster, scene)

    for kind in ("Workload", "Pod"):
        gap = Gap.objects.get(cluster=cluster, kind=kind)
        assert gap.healed == "listed"
        assert gap.starts <= gone_lo <= gone_hi <= gap.ends <= back
    end = Interval.objects.filter(lifetime=life_of(scene, "deleted")).latest("ends")
    assert (end.ended_by, end.ends_quality) == ("vanished", "bounded")
    assert end.ends_earliest <= gone_hi
    assert end.ends_latest + timedelta(seconds=1) >= gone_lo
    # What ended by a condition has its exact end, though nobody listened.
    row = Interval.objects.filter(lifetime=life_of(scene, "finishes")).latest("ends")
    assert (row.ends, row.ends_quality) == (finished, "exact")

    found = facts(cluster, first, last)
    mine = [each for each in found if each.held and each.pool.flavor == f"{scene.name}-plain"]
    truth_lo = GPUS * int((gone_lo - begun["deleted"]).total_seconds())
    truth_hi = GPUS * int((gone_hi - begun["deleted"]).total_seconds() + 1)
    others = sum(
        x.devices * int((x.ends - x.starts).total_seconds())
        for x in Interval.objects.filter(
            cluster=cluster, lifetime__namespace=scene.name, devices__gt=0
        )
        .exclude(lifetime__job_name="deleted")
    )  # fmt: skip
    least, most = (
        sum(getattr(each, name) for each in mine) for name in ("held_least", "held_most")
    )
    assert least - 2 * LIVE * GPUS <= truth_lo + others
    assert truth_hi + others <= most + 2 * LIVE * GPUS
    assert most > least
    dark = int((gap.ends - gap.starts).total_seconds())
    assert sum(HOUR - each.coverage for each in mine) >= dark - 1
    assert {each.quality for each in mine} == {"partial"}
    assert Stream.objects.get(cluster=cluster, kind="Pod").history_since < killed
    pod = PodInterval.objects.get(cluster=cluster, ended_by="vanished", name__startswith="deleted")
    assert (pod.ends_quality, pod.kind) == ("bounded", "running")
    assert pod.ends_earliest <= gone_hi
    assert pod.ends_latest + timedelta(seconds=1) >= gone_lo


def workload_of(scene, job):
    try:
        items = scene.plane.api.get(f"{KUEUE}/namespaces/{scene.name}/workloads")["items"]
    except ApiError:
        return [job]
    return [
        x for x in items if any(o["name"] == job for o in x["metadata"].get("ownerReferences", ()))
    ]
