"""The days of a month as stacked columns against the committed line, in whole numbers.

Across, places are parts of the width in percent; down, they are pixels. So nothing is stretched
and hatches stay as they are, at any width.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Final, NamedTuple

from costs.selectors.hours import Sums
from costs.selectors.months import Day
from costs.times import HOUR, moment

HEIGHT: Final = 200
TOP: Final = 10
_PARTS: Final = ("own", "lent", "idle", "borrowed", "over")
#: A column takes this much of its day, in hundredths.
_COLUMN: Final = 76
_WEEK: Final = 7


class Box(NamedTuple):
    """One part of a column: its kind, and where it lies in pixels from the top."""

    part: str
    y: int
    height: int


class Column(NamedTuple):
    """One day. ``line`` is the height of the committed quota, ``None`` where it is not known."""

    day: Day
    x: str
    width: str
    slot_x: str
    slot_end: str
    slot_width: str
    middle: str
    boxes: list[Box]
    line: int | None
    label: str

    @property
    def missing(self) -> bool:
        """Return whether a part of the day is not known."""
        return self.day.missing > 0


class Grid(NamedTuple):
    """A line across with its number of resource-hours, whose text stands at ``text``."""

    y: int
    hours: int
    text: int


class Chart(NamedTuple):
    """All that the picture is drawn from."""

    columns: list[Column]
    grid: list[Grid]
    height: int = HEIGHT


def stack(sums: Sums) -> list[tuple[str, int]]:
    """Return the parts of a column from the bottom up: quota first, then what is beyond it."""
    parts = {
        "own": sums.own - sums.over,
        "lent": sums.lent,
        "idle": sums.idle,
        "borrowed": sums.borrowed,
        "over": sums.over,
    }
    return [(part, max(0, parts[part])) for part in _PARTS]


def chart(days: Sequence[Day]) -> Chart:
    """Draw days; those without any known hour have no column, which is not a column of 0."""
    known = [day.sums for day in days if day.sums]
    highest = max((_highest(each) for each in known), default=0)
    top = ceiling(-(-highest // HOUR))
    slot = Fraction(10_000, max(1, len(days)))
    columns = [_column(number, day, slot, top) for number, day in enumerate(days)]
    lines = ((_y(hours * HOUR, top), hours) for hours in (top, top // 2))
    grid = [Grid(y, hours, y + 4) for y, hours in lines if known]
    return Chart(columns, grid)


def _highest(sums: Sums) -> int:
    return max(sums.committed, sum(size for _, size in stack(sums)))


def ceiling(hours: int) -> int:
    """Return the next even number of 2, 4, 6, 8 or 10 times a power of ten."""
    power = 1
    while hours > power * 10:
        power *= 10
    step = next(step for step in (2, 4, 6, 8, 10) if hours <= step * power)
    return step * power


def _column(number: int, day: Day, slot: Fraction, top: int) -> Column:
    left, right = slot * number, slot * (number + 1)
    inset = slot * Fraction(100 - _COLUMN, 200)
    date = moment(day.starts).day
    return Column(
        day=day,
        x=percent(left + inset),
        width=percent(slot - 2 * inset),
        slot_x=percent(left),
        slot_end=percent(right),
        slot_width=percent(slot),
        middle=percent(left + slot * Fraction(1, 2)),
        boxes=_boxes(day.sums, top) if day.sums else [],
        line=_y(day.sums.committed, top) if day.sums else None,
        label=str(date) if date % _WEEK == 1 else "",
    )


def _boxes(sums: Sums, top: int) -> list[Box]:
    found: list[Box] = []
    below = 0
    for part, size in stack(sums):
        bottom, upper = _y(below, top), _y(below + size, top)
        if upper < bottom:
            found.append(Box(part, upper, bottom - upper))
        below += size
    return found


def _y(seconds: int, top: int) -> int:
    """Return the pixel of a quantity; sums are rounded, so that parts touch each other."""
    return HEIGHT - round(Fraction(seconds * (HEIGHT - TOP), top * HOUR))


def percent(hundredths: Fraction) -> str:
    """Write hundredths of a percent as a part of the width."""
    whole = round(hundredths)
    return f"{whole // 100}.{whole % 100:02}%"
