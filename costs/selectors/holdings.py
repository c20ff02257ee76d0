"""What Workloads held, from the intervals that the observer has written.

The ledger counts devices alone. A bound that no condition gave comes with the earliest and the
latest time at which it can have been, so that a sum knows how far off it may be. What changed
while nobody listened is in the gaps.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import chain
from typing import Any, Final

from django.db.models import F, Q, QuerySet, Value

from costs.facts import Hold, Phase, Pool
from costs.times import Span, instant, moment
from kube.lifecycle_facts import is_device
from queues.models import Gap, Interval, Lifetime
from tenants.models import Queue

HOLDING: Final = tuple(each.value for each in Phase)
#: A gap after which every change was delivered late hides nothing.
_BLIND: Final = str(Gap.Healed.LISTED)
_CHUNK: Final = 5000
_COLUMNS: Final = (
    "queue", "phase", "held", "starts", "starts_earliest", "starts_latest", "ends",
    "ends_earliest", "ends_latest",
)  # fmt: skip


def holds(cluster_id: int, span: Span) -> Iterator[Hold]:
    """Yield what was held of devices at any time of a span, in two queries.

    The span is not in the future: what is still held counts to its end.
    """
    lo, hi = moment(span.starts), moment(span.ends)
    # An interval that can have reached into the span, whatever its best guess is.
    reaches = Q(ends__gt=lo) | Q(ends_latest__gt=lo)
    begins = Q(starts__lt=hi) | Q(starts_earliest__lt=hi)
    over = Interval.objects.filter(reaches, begins, cluster=cluster_id, phase__in=HOLDING)
    lasting = Lifetime.objects.filter(begins, cluster=cluster_id, phase__in=HOLDING).annotate(
        ends=Value(hi), ends_earliest=Value(hi), ends_latest=Value(hi)
    )
    for row in chain(_rows(over), _rows(lasting)):
        yield from _holds(dict(zip(_COLUMNS, row, strict=True)))


def _rows(rows: QuerySet[Any]) -> Iterator[tuple[Any, ...]]:
    return rows.values_list(*_COLUMNS).iterator(chunk_size=_CHUNK)


def _holds(row: dict[str, Any]) -> Iterator[Hold]:
    span = _span(row["starts"], row["ends"])
    surely = _span(row["starts_latest"] or row["starts"], row["ends_earliest"] or row["ends"])
    at_most = _span(row["starts_earliest"] or row["starts"], row["ends_latest"] or row["ends"])
    for part in row["held"]:
        pool = Pool(part["flavor"], part["resource"])
        if is_device(pool.resource):
            yield Hold(
                row["queue"], pool, Phase(row["phase"]), span, part["amount"], surely, at_most
            )


def _span(starts: datetime, ends: datetime) -> Span:
    first, last = instant(starts), instant(ends)
    # Bounds may cross: it can have been over before it had begun for certain.
    return Span(first, max(first, last))


def owners(cluster_id: int) -> dict[str, str]:
    """Return the tenant of each queue by its name, as the catalog has it now; one query."""
    rows = Queue.objects.filter(cluster=cluster_id).annotate(slug=F("tenant__slug"))
    return dict(rows.values_list("name", "slug"))


def gaps(cluster_id: int, span: Span) -> list[Span]:
    """Return the times of a span whose changes may be unknown, widened to whole seconds."""
    rows = Gap.objects.filter(
        cluster=cluster_id, kind="Workload", healed=_BLIND,
        starts__lt=moment(span.ends), ends__gt=moment(span.starts),
    )  # fmt: skip
    times = rows.order_by("starts").values_list("starts", "ends")
    return [Span(instant(starts), instant(ends) + 1) for starts, ends in times]
