"""Reads the pending workloads of queues, puts them in order and writes the positions that moved.

However many queues and workloads: four reads (five with admission fair sharing) and two writes.
A workload that keeps its position is not written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from django.db import connection
from django.db.models import Q

from kube.queue_order import Entry, Ticket, Turn, in_order, places, preemptor, shares_by_use, use_of
from kube.queue_settings import QueueSettings
from queues.models import ObservedObject, QueueOrder, Workload
from tenants.models import Cluster

FIELDS: Final = (
    "strategy", "by_use", "pending", "front", "source", "checked_at", "differing", "checks",
    "differed", "trouble",
)  # fmt: skip
_MOVE: Final = """
UPDATE queues_workload AS w
SET position = n.position, entry_position = n.entry_position, positioned_at = %s
FROM unnest(%s::bigint[], %s::integer[], %s::integer[]) AS n(id, position, entry_position)
WHERE w.id = n.id
"""
_OUT: Final = (None, None)

Numbers = tuple[int | None, int | None]


@dataclass(slots=True)
class Line:
    """The pending workloads of one queue as they are in the database.

    ``order`` is the queue's row, changed in place; ``before`` are its fields as they were read.
    """

    order: QueueOrder
    before: tuple[Any, ...] | None = None
    use: Mapping[Entry, float] | None = None
    tickets: list[Ticket] = field(default_factory=list)
    rows: dict[str, tuple[int, Numbers]] = field(default_factory=dict)
    names: dict[Entry, Ticket] = field(default_factory=dict)
    name_of: dict[str, Entry] = field(default_factory=dict)

    def own(self, settings: QueueSettings) -> list[Ticket]:
        """Put the workloads in order, and note who is held in front."""
        self.order.front = preemptor(
            self.tickets, self.order.strategy, before=self.order.front,
            keeps=settings.keeps_preemptor,
        )  # fmt: skip
        return in_order(self.tickets, front=self.order.front, use=self.use)

    def moves(self, ordered: Iterable[Ticket]) -> Iterator[tuple[int, Numbers]]:
        """Yield (key, new numbers) of the workloads that stand elsewhere than before."""
        left = dict(self.rows)
        for place in places(ordered):
            key, numbers = left.pop(place.uid)
            if numbers != (place.position, place.entry_position):
                yield key, (place.position, place.entry_position)
        yield from ((key, _OUT) for key, numbers in left.values() if numbers != _OUT)

    def changed(self) -> bool:
        """Say whether the queue's row differs from what was read."""
        return self.before != _fields(self.order)


def read(cluster: Cluster, queues: Iterable[str], settings: QueueSettings) -> dict[str, Line]:
    """Read these queues with all their pending workloads; a queue without any is there too."""
    names = sorted(set(queues))
    found = {row.queue: row for row in QueueOrder.objects.filter(cluster=cluster, queue__in=names)}
    lines = {
        name: Line(found[name], _fields(found[name]))
        if name in found
        else Line(QueueOrder(cluster=cluster, queue=name))
        for name in names
    }
    _read_queues(cluster, lines, settings)
    _read_workloads(cluster, lines)
    return lines


def _fields(order: QueueOrder) -> tuple[Any, ...]:
    return tuple(getattr(order, name) for name in FIELDS)


def _read_queues(cluster: Cluster, lines: Mapping[str, Line], settings: QueueSettings) -> None:
    objects = ObservedObject.objects.filter(cluster=cluster)
    rows = objects.filter(kind="ClusterQueue", namespace="", name__in=lines)
    for name, strategy, scope in rows.values_list(
        "name", "body__spec__queueingStrategy", "body__spec__admissionScope"
    ):
        order = lines[name].order
        order.strategy = str(strategy or "BestEffortFIFO")
        order.by_use = shares_by_use({"spec": {"admissionScope": scope}}, settings)
    shared = [name for name, line in lines.items() if line.order.by_use]
    if not shared:
        return
    use: dict[str, dict[Entry, float]] = {name: {} for name in shared}
    entries = objects.filter(kind="LocalQueue", body__spec__clusterQueue__in=shared)
    for namespace, name, body in entries.values_list("namespace", "name", "body"):
        use[body["spec"]["clusterQueue"]][namespace, name] = use_of(body, settings)
    for name in shared:
        lines[name].use = use[name]


def _read_workloads(cluster: Cluster, lines: Mapping[str, Line]) -> None:
    here = Workload.objects.filter(cluster=cluster, queue__in=lines)
    rows = here.filter(Q(state="waiting", turn__gt="") | Q(position__isnull=False))
    for pk, queue, uid, namespace, name, entry, priority, boost, queued_at, turn, *numbers in (
        rows.values_list(
            "pk", "queue", "uid", "namespace", "name", "entry", "priority", "boost", "queued_at",
            "turn", "position", "entry_position",
        )
    ):  # fmt: skip
        line = lines[queue]
        line.rows[uid] = pk, (numbers[0], numbers[1])
        if not turn or queued_at is None:
            continue
        makes_room = turn == Turn.MAKES_ROOM
        ticket = Ticket(uid, (namespace, entry), priority + boost, queued_at, makes_room)
        line.tickets.append(ticket)
        line.names[namespace, name] = ticket
        line.name_of[uid] = namespace, name


def write(placed: Iterable[tuple[Line, Iterable[Ticket]]], now: datetime) -> int:
    """Write what moved in these queues; return how many workloads did."""
    moved: list[tuple[int, Numbers]] = []
    orders: list[QueueOrder] = []
    for line, ordered in placed:
        before = len(moved)
        moved.extend(line.moves(ordered))
        line.order.pending = len(line.tickets)
        if len(moved) > before or line.before is None:
            line.order.placed_at = now
        if len(moved) > before or line.changed():
            orders.append(line.order)
    if moved:
        keys = [key for key, _ in moved]
        positions, in_entry = zip(*(numbers for _, numbers in moved), strict=True)
        with connection.cursor() as cursor:
            cursor.execute(_MOVE, [now, keys, list(positions), list(in_entry)])
    QueueOrder.objects.bulk_create(
        orders,
        update_conflicts=True,
        unique_fields=["cluster", "queue"],
        update_fields=[*FIELDS, "placed_at"],
    )
    return len(moved)
