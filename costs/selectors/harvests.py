"""Which hours of a cluster still have to be asked of its metrics."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from costs.models import Harvest, MetricsSource, Period
from costs.selectors.due import LATE
from costs.times import HOUR, Span, hour_of, hours, instant, moment

#: An hour is asked when it has been over for this long: the last scrapes are stored then.
SETTLED: Final = timedelta(minutes=3)
#: After a failure the next attempt waits, twice as long each time.
FIRST_PAUSE, LONGEST_PAUSE = 300, 6 * HOUR


def due(source: MetricsSource, now: datetime) -> list[Span]:
    """Return the hours to ask, the first first; two queries.

    Not those that Prometheus has forgotten by now, nor those of closed periods.
    """
    window = _window(source, now)
    if window is None:
        return []
    lo, hi = moment(window.starts), moment(window.ends)
    rows = Harvest.objects.filter(cluster=source.pk, hour__gte=lo, hour__lt=hi)
    asked = {instant(hour): each for hour, *each in rows.values_list("hour", "code", "at", "attempts")}  # fmt: skip
    closed = closed_within(window)
    return [
        hour
        for hour in hours(window)
        if _again(asked.get(hour.starts), now) and not any(hour.cut(each) for each in closed)
    ]


def _window(source: MetricsSource, now: datetime) -> Span | None:
    kept = source.found.get("retention")
    oldest = max(now - LATE, now - timedelta(seconds=kept) if kept else now - LATE)
    starts = hour_of(instant(oldest) - 1) + HOUR
    ends = hour_of(instant(now - SETTLED))
    return Span(starts, ends) if starts < ends else None


def _again(asked: list[object] | None, now: datetime) -> bool:
    if asked is None:
        return True
    code, at, attempts = asked
    if not code or not isinstance(at, datetime) or not isinstance(attempts, int):
        return False
    pause = min(FIRST_PAUSE << min(attempts - 1, 10), LONGEST_PAUSE)
    return at + timedelta(seconds=pause) <= now


def closed_within(window: Span) -> list[Span]:
    """Return the closed periods that a span touches."""
    rows = Period.objects.filter(
        state=Period.State.CLOSED, starts__lt=moment(window.ends), ends__gt=moment(window.starts)
    )
    return [Span(instant(a), instant(b)) for a, b in rows.values_list("starts", "ends")]
