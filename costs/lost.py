"""Work that an eviction has destroyed: it is always shown, and a policy may have it given back.

Given back is work of devices within the victim's quota alone: who borrows knows that it can be
taken. Nobody gets anything for what its own jobs have stopped, or it could earn by that.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple

from costs.facts import Pool


class Funder(StrEnum):
    """Who gives back what a preemption has destroyed."""

    NOBODY = "nobody"
    TAKER = "taker"
    PLATFORM = "platform"


class LostRule(NamedTuple):
    """When lost work is given back, and how much of a run at most.

    ``most`` are seconds since the last checkpoint that was known, or since the start of the run.
    ``failures``: the platform gives back what its machines and stopped queues have destroyed.
    """

    preempted: Funder = Funder.NOBODY
    most: int = 3600
    failures: bool = False

    @property
    def gives(self) -> bool:
        """Return whether anything can be given back by it."""
        return self.failures or self.preempted is not Funder.NOBODY


#: What holds where a policy says nothing: everybody bears its own.
NOTHING_BACK: Final = LostRule()


class Loss(NamedTuple):
    """One eviction in one pool. ``hour`` is that of the eviction, ``seconds`` those of the run.

    ``within`` are those of its ``devices`` that were within the quota just before; ``None`` where
    nobody has asked. ``taker`` is the tenant whose job took the place; ``None`` is not known.
    """

    hour: int
    tenant: str
    pool: Pool
    cause: str
    seconds: int
    devices: int
    within: int | None = None
    taker: str | None = None

    @property
    def lost(self) -> int:
        """Return the device-seconds that are gone."""
        return self.seconds * self.devices


class Why(StrEnum):
    """Why lost work is given back, or is not."""

    GIVEN = "given"
    PART = "part"
    NO_RULE = "no_rule"
    BORROWED = "borrowed"
    OWN = "own"
    UNKNOWN = "unknown"


class Back(NamedTuple):
    """What is given back: device-seconds, by whom (a tenant, "" for the platform), and why."""

    seconds: int
    by: str
    why: Why


#: By the cause of the eviction, as the history names it.
PREEMPTED: Final = frozenset(
    {
        "preempted_reclaim", "preempted_while_borrowing", "preempted_fair_sharing",
        "preempted_in_queue", "preempted",
    }
)  # fmt: skip
FAILED: Final = frozenset(
    {"node_failure", "queue_stopped", "entry_stopped", "manager_cluster", "flavor_migration"}
)
_OWN: Final = frozenset(
    {
        "pods_ready_timeout", "check", "deactivated", "deactivated_check", "deactivated_retries",
        "deactivated_time_limit", "reservation_lost",
    }
)  # fmt: skip
#: The platform as the one who gives: no tenant is called that.
PLATFORM: Final = ""


def since_checkpoint(ran: int, every: int) -> int:
    """Return the seconds of a run since its last checkpoint; all of them without checkpoints."""
    return ran % every if every else ran


def back(loss: Loss, rule: LostRule) -> Back:
    """Return what of a loss is given back by a rule, and by whom."""
    if loss.cause in FAILED:
        return _within(loss, rule, PLATFORM) if rule.failures else _nothing(Why.NO_RULE)
    if loss.cause not in PREEMPTED:
        return _nothing(Why.OWN if loss.cause in _OWN else Why.UNKNOWN)
    if loss.taker == loss.tenant:
        return _nothing(Why.OWN)
    if rule.preempted is Funder.NOBODY:
        return _nothing(Why.NO_RULE)
    if loss.taker is None:
        return _nothing(Why.UNKNOWN)
    return _within(loss, rule, PLATFORM if rule.preempted is Funder.PLATFORM else loss.taker)


def _within(loss: Loss, rule: LostRule, by: str) -> Back:
    found = (loss.within or 0) * min(loss.seconds, rule.most)
    if not found:
        return _nothing(Why.BORROWED)
    return Back(found, by, Why.GIVEN if found == loss.lost else Why.PART)


def _nothing(why: Why) -> Back:
    return Back(0, PLATFORM, why)
