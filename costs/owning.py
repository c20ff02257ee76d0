"""Which devices of a queue are borrowed: a rule of the portal, as Kueue says it of queues alone.

The quota of a queue is filled by its reservations in the order in which they were made. While it
holds more than its quota, the newest devices are the borrowed ones: of the reservation at the
edge a part is. So what all its Workloads have borrowed is what the queue has.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

from costs.facts import Grant
from costs.steps import Dated, Step
from costs.times import Span

#: A reservation: when it was made, and the Workload that has it. Later ones are newer.
Turn = tuple[int, int]


class Reserved(NamedTuple):
    """Devices that a reservation held for a while; several at once of one are added up."""

    turn: Turn
    span: Span
    amount: int


class Above(NamedTuple):
    """Devices of a Workload that were borrowed for a while."""

    workload: int
    span: Span
    amount: int


def borrowed(
    found: Iterable[Reserved], grants: Dated[Grant] | None, within: Span
) -> Iterator[Above]:
    """Yield what of one queue and one pool was borrowed within a span, in the order of time.

    A queue without a department has nobody to borrow from.
    """
    if grants is None:
        return
    line = _Line()
    changes: dict[int, list[tuple[Turn, int]]] = defaultdict(list)
    for each in found:
        if part := each.span.cut(within):
            changes[part.starts].append((each.turn, each.amount))
            changes[part.ends].append((each.turn, -each.amount))
    rules = [at for at in grants.starts if within.starts < at < within.ends]
    for starts, ends in pairwise(sorted({*changes, *rules, *within})):
        for turn, difference in changes.get(starts, ()):
            line.change(turn, difference)
        grant = grants.at(starts)
        if grant is not None and grant.path:
            for workload, amount in line.above(grant.quota.nominal):
                yield Above(workload, Span(starts, ends), amount)


class _Line:
    """The reservations of a queue at an instant, the oldest first."""

    def __init__(self) -> None:
        self.turns: list[Turn] = []
        self.amounts: Counter[Turn] = Counter()
        self.held = 0

    def change(self, turn: Turn, difference: int) -> None:
        before = turn in self.amounts
        self.amounts[turn] += difference
        self.held += difference
        if not self.amounts[turn]:
            del self.amounts[turn]
        after = turn in self.amounts
        if after and not before:
            insort(self.turns, turn)
        elif before and not after:
            del self.turns[bisect_left(self.turns, turn)]

    def above(self, nominal: int) -> Iterator[tuple[int, int]]:
        """Yield the newest devices until the rest is within a quota."""
        left = self.held - nominal
        for turn in reversed(self.turns):
            if left <= 0:
                return
            part = min(left, self.amounts[turn])
            left -= part
            yield turn[1], part


def sums(found: Iterable[Above]) -> Counter[int]:
    """Return the borrowed device-seconds of each Workload."""
    total: Counter[int] = Counter()
    for each in found:
        total[each.workload] += each.span.seconds * each.amount
    return total


def by_workload(found: Iterable[Above]) -> dict[int, list[Step]]:
    """Return what of each Workload was borrowed, and when."""
    steps: dict[int, list[Step]] = defaultdict(list)
    for each in found:
        steps[each.workload].append(Step(each.span, each.amount))
    return steps


def at(steps: Iterable[Step], instant: int) -> int:
    """Return how much there was at an instant."""
    return sum(each.amount for each in steps if each.span.starts <= instant < each.span.ends)
