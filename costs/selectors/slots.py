"""Hours put together to slots of a chart, and to the hours of a week: sums of what is known."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, NamedTuple

from costs.facts import Fact, Quality
from costs.selectors.hours import Sums, added, sums
from costs.times import HOUR, Span, hours, moment
from costs.used import together

#: Hours of one slot, so that a month of them has at most 248.
EVERY: Final = 3
#: What was had in an hour; ``None`` is an hour that nobody watched, which is not nothing.
ByHour = Mapping[int, Sums | None]


@dataclass(frozen=True, slots=True)
class Slot:
    """Several hours. ``sums`` are those of the ``known`` ones, ``None`` if there are none.

    ``most`` is what may be held at most in the known hours, in resource-seconds; ``None`` where
    nothing limits it or it is not known.
    """

    span: Span
    known: int
    sums: Sums | None
    most: int | None

    def average(self, seconds: int) -> Fraction:
        """Return the mean number of devices over the known hours."""
        return Fraction(seconds, self.known * HOUR)


class Cell(NamedTuple):
    """One hour of the week, over all weeks: resource-seconds in so many known hours."""

    held: int = 0
    of: int = 0
    hours: int = 0

    @property
    def share(self) -> Fraction | None:
        """Return held time as a part of the whole; ``None`` where there is no whole."""
        return Fraction(self.held, self.of) if self.of else None


def by_hour(found: Iterable[Fact], counted: Collection[int]) -> dict[int, Sums | None]:
    """Return what a tenant had in each hour; one that was counted without it had nothing."""
    hours: dict[int, Sums | None] = {hour: Sums() for hour in counted}
    for fact in found:
        hours[fact.hour] = None if fact.quality is Quality.MISSING else sums([fact])
    return hours


def slots(
    span: Span, found: ByHour, most: Mapping[int, int | None], every: int = EVERY
) -> list[Slot]:
    """Return the slots of a span in their order, also those in which nothing is known."""
    edges = range(span.starts, span.ends, every * HOUR)
    return [_slot(Span(at, min(at + every * HOUR, span.ends)), found, most) for at in edges]


def _slot(span: Span, found: ByHour, most: Mapping[int, int | None]) -> Slot:
    known = {hour.starts: each for hour in hours(span) if (each := found.get(hour.starts))}
    limits = [most.get(hour) for hour in known]
    given = [each for each in limits if each is not None]
    return Slot(
        span=span,
        known=len(known),
        sums=combined(known.values()) if known else None,
        most=sum(given) if given and len(given) == len(limits) else None,
    )


def combined(found: Iterable[Sums]) -> Sums:
    """Add up sums of several hours with their use."""
    each = list(found)
    uses = [one.use for one in each if one.use is not None]
    return added(each, together(uses) if uses else None)


def week(found: ByHour, whole: Mapping[int, int]) -> list[list[Cell]]:
    """Return seven days, Monday first, of 24 hours; ``whole`` is what held time is a part of."""
    parts: dict[tuple[int, int], Cell] = defaultdict(Cell)
    for hour, each in found.items():
        if each is not None:
            at = moment(hour)
            key = (at.weekday(), at.hour)
            cell = parts[key]
            parts[key] = Cell(cell.held + each.held, cell.of + whole.get(hour, 0), cell.hours + 1)
    return [[parts[day, hour] for hour in range(24)] for day in range(7)]
