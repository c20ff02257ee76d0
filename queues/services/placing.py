"""Puts the pending workloads of queues in order and writes the positions that moved.

However many queues and workloads, one statement numbers and writes them; a workload that keeps
its position is not written. When the first of 50,000 leaves, all others move: then those who
are near their turn, came or went are written at once, and the rest in slices, a little later.
The order in SQL is that of :mod:`kube.queue_order`, which is what Kueue's own list is compared
with; a test holds the two together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db import connection
from django.db.models import F, Q
from django.db.models.functions import Collate

from kube.queue_order import Entry, Ticket, Turn, in_order, preemptor, shares_by_use, use_of
from kube.queue_settings import QueueSettings
from queues.models import ObservedObject, QueueOrder, Workload
from tenants.models import Cluster

FIELDS: Final = (
    "strategy", "by_use", "pending", "front", "source", "checked_at", "differing", "checks",
    "differed", "trouble",
)  # fmt: skip
NEAR: Final = 1000  # places that are exact at once; those behind follow
SLICE: Final = 5000  # workloads that one statement writes
IN_LINE: Final = Q(state="waiting", turn__gt="")
_ORDER: Final = """
    k.rank NULLS LAST, coalesce(u.used, 0), w.uid <> ALL(%(fronts)s::text[]),
    w.priority + w.boost DESC, w.queued_at, w.uid COLLATE "C"
"""
_IN: Final = """
    (w.state = 'waiting' AND w.turn > '' AND (k.rank IS NOT NULL OR NOT %(only_listed)s))
"""
_PLACE: Final = f"""
WITH line AS (
    SELECT w.id, w.queue, w.position, w.entry_position,
           CASE WHEN {_IN} THEN row_number() OVER in_queue END AS place,
           CASE WHEN {_IN} THEN row_number() OVER in_entry END AS entry_place
    FROM queues_workload AS w
    LEFT JOIN unnest(
        %(shared)s::text[], %(namespaces)s::text[], %(entries)s::text[], %(used)s::float8[]
    ) AS u(queue, namespace, entry, used)
        ON u.queue = w.queue AND u.namespace = w.namespace AND u.entry = w.entry
    LEFT JOIN unnest(%(listed)s::text[]) WITH ORDINALITY AS k(uid, rank) ON k.uid = w.uid
    WHERE w.cluster_id = %(cluster)s AND w.queue = ANY(%(queues)s::text[])
      AND ((w.state = 'waiting' AND w.turn > '') OR w.position IS NOT NULL)
    WINDOW in_queue AS (PARTITION BY w.queue, {_IN} ORDER BY {_ORDER}),
           in_entry AS (PARTITION BY w.queue, w.namespace, w.entry, {_IN} ORDER BY {_ORDER})
), away AS (
    SELECT id, queue, place, entry_place,
           place IS NULL OR position IS NULL OR least(place, position) <= %(near)s AS near
    FROM line
    WHERE (position, entry_position) IS DISTINCT FROM (place, entry_place)
), due AS (
    SELECT id, place, entry_place FROM away
    WHERE near OR queue = ANY(%(far)s::text[]) ORDER BY near DESC, place LIMIT %(most)s
), moved AS (
    UPDATE queues_workload AS w
    SET position = due.place, entry_position = due.entry_place, positioned_at = %(now)s
    FROM due WHERE w.id = due.id
    RETURNING w.id
)
SELECT line.queue, count(line.place), count(moved.id),
       count(*) FILTER (WHERE away.near AND moved.id IS NULL),
       count(*) FILTER (WHERE NOT away.near AND moved.id IS NULL)
FROM line LEFT JOIN away USING (id) LEFT JOIN moved USING (id) GROUP BY line.queue
"""  # noqa: S608 - put together from the constants above

Name = tuple[str, str]


@dataclass(slots=True)
class Line:
    """One queue: its row, changed in place and written by ``place``, and the use of its entries.

    ``before`` are the row's fields as they were read, ``None`` for a new row.
    """

    order: QueueOrder
    before: tuple[Any, ...] | None = None
    use: Mapping[Entry, float] | None = None

    @property
    def changed(self) -> bool:
        """Say whether the queue's row differs from what was read."""
        return self.before != _fields(self.order)


def read(cluster: Cluster, queues: Iterable[str], settings: QueueSettings) -> dict[str, Line]:
    """Read how these queues are ordered and who is held in front; three reads, four with use."""
    names = sorted(set(queues))
    found = {row.queue: row for row in QueueOrder.objects.filter(cluster=cluster, queue__in=names)}
    lines = {
        name: Line(found[name], _fields(found[name]))
        if name in found
        else Line(QueueOrder(cluster=cluster, queue=name))
        for name in names
    }
    _read_queues(cluster, lines, settings)
    _read_fronts(cluster, lines, settings)
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


def _read_fronts(cluster: Cluster, lines: Mapping[str, Line], settings: QueueSettings) -> None:
    fronts = [line.order.front for line in lines.values() if line.order.front]
    here = Workload.objects.filter(IN_LINE, cluster=cluster, queue__in=lines)
    candidates: dict[str, list[Ticket]] = {name: [] for name in lines}
    for queue, ticket, _ in _tickets(here.filter(Q(turn=Turn.MAKES_ROOM) | Q(uid__in=fronts))):
        candidates[queue].append(ticket)
    for name, line in lines.items():
        line.order.front = preemptor(
            candidates[name], line.order.strategy, before=line.order.front,
            keeps=settings.keeps_preemptor,
        )  # fmt: skip


def _tickets(rows: Any) -> Iterable[tuple[str, Ticket, Name]]:
    fields = (
        "queue", "uid", "namespace", "name", "entry", "priority", "boost", "queued_at", "turn",
    )  # fmt: skip
    for queue, uid, namespace, name, entry, priority, boost, at, turn in rows.values_list(*fields):
        ticket = Ticket(uid, (namespace, entry), priority + boost, at, turn == Turn.MAKES_ROOM)
        yield queue, ticket, (namespace, name)


def own_order(line: Line, most: int) -> dict[Name, Ticket]:
    """Return the first ``most`` pending workloads of a queue in own order, by name."""
    rows = Workload.objects.filter(
        IN_LINE, cluster_id=line.order.cluster_id, queue=line.order.queue
    )
    if line.use is None:
        # What stands behind is not read; who is held in front stands there whatever comes.
        by = ((F("priority") + F("boost")).desc(), "queued_at", Collate("uid", "C"))
        front = rows.filter(uid=line.order.front)
        found = [
            *_tickets(front),
            *_tickets(rows.exclude(uid=line.order.front).order_by(*by)[:most]),
        ]
    else:
        found = list(_tickets(rows))
    names = {ticket.uid: name for _, ticket, name in found}
    ordered = in_order((ticket for _, ticket, _ in found), front=line.order.front, use=line.use)
    return {names[ticket.uid]: ticket for ticket in ordered[:most]}


def uids_of(line: Line, names: Iterable[Name]) -> list[str]:
    """Return the uids of a queue's workloads with these names, in their order."""
    rows = Workload.objects.filter(
        IN_LINE, cluster_id=line.order.cluster_id, queue=line.order.queue
    )
    found = {(ns, name): uid for ns, name, uid in rows.values_list("namespace", "name", "uid")}
    return [found[name] for name in names if name in found]


def strangers(cluster: Cluster, names: Set[Name]) -> bool:
    """Return whether some of these workloads were never observed."""
    rows = Workload.objects.filter(cluster=cluster, name__in={name for _, name in names})
    return bool(names - set(rows.values_list("namespace", "name")))


@dataclass(frozen=True, slots=True)
class Placed:
    """What came of one queue: how many workloads wait in it, how many were written or left.

    ``near`` and ``far`` stand elsewhere than is written; ``near`` only when a slice was full.
    """

    pending: int = 0
    moved: int = 0
    near: int = 0
    far: int = 0


def place(
    cluster: Cluster,
    lines: Mapping[str, Line],
    now: datetime,
    *,
    far: Iterable[str] = (),
    listed: Sequence[str] = (),
    only_listed: bool = False,
) -> dict[str, Placed]:
    """Number the pending workloads of these queues, and write what moved; two statements.

    Places beyond ``NEAR`` are written only in the queues of ``far``. ``listed`` are uids that stand first, in this order, whatever the own order says; with
    ``only_listed`` nobody else is in the queue.
    """
    used = [
        (queue, *entry, use)
        for queue, line in lines.items()
        for entry, use in (line.use or {}).items()
    ]
    values: dict[str, Any] = {
        "cluster": cluster.pk, "queues": list(lines), "now": now,
        "shared": [each[0] for each in used], "namespaces": [each[1] for each in used],
        "entries": [each[2] for each in used], "used": [each[3] for each in used],
        "fronts": [line.order.front for line in lines.values() if line.order.front],
        "listed": list(listed), "only_listed": only_listed,
        "far": list(far), "near": NEAR, "most": SLICE,
    }  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute(_PLACE, values)
        placed = {queue: Placed(*numbers) for queue, *numbers in cursor.fetchall()}
    _write_orders(lines, placed, now)
    return placed


def _write_orders(lines: Mapping[str, Line], placed: Mapping[str, Placed], now: datetime) -> None:
    orders: list[QueueOrder] = []
    for name, line in lines.items():
        done = placed.get(name, Placed())
        line.order.pending = done.pending
        if done.moved or line.before is None:
            line.order.placed_at = now
        if done.moved or line.changed:
            orders.append(line.order)
    QueueOrder.objects.bulk_create(
        orders,
        update_conflicts=True,
        unique_fields=["cluster", "queue"],
        update_fields=[*FIELDS, "placed_at"],
    )
