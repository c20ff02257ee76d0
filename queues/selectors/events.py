"""What happened to a queue, newest first: what was written to it, and who lost a place in it.

Each kind of event is one source below; a further one is one more line in ``SOURCES``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import Any, Final

from django.db.models import Q, QuerySet
from django.http import QueryDict
from django.utils.dateparse import parse_datetime

from portal.web.lists import pack, read_cursor
from queues.models import Eviction, ObjectResult
from tenants.models import Queue

SIZE: Final = 50
CURSOR: Final = "event"
WRITTEN, EVICTED = "written", "evicted"
Row = ObjectResult | Eviction


@dataclass(frozen=True, slots=True)
class Event:
    """One event: its ``row`` is an ObjectResult when written, an Eviction when evicted."""

    source: str
    at: datetime
    row: Any

    @property
    def place(self) -> tuple[datetime, str, int]:
        """Give what orders events; of two in one second the later row is the newer."""
        return (self.at, self.source, self.row.pk)


@dataclass(frozen=True, slots=True)
class Happened:
    """One page of events and the cursor of the next one; empty when it is the last."""

    events: list[Event]
    after: str = ""
    before: str = ""


def of_queue(queue: Queue, query: QueryDict, size: int = SIZE) -> Happened:
    """Give one page of what happened to a queue, in one query for each source."""
    place = _place(query.get("after", ""))
    found = chain.from_iterable(_some(name, queue, place, size + 1) for name in SOURCES)
    newest = sorted(found, key=lambda each: each.place, reverse=True)
    page = newest[:size]
    return Happened(page, _cursor(page[-1]) if len(newest) > size else "")


def _written(queue: Queue) -> QuerySet[ObjectResult]:
    states = ObjectResult.State
    rows = ObjectResult.objects.filter(
        apply__cluster_id=queue.cluster_id, object__kind="ClusterQueue", object__name=queue.name
    ).exclude(state__in=[states.PENDING, states.FOUND])
    return rows.select_related("apply__revision", "apply__request__author", "object").defer(
        "apply__revision__catalog", "object__wanted", "object__base"
    )


def _evicted(queue: Queue) -> QuerySet[Eviction]:
    rows = Eviction.objects.filter(cluster_id=queue.cluster_id, queue=queue.name)
    return rows.select_related("lifetime").defer("lifetime__conditions", "lifetime__held")


SOURCES: Final[Mapping[str, Callable[[Queue], QuerySet[Any]]]] = {
    EVICTED: _evicted,
    WRITTEN: _written,
}
Place = tuple[datetime, str, int]


def _some(name: str, queue: Queue, place: Place | None, number: int) -> list[Event]:
    rows = SOURCES[name](queue).filter(at__isnull=False)
    if place is not None:
        rows = rows.filter(_older(name, *place))
    return [Event(name, row.at, row) for row in rows.order_by("-at", "-pk")[:number]]


def _older(name: str, at: datetime, source: str, pk: int) -> Q:
    """Leave out what comes up to the place; within one second the sources have an order too."""
    if name < source:
        return Q(at__lte=at)
    return Q(at__lt=at) | Q(at=at, pk__lt=pk) if name == source else Q(at__lt=at)


def _cursor(event: Event) -> str:
    return pack(CURSOR, [event.at.isoformat(), event.source, event.row.pk])


def _place(text: str) -> Place | None:
    found = read_cursor(text, CURSOR, 3)
    if found is None or found[1] not in SOURCES or not isinstance(found[2], int):
        return None
    try:
        at = parse_datetime(str(found[0]))
    except ValueError:
        return None
    pk = min(max(found[2], 0), 2**63 - 1)
    return (at, str(found[1]), pk) if at is not None and at.tzinfo else None
