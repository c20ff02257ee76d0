"""Marks the rows of an answer whose figures were made up for a demo."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

from costs.models import BillFile, Period, Statement, TenantDay, TenantHour
from costs.selectors.generated import generated
from costs.selectors.months import Month
from costs.times import HOUR, Span, instant

_DAY: Final = timedelta(days=1)


def mark(rows: Iterable[Any]) -> None:
    """Set ``generated`` on rows of hours, days, months, periods, statements or bills; one query."""
    told = generated()
    for row in rows:
        clusters = [row.cluster_id] if hasattr(row, "cluster_id") else None
        span = _span(row)
        row.generated = span is not None and told.within(span, clusters)


def _span(row: Any) -> Span | None:
    if isinstance(row, TenantHour):
        starts = instant(row.hour)
        return Span(starts, starts + HOUR)
    if isinstance(row, TenantDay):
        return Span(_midnight(row.starts), _midnight(row.starts + _DAY))
    if isinstance(row, Statement):
        row = row.period
    if isinstance(row, Period):
        return Span(instant(row.starts), instant(row.ends))
    if isinstance(row, BillFile):
        if row.period_starts is None or row.period_ends is None:
            return None
        return Span(instant(row.period_starts), instant(row.period_ends))
    return Month(row.starts.year, row.starts.month).span


def _midnight(day: date) -> int:
    return instant(datetime(day.year, day.month, day.day, tzinfo=UTC))
