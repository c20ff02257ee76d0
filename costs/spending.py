"""What a month has cost so far, and what it will: the mean of the last days, with a band.

Plain arithmetic over days. A day that is not wholly known says nothing about the days to come;
what is missing of the month is in no number.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from fractions import Fraction
from typing import Final, NamedTuple

#: A forecast is the mean of this many days.
DAYS: Final = 14
#: With fewer of them there is none.
FEWEST: Final = 3
#: From this part of a budget on it is nearly spent.
NEAR: Final = Fraction(80, 100)
_HOURS: Final = 24


class Spent(NamedTuple):
    """One day: what it cost, ``None`` if that is not known; hours that are known, and to come."""

    starts: int
    amount: Fraction | None
    known: int
    ahead: int

    @property
    def whole(self) -> bool:
        """Return whether nothing of the day is missing or still to come."""
        return self.amount is not None and self.known == _HOURS


class Forecast(NamedTuple):
    """What the month will cost: by the mean of ``days``, by their quieter and busier half."""

    days: int
    likely: Fraction
    low: Fraction
    high: Fraction


class Alarm(StrEnum):
    """What is to be said about a budget."""

    OVER = "over"
    NEAR = "near"
    FORECAST = "forecast"
    MAYBE = "maybe"


def total(days: Sequence[Spent]) -> Fraction:
    """Return what is known to be spent."""
    return sum((day.amount for day in days if day.amount is not None), Fraction(0))


def forecast(days: Sequence[Spent], past: Sequence[Spent]) -> Forecast | None:
    """Return what a month of ``days`` will cost; ``past`` are all days before now, oldest first.

    ``None`` if too few of the last days are wholly known. Hours to come cost as much as a mean
    hour of them; the band is the same with the mean of their lower and of their upper half.
    """
    known = [day.amount for day in past[-DAYS:] if day.whole and day.amount is not None]
    found = sorted(known)
    if len(found) < FEWEST:
        return None
    half = -(-len(found) // 2)
    ahead = sum(day.ahead for day in days)
    so_far = total(days)

    def then(part: Sequence[Fraction]) -> Fraction:
        return so_far + sum(part, Fraction(0)) * Fraction(ahead, len(part) * _HOURS)

    return Forecast(len(found), then(found), then(found[:half]), then(found[-half:]))


def alarms(budget: Fraction, spent: Fraction, expected: Forecast | None) -> list[Alarm]:
    """Return what is to be said, the worst first."""
    found: list[Alarm] = []
    if spent >= budget:
        return [Alarm.OVER]
    if expected and expected.likely > budget:
        found.append(Alarm.FORECAST)
    elif expected and expected.high > budget:
        found.append(Alarm.MAYBE)
    if spent >= budget * NEAR:
        found.insert(0, Alarm.NEAR)
    return found
