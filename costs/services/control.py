"""Puts what our records say beside what Kueue's gauges said, hour by hour."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from costs.facts import Hold
from costs.models import GaugeHour
from costs.selectors.hours import within
from costs.times import Span, hours, instant
from tenants.models import Cluster


def note(*, cluster: Cluster, span: Span, holds: Iterable[Hold]) -> None:
    """Write what was held beside each gauge of a span; one query where there is none.

    Call it inside the transaction that counts the hours.
    """
    rows = list(GaugeHour.objects.filter(within(span), cluster=cluster))
    if not rows:
        return
    held: Counter[tuple[int, str, str, str]] = Counter()
    for hold in holds:
        part = hold.span.cut(span)
        for hour in hours(part) if part else ():
            within_hour = hold.span.cut(hour)
            seconds = within_hour.seconds if within_hour else 0
            held[hour.starts, hold.queue, *hold.pool] += seconds * hold.amount
    for row in rows:
        row.held = held[instant(row.hour), row.queue, row.flavor, row.resource]
    GaugeHour.objects.bulk_update(rows, ["held"], batch_size=2000)
