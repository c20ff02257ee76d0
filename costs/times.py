"""Instants as whole seconds of UTC, the hours of the ledger, and the months of a bill.

Facts know UTC alone. The zone of a month belongs to the billing period: its edges are local
midnights, which must fall on whole hours of UTC, because an hour is the smallest fact.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

HOUR: Final = 3600
_SECOND: Final = timedelta(seconds=1)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class CutsHours(ValueError):
    """A period begins or ends within an hour of UTC, which no fact can be split for."""


class Span(NamedTuple):
    """A time [starts, ends) in seconds since 1970 UTC."""

    starts: int
    ends: int

    @property
    def seconds(self) -> int:
        """Return how long it lasts."""
        return self.ends - self.starts

    def cut(self, to: Span) -> Span | None:
        """Return the part of it within another span; ``None`` if there is none."""
        starts, ends = max(self.starts, to.starts), min(self.ends, to.ends)
        return Span(starts, ends) if starts < ends else None


def instant(moment: datetime) -> int:
    """Return seconds since 1970, cut to the second as the times of conditions are.

    A time without a zone could be anybody's: ``ValueError``.
    """
    if moment.tzinfo is None:
        message = f"a time without a zone: {moment.isoformat()}"
        raise ValueError(message)
    return (moment - _EPOCH) // _SECOND


def moment(at: int) -> datetime:
    """Return an instant as a time in UTC."""
    return _EPOCH + at * _SECOND


def hour_of(at: int) -> int:
    """Return the start of the hour that an instant is in."""
    return at - at % HOUR


def hours(span: Span) -> Iterator[Span]:
    """Yield the whole hours of UTC that a span touches."""
    for starts in range(hour_of(span.starts), span.ends, HOUR):
        yield Span(starts, starts + HOUR)


def between(starts: datetime, ends: datetime) -> Span:
    """Return a period of whole hours; ``CutsHours`` if an edge is within an hour of UTC."""
    span = Span(instant(starts), instant(ends))
    for edge in span:
        if edge % HOUR:
            message = f"{moment(edge):%F %T} is within an hour of UTC"
            raise CutsHours(message)
    return span


def month(year: int, number: int, zone: str = "UTC") -> Span:
    """Return a local month; summer time makes it an hour shorter or longer.

    ``CutsHours`` for zones that are half an hour off.
    """
    local = ZoneInfo(zone)
    following = (year + 1, 1) if number == 12 else (year, number + 1)
    return between(datetime(year, number, 1, tzinfo=local), datetime(*following, 1, tzinfo=local))
