"""Money: decimal numbers with a currency, ten decimal places in facts, rounded once.

The cost of an hour is kept to ten places and counted in *grains* (10^-10 of the currency), so
that whatever is split by the hour adds up exactly. A statement is in the currency's minor units;
halves are rounded to the even neighbour.
"""

from __future__ import annotations

import re
from decimal import ROUND_HALF_EVEN, Context, Decimal, InvalidOperation, localcontext
from fractions import Fraction
from typing import Final

from costs.currencies import EXPONENTS

PLACES: Final = 10
_GRAINS: Final = int(10**PLACES)
_CURRENCY: Final = re.compile(r"[A-Z]{3}")
#: Wide enough for any bill, so that no operation rounds unseen.
WIDE: Final = Context(prec=60, rounding=ROUND_HALF_EVEN)
_PLAIN: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?")
_SCIENTIFIC: Final = re.compile(r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]{1,2})?")
_LONGEST: Final = 40


class NotMoney(ValueError):
    """A text that is not an amount, or a code that is not a currency."""


def places(currency: str) -> int:
    """Return how many decimal places a currency has; ``NotMoney`` if it is not a code."""
    if not _CURRENCY.fullmatch(currency):
        message = f"not a currency: {currency!r}"
        raise NotMoney(message)
    return EXPONENTS.get(currency, 2)


def grains(amount: Decimal | Fraction | int) -> int:
    """Return an amount in 10^-10, halves to even. ``Fraction`` rounds that way by itself."""
    return round(Fraction(amount) * _GRAINS)


def from_grains(count: int) -> Decimal:
    """Return what a number of grains is worth, to ten places."""
    return _scaled(count, PLACES)


def minor(amount: Decimal | Fraction | int, currency: str) -> int:
    """Return an amount in minor units (cents), halves to even."""
    return round(Fraction(amount) * int(10 ** places(currency)))


def from_minor(count: int, currency: str) -> Decimal:
    """Return what a number of minor units is worth."""
    return _scaled(count, places(currency))


def rounded(amount: Decimal | Fraction | int, currency: str) -> Decimal:
    """Round an amount to the currency's places, halves to even. Once, at the very end."""
    return from_minor(minor(amount, currency), currency)


def shown(quantity: Fraction | int, decimals: int = 6) -> Decimal:
    """Round a quantity for a page or a file, halves to even."""
    return _scaled(round(Fraction(quantity) * int(10**decimals)), decimals)


def _scaled(count: int, decimals: int) -> Decimal:
    return Decimal(count).scaleb(-decimals, WIDE)


def add(amounts: list[Decimal]) -> Decimal:
    """Add amounts without rounding, however different their sizes are."""
    with localcontext(WIDE):
        return sum(amounts, Decimal(0))


def typed(text: str) -> Decimal:
    """Read an amount that a person has typed: digits, one point, no exponent, no separators."""
    return _read(text, _PLAIN)


def imported(text: str) -> Decimal:
    """Read an amount of a bill, which may be written with an exponent (``1.5E-7``)."""
    return _read(text, _SCIENTIFIC)


def _read(text: str, shape: re.Pattern[str]) -> Decimal:
    # ASCII alone: Decimal would read digits of any script.
    if len(text) > _LONGEST or not shape.fullmatch(text):
        message = f"not an amount: {text[:_LONGEST]!r}"
        raise NotMoney(message)
    try:
        return Decimal(text)
    except InvalidOperation as error:  # pragma: no cover - the shape has excluded it
        raise NotMoney(str(error)) from error
