"""One queue: who runs, who waits and in which order. Jobs of others are counts, never names."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from django.db.models import Count, F, QuerySet, Sum

from queues.models import Workload
from queues.selectors.jobs import of_tenants
from tenants.models import Queue, Tenant

WAITING = ("waiting",)
RUNNING = ("running", "starting", "stopping")
# A list that nobody can read to its end is cut; the counts above it are complete.
SHOWN = 200


@dataclass(frozen=True, slots=True)
class Others:
    """Jobs that the viewer may not see, between two that they may: a count and a size."""

    jobs: int
    devices: int
    first: int | None = None
    last: int | None = None


@dataclass(frozen=True, slots=True)
class Standing:
    """The lists of a queue page."""

    running: list[Workload]
    running_others: Others
    pending: list[Workload | Others]
    preempted: list[Workload]
    totals: dict[str, Others] = field(default_factory=dict)
    cut: bool = False

    @property
    def named(self) -> list[Workload]:
        """Give the jobs that the viewer sees by name."""
        pending = [row for row in self.pending if isinstance(row, Workload)]
        return [*self.running, *pending, *self.preempted]


def standing(queue: Queue, tenants: QuerySet[Tenant], *, sees_all: bool) -> Standing:
    """Give the lists of one queue for a viewer who may see the jobs of ``tenants``."""
    jobs = Workload.objects.filter(cluster_id=queue.cluster_id, queue=queue.name)
    mine = jobs if sees_all else jobs.filter(pk__in=of_tenants(tenants).values("pk"))
    own = set(mine.filter(state__in=WAITING).values_list("pk", flat=True)[: 10 * SHOWN])
    waiting = list(
        jobs.filter(state__in=WAITING).order_by(
            F("position").asc(nulls_last=True), "-priority", "created_at", "pk"
        )[: SHOWN + 1]
    )
    running = list(mine.filter(state__in=RUNNING).order_by("since", "pk")[:SHOWN])
    totals = _totals(jobs)
    everyone = totals.get("running", Others(0, 0))
    return Standing(
        running=running,
        running_others=Others(
            max(0, everyone.jobs - len(running)),
            max(0, everyone.devices - sum(job.devices for job in running)),
        ),
        pending=list(_folded(waiting[:SHOWN], own)),
        preempted=list(mine.filter(preempted=True).order_by("-since", "pk")[:20]),
        totals=totals,
        cut=len(waiting) > SHOWN,
    )


def _totals(jobs: QuerySet[Workload]) -> dict[str, Others]:
    rows = jobs.order_by().values_list("state").annotate(jobs=Count("pk"), devices=Sum("devices"))
    totals = {"running": [0, 0], "waiting": [0, 0]}
    for state, number, devices in rows:
        name = "waiting" if state in WAITING else "running" if state in RUNNING else ""
        if name:
            totals[name][0] += number
            totals[name][1] += int(devices or 0)
    return {name: Others(jobs, devices) for name, (jobs, devices) in totals.items()}


def _folded(waiting: Iterable[Workload], own: set[int]) -> Iterable[Workload | Others]:
    """Replace each stretch of jobs of others by its count and size."""
    hidden: list[Workload] = []
    for job in waiting:
        if job.pk in own:
            if hidden:
                yield _others(hidden)
                hidden = []
            yield job
        else:
            hidden.append(job)
    if hidden:
        yield _others(hidden)


def _others(jobs: list[Workload]) -> Others:
    positions = [job.position for job in jobs if job.position is not None]
    return Others(
        jobs=len(jobs),
        devices=sum(job.devices for job in jobs),
        first=min(positions, default=None),
        last=max(positions, default=None),
    )
