"""One job in its waiting line: its place, what stands before it, and how sure that is.

Jobs of other tenants are numbers, sizes and priorities; names come only from the viewer's own
tenants. One query, however long the line is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final

from django.db.models import Count, Q, QuerySet, Sum
from django.db.models.functions import JSONObject
from django.utils import timezone

from kube.queue_order import Strategy, Turn
from queues.models import QueueOrder, Workload
from queues.selectors.positions import WAITING, Ahead, OfPriority, ahead
from queues.selectors.together import columns, row_of, together
from tenants.models import Entry, Tenant

NAMED: Final = 10  # own jobs ahead that are named; the numbers count all
#: What is told of an own job ahead, and of the order of a queue.
OWN: Final = ("id", "namespace", "name", "job_name", "position", "devices")
ORDER: Final = (
    "queue", "strategy", "by_use", "pending", "front", "source", "placed_at", "checked_at",
    "differing", "trouble",
)  # fmt: skip
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

    ``None`` while its place is not known, or when it stands in no line. One query.
    """
    parts = line_rows(job, tenants)
    return placed(job, together(**parts)) if parts else None


def line_rows(job: Workload, tenants: QuerySet[Tenant]) -> dict[str, QuerySet[Any]]:
    """Give what ``placed`` needs as parts of a query; nothing where there is no place."""
    if job.state != WAITING or job.position is None:
        return {}
    here = {"cluster": job.cluster_id, "queue": job.queue}
    spaces = Entry.objects.filter(cluster=job.cluster_id, queue__tenant__in=tenants)
    mine = Q(namespace__in=spaces.values("namespace"))
    before = Workload.objects.filter(state=WAITING, position__lt=job.position, **here)
    groups = before.order_by().values("priority_class", "priority").annotate(
        jobs=Count("pk"), size=Sum("devices"),
        own=Count("pk", filter=mine), own_size=Sum("devices", filter=mine),
    )  # fmt: skip
    group = JSONObject(
        name="priority_class", value="priority", jobs="jobs", devices="size", own="own",
        own_devices="own_size",
    )  # fmt: skip
    return {
        "ahead": groups.values(json=group),
        "mine": before.filter(mine).order_by("position").values(json=columns(OWN))[:NAMED],
        "order": QueueOrder.objects.filter(**here).values(json=columns(ORDER)),
    }


def placed(job: Workload, found: Mapping[str, list[Any]]) -> InLine | None:
    """Read what the parts of ``line_rows`` found."""
    if job.state != WAITING or job.position is None:
        return None
    rows = found["ahead"]
    groups = [OfPriority(x["name"], x["value"], x["jobs"], int(x["devices"])) for x in rows]
    order = _order(found["order"])
    strict = bool(order and order.strategy == Strategy.STRICT)
    return InLine(
        position=job.position,
        entry_position=job.entry_position,
        pending=max(order.pending if order else 0, job.position),
        ahead=ahead(sorted(groups, key=lambda each: (-each.value, each.name))),
        mine=tuple(
            Workload(cluster=job.cluster, **each)
            for each in sorted(found["mine"], key=lambda each: int(each["position"]))
        ),
        mine_jobs=sum(each["own"] for each in rows),
        mine_devices=sum(int(each["own_devices"] or 0) for each in rows),
        may_pass=not strict,
        held_up=strict and job.position > 1,
        in_front=bool(order and order.front == job.uid),
        backs_off=job.turn == Turn.BACK_OFF,
        certainty=certainty(order),
    )


def _order(rows: list[dict[str, Any]]) -> QueueOrder | None:
    return row_of(QueueOrder, rows[0]) if rows else None


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
