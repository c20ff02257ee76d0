"""Work that an eviction has destroyed: what is always shown, and what may be given back."""

from __future__ import annotations

from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Final, NamedTuple

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


class Payer(StrEnum):
    """Who bears work that an eviction has destroyed."""

    TENANT = "tenant"
    TAKER = "taker"
    PLATFORM = "platform"
    UNKNOWN = "unknown"


#: By the cause of the eviction, as the history names it. A job that others have stopped to take
#: back what they had lent was borrowing; one of its own queue was stopped by its own people.
_OWN: Final = frozenset(
    {
        "preempted_in_queue", "pods_ready_timeout", "check", "deactivated", "deactivated_check",
        "deactivated_retries", "deactivated_time_limit", "reservation_lost",
    }
)  # fmt: skip
_BORROWED: Final = frozenset(
    {"preempted_reclaim", "preempted_while_borrowing", "preempted_fair_sharing"}
)
_PLATFORM: Final = frozenset(
    {"node_failure", "queue_stopped", "entry_stopped", "manager_cluster", "flavor_migration"}
)


def payer(cause: str, rule: LostCredit) -> Payer:
    """Return who bears what was lost by a cause; who borrowed bears it, unless the rule helps."""
    if cause in _PLATFORM:
        return Payer.PLATFORM
    if cause in _BORROWED:
        return Payer.TAKER if rule.borrowers else Payer.TENANT
    return Payer.TENANT if cause in _OWN else Payer.UNKNOWN
