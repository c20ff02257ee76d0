"""Writes the made-up past of the demo down where the observer writes what it has seen.

Each row says that it was noted at its own time, so that nothing of it looks like late news.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, Final

from django.db import transaction

from costs.models import GeneratedTime
from kube.evictions import Cause
from portal.demo import past_pods
from portal.demo.past import AT_FIRST, DRAIN, NLP, PROMISED, Job, Phase, Times, phases
from portal.demo.past_bill import MACHINES
from portal.demo.past_places import A_NODE, NODES
from queues.models import (
    Eviction,
    Gap,
    Interval,
    Lifetime,
    NodeChange,
    PodInterval,
    QuotaChange,
    Stream,
)
from queues.models.intervals import Quality
from tenants.models import Cluster

GPU: Final = "nvidia.com/gpu"
FLAVOR: Final = "a100"
COHORT: Final = "research"
KINDS: Final = ("Workload", "ClusterQueue", "Cohort", "Node", "Pod")
MOMENT: Final = timedelta(minutes=1)
_BATCH: Final = 1000


@transaction.atomic
def write(*, cluster: Cluster, story: Times, found: list[Job], observed: datetime) -> GeneratedTime:
    """Write all of it, with the mark that it was made up; ``observed``: when the real time begins.

    Nobody listened between the end of the story and that moment.
    """
    _quotas(cluster, story)
    _nodes(cluster, story)
    gaps = [*story.gaps, (story.until, observed)]
    Gap.objects.bulk_create(
        Gap(cluster=cluster, kind=kind, starts=starts, ends=ends, cause="lost", healed="listed")
        for starts, ends in gaps
        if ends > starts
        for kind in KINDS
    )
    lives = Lifetime.objects.bulk_create(
        [_lifetime(cluster, job) for job in found], batch_size=_BATCH
    )
    both = list(zip(found, lives, strict=True))
    Interval.objects.bulk_create(
        (_interval(life, job, phase, story) for job, life in both for phase in phases(job)),
        batch_size=_BATCH,
    )
    Eviction.objects.bulk_create(
        (row for job, life in both for row in _evictions(life, job)), batch_size=_BATCH
    )
    PodInterval.objects.bulk_create(
        (row for job, life in both for row in _pods(life, job)), batch_size=_BATCH
    )
    # The observer has listened to pods since it began; what was before is told here.
    lines = Stream.objects.filter(cluster=cluster, kind="Pod", history_since__isnull=False)
    lines.update(history_since=story.starts - MOMENT)
    hours = int((story.until - story.starts).total_seconds()) // 3600
    return GeneratedTime.objects.create(
        cluster=cluster, starts=story.starts, until=story.until, hours=hours
    )


def _held(gpus: int) -> list[dict[str, Any]]:
    return [{"flavor": FLAVOR, "resource": GPU, "amount": gpus}]


def _noted(cluster: Cluster, since: datetime, number: int) -> dict[str, Any]:
    return {
        "cluster": cluster, "since": since, "quality": Quality.EXACT, "observed_at": since,
        "digest": number,
    }  # fmt: skip


def _quotas(cluster: Cluster, story: Times) -> None:
    """Note what both queues and their department have had; the first look was before all hours."""
    first = story.starts - MOMENT
    rows = [
        QuotaChange(
            kind="ClusterQueue", name=f"{team}-train", parent=COHORT, lines=_lines(gpus),
            **_noted(cluster, first, 1),
        )
        for team, gpus in AT_FIRST.items()
    ]  # fmt: skip
    rows.append(QuotaChange(kind="Cohort", name=COHORT, **_noted(cluster, first, 1)))
    rows.append(
        QuotaChange(
            kind="ClusterQueue", name=f"{NLP}-train", parent=COHORT, lines=_lines(PROMISED[NLP]),
            **_noted(cluster, story.more_quota, 2),
        )
    )  # fmt: skip
    QuotaChange.objects.bulk_create(rows)


def _lines(gpus: int) -> list[dict[str, Any]]:
    return [
        {"flavor": FLAVOR, "resource": GPU, "nominal": gpus, "borrowing_limit": None,
         "lending_limit": None}
    ]  # fmt: skip


def _nodes(cluster: Cluster, story: Times) -> None:
    """Note four nodes; one has been down for a night, one cordoned for an afternoon."""
    machine_of = dict(zip(NODES, MACHINES, strict=True))
    changes = [(name, story.starts - MOMENT, "ready") for name in NODES]
    changes += [("gpu-3", story.down[0], "down"), ("gpu-3", story.down[1], "ready")]
    changes += [("gpu-2", story.cordoned[0], "cordoned"), ("gpu-2", story.cordoned[1], "ready")]
    NodeChange.objects.bulk_create(
        NodeChange(
            name=name, state=state, devices=_held(A_NODE), machines=[machine_of[name]],
            **_noted(cluster, since, n + 1),
        )
        for n, (name, since, state) in enumerate(changes)
    )  # fmt: skip


def _lifetime(cluster: Cluster, job: Job) -> Lifetime:
    over = job.ends or job.arrives
    team = job.kind.team
    return Lifetime(
        cluster=cluster, uid=f"made-{job.number}", namespace=team, name=f"job-{job.name}-made",
        job_kind="Job", job_name=job.name, job_uid=f"made-job-{job.number}", entry=f"{team}-gpu",
        priority_class="normal-batch", priority=1000, created_at=job.arrives,
        first_seen_at=job.arrives, noted_at=over, resource_version="1", phase="",
        attempt=len(job.evicted) + 1, queue=f"{team}-train", cohort=COHORT,
        evictions=len(job.evicted), counted=len(job.evicted), finished_at=over, outcome="Succeeded",
        gone_at=over + timedelta(hours=1),
    )  # fmt: skip


def _interval(life: Lifetime, job: Job, phase: Phase, story: Times) -> Interval:
    holds = phase.phase in ("admitted", "draining")
    gpus = job.kind.gpus if holds else 0
    return Interval(
        cluster=life.cluster, lifetime=life, phase=phase.phase, attempt=phase.attempt,
        ended_by=phase.ended_by, queue=life.queue, cohort=COHORT, priority_class="normal-batch",
        priority=1000, devices=gpus, held=_held(gpus) if holds else [], noted_at=phase.ends,
        **_bound("starts", phase.starts, story), **_bound("ends", phase.ends, story),
    )  # fmt: skip


def _pods(life: Lifetime, job: Job) -> Iterator[PodInterval]:
    """Yield when the pods of each attempt had their devices."""
    for each in past_pods.pods(job):
        yield PodInterval(
            cluster=life.cluster, uid=f"{life.uid}-{each.name}", namespace=life.namespace,
            name=each.name, node=each.part.node, resource=GPU, amount=len(each.part.devices),
            workload=life.name, workload_uid=life.uid, kind=each.kind, starts=each.starts,
            starts_quality=Quality.EXACT, ends=each.ends, ends_quality=Quality.EXACT,
            ended_by="gone", noted_at=each.ends,
        )  # fmt: skip


def _bound(name: str, at: datetime, story: Times) -> dict[str, Any]:
    """Return a bound of a phase; within a gap it is known between two looks alone."""
    for lo, hi in story.gaps:
        if lo < at < hi:
            known = {f"{name}_earliest": lo, f"{name}_latest": hi}
            return {name: at, f"{name}_quality": Quality.BOUNDED, **known}
    return {name: at, f"{name}_quality": Quality.EXACT}


def _evictions(life: Lifetime, job: Job) -> Iterator[Eviction]:
    for number, (began, at, by) in enumerate(job.evicted, 1):
        lost = int((at + DRAIN - began).total_seconds()) * job.kind.gpus
        yield Eviction(
            cluster=life.cluster, lifetime=life, number=number, attempt=number, at=at,
            quality=Quality.EXACT, cause=Cause.PREEMPTED_RECLAIM, preemptor_uid=by,
            queue=life.queue, priority_class="normal-batch", priority=1000,
            devices=job.kind.gpus, running_since=began, lost_seconds=lost,
        )  # fmt: skip
