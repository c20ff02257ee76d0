"""Months of UTC, their days, and how much of each day is known."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

from costs.facts import Fact, Quality
from costs.selectors.hours import Sums, sums
from costs.times import HOUR, Span, hours, month

DAY: Final = 24 * HOUR
#: An hour that ended this long ago and was not counted is missing; a newer one is only late.
GRACE: Final = 3 * HOUR
FIRST, LAST = 2000, 2999


class Month(NamedTuple):
    """A month of UTC."""

    year: int
    number: int

    def __str__(self) -> str:
        """Return it as addresses name it: 2026-11."""
        return f"{self.year}-{self.number:02}"

    @property
    def span(self) -> Span:
        """Return its hours; UTC has no summer time, so its days have 24 each."""
        return month(self.year, self.number)

    def moved(self, by: int) -> Month:
        """Return the month so many months later, or earlier."""
        year, number = divmod(self.year * 12 + self.number - 1 + by, 12)
        return Month(year, number + 1)


@dataclass(frozen=True, slots=True)
class Day:
    """One day: its hours by quality, and the sums of those that were watched.

    ``missing`` are hours that nobody watched or counted, ``late`` those that may still be
    counted, ``ahead`` those to come. ``sums`` is ``None`` where no hour is known: that is not 0.
    """

    starts: int
    known: Counter[Quality]
    missing: int
    late: int
    ahead: int
    sums: Sums | None

    @property
    def counted(self) -> int:
        """Return how many hours are in the sums."""
        return self.known.total()


def days(span: Span, found: Iterable[Fact], counted: Collection[int], now: int) -> list[Day]:
    """Return each day of a span of whole days.

    ``counted`` are hours of the cluster that were counted, also without a fact of this tenant.
    """
    by_day: dict[int, list[Fact]] = defaultdict(list)
    for fact in found:
        by_day[fact.hour - fact.hour % DAY].append(fact)
    edges = range(span.starts, span.ends, DAY)
    return [_day(Span(at, at + DAY), by_day[at], counted, now) for at in edges]


def _day(span: Span, found: list[Fact], counted: Collection[int], now: int) -> Day:
    with_fact = {fact.hour for fact in found}
    known: Counter[Quality] = Counter(fact.quality for fact in found)
    missing = known.pop(Quality.MISSING, 0)
    late = ahead = 0
    for hour in hours(span):
        if hour.starts in with_fact:
            continue
        if hour.starts in counted:
            known[Quality.OBSERVED] += 1
        elif hour.ends > now:
            ahead += 1
        elif hour.ends > now - GRACE:
            late += 1
        else:
            missing += 1
    watched = [fact for fact in found if fact.quality is not Quality.MISSING]
    return Day(span.starts, known, missing, late, ahead, sums(watched) if known.total() else None)
