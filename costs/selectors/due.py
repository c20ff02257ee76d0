"""Which hours of a cluster have to be counted: those that never were, and those known better now.

A row says when it was noted, and a run what was on record when it counted. What was noted later
about a time before the end of an hour makes that hour and those after it due again.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any, Final

from django.db.models import DateTimeField, ExpressionWrapper, F, Max, Q, QuerySet
from django.db.models.functions import Coalesce, TruncHour

from costs.models import Harvest, Period, Run
from costs.selectors import listening
from costs.times import HOUR, Span, hour_of, hours, instant, moment
from queues.models import Gap, Interval, NodeChange, PodInterval, PodRun, QuotaChange
from tenants.models import Revision

#: An hour is counted when it has been over for this long, so that little comes after it.
SETTLED: Final = timedelta(minutes=10)
#: What is noted later than this about an hour does not change it any more by itself.
LATE: Final = timedelta(days=7)
#: Hours that are counted together.
TOGETHER: Final = 6
#: A row carries the time of its statement and is seen when its transaction has ended.
UNSEEN: Final = timedelta(minutes=1)
_HOUR: Final = timedelta(hours=1)


def spans(cluster_id: int, now: datetime) -> list[Span]:
    """Return the hours to count as spans of a few hours each, the first first.

    Hours of closed periods, hours of which not everything is heard yet, and hours before the
    first look are not among them.
    """
    window = _window(cluster_id, now)
    if window is None:
        return []
    counted = _counted(cluster_id, window)
    late = _late(cluster_id, window)
    asked = _asked(cluster_id, window)
    closed = _closed(window)
    known_at: datetime | None = None
    found = []
    for hour in hours(window):
        news = late.get(hour.starts)
        known_at = max((each for each in (known_at, news) if each), default=None)
        at = counted.get(hour.starts)
        # What was used in an hour says nothing of the hours after it.
        latest = max((each for each in (known_at, asked.get(hour.starts)) if each), default=None)
        stale = at is None or (latest is not None and latest > at - UNSEEN)
        if stale and not any(hour.cut(each) for each in closed):
            found.append(hour.starts)
    return list(_together(found))


def _window(cluster_id: int, now: datetime) -> Span | None:
    """Return the hours that can be counted by now."""
    begun, heard = listening.begun(cluster_id), listening.heard_until(cluster_id)
    if begun is None or heard is None:
        return None
    ends = hour_of(instant(min(now - SETTLED, heard)))
    starts = hour_of(instant(max(begun, now - LATE)))
    return Span(starts, ends) if starts < ends else None


def _counted(cluster_id: int, window: Span) -> dict[int, datetime]:
    """Return when each hour was counted last."""
    lo, hi = moment(window.starts), moment(window.ends)
    runs = Run.objects.filter(cluster=cluster_id, ends__gt=lo, starts__lt=hi)
    found: dict[int, datetime] = {}
    for starts, ends, at in runs.values_list("starts", "ends", "at"):
        part = Span(instant(starts), instant(ends)).cut(window)
        for hour in hours(part) if part else ():
            found[hour.starts] = max(at, found.get(hour.starts, at))
    return found


def _asked(cluster_id: int, window: Span) -> dict[int, datetime]:
    """Return when each hour was asked of the metrics."""
    lo, hi = moment(window.starts), moment(window.ends)
    rows = Harvest.objects.filter(cluster=cluster_id, hour__gte=lo, hour__lt=hi, code="")
    return {instant(hour): at for hour, at in rows.values_list("hour", "at")}


def _closed(window: Span) -> list[Span]:
    rows = Period.objects.filter(
        state=Period.State.CLOSED, starts__lt=moment(window.ends), ends__gt=moment(window.starts)
    )
    return [Span(instant(a), instant(b)) for a, b in rows.values_list("starts", "ends")]


def _late(cluster_id: int, window: Span) -> dict[int, datetime]:
    """Return from which hours on something became known after them, and when at the latest.

    One row for each hour and table at most, whatever there is.
    """
    found: dict[int, datetime] = {}
    for hour, noted in _news(cluster_id, moment(window.starts), moment(window.ends)):
        at = max(instant(hour), window.starts)
        found[at] = max(noted, found.get(at, noted))
    return found


def _news(cluster_id: int, lo: datetime, hi: datetime) -> Iterator[tuple[datetime, datetime]]:
    of_cluster = {"cluster": cluster_id}
    changed = Coalesce("earliest", "since")
    for rows, changed_at, noted_at in (
        (Interval.objects.all(), Coalesce("ends_earliest", "ends"), "noted_at"),
        (PodInterval.objects.all(), Coalesce("ends_earliest", "ends"), "noted_at"),
        (PodRun.objects.all(), Coalesce("starts_earliest", "starts"), "noted_at"),
        (QuotaChange.objects.all(), changed, "observed_at"),
        (NodeChange.objects.all(), changed, "observed_at"),
        (Gap.objects.filter(kind__in=(*listening.KINDS, listening.POD)), F("starts"), "ends"),
    ):
        here: QuerySet[Any] = rows.filter(**of_cluster)
        yield from _by_hour(here, changed_at, noted_at, lo, hi)
    # What was before the first revision belongs to whom that one says.
    first = Revision.objects.filter(cluster=cluster_id, number=1, committed_at__gte=lo)
    for committed_at in first.values_list("committed_at", flat=True):
        yield lo, committed_at


def _by_hour(
    rows: QuerySet[Any], changed_at: Any, noted_at: str, lo: datetime, hi: datetime
) -> QuerySet[Any]:
    """Return the hours of changes that were noted after their hour, and the latest such note."""
    over = ExpressionWrapper(F("hour") + _HOUR, output_field=DateTimeField())
    later = Q(**{f"{noted_at}__gte": lo}) & Q(**{f"{noted_at}__gte": over})
    late = rows.annotate(hour=TruncHour(changed_at, tzinfo=UTC)).filter(later, hour__lt=hi)
    found: QuerySet[Any] = late.values("hour").annotate(last=Max(noted_at))
    return found.values_list("hour", "last")


def _together(found: list[int]) -> Iterator[Span]:
    """Yield hours that follow each other as spans, none of them too long."""
    if not found:
        return
    starts = found[0]
    for hour, following in pairwise([*found, -1]):
        ends = hour + HOUR
        if following != ends or ends - starts >= TOGETHER * HOUR:
            yield Span(starts, ends)
            starts = following
