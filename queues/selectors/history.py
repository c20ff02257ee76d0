"""What happened to one job: every phase, who took its place and why, and what that cost.

Jobs of other tenants have no name here, nothing of their texts and no sizes: a link of the chain
that is not the viewer's own says when and by which right, no more. Seven queries, however long
the life was.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from django.db.models import Exists, OuterRef, Q, QuerySet, Value
from django.db.models.expressions import RawSQL
from django.utils import timezone

from kube.condition_log import load, untold
from kube.evictions import PREEMPTIONS
from queues.models import ConditionChange, Eviction, Interval, Lifetime, Phase, Quality, Workload
from queues.selectors.contracts import Contract, contracts
from tenants.models import Entry, Tenant

WAITS: Final = frozenset({Phase.QUEUED, Phase.EVICTED})
HOLDS: Final = frozenset({Phase.RESERVED, Phase.ADMITTED, Phase.DRAINING})
DAY: Final = timedelta(days=1)
LINES: Final = 500  # of the time line, the newest
_WORST: Final = (Quality.EXACT, Quality.SEEN, Quality.BOUNDED, Quality.UNKNOWN)

#: What a text of the cluster tells about the job that took a place.
_OTHERS: Final = re.compile(r" \(UID: [^)]*\)|; preemptor path: .*", re.DOTALL)

# Who took the place of these, who took theirs after that, and so on; and whose place they took.
_CHAIN: Final = """
WITH RECURSIVE chain AS (
    SELECT e.id, e.at, e.cluster_id, e.preemptor_uid, 1 AS depth
    FROM queues_eviction e WHERE e.lifetime_id = ANY(%s)
  UNION
    SELECT e.id, e.at, e.cluster_id, e.preemptor_uid, c.depth + 1
    FROM chain c
    JOIN queues_lifetime l ON l.cluster_id = c.cluster_id AND l.uid = c.preemptor_uid
    JOIN queues_eviction e ON e.lifetime_id = l.id AND e.at >= c.at
    WHERE c.preemptor_uid <> '' AND c.depth < 5
)
SELECT id FROM chain
UNION
SELECT e.id FROM queues_eviction e WHERE e.cluster_id = %s AND e.preemptor_uid = ANY(%s)
    AND e.preemptor_uid <> ''
"""


@dataclass(frozen=True, slots=True)
class Stretch:
    """One phase; ``ends`` None while it lasts. ``quality`` is that of its worse bound."""

    phase: str
    starts: datetime
    ends: datetime | None
    seconds: int
    quality: str
    attempt: int
    queue: str
    devices: int
    cause: str
    starts_earliest: datetime | None = None
    ends_latest: datetime | None = None


@dataclass(frozen=True, slots=True)
class Loss:
    """A place that was lost. ``lost_seconds`` are device-seconds since ``saved_at``.

    ``by`` names the job that took it, if that is the viewer's own; ``by_other`` says that there
    was one of another tenant.
    """

    at: datetime
    quality: str
    cause: str
    detail: str
    devices: int
    running_since: datetime | None
    saved_at: datetime | None
    lost_seconds: int
    by: str = ""
    by_other: bool = False


@dataclass(frozen=True, slots=True)
class Link:
    """One step of the chain: who lost its place to whom. An empty name is another tenant's."""

    at: datetime
    cause: str
    victim: str
    taker: str


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the time line, in the cluster's words.

    Who took a place, and over which path, is left out for who may not read all names.
    """

    at: datetime
    exact: bool
    type: str
    status: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class JobHistory:
    """The life of a job: times in seconds, what was held and lost in device-seconds.

    ``longest_wait`` counts the wait that still lasts; ``waiting`` is that one, 0 if it has a
    place. ``requeues`` is what Kueue counts where that is more than was seen.
    """

    stretches: tuple[Stretch, ...] = ()
    losses: tuple[Loss, ...] = ()
    chain: tuple[Link, ...] = ()
    lines: tuple[Line, ...] = ()
    took_own: tuple[str, ...] = ()
    took_others: int = 0
    waited: int = 0
    waiting: int = 0
    longest_wait: int = 0
    admitted: int = 0
    held_seconds: int = 0
    lost_seconds: int = 0
    requeues: int = 0
    preempted_today: int = 0
    contract: Contract = field(default_factory=Contract)

    @property
    def thrashes(self) -> bool:
        """Say whether it lost its place to others more often in a day than its contract allows."""
        return self.preempted_today >= self.contract.preemptions_per_day

    @property
    def starves(self) -> bool:
        """Say whether it waits now for longer than its contract allows."""
        return self.waiting > self.contract.longest_wait.total_seconds()


def owned(rows: QuerySet[Lifetime], tenants: QuerySet[Tenant]) -> QuerySet[Lifetime]:
    """Keep the lifetimes in the namespaces of these tenants."""
    return rows.filter(Exists(_entries(tenants, "")))


def _entries(tenants: QuerySet[Tenant], prefix: str) -> QuerySet[Entry]:
    return Entry.objects.filter(
        queue__tenant__in=tenants,
        cluster=OuterRef("cluster"),
        namespace=OuterRef(f"{prefix}namespace"),
    )


def job_history(
    job: Workload, tenants: QuerySet[Tenant], *, sees_all: bool = False, now: datetime | None = None
) -> JobHistory:
    """Tell the life of a job with all Workloads that it had; the viewer may see the job.

    ``tenants`` are those whose jobs the viewer reads by name.
    """
    now = now or timezone.now()
    lives = list(_lives(job))
    if not lives:
        return JobHistory()
    stretches = _stretches(lives, now)
    evictions = _evictions(lives, tenants, sees_all=sees_all)
    takers = _takers(evictions, tenants, sees_all=sees_all)
    pks, uids = {life.pk for life in lives}, {life.uid for life in lives}
    mine = [each for each in evictions if each.lifetime_id in pks]
    took = [each for each in evictions if each.preemptor_uid in uids]
    waits = _waits(stretches)
    newest = lives[-1]
    return JobHistory(
        stretches=tuple(stretches),
        losses=tuple(_loss(each, takers) for each in mine),
        chain=tuple(_link(each, takers) for each in evictions if each.preemptor_uid),
        lines=tuple(_lines(lives, sees_all=sees_all)),
        took_own=tuple(sorted({each.lifetime.job_name for each in took if _is_own(each)})),
        took_others=sum(not _is_own(each) for each in took),
        waited=sum(waits),
        waiting=waits[-1] if newest.phase in WAITS else 0,
        longest_wait=max(waits, default=0),
        admitted=sum(each.seconds for each in stretches if each.phase == Phase.ADMITTED),
        held_seconds=sum(x.seconds * x.devices for x in stretches if x.phase in HOLDS),
        lost_seconds=sum(each.lost_seconds for each in mine),
        requeues=sum(max(life.evictions, life.counted) for life in lives),
        preempted_today=sum(x.cause in PREEMPTIONS and x.at > now - DAY for x in mine),
        contract=contracts({(job.cluster_id, newest.priority_class)})[
            job.cluster_id, newest.priority_class
        ],
    )


def _lives(job: Workload) -> Iterable[Lifetime]:
    """Give every Workload that the job had: a resized job gets a new one of the same name."""
    here = Lifetime.objects.filter(cluster=job.cluster_id, namespace=job.namespace)
    same = Q(uid=job.uid)
    if job.job_uid:
        same |= Q(job_uid=job.job_uid)
    return here.filter(same).order_by("created_at", "pk")


def _stretches(lives: list[Lifetime], now: datetime) -> list[Stretch]:
    rows = Interval.objects.filter(lifetime__in=[life.pk for life in lives]).order_by(
        "starts", "pk"
    )
    found = [
        Stretch(
            row.phase, row.starts, row.ends, int((row.ends - row.starts).total_seconds()),
            max((row.starts_quality, row.ends_quality), key=_rank), row.attempt, row.queue,
            row.devices, row.cause, row.starts_earliest, row.ends_latest,
        )
        for row in rows
    ]  # fmt: skip
    for life in lives:
        if life.phase and life.starts:
            seconds = max(0, int((now - life.starts).total_seconds()))
            found.append(
                Stretch(
                    life.phase, life.starts, None, seconds, life.starts_quality, life.attempt,
                    life.queue, life.devices, life.cause, life.starts_earliest,
                )
            )  # fmt: skip
    return found


def _rank(quality: str) -> int:
    return _WORST.index(Quality(quality))


def _waits(stretches: Iterable[Stretch]) -> list[int]:
    """Sum up waits that follow each other; what it held in between ends one."""
    waits = [0]
    for each in stretches:
        if each.phase in WAITS:
            waits[-1] += each.seconds
        elif each.phase == Phase.ADMITTED:
            waits.append(0)
    return waits


def _evictions(
    lives: list[Lifetime], tenants: QuerySet[Tenant], *, sees_all: bool
) -> list[Eviction]:
    pks, uids = [life.pk for life in lives], [life.uid for life in lives]
    chain = RawSQL(_CHAIN, (pks, lives[0].cluster_id, uids))  # noqa: S611 - values are bound
    own = Value(True) if sees_all else Exists(_entries(tenants, "lifetime__"))
    rows = Eviction.objects.filter(pk__in=chain).select_related("lifetime").annotate(own=own)
    return list(rows.order_by("at", "pk"))


def _is_own(row: Eviction) -> bool:
    return bool(getattr(row, "own", False))


def _takers(
    evictions: Iterable[Eviction], tenants: QuerySet[Tenant], *, sees_all: bool
) -> Mapping[tuple[int, str], str]:
    """Name those who took a place, as far as they are the viewer's own; one query."""
    uids = {(each.cluster_id, each.preemptor_uid) for each in evictions if each.preemptor_uid}
    rows = Lifetime.objects.filter(
        cluster__in={cluster for cluster, _ in uids}, uid__in={uid for _, uid in uids}
    )
    rows = rows if sees_all else owned(rows, tenants)
    found = rows.values_list("cluster_id", "uid", "job_name")
    return {(cluster, uid): name for cluster, uid, name in found}


def _loss(row: Eviction, takers: Mapping[tuple[int, str], str]) -> Loss:
    by = takers.get((row.cluster_id, row.preemptor_uid), "")
    return Loss(
        row.at, row.quality, row.cause, row.detail, row.devices, row.running_since,
        row.checkpoint_at, row.lost_seconds, by, bool(row.preemptor_uid) and not by,
    )  # fmt: skip


def _link(row: Eviction, takers: Mapping[tuple[int, str], str]) -> Link:
    victim = row.lifetime.job_name if _is_own(row) else ""
    return Link(row.at, row.cause, victim, takers.get((row.cluster_id, row.preemptor_uid), ""))


def _lines(lives: list[Lifetime], *, sees_all: bool) -> list[Line]:
    """Give the time line, the newest last: what was written, and what nothing has overwritten."""
    rows = ConditionChange.objects.filter(lifetime__in=[life.pk for life in lives])
    found = [
        (row.at or row.seen_at, row.at is not None, row.type, row.status, row.reason, row.message)
        for row in rows.order_by("-seen_at", "-pk")[:LINES]
    ]
    for life in lives:
        found += [
            (each.at or life.first_seen_at, each.at is not None, *each[:4])
            for each in untold(load(life.conditions))
        ]
    newest = sorted(found, key=lambda row: row[0])[-LINES:]
    return [Line(*row[:5], row[5] if sees_all else _OTHERS.sub("", row[5])) for row in newest]
