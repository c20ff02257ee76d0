"""Splitting whole units so that the parts always add up: the method of the largest remainder.

Units are indivisible: cents, the tenth decimal place of an hour's cost, resource-seconds. What
is left after rounding down goes to the largest remainders, one unit each, and among equal ones
to the smallest key. A negative total is split as its absolute value, and gets its sign back.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from math import lcm
from typing import Any, Protocol, TypeVar


class Key(Protocol):
    """What gets a part: anything with an order, so that ties are decided the same way."""

    def __lt__(self, other: Any, /) -> bool: ...
    def __hash__(self) -> int: ...


K = TypeVar("K", bound=Key)
Number = int | Fraction | Decimal


class NoWeights(ValueError):
    """Nobody to split among: the weights add up to nothing, or one of them is negative."""


class DoesNotAddUp(ValueError):
    """Shares cannot be rounded to a total that is more than their rounding away from them."""


def split(total: int, weights: Mapping[K, Number]) -> dict[K, int]:
    """Split whole units in proportion to weights; the parts add up to ``total``.

    ``NoWeights`` if the weights add up to 0 or one is negative: such an amount belongs into a
    row of its own, never silently to somebody.
    """
    scaled = _whole(weights)
    if sum(scaled.values()) <= 0 or min(scaled.values()) < 0:
        message = f"{total} units cannot be split among these weights"
        raise NoWeights(message)
    return _in_proportion(total, scaled)


def apart(total: int, weights: Mapping[K, Number]) -> dict[K, int]:
    """Split whole units in proportion to weights of any sign; the parts add up to ``total``.

    ``NoWeights`` if the weights do not add up to more than nothing.
    """
    scaled = _whole(weights)
    if sum(scaled.values()) <= 0:
        message = f"{total} units cannot be split among these weights"
        raise NoWeights(message)
    return _in_proportion(total, scaled)


def _in_proportion(total: int, scaled: Mapping[K, int]) -> dict[K, int]:
    parts = {key: total * weight for key, weight in scaled.items()}
    return settle(parts, sum(scaled.values()), total)


def _whole(weights: Mapping[K, Number]) -> dict[K, int]:
    """Return weights in the same proportion as whole numbers."""
    if all(type(weight) is int for weight in weights.values()):
        return {key: int(weight) for key, weight in weights.items()}
    exact = {key: Fraction(weight) for key, weight in weights.items()}
    over = lcm(*(weight.denominator for weight in exact.values()))
    return {k: weight.numerator * (over // weight.denominator) for k, weight in exact.items()}


def settle(parts: Mapping[K, int], over: int, total: int) -> dict[K, int]:
    """Round exact parts, given as numerators ``over`` one denominator, so that they add up.

    Parts may have any sign. ``DoesNotAddUp`` if their sum is further from ``total`` than
    rounding each of them could explain.
    """
    sign = -1 if total < 0 else 1
    floors = {key: divmod(sign * part, over) for key, part in parts.items()}
    left = abs(total) - sum(floor for floor, _ in floors.values())
    if not 0 <= left <= len(floors):
        message = f"parts of {sum(parts.values())}/{over} units are not {total} units"
        raise DoesNotAddUp(message)
    by_remainder = sorted(sorted(floors), key=lambda key: -floors[key][1])
    lucky = set(by_remainder[:left])
    return {key: sign * (floor + (key in lucky)) for key, (floor, _) in floors.items()}


def settle_fractions(parts: Mapping[K, Fraction], total: int) -> dict[K, int]:
    """Round exact parts so that they add up to ``total``; as ``settle``."""
    over = lcm(*(part.denominator for part in parts.values())) if parts else 1
    scaled = {key: part.numerator * (over // part.denominator) for key, part in parts.items()}
    return settle(scaled, over, total)
