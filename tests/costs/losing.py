"""Runs and evictions of the past as the observer would have written them, for tests of lost work."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from costs.models import Harvest, UsedHour
from queues.models import Eviction, Interval, Lifetime, PodInterval, QuotaChange

BEGIN = datetime(2026, 11, 1, tzinfo=UTC)
GPU = "nvidia.com/gpu"


def clock(text: str, day: int = 30) -> datetime:
    """Return a time of November 2026: "23:10" or "23:10:30"."""
    hour, minute, *second = map(int, text.split(":"))
    return datetime(2026, 11, day, hour, minute, *second, tzinfo=UTC)


def promise(cluster: Any, queue: str, nominal: int, cohort: str = "research", since=BEGIN) -> None:
    """Say what a queue had from a time on."""
    line = {
        "flavor": "a100", "resource": GPU, "nominal": nominal, "borrowing_limit": None,
        "lending_limit": None,
    }  # fmt: skip
    QuotaChange.objects.create(
        cluster=cluster, name=queue, kind="ClusterQueue", parent=cohort, lines=[line], since=since,
        quality="exact", observed_at=since, digest=1,
    )  # fmt: skip


def run(
    cluster: Any, name: str, queue: str, devices: int, starts: datetime, ends: datetime | None,
    namespace: str = "nlp", **more: Any,
) -> Lifetime:  # fmt: skip
    """Write a Workload that was admitted for a time; without an end it still is."""
    held = [{"flavor": "a100", "resource": GPU, "amount": devices}]
    known = {
        "created_at": starts, "first_seen_at": starts, "noted_at": starts, "resource_version": "1",
        "job_name": name, "name": f"job-{name}", "namespace": namespace, "attempt": 1,
    }  # fmt: skip
    lasts = {"phase": "admitted", "starts": starts, "queue": queue, "held": held}
    life = Lifetime.objects.create(
        cluster=cluster, uid=f"uid-{name}", **known, **({} if ends else lasts), **more
    )
    if ends:
        phase(life, queue, devices, starts, ends)
    return life


def phase(
    life: Lifetime, queue: str, devices: int, starts: datetime, ends: datetime, kind="admitted", attempt=1, flavor="a100",
) -> Interval:  # fmt: skip
    """Write a phase that is over."""
    return Interval.objects.create(
        cluster=life.cluster, lifetime=life, phase=kind, attempt=attempt, starts=starts,
        starts_quality="exact", ends=ends, ends_quality="exact", ended_by="evicted", queue=queue,
        priority=0, devices=devices, held=[{"flavor": flavor, "resource": GPU, "amount": devices}],
    )  # fmt: skip


def evict(
    life: Lifetime, queue: str, at: datetime, cause: str, minutes: int, by: str = "", path: str = "",
) -> Eviction:  # fmt: skip
    """Write that a Workload has lost its place, with so many minutes since its checkpoint."""
    devices = life.intervals.get(ends=at).devices
    saved = at - timedelta(minutes=minutes)
    return Eviction.objects.create(
        cluster=life.cluster, lifetime=life, number=1, attempt=1, at=at, quality="exact",
        cause=cause, queue=queue, priority=0, devices=devices, running_since=saved,
        preemptor_uid=by, preemptor_path=path, lost_seconds=devices * minutes * 60,
    )  # fmt: skip


def pod(
    life: Lifetime, name: str, devices: int, starts: datetime, ends: datetime, **more: Any
) -> None:
    """Write the time of a pod of a Workload."""
    PodInterval.objects.create(
        cluster=life.cluster, uid=f"uid-{life.namespace}-{name}-{starts:%H%M}", namespace=life.namespace, name=name,
        node="n0", resource=GPU, amount=devices, workload=life.name, kind="running", starts=starts,
        ends=ends, starts_quality="exact", ends_quality="exact", ended_by="deleted",
        **{"workload_uid": life.uid, **more},
    )  # fmt: skip


def asked(cluster: Any, *hours: datetime) -> None:
    """Write that these hours were asked of the metrics."""
    for hour in hours:
        Harvest.objects.create(cluster=cluster, hour=hour, at=hour)


def used(
    cluster: Any, hour: datetime, name: str, active: int, seen: int, namespace: str = "nlp"
) -> None:
    """Write that a pod was so many seconds of devices active, of those that were seen."""
    UsedHour.objects.create(
        cluster=cluster, hour=hour, namespace=namespace, pod=name, used=active * 1000, seen=seen,
        expected=seen,
    )  # fmt: skip
