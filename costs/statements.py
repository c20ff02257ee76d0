"""Statements: exact costs of a period, rounded once, so that all of them add up to the bill.

A closed period is never changed. What becomes known later is booked as *adjustments* in the
open period, divided as the closed one was, and the closed period can be read both ways: as it
was billed, and as it would have been.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

from costs.money import PLACES, from_grains, from_minor, minor, places
from costs.rounding import Number, settle, settle_fractions, split


class Adjustment(NamedTuple):
    """An amount in minor units for one payer, booked because of an earlier period."""

    payer: str
    amount: int
    of: str


def statement(costs: Mapping[str, int], currency: str) -> dict[str, int]:
    """Round costs in grains to minor units; they add up to their own rounded sum.

    This is the only time that money is rounded. Ties go to the smaller name.
    """
    over = int(10 ** (PLACES - places(currency)))
    return settle(costs, over, total(costs, currency))


def total(costs: Mapping[str, int], currency: str) -> int:
    """Return the sum of costs in grains, rounded to minor units."""
    return minor(from_grains(sum(costs.values())), currency)


def rounded_payers(amounts: Mapping[str, Fraction], currency: str) -> dict[str, int]:
    """Round what each payer owes to minor units; they add up to their own rounded sum.

    As ``statement``, for amounts that were changed into the currency of a book.
    """
    scale = int(10 ** places(currency))
    whole = minor(sum(amounts.values(), Fraction(0)), currency)
    return settle_fractions({key: amount * scale for key, amount in amounts.items()}, whole)


def lines(amounts: Mapping[str, Fraction], rounded: int, currency: str) -> dict[str, int]:
    """Round the lines of one payer's statement to minor units, so that they add up to it."""
    scale = int(10 ** places(currency))
    return settle_fractions({key: amount * scale for key, amount in amounts.items()}, rounded)


def adjust(
    correction: Decimal, weights: Mapping[str, Number], *, of: str, currency: str
) -> list[Adjustment]:
    """Divide a late correction of a closed period by that period's own weights."""
    parts = split(minor(correction, currency), weights)
    return [Adjustment(payer, part, of) for payer, part in sorted(parts.items()) if part]


def as_restated(
    billed: Mapping[str, int], adjustments: Sequence[Adjustment], of: str
) -> dict[str, int]:
    """Return a period with everything that was booked later because of it."""
    found = dict(billed)
    for each in adjustments:
        if each.of == of:
            found[each.payer] = found.get(each.payer, 0) + each.amount
    return dict(sorted(found.items()))


def amounts(minors: Mapping[str, int], currency: str) -> dict[str, Decimal]:
    """Return minor units as amounts."""
    return {key: from_minor(count, currency) for key, count in minors.items()}


class Net(NamedTuple):
    """The three numbers of a row with adjustments: what it lists, what is taken off, what is left."""

    listed: Decimal
    adjusted: Decimal
    net: Decimal


def net(parts: Mapping[str, Decimal], adjustments: Mapping[str, Decimal]) -> Net:
    """Return a row's sums; nothing is rounded, and no adjustment is left out."""
    listed = sum(parts.values(), Decimal(0))
    adjusted = sum(adjustments.values(), Decimal(0))
    return Net(listed, adjusted, listed + adjusted)
