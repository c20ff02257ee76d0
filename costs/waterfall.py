"""From billed down to used: every second of a pool in exactly one row.

Quota and devices are two things: pods run on after their quota is gone, and some never had any.
Devices that are taken this way are not free, so they are taken from what nobody holds: first
from what was never sold, then from the cohorts' own quota, then from idle quota, and at last
from what waits for its pods. ``OverCapacity`` if even that is not enough: something is counted
twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from fractions import Fraction
from typing import Final, NamedTuple

from costs.facts import Fact, PoolFact
from costs.used import together


class Row(StrEnum):
    """The rows, from the top down; *unwatched* stands in for whole hours, and in no waterfall."""

    UNWATCHED = "unwatched"
    GAP = "gap"
    ORPHAN = "orphan"
    DOWN = "down"
    UNSOLD = "unsold"
    POOL = "pool"
    IDLE = "idle"
    WAITING = "waiting"
    STARTING = "starting"
    ADMITTED = "admitted"
    TERMINATING = "terminating"
    UNMANAGED = "unmanaged"
    WASTE = "waste"
    USED = "used"
    USED_UNKNOWN = "used_unknown"


class OverCapacity(ValueError):
    """More devices are taken than there are."""


class Waterfall(NamedTuple):
    """What was billed, and the rows that it consists of, in resource-seconds.

    ``overdraft`` is held without any quota behind it; it is among what is held, and the rows of
    free devices are smaller by it. Where too little was seen of the use, *used unknown* stands
    for used and waste together; where too little was seen of the pods, *admitted* stands for
    what of it ran and what did not.
    """

    billed: Fraction
    rows: dict[Row, Fraction]
    overdraft: int

    @property
    def total(self) -> Fraction:
        """Return the sum of all rows, which is what was billed."""
        return sum(self.rows.values(), Fraction(0))


#: Where devices are taken from that run without quota, in this order.
_FREE: Final = (Row.UNSOLD, Row.POOL, Row.IDLE, Row.WAITING, Row.STARTING, Row.ADMITTED)


def waterfall(
    facts: Sequence[Fact], pool: PoolFact, *, billed: int | None = None, orphan: int = 0
) -> Waterfall:
    """Return the rows of one pool in one hour.

    ``billed`` are seconds of devices by the bill (all that exist, if not told), of which
    ``orphan`` belong to nodes that were not in the cluster. A bill that counts less than what
    was there has a gap below 0.
    """
    whole = pool.provisioned + orphan if billed is None else billed
    overdraft = pool.overdraft + sum(fact.excess for fact in facts)
    taken = {
        Row.DOWN: pool.down,
        Row.TERMINATING: sum(fact.terminating for fact in facts),
        Row.UNMANAGED: sum(fact.unmanaged for fact in facts),
    }
    beyond = sum(max(0, fact.running - fact.granted) for fact in facts)
    free = _make_room(_quota(facts, pool), overdraft + beyond + sum(taken.values()))
    found = {
        Row.GAP: Fraction(whole - orphan - pool.provisioned),
        Row.ORPHAN: Fraction(orphan),
        **{row: Fraction(seconds) for row, seconds in (taken | free).items()},
        **_running(facts),
    }
    return Waterfall(Fraction(whole), {row: found.get(row, Fraction(0)) for row in Row}, overdraft)


def _quota(facts: Sequence[Fact], pool: PoolFact) -> dict[Row, int]:
    """Return what quota says is free, or held by what does not run."""
    sold = sum(fact.committed for fact in facts) + pool.nominal
    return {
        Row.UNSOLD: pool.provisioned - sold,
        Row.POOL: pool.nominal - pool.borrowed,
        Row.IDLE: sum(fact.idle for fact in facts),
        Row.WAITING: sum(fact.reserved for fact in facts),
        Row.STARTING: sum(_without_pods(fact) for fact in facts if fact.pods_known),
        Row.ADMITTED: sum(_without_pods(fact) for fact in facts if not fact.pods_known),
    }


def _without_pods(fact: Fact) -> int:
    """Return the granted time in which no pod was seen to run."""
    return max(0, fact.granted - fact.running)


def _make_room(rows: dict[Row, int], taken: int) -> dict[Row, int]:
    """Take devices from the rows in their order, also those that are promised twice."""
    left = taken
    found: dict[Row, int] = {}
    for row in _FREE:
        # More promised than there is: less than nothing was never sold.
        found[row] = max(0, rows[row] - left)
        left = max(0, left - rows[row])
    if left:
        message = f"{left} device-seconds more are taken than there are"
        raise OverCapacity(message)
    return found


def _running(facts: Sequence[Fact]) -> dict[Row, Fraction]:
    """Return how much of the running time was used; what pods report beyond it is cut."""
    running = sum(fact.running for fact in facts)
    uses = [fact.use for fact in facts if fact.running]
    use = together(each for each in uses if each is not None)
    if not running:
        return {}
    if None in uses or not use.known:
        return {Row.USED_UNKNOWN: Fraction(running)}
    used = min(use.least, Fraction(running))
    return {Row.USED: used, Row.WASTE: running - used}
