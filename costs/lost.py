"""Work that an eviction has destroyed: what is always shown, and what may be given back."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

from costs.rates import cost


class LostCredit(NamedTuple):
    """When lost work is given back, and how much of a run at most.

    ``most`` are seconds of a run; ``borrowers`` says whether those who had borrowed get it too.
    """

    most: int | None = None
    borrowers: bool = False


def since_checkpoint(ran: int, every: int) -> int:
    """Return the seconds of a run since its last checkpoint; all of them without checkpoints."""
    return ran % every if every else ran


def credit(devices: int, lost: int, rate: Decimal, rule: LostCredit, *, borrowed: bool) -> Fraction:
    """Return what a run that lost so many seconds gets back, as an amount above 0."""
    if borrowed and not rule.borrowers:
        return Fraction(0)
    return cost(devices * (lost if rule.most is None else min(lost, rule.most)), rate)
