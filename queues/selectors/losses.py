"""What tenants lost: places, device-hours, and whose jobs are stopped or wait too often or long.

The jobs are the tenants' own; who took their places is named only if it is theirs as well, and
counted if not. Eight queries at most.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.db.models import Count, Exists, Min, OuterRef, Q, QuerySet, Sum
from django.utils import timezone

from kube.evictions import PREEMPTIONS
from queues.models import Eviction, Lifetime
from queues.selectors.contracts import Contract, contracts
from queues.selectors.history import DAY, WAITS, owned
from tenants.models import Entry, Tenant

WEEK: Final = timedelta(days=7)
RECENT: Final = 20
NAMED: Final = 20  # jobs of an alarm that are named
CANDIDATES: Final = 200

Key = tuple[int, str]  # cluster, name of the priority


@dataclass(frozen=True, slots=True)
class ByCause:
    """What one cause has cost: evictions, and lost device-seconds."""

    cause: str
    evictions: int
    lost_seconds: int


@dataclass(frozen=True, slots=True)
class Recent:
    """One eviction of an own job. ``by`` is empty for a job of another tenant, or for none."""

    job: Lifetime
    at: datetime
    cause: str
    devices: int
    lost_seconds: int
    by: str
    by_other: bool


@dataclass(frozen=True, slots=True)
class Thrash:
    """A job that others have stopped ``times`` within a day, and what its contract bears."""

    job: Lifetime
    times: int
    contract: Contract


@dataclass(frozen=True, slots=True)
class Starving:
    """A job that has waited for ``seconds`` without a break, and what its contract bears."""

    job: Lifetime
    seconds: int
    contract: Contract


@dataclass(frozen=True, slots=True)
class Waiting:
    """The jobs of one priority that wait: how many, and the longest wait in seconds."""

    cluster_id: int
    priority: str
    jobs: int
    longest: int
    contract: Contract


@dataclass(frozen=True, slots=True)
class TenantHistory:
    """The losses since ``since`` and the alarms of now."""

    since: datetime
    causes: tuple[ByCause, ...]
    recent: tuple[Recent, ...]
    thrashing: tuple[Thrash, ...]
    starving: tuple[Starving, ...]
    waiting: tuple[Waiting, ...]

    @property
    def lost_seconds(self) -> int:
        """Give the lost device-seconds of all causes."""
        return sum(each.lost_seconds for each in self.causes)

    @property
    def evictions(self) -> int:
        """Give the number of evictions of all causes."""
        return sum(each.evictions for each in self.causes)


def tenant_history(
    tenants: QuerySet[Tenant], *, past: timedelta = WEEK, now: datetime | None = None
) -> TenantHistory:
    """Sum up what the jobs of these tenants have lost, and say which need a look."""
    now = now or timezone.now()
    since = now - past
    lost = _lost(tenants).filter(at__gte=since)
    recent = list(lost.select_related("lifetime").order_by("-at", "-pk")[:RECENT])
    often = _often(_lost(tenants).filter(at__gte=now - DAY))
    open_ = owned(Lifetime.objects.filter(phase__in=WAITS), tenants)
    groups = open_.order_by().values_list("cluster_id", "priority_class")
    found = list(groups.annotate(Count("pk"), Min("starts")))
    bears = contracts(
        [(cluster, name) for cluster, name, _, _ in found]
        + [(job.cluster_id, job.priority_class) for job, _ in often]
    )
    waiting = [
        Waiting(cluster, name, jobs, _seconds(now, first), bears[cluster, name])
        for cluster, name, jobs, first in found
    ]
    return TenantHistory(
        since=since,
        causes=tuple(_by_cause(lost)),
        recent=tuple(_recent(recent, tenants)),
        thrashing=tuple(_thrashing(often, bears)),
        starving=tuple(_starving(open_, waiting, now)),
        waiting=tuple(sorted(waiting, key=lambda each: -each.longest)),
    )


def _lost(tenants: QuerySet[Tenant]) -> QuerySet[Eviction]:
    entry = Entry.objects.filter(
        queue__tenant__in=tenants,
        cluster=OuterRef("cluster"),
        namespace=OuterRef("lifetime__namespace"),
    )
    return Eviction.objects.filter(Exists(entry))


def _by_cause(lost: QuerySet[Eviction]) -> list[ByCause]:
    rows = lost.order_by().values_list("cause").annotate(Count("pk"), Sum("lost_seconds"))
    found = [ByCause(cause, number, int(seconds or 0)) for cause, number, seconds in rows]
    return sorted(found, key=lambda each: (-each.lost_seconds, -each.evictions, each.cause))


def _recent(rows: Iterable[Eviction], tenants: QuerySet[Tenant]) -> list[Recent]:
    found = list(rows)
    takers = owned(
        Lifetime.objects.filter(
            cluster__in={each.cluster_id for each in found},
            uid__in={each.preemptor_uid for each in found if each.preemptor_uid},
        ),
        tenants,
    )
    names = {(row.cluster_id, row.uid): row.job_name for row in takers}
    return [
        Recent(
            each.lifetime, each.at, each.cause, each.devices, each.lost_seconds,
            by := names.get((each.cluster_id, each.preemptor_uid), ""),
            bool(each.preemptor_uid) and not by,
        )
        for each in found
    ]  # fmt: skip


def _often(lost: QuerySet[Eviction]) -> list[tuple[Lifetime, int]]:
    """Give who was preempted twice or more, the most often first."""
    preempted = lost.filter(cause__in=[str(each) for each in PREEMPTIONS])
    rows = preempted.order_by().values_list("lifetime").annotate(times=Count("pk"))
    times = dict(rows.filter(times__gt=1).order_by("-times", "lifetime")[:CANDIDATES])
    jobs = Lifetime.objects.in_bulk(times)
    return [(jobs[pk], number) for pk, number in times.items()]


def _thrashing(
    often: Iterable[tuple[Lifetime, int]], bears: Mapping[Key, Contract]
) -> list[Thrash]:
    found = [Thrash(job, times, bears[job.cluster_id, job.priority_class]) for job, times in often]
    return [each for each in found if each.times >= each.contract.preemptions_per_day][:NAMED]


def _starving(
    waiting: QuerySet[Lifetime], groups: Iterable[Waiting], now: datetime
) -> list[Starving]:
    """Find who waits for longer than the contract of its priority bears, the longest first."""
    late = {
        (each.cluster_id, each.priority): each.contract
        for each in groups
        if each.longest > each.contract.longest_wait.total_seconds()
    }
    if not late:
        return []
    found = Q()
    for (cluster, priority), contract in late.items():
        since = now - contract.longest_wait
        found |= Q(cluster=cluster, priority_class=priority, starts__lt=since)
    return [
        Starving(job, _seconds(now, job.starts), late[job.cluster_id, job.priority_class])
        for job in waiting.filter(found).order_by("starts", "pk")[:NAMED]
    ]


def _seconds(now: datetime, start: datetime | None) -> int:
    return max(0, int((now - start).total_seconds())) if start is not None else 0
