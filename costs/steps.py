"""Step functions over time: amounts that last, and values that hold from a date on.

An amount times the seconds that it lasted gives resource-seconds, always whole numbers in the
resource's own unit (a GPU, a MIG slice, a replica of a shared GPU).
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Generic, NamedTuple, TypeVar

from costs.times import Span, hours

T = TypeVar("T")


class Step(NamedTuple):
    """An amount that lasted for a while."""

    span: Span
    amount: int


def total(steps: Iterable[Step], within: Span | None = None) -> int:
    """Return resource-seconds, of all the time or of a part of it."""
    cut = ((step.span.cut(within) if within else step.span, step.amount) for step in steps)
    return sum(span.seconds * amount for span, amount in cut if span)


def by_hour(steps: Iterable[Step]) -> dict[int, int]:
    """Return resource-seconds by the start of each hour; hours without any are left out."""
    found: Counter[int] = Counter()
    for span, amount in steps:
        for hour in hours(span):
            part = span.cut(hour)
            found[hour.starts] += part.seconds * amount if part else 0
    return {hour: seconds for hour, seconds in sorted(found.items()) if seconds}


def levels(steps: Iterable[Step]) -> list[Step]:
    """Return the sum of all steps as steps that follow each other; where it is 0 is left out."""
    change: Counter[int] = Counter()
    for span, amount in steps:
        if span.starts < span.ends:
            change[span.starts] += amount
            change[span.ends] -= amount
    found: list[Step] = []
    since, level = 0, 0
    for at, difference in sorted(change.items()):
        if difference:
            if level:
                found.append(Step(Span(since, at), level))
            since, level = at, level + difference
    return found


class Dated(Generic[T]):
    """Values that hold from their start to the start of the next one.

    Nothing (``None``) holds before the first, and from a start whose value is ``None``. So no
    two can overlap, and one that is added late only shortens the one before it.
    """

    def __init__(self, values: Iterable[tuple[int, T | None]]) -> None:
        """Sort the values; two with the same start are a ``ValueError``."""
        found = sorted(values, key=lambda each: each[0])
        self.starts = [at for at, _ in found]
        self.values = [value for _, value in found]
        if len(set(self.starts)) != len(self.starts):
            message = "two values begin at the same time"
            raise ValueError(message)

    def at(self, instant: int) -> T | None:
        """Return the value that holds at an instant."""
        place = bisect_right(self.starts, instant)
        return self.values[place - 1] if place else None

    def within(self, span: Span) -> Iterator[tuple[Span, T | None]]:
        """Yield a span in parts of one value each, without gaps."""
        first, last = bisect_right(self.starts, span.starts), bisect_right(self.starts, span.ends)
        edges = [span.starts, *self.starts[first:last], span.ends]
        for starts, ends in pairwise(edges):
            if starts < ends:
                yield Span(starts, ends), self.at(starts)
