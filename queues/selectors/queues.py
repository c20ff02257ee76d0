"""One queue: who runs, who waits and in which order. Jobs of others are counts, never names.

Both lists come a page at a time: a queue may hold tens of thousands of jobs.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, lru_cache, partial
from typing import Any, Final, TypeVar

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import DateTimeField, F, Model, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce, JSONObject
from django.http import QueryDict
from django.utils.dateparse import parse_datetime

from portal.web.lists import Cut, Rows, Shape, both, cut_of
from queues.compiled import Among, Once, Part, number, text
from queues.models import QueueOrder, Workload
from queues.models.observed import line_place
from queues.selectors.pulse import of_queue
from queues.selectors.room import trees_of, with_trees
from queues.selectors.tenants import RUNNING, TREE_LIMIT, WAITING, QueueNow, described, joined
from tenants.models import Entry, Queue, Tenant

M = TypeVar("M", bound=Model)
IN_ORDER: Final = {"place": ("place", "pk")}
LONGEST_FIRST: Final = {"began": ("began", "pk")}


@dataclass(frozen=True, slots=True)
class Others:
    """Jobs that the viewer may not see, between two that they may: a count and a size."""

    jobs: int
    devices: int
    first: int | None = None
    last: int | None = None


@dataclass(frozen=True, slots=True)
class Standing:
    """The lists of a queue page: one page of each, and sums over all."""

    running: Rows[Workload]
    running_others: Others
    waiting: Rows[Workload]
    pending: list[Workload | Others]
    totals: dict[str, Others] = field(default_factory=dict)

    @property
    def named(self) -> list[Workload]:
        """Give the jobs that the viewer sees by name."""
        pending = [row for row in self.pending if isinstance(row, Workload)]
        return [*self.running.rows, *pending]


@dataclass(frozen=True, slots=True)
class Readable:
    """The namespaces whose jobs a viewer may read by name: of none, unless it says so."""

    names: frozenset[str] = frozenset()
    all: bool = False

    def __contains__(self, namespace: object) -> bool:
        """Say whether the jobs of a namespace have names for the viewer."""
        return self.all or namespace in self.names

    def __bool__(self) -> bool:
        """Say whether there is any job that the viewer might read."""
        return self.all or bool(self.names)

    def of(self, rows: QuerySet[Workload]) -> QuerySet[Workload]:
        """Keep the jobs that the viewer may read by name."""
        return rows if self.all else rows.filter(namespace__in=self.names)


def readable(queue: Queue, *, sees_all: bool) -> Readable:
    """Read what ``with_readable`` has added to a queue."""
    return Readable(frozenset(getattr(queue, "readable", None) or ()), all=sees_all)


def with_readable(queues: QuerySet[Queue], tenants: QuerySet[Tenant]) -> QuerySet[Queue]:
    """Add to each queue the namespaces of its cluster in which ``tenants`` have an entry."""
    spaces = Entry.objects.filter(cluster=OuterRef("cluster"), queue__tenant__in=tenants)
    names = spaces.order_by("namespace").values("namespace").distinct()
    return queues.annotate(readable=ArraySubquery(names))


def with_order(queues: QuerySet[Queue]) -> QuerySet[Queue]:
    """Add to each queue how the places of its line were found."""
    return queues.annotate(line_order=_ORDER())


def _order() -> Subquery[Any]:
    rows = QueueOrder.objects.filter(cluster=OuterRef("cluster"), queue=OuterRef("name"))
    fields = ("strategy", "by_use", "source", "differing", "trouble", "placed_at", "checked_at")
    facts = JSONObject(**{name: name for name in fields})
    return Subquery(rows.values(json=facts)[:1])


_ORDER: Final = Part(Queue, _order)


def order_of(queue: Queue) -> QueueOrder | None:
    """Read what ``with_order`` has added to a queue."""
    facts: dict[str, Any] | None = getattr(queue, "line_order", None)
    if facts is None:
        return None
    times = {name: parse_datetime(facts[name] or "") for name in ("placed_at", "checked_at")}
    return QueueOrder(queue=queue.name, **facts | times)


#: What is asked of a queue of which the browser may have the newest page: no more than that takes.
_FIRST: Final = ("cluster_id", "tenant_id", "name", "strategy")


def asked(cluster: str, name: str, tenants: Collection[int] | None) -> list[Queue]:
    """Give the queue of this name with its pulse and the order of its line; at most one.

    It is there when it is of one of these ``tenants``, given as ids; None stands for all.
    """
    ask = _first_row(everything=tenants is None)
    return ask(cluster=cluster, name=name, tenants=list(tenants or ()))


@cache
def _first_row(*, everything: bool) -> Once[Queue]:
    rows = _of(Queue.objects.all(), "tenant_id", everything=everything)
    rows = rows.filter(cluster__slug=text("cluster"), name=text("name"))
    return Once(lambda: of_queue(with_order(rows)).only(*_FIRST).order_by())


def queue_now(pk: int, tenants: Collection[int] | None) -> QueueNow:
    """Give one queue as ``queues_now`` does, and what ``with_readable`` adds for these tenants.

    ``tenants`` are ids, None stands for all. Raises ``Queue.DoesNotExist``.
    """
    rows = _one_queue(everything=tenants is None)(pk=pk, tenants=list(tenants or ()))
    if not rows:
        raise Queue.DoesNotExist
    return joined(rows, trees_of(rows))[0]


@cache
def _one_queue(*, everything: bool) -> Once[Queue]:
    """Put the query of one queue together once; it is asked for by each page of a queue."""
    own = _of(Tenant.objects.all(), "pk", everything=everything)
    row = with_readable(Queue.objects.filter(pk=number("pk")), own)
    return Once(lambda: with_trees(described(row), TREE_LIMIT).order_by())


def _of(rows: QuerySet[M], column: str, *, everything: bool) -> QuerySet[M]:
    return rows if everything else rows.filter(Among(F(column), number("tenants")))


def standing(now: QueueNow, query: QueryDict, seen: Readable) -> Standing:
    """Give both lists for a viewer who may read these jobs by name.

    ``query`` holds the places of the pages: ``after`` and ``before`` of the waiting list,
    ``running-after`` and ``running-before`` of the other.
    """
    waiting, running = both(
        cut_of(_ANY, query, IN_ORDER),
        cut_of(_ANY, query, LONGEST_FIRST, name="running-"),
        lambda job: job.state in WAITING,
        partial(_pages, now.queue, seen),
    )
    totals = {"running": _all(now, RUNNING), "waiting": _all(now, WAITING)}
    own = now.summed(RUNNING, seen)
    return Standing(
        running=running,
        running_others=Others(
            totals["running"].jobs - own.jobs, totals["running"].devices - own.devices
        ),
        waiting=waiting,
        pending=list(folded(waiting.rows, seen)) if seen else _hidden(totals["waiting"]),
        totals=totals,
    )


def _pages(
    queue: Queue, seen: Readable, waiting: Cut[Workload], running: Cut[Workload]
) -> list[Workload]:
    """Read one page of each list in one query; for somebody who reads no job there is none."""
    if not seen:
        return []
    places = {"waiting": waiting.place, "running": running.place}
    return _asked(waiting.shape, running.shape, everything=seen.all)(
        cluster=queue.cluster_id, queue=queue.name, names=sorted(seen.names),
        **{f"{name}{n}": value for name, key in places.items() for n, value in enumerate(key)},
    )  # fmt: skip


@lru_cache(maxsize=64)
def _asked(waiting: Shape, running: Shape, *, everything: bool) -> Once[Workload]:
    """Put the query of two pages together: that of the first pages is asked all the time."""
    rows = Workload.objects.filter(cluster=number("cluster"), queue=text("queue"))
    named = rows if everything else rows.filter(Among(F("namespace"), text("names")))
    first = _page(line(rows), waiting, "waiting")
    second = _page(held_by(named), running, "running")
    return Once(lambda: first.rows().union(second.rows(), all=True))


def _page(whole: QuerySet[Workload], shape: Shape, name: str) -> Cut[Workload]:
    fields, size, back, start = shape
    place = [text(f"{name}{n}") for n in range(len(fields))]
    return Cut(whole, "", fields, size, place if back else None, place if start else None)


def line(rows: QuerySet[Workload]) -> QuerySet[Workload]:
    """Give what waits, with the ``place`` by which it is sorted."""
    return _sorted(rows.filter(state__in=WAITING))


def held_by(rows: QuerySet[Workload]) -> QuerySet[Workload]:
    """Give what has its place, with the time ``began`` by which it is sorted."""
    return _sorted(rows.filter(state__in=RUNNING))


def _sorted(rows: QuerySet[Workload]) -> QuerySet[Workload]:
    """Add what both lists are sorted by, so that one query can read them."""
    return rows.annotate(
        place=line_place(),
        began=Coalesce(F("since"), F("created_at"), output_field=DateTimeField()),
    )


#: What tells the types of the columns by which the lists are sorted.
_ANY: Final = _sorted(Workload.objects.all())


def _all(now: QueueNow, states: Container[str]) -> Others:
    sums = now.summed(states)
    return Others(sums.jobs, sums.devices)


def _hidden(waiting: Others) -> list[Workload | Others]:
    """One stretch for somebody who reads no job of this queue by name."""
    return [Others(waiting.jobs, waiting.devices, 1, waiting.jobs)] if waiting.jobs else []


def folded(waiting: Iterable[Workload], seen: Readable) -> Iterator[Workload | Others]:
    """Replace each stretch of jobs of others by its count and size."""
    hidden: list[Workload] = []
    for job in waiting:
        if job.namespace in seen:
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
