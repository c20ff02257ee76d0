"""One job in its waiting line: its place, what stands before it, and how sure that is.

Jobs of other tenants are numbers, sizes and priorities; names come only from the viewer's own
tenants. Three queries, however long the line is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from django.db.models import Count, QuerySet, Sum
from django.utils import timezone

from kube.queue_order import Strategy, Turn
from queues.models import QueueOrder, Workload
from queues.selectors.jobs import of_tenants
from queues.selectors.positions import WAITING, Ahead, ahead_of
from tenants.models import Tenant

NAMED: Final = 10  # own jobs ahead that are named; the numbers count all
#: A comparison older than this is told as one of the past.
FRESH: Final = timedelta(minutes=2)


class Sure(StrEnum):
    """How far a place is to be trusted."""

    KUEUE = "kueue"  # from Kueue's own list, or the same there, a moment ago
    OWN = "own"  # worked out by Kueue's rules, and not compared lately
    ESTIMATE = "estimate"  # known to follow from what the cluster does not show in full


@dataclass(frozen=True, slots=True)
class Certainty:
    """Where a place comes from; ``checked_at`` is when Kueue's own list was last compared.

    ``trouble`` says why it was not (``QueueOrder.Trouble``); ``by_use`` that past use of the
    entry comes before priority and age.
    """

    sure: Sure = Sure.OWN
    placed_at: datetime | None = None
    checked_at: datetime | None = None
    trouble: str = ""
    by_use: bool = False


@dataclass(frozen=True, slots=True)
class InLine:
    """A waiting job's place: ``position`` of ``pending`` in its queue, both from 1.

    ``mine`` are the first of the viewer's own jobs ahead. ``may_pass``: a job behind this one
    starts first when it fits and this one does not. ``held_up``: the queue is strict and this
    job is not its first, so it is not looked at yet.
    """

    position: int
    entry_position: int | None
    pending: int
    ahead: Ahead
    mine: tuple[Workload, ...] = ()
    mine_jobs: int = 0
    mine_devices: int = 0
    may_pass: bool = True
    held_up: bool = False
    in_front: bool = False
    backs_off: bool = False
    certainty: Certainty = Certainty()

    @property
    def others_jobs(self) -> int:
        """Give how many jobs ahead are not the viewer's."""
        return max(0, self.ahead.jobs - self.mine_jobs)

    @property
    def others_devices(self) -> int:
        """Give what the jobs ahead ask for that are not the viewer's."""
        return max(0, self.ahead.devices - self.mine_devices)


def in_line(job: Workload, tenants: QuerySet[Tenant]) -> InLine | None:
    """Say where a waiting job stands for a viewer who may read the jobs of ``tenants``.

    ``None`` while its place is not known, or when it stands in no line.
    """
    ahead = ahead_of(job)
    if ahead is None or job.position is None:
        return None
    order = QueueOrder.objects.filter(cluster=job.cluster_id, queue=job.queue).first()
    mine, numbers = _mine(job, tenants)
    strict = bool(order and order.strategy == Strategy.STRICT)
    return InLine(
        position=job.position,
        entry_position=job.entry_position,
        pending=max(order.pending if order else 0, job.position),
        ahead=ahead,
        mine=mine,
        mine_jobs=numbers[0],
        mine_devices=numbers[1],
        may_pass=not strict,
        held_up=strict and job.position > 1,
        in_front=bool(order and order.front == job.uid),
        backs_off=job.turn == Turn.BACK_OFF,
        certainty=certainty(order),
    )


def _mine(job: Workload, tenants: QuerySet[Tenant]) -> tuple[tuple[Workload, ...], tuple[int, int]]:
    before = of_tenants(tenants).filter(
        cluster=job.cluster_id, queue=job.queue, state=WAITING, position__lt=job.position
    )
    first = tuple(before.order_by("position")[: NAMED + 1])
    if len(first) <= NAMED:
        return first, (len(first), sum(each.devices for each in first))
    found = before.aggregate(jobs=Count("pk"), devices=Sum("devices"))
    return first[:NAMED], (found["jobs"], int(found["devices"] or 0))


def certainty(order: QueueOrder | None) -> Certainty:
    """Say how sure the places of a queue are."""
    if order is None:
        return Certainty()
    fresh = order.checked_at is not None and timezone.now() - order.checked_at < FRESH
    sure = Sure.OWN
    if order.estimated or (order.by_use and not fresh):
        sure = Sure.ESTIMATE
    elif order.agreed and fresh:
        sure = Sure.KUEUE
    return Certainty(sure, order.placed_at, order.checked_at, order.trouble, order.by_use)


def certainties(queues: Iterable[tuple[int, str]]) -> dict[tuple[int, str], Certainty]:
    """Say it for many queues, given as (cluster id, name), in one query."""
    asked = set(queues)
    rows = QueueOrder.objects.filter(
        cluster__in={cluster for cluster, _ in asked}, queue__in={name for _, name in asked}
    )
    found = {(row.cluster_id, row.queue): row for row in rows}
    return {key: certainty(found.get(key)) for key in asked}


@dataclass(frozen=True, slots=True)
class Agreement:
    """How often own order and Kueue's list were compared in a cluster, and how often they differed.

    ``differing`` are the queues where they differ now.
    """

    checks: int = 0
    differed: int = 0
    differing: tuple[str, ...] = ()
    troubles: tuple[str, ...] = ()


def agreement(cluster_id: int) -> Agreement:
    """Sum the comparisons of one cluster, for its administrators; two queries."""
    rows = QueueOrder.objects.filter(cluster=cluster_id)
    sums = rows.aggregate(checks=Sum("checks"), differed=Sum("differed"))
    now = rows.exclude(differing=0, trouble="").order_by("queue")
    found = list(now.values_list("queue", "differing", "trouble"))
    return Agreement(
        checks=int(sums["checks"] or 0),
        differed=int(sums["differed"] or 0),
        differing=tuple(queue for queue, differing, _ in found if differing),
        troubles=tuple(sorted({trouble for *_, trouble in found if trouble})),
    )
