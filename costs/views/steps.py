"""Slots of time as a step chart: areas of what was held, lines of what could be.

Solid areas and lines are drawn in a picture that is one unit wide for each slot and stretched to
the width of the page; hatches and gaps are rectangles in percent, so that they stay as they are.
Down, everything is in pixels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import groupby
from typing import Final, NamedTuple, TypeVar

from costs.selectors.hours import Sums
from costs.selectors.slots import Slot
from costs.times import HOUR, moment
from costs.views.chart import ceiling, percent

T = TypeVar("T")
HEIGHT: Final = 220
TOP: Final = 12
#: Parts from the bottom up, as they are stacked: quota first, then what is beyond it.
SOLID: Final = ("own", "lent", "idle")
HATCHED: Final = ("borrowed", "over")
_LABELS: Final = 8


class Box(NamedTuple):
    """A rectangle: across in percent of the width, down in pixels."""

    part: str
    x: str
    width: str
    y: int
    height: int


class Tick(NamedTuple):
    """A line across with its number of devices, whose text stands at ``text``."""

    y: int
    devices: int
    text: int


class Steps(NamedTuple):
    """All that the picture is drawn from; ``lines`` are paths by what they show."""

    width: int
    areas: dict[str, str]
    boxes: list[Box]
    gaps: list[Box]
    lines: dict[str, str]
    ticks: list[Tick]
    days: list[tuple[str, str]]
    height: int = HEIGHT

    @property
    def drawn(self) -> bool:
        """Return whether there is anything to see."""
        return bool(self.ticks)


class _Level(NamedTuple):
    """One slot in devices; ``None`` for a line that does not hold there."""

    parts: dict[str, tuple[Fraction, Fraction]]
    held: Fraction
    quota: Fraction
    most: Fraction | None


def steps(slots: Sequence[Slot], now: int) -> Steps:
    """Draw slots; one that is over and in which nothing is known is a gap, not nothing.

    A slot of which some hours are known has its gap above what is drawn.
    """
    levels = [_level(slot) for slot in slots]
    known = [each for each in levels if each]
    highest = max((_highest(each) for each in known), default=Fraction(0))
    top = ceiling(max(1, -(-highest.numerator // highest.denominator)))

    def y(devices: Fraction) -> int:
        return HEIGHT - round(devices * (HEIGHT - TOP) * Fraction(1, top))

    width = max(1, len(slots))
    return Steps(
        width=width,
        areas={part: _area(levels, part, y) for part in SOLID},
        boxes=[box for part in HATCHED for box in _boxes(levels, part, y, width)],
        gaps=[
            Box("gap", *_across(first, last, width), 0, down)
            for first, last, down in _runs([_gap(slot, now) for slot in slots])
            if down
        ],
        lines={
            "most": _line([each and each.most for each in levels], y),
            "quota": _line([each and each.quota for each in levels], y),
            "held": _line([each and each.held for each in levels], y),
        },
        ticks=[Tick(y(Fraction(n)), n, y(Fraction(n)) + 4) for n in _ticks(top)] if known else [],
        days=_days(slots, width),
    )


def _gap(slot: Slot, now: int) -> int:
    """Return how far down a slot is hatched, in pixels: not at all, at its head, or whole."""
    if slot.span.ends > now or slot.known >= slot.span.seconds // HOUR:
        return 0
    return TOP if slot.known else HEIGHT


def _ticks(top: int) -> list[int]:
    return [top, top // 2]


def _level(slot: Slot) -> _Level | None:
    if slot.sums is None:
        return None
    below = Fraction(0)
    parts: dict[str, tuple[Fraction, Fraction]] = {}
    for part, seconds in _stack(slot.sums):
        size = slot.average(max(0, seconds))
        parts[part] = (below, below + size)
        below += size
    most = None if slot.most is None else slot.average(slot.most)
    return _Level(parts, slot.average(slot.sums.held), slot.average(slot.sums.committed), most)


def _stack(sums: Sums) -> list[tuple[str, int]]:
    return [
        ("own", sums.own - sums.over), ("lent", sums.lent), ("idle", sums.idle),
        ("borrowed", sums.borrowed), ("over", sums.over),
    ]  # fmt: skip


def _highest(level: _Level) -> Fraction:
    stacked = max(upper for _below, upper in level.parts.values())
    return max(stacked, level.held, level.quota, level.most or Fraction(0))


def _area(levels: Sequence[_Level | None], part: str, y: Callable[[Fraction], int]) -> str:
    """Return the path of a part: a rectangle for all slots that follow each other alike."""
    edges = [each and (y(each.parts[part][0]), y(each.parts[part][1])) for each in levels]
    found = (
        f"M{first} {edge[0]}V{edge[1]}H{last}V{edge[0]}Z"
        for first, last, edge in _runs(edges)
        if edge and edge[1] < edge[0]
    )
    return "".join(found)


def _boxes(
    levels: Sequence[_Level | None], part: str, y: Callable[[Fraction], int], width: int
) -> Iterator[Box]:
    edges = [each and (y(each.parts[part][0]), y(each.parts[part][1])) for each in levels]
    for first, last, edge in _runs(edges):
        if edge and edge[1] < edge[0]:
            yield Box(part, *_across(first, last, width), edge[1], edge[0] - edge[1])


def _line(values: Iterable[Fraction | None], y: Callable[[Fraction], int]) -> str:
    """Return a step line, broken where it does not hold."""
    found: list[str] = []
    up = False
    for first, last, at in _runs([None if each is None else y(each) for each in values]):
        if at is None:
            up = False
            continue
        found.append(f"V{at}H{last}" if up else f"M{first} {at}H{last}")
        up = True
    return "".join(found)


def _runs(values: Sequence[T]) -> Iterator[tuple[int, int, T]]:
    """Yield first and behind the last place of each run of equal values, and the value."""
    at = 0
    for value, run in groupby(values):
        length = len(list(run))
        yield at, at + length, value
        at += length


def _across(first: int, last: int, width: int) -> tuple[str, str]:
    slot = Fraction(10_000, width)
    return percent(slot * first), percent(slot * (last - first))


def _days(slots: Sequence[Slot], width: int) -> list[tuple[str, str]]:
    """Return where some days begin, and their numbers."""
    slot = Fraction(10_000, width)
    starts = [(n, moment(each.span.starts)) for n, each in enumerate(slots)]
    days = [(n, at.day) for n, at in starts if at.hour == 0]
    every = max(1, -(-len(days) // _LABELS))
    return [(percent(slot * n), str(day)) for n, day in days[::every]]
