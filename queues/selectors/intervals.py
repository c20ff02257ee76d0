"""The intervals of a time: those that are over and those that last, as one; and the gaps in it.

What a ledger sums up. Amounts are integers in the smallest unit (milli-CPU, bytes, devices),
times are cut to the asked span, and seconds are whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import Any, Final, NamedTuple

from django.db.models import F, QuerySet, Value

from queues.models import Gap, Interval, Lifetime, Phase, Quality

HOLDING: Final = (str(Phase.RESERVED), str(Phase.ADMITTED), str(Phase.DRAINING))
_CHUNK: Final = 5000


class Slice(NamedTuple):
    """A part of a phase inside the asked span; ``ends`` is its end where the phase still lasts.

    The qualities are those of the phase's own bounds; a bound outside the span is exact here.
    """

    lifetime_id: int
    phase: str
    attempt: int
    queue: str
    cohort: str
    starts: datetime
    starts_quality: str
    ends: datetime
    ends_quality: str
    held: list[dict[str, Any]]

    @property
    def seconds(self) -> int:
        """Return how long it lasted within the span."""
        return int((self.ends - self.starts).total_seconds())


@dataclass(frozen=True, slots=True)
class Holding:
    """What one sum of held resources belongs to."""

    queue: str
    flavor: str
    resource: str
    phase: str


_COLUMNS: Final = (
    "lifetime_id", "phase", "attempt", "queue", "cohort", "starts", "starts_quality", "ends",
    "ends_quality", "held",
)  # fmt: skip


def overlapping(cluster_id: int, lo: datetime, hi: datetime) -> Iterator[Slice]:
    """Yield the phases of a cluster that overlap [lo, hi), cut to it; two queries.

    ``hi`` is not in the future: a phase that still lasts is cut there.
    """
    over = Interval.objects.filter(cluster=cluster_id, ends__gt=lo, starts__lt=hi)
    lasting = (
        Lifetime.objects.filter(cluster=cluster_id, starts__lt=hi)
        .exclude(phase="")
        .annotate(lifetime_id=F("pk"), ends=Value(hi), ends_quality=Value(str(Quality.EXACT)))
    )
    for row in chain(_rows(over), _rows(lasting)):
        found = Slice(*row)
        if found.starts < lo:
            found = found._replace(starts=lo, starts_quality=str(Quality.EXACT))
        if found.ends > hi:
            found = found._replace(ends=hi, ends_quality=str(Quality.EXACT))
        yield found


def _rows(rows: QuerySet[Any]) -> Iterator[tuple[Any, ...]]:
    return rows.values_list(*_COLUMNS).iterator(chunk_size=_CHUNK)


def held_seconds(cluster_id: int, lo: datetime, hi: datetime) -> dict[Holding, int]:
    """Return what was held within [lo, hi), in resource-seconds."""
    total: Counter[Holding] = Counter()
    for each in overlapping(cluster_id, lo, hi):
        if each.phase not in HOLDING:
            continue
        for part in each.held:
            key = Holding(each.queue, part["flavor"], part["resource"], each.phase)
            total[key] += part["amount"] * each.seconds
    return dict(total)


def gaps(cluster_id: int, lo: datetime, hi: datetime, kind: str = "Workload") -> list[Gap]:
    """Return the times within [lo, hi) in which nobody listened to a kind, the first first."""
    rows = Gap.objects.filter(cluster=cluster_id, kind=kind, ends__gt=lo, starts__lt=hi)
    return list(rows.order_by("starts"))
