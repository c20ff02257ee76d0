"""What happened to one job: every phase, who took its place and why, and what that cost.

Jobs of other tenants have no name here, nothing of their texts and no sizes: a link of the chain
that is not the viewer's own says when and by which right, no more. One query, however long the
life was.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.expressions import RawSQL
from django.db.models.functions import JSONObject
from django.utils import timezone

from kube.condition_log import load, untold
from kube.evictions import PREEMPTIONS
from queues.models import ConditionChange, Eviction, Interval, Lifetime, Phase, Quality, Workload
from queues.selectors.contracts import BOUNDS, Contract, contract_of
from queues.selectors.together import columns, row_of, together
from tenants.models import Entry, Priority, Tenant

WAITS: Final = frozenset({Phase.QUEUED, Phase.EVICTED})
HOLDS: Final = frozenset({Phase.RESERVED, Phase.ADMITTED, Phase.DRAINING})
DAY: Final = timedelta(days=1)
LINES: Final = 500  # of the time line, the newest
#: What is read of each row.
LIFE: Final = (
    "id", "uid", "created_at", "first_seen_at", "phase", "starts", "starts_quality",
    "starts_earliest", "attempt", "queue", "devices", "cause", "evictions", "counted",
    "priority_class", "conditions",
)  # fmt: skip
INTERVAL: Final = (
    "id", "phase", "starts", "starts_quality", "starts_earliest", "ends", "ends_quality",
    "ends_latest", "attempt", "queue", "devices", "cause",
)  # fmt: skip
CHANGE: Final = ("id", "at", "seen_at", "type", "status", "reason", "message")
EVICTION: Final = (
    "id", "lifetime_id", "cluster_id", "preemptor_uid", "at", "quality", "cause", "detail",
    "devices", "running_since", "checkpoint_at", "lost_seconds",
)  # fmt: skip
_WORST: Final = (Quality.EXACT, Quality.SEEN, Quality.BOUNDED, Quality.UNKNOWN)

#: What a text of the cluster tells about the job that took a place.
_OTHERS: Final = re.compile(r" \(UID: [^)]*\)|; preemptor path: .*", re.DOTALL)

# Who took the place of these, who took theirs after that, and so on; and whose place they took.
_CHAIN: Final = """
WITH RECURSIVE lives AS ({lives}), chain AS (
    SELECT e.id, e.at, e.cluster_id, e.preemptor_uid, 1 AS depth
    FROM queues_eviction e WHERE e.lifetime_id IN (SELECT id FROM lives)
  UNION
    SELECT e.id, e.at, e.cluster_id, e.preemptor_uid, c.depth + 1
    FROM chain c
    JOIN queues_lifetime l ON l.cluster_id = c.cluster_id AND l.uid = c.preemptor_uid
    JOIN queues_eviction e ON e.lifetime_id = l.id AND e.at >= c.at
    WHERE c.preemptor_uid <> '' AND c.depth < 5
)
SELECT id FROM chain
UNION
SELECT e.id FROM queues_eviction e JOIN lives l ON e.preemptor_uid = l.uid
    WHERE e.cluster_id = l.cluster_id AND e.preemptor_uid <> ''
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
    lives = _lives(job)
    found = together(
        lives=lives.values(json=columns(LIFE)),
        intervals=Interval.objects.filter(lifetime__in=lives.values("pk")).values(
            json=columns(INTERVAL)
        ),
        changes=_changes(lives),
        evictions=_evictions(lives, tenants, sees_all=sees_all),
        contracts=Priority.objects.filter(
            cluster=job.cluster_id, name__in=lives.values("priority_class")
        ).values(json=columns(BOUNDS)),
    )
    return _history(job, found, now, sees_all=sees_all) if found["lives"] else JobHistory()


def _history(
    job: Workload, found: Mapping[str, list[Any]], now: datetime, *, sees_all: bool
) -> JobHistory:
    rows = (row_of(Lifetime, {**each, "cluster_id": job.cluster_id}) for each in found["lives"])
    lives = sorted(rows, key=lambda life: (life.created_at, life.pk))
    intervals = [row_of(Interval, each) for each in found["intervals"]]
    stretches = _stretches(lives, intervals, now)
    evictions = sorted(map(_lost, found["evictions"]), key=lambda each: (each.row.at, each.row.pk))
    pks, uids = {life.pk for life in lives}, {life.uid for life in lives}
    mine = [each for each in evictions if each.row.lifetime_id in pks]
    took = [each for each in evictions if each.row.preemptor_uid in uids]
    waits = _waits(stretches)
    newest = lives[-1]
    return JobHistory(
        stretches=tuple(stretches),
        losses=tuple(_loss(each) for each in mine),
        chain=tuple(_link(each) for each in evictions if each.row.preemptor_uid),
        lines=tuple(_lines(lives, found["changes"], sees_all=sees_all)),
        took_own=tuple(sorted({each.job_name for each in took if each.own})),
        took_others=sum(not each.own for each in took),
        waited=sum(waits),
        waiting=waits[-1] if newest.phase in WAITS else 0,
        longest_wait=max(waits, default=0),
        admitted=sum(each.seconds for each in stretches if each.phase == Phase.ADMITTED),
        held_seconds=sum(x.seconds * x.devices for x in stretches if x.phase in HOLDS),
        lost_seconds=sum(each.row.lost_seconds for each in mine),
        requeues=sum(max(life.evictions, life.counted) for life in lives),
        preempted_today=sum(x.row.cause in PREEMPTIONS and x.row.at > now - DAY for x in mine),
        contract=_contract(newest, found["contracts"]),
    )


def _contract(life: Lifetime, rows: Iterable[Mapping[str, Any]]) -> Contract:
    found = (row_of(Priority, each) for each in rows if each["name"] == life.priority_class)
    return next((contract_of(each) for each in found), Contract())


def _lives(job: Workload) -> QuerySet[Lifetime]:
    """Give every Workload that the job had: a resized job gets a new one of the same name."""
    here = Lifetime.objects.filter(cluster=job.cluster_id, namespace=job.namespace)
    same = Q(uid=job.uid)
    if job.job_uid:
        same |= Q(job_uid=job.job_uid)
    return here.filter(same).order_by()


def _stretches(lives: list[Lifetime], rows: list[Interval], now: datetime) -> list[Stretch]:
    found = [
        Stretch(
            row.phase, row.starts, row.ends, int((row.ends - row.starts).total_seconds()),
            max((row.starts_quality, row.ends_quality), key=_rank), row.attempt, row.queue,
            row.devices, row.cause, row.starts_earliest, row.ends_latest,
        )
        for row in sorted(rows, key=lambda row: (row.starts, row.pk))
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


@dataclass(frozen=True, slots=True)
class _Lost:
    """A lost place; ``own`` says whether the victim is the viewer's, as ``taker`` does by a name."""

    row: Eviction
    own: bool
    job_name: str
    taker: str


def _evictions(
    lives: QuerySet[Lifetime], tenants: QuerySet[Tenant], *, sees_all: bool
) -> QuerySet[Any]:
    """Give the chain of lost places, as a part of a query; ``_lost`` reads it."""
    sql, values = lives.values("id", "cluster_id", "uid").query.sql_with_params()
    chain = RawSQL(_CHAIN.format(lives=sql), values)  # noqa: S611 - values are bound
    takers = Lifetime.objects.filter(cluster=OuterRef("cluster"), uid=OuterRef("preemptor_uid"))
    takers = takers if sees_all else owned(takers, tenants)
    facts = JSONObject(
        row=columns(EVICTION),
        own=Value(True) if sees_all else Exists(_entries(tenants, "lifetime__")),
        job_name="lifetime__job_name",
        taker=Subquery(takers.values("job_name")[:1]),
    )
    return Eviction.objects.filter(pk__in=chain).values(json=facts)


def _lost(facts: Mapping[str, Any]) -> _Lost:
    row = row_of(Eviction, facts["row"])
    return _Lost(row, facts["own"], facts["job_name"], facts["taker"] or "")


def _loss(lost: _Lost) -> Loss:
    row = lost.row
    return Loss(
        row.at, row.quality, row.cause, row.detail, row.devices, row.running_since,
        row.checkpoint_at, row.lost_seconds, lost.taker, bool(row.preemptor_uid) and not lost.taker,
    )  # fmt: skip


def _link(lost: _Lost) -> Link:
    return Link(lost.row.at, lost.row.cause, lost.job_name if lost.own else "", lost.taker)


def _changes(lives: QuerySet[Lifetime]) -> QuerySet[Any]:
    """Give the newest changes that were written down, as a part of a query."""
    rows = ConditionChange.objects.filter(lifetime__in=lives.values("pk"))
    return rows.order_by("-seen_at", "-pk").values(json=columns(CHANGE))[:LINES]


def _lines(
    lives: list[Lifetime], changes: Iterable[Mapping[str, Any]], *, sees_all: bool
) -> list[Line]:
    """Give the time line, the newest last: what was written, and what nothing has overwritten."""
    written = sorted(
        (row_of(ConditionChange, each) for each in changes),
        key=lambda row: (row.seen_at, row.pk),
    )  # fmt: skip
    found: list[tuple[datetime, bool, str, str, str, str]] = []
    told: set[tuple[Any, ...]] = set()
    for row in written:
        # A condition keeps its time when its text alone changes: then only the look is a time.
        key = (row.type, row.status, row.at)
        at = None if key in told else row.at
        told.add(key)
        words = row.type, row.status, row.reason, row.message
        found.append((at or row.seen_at, at is not None, *words))
    for life in lives:
        found += [
            (each.at or life.first_seen_at, each.at is not None, *each[:4])
            for each in untold(load(life.conditions))
        ]
    newest = sorted(found, key=lambda row: row[0])[-LINES:]
    return [Line(*row[:5], row[5] if sees_all else _OTHERS.sub("", row[5])) for row in newest]
