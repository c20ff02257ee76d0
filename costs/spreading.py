"""Rows of a bill by the hour: how long a machine was billed in each, and what it cost.

A row of one hour is that hour's. A longer one is spread by the time that the machine was in the
cluster, and marked: when in the day it ran, the bill does not say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from costs.billing import Category
from costs.rounding import NoWeights, split
from costs.times import HOUR, Span, hours

#: Some write the last second of a charge instead of the moment after it.
_LAST_SECOND: Final = 59


class Kind(NamedTuple):
    """What rows of machines that are alike have in common."""

    account: str
    sku: str
    zone: str


class Line(NamedTuple):
    """Rows of a bill that differ in nothing that matters here, added up.

    ``consumed`` are seconds of machine time, ``None`` where the row counts something else.
    ``billed`` and ``effective`` are in 10^-12 of the currency.
    """

    span: Span
    resource: str
    kind: Kind
    machine: str
    gpus: int
    category: Category
    service: str
    unused: bool
    consumed: int | None
    billed: int
    effective: int
    tags: Mapping[str, str]

    @property
    def counts_time(self) -> bool:
        """Return whether it says how long a machine ran, not how much of something it did."""
        if self.category != Category.USAGE or self.unused:
            return False
        return self.consumed is not None or bool(self.gpus or self.machine)


@dataclass(slots=True)
class Amounts:
    """What was billed for something, in seconds of the machine or of devices.

    ``orphan`` are seconds of hours in which it was not in the cluster, ``unknown`` those of
    hours that nobody has counted. ``timed``: the bill says how long; ``spread``: but not when.
    """

    seconds: int = 0
    seen: int = 0
    orphan: int = 0
    unknown: int = 0
    billed: int = 0
    effective: int = 0
    timed: bool = False
    spread: bool = False

    def add(self, other: Amounts, times: int = 1) -> None:
        """Add another; its seconds ``times`` as often, as a machine has devices."""
        self.seconds += other.seconds * times
        self.seen += other.seen * times
        self.orphan += other.orphan * times
        self.unknown += other.unknown * times
        self.billed += other.billed
        self.effective += other.effective
        self.timed = self.timed or other.timed
        self.spread = self.spread or other.spread


def covered(span: Span) -> dict[int, int]:
    """Return the seconds of each hour that a charge covers."""
    ends = span.ends + 1 if span.ends % HOUR == HOUR - 1 else span.ends
    whole = Span(span.starts, ends)
    parts = ((hour.starts, hour.cut(whole)) for hour in hours(whole))
    return {hour: part.seconds for hour, part in parts if part}


def hourly(lines: Sequence[Line], seen: Callable[[int], int]) -> dict[int, Amounts]:
    """Return what one machine was billed by hour; ``seen`` tells its seconds in the cluster.

    Rows of the same hour that count time in a unit are added up, others stand for the same time
    once; nothing is longer than its hour.
    """
    timed = [line for line in lines if line.counts_time]
    counted = set(map(id, timed or [x for x in lines if x.category == Category.USAGE]))
    found: dict[int, Amounts] = {}
    for line in lines:
        parts = covered(line.span)
        if id(line) in counted:
            time = _time(line, parts, seen)
            _add_time(found, time, adds=line.consumed is not None)
        else:
            time = {}
        weights = time if any(time.values()) else _weights(parts, seen)
        _add_money(found, line, weights)
    return found


def _time(line: Line, parts: Mapping[int, int], seen: Callable[[int], int]) -> dict[int, int]:
    """Return the billed seconds of each hour of a row."""
    whole = sum(parts.values())
    if line.consumed is None or line.consumed >= whole:
        return dict(parts)
    there = {hour: min(part, seen(hour)) for hour, part in parts.items()}
    known = sum(there.values())
    total = max(0, line.consumed)
    if total <= known:
        return _split(total, there)
    room = {hour: part - there[hour] for hour, part in parts.items()}
    beyond = _split(total - known, room)
    return {hour: seconds + beyond[hour] for hour, seconds in there.items()}


def _split(total: int, weights: Mapping[int, int]) -> dict[int, int]:
    return split(total, weights) if any(weights.values()) else dict.fromkeys(weights, 0)


def _add_time(found: dict[int, Amounts], time: Mapping[int, int], *, adds: bool) -> None:
    for hour, seconds in time.items():
        one = found.setdefault(hour, Amounts())
        both = one.seconds + seconds if adds else max(one.seconds, seconds)
        one.seconds, one.timed = min(HOUR, both), True
        one.spread = one.spread or len(time) > 1


def _weights(parts: Mapping[int, int], seen: Callable[[int], int]) -> dict[int, int]:
    """Return by what an amount without a time is spread: where the machine was, if anywhere."""
    there = {hour: seen(hour) for hour in parts}
    return there if any(there.values()) else dict(parts)


def _add_money(found: dict[int, Amounts], line: Line, weights: Mapping[int, int]) -> None:
    if len(weights) == 1:
        (hour,) = weights
        one = found.setdefault(hour, Amounts())
        one.billed += line.billed
        one.effective += line.effective
        return
    billed, effective = (divided(each, weights) for each in (line.billed, line.effective))
    for hour in weights:
        one = found.setdefault(hour, Amounts())
        one.billed += billed[hour]
        one.effective += effective[hour]
        one.spread = True


def divided(amount: int, weights: Mapping[int, int]) -> dict[int, int]:
    """Split an amount by weights, evenly where they are all nothing."""
    try:
        return split(amount, weights)
    except NoWeights:
        return split(amount, dict.fromkeys(weights, 1))


def total(parts: Iterable[Amounts]) -> Amounts:
    """Return the sum of several."""
    found = Amounts()
    for each in parts:
        found.add(each)
    return found
