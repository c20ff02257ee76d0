"""What a comparison can find, which findings keep a month from being closed, and how exact is exact.

Findings carry facts, no sentences. Quantities are in resource-seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from fractions import Fraction
from typing import Final, NamedTuple

from costs.times import HOUR


class Code(StrEnum):
    """The states of a reconciliation."""

    MATCHED = "matched"
    WITHIN_TOLERANCE = "within_tolerance"
    PROVISIONAL = "provisional"
    HARVEST_GAP = "harvest_gap"
    INTERVAL_GAP = "interval_gap"
    STUCK_OPEN = "stuck_open"
    OVER_CAPACITY = "over_capacity"
    OVERDRAFT = "overdraft"
    RUN_OVER_ADMIT = "run_over_admit"
    ADMIT_NOT_RUNNING = "admit_not_running"
    UNMANAGED = "unmanaged"
    UNATTRIBUTED = "unattributed"
    UNATTRIBUTED_USE = "unattributed_use"
    USED_UNKNOWN = "used_unknown"
    SHARED_DEVICE = "shared_device"
    MIG_MISMATCH = "mig_mismatch"
    ORPHAN_NODE = "orphan_node"
    CLUSTER_NOT_BILLED = "cluster_not_billed"
    OVER_BILLED = "over_billed"
    UNDER_BILLED = "under_billed"
    UNTAGGED = "untagged"
    MISTAGGED = "mistagged"
    UNPRICED = "unpriced"
    RATE_DRIFT = "rate_drift"
    CURRENCY_MISSING = "currency_missing"
    LATE_CORRECTION = "late_correction"
    DOUBLE_SPLIT = "double_split"
    FLAVOR_CONFLICT = "flavor_conflict"


#: A month with one of these open cannot be closed; unattributed time only above its tolerance.
BLOCKS: Final = frozenset(
    {
        Code.HARVEST_GAP, Code.INTERVAL_GAP, Code.OVER_CAPACITY, Code.UNATTRIBUTED, Code.UNPRICED,
        Code.CURRENCY_MISSING, Code.DOUBLE_SPLIT, Code.FLAVOR_CONFLICT,
    }
)  # fmt: skip


class Tolerance(NamedTuple):
    """A difference is allowed up to a part of the whole, or up to an amount."""

    relative: Fraction = Fraction(0)
    absolute: int = 0

    def allows(self, difference: Fraction | int, whole: Fraction | int) -> bool:
        """Say whether a difference is small enough against the whole that was expected."""
        return abs(Fraction(difference)) <= self.most(whole)

    def most(self, whole: Fraction | int) -> Fraction:
        """Return the largest difference that is allowed against a whole."""
        return max(self.relative * abs(Fraction(whole)), Fraction(self.absolute))


HELD_AND_GAUGE: Final = Tolerance(Fraction(5, 1000), HOUR)
RUNNING_AND_ADMITTED: Final = Tolerance(Fraction(2, 100))
BILLED_AND_PROVISIONED: Final = Tolerance(Fraction(1, 100), HOUR)
RATE_AND_BOOK: Final = Tolerance(Fraction(3, 100))
UNATTRIBUTED: Final = Tolerance(Fraction(5, 1000))
EXACT: Final = Tolerance()


class Kind(StrEnum):
    """What is compared with each other, each with a tolerance of its own."""

    GAUGE = "gauge"
    RUNNING = "running"
    BILLED = "billed"
    RATE = "rate"
    UNATTRIBUTED = "unattributed"


#: What holds where nobody has set something else for a pool.
DEFAULTS: Final[Mapping[Kind, Tolerance]] = {
    Kind.GAUGE: HELD_AND_GAUGE,
    Kind.RUNNING: RUNNING_AND_ADMITTED,
    Kind.BILLED: BILLED_AND_PROVISIONED,
    Kind.RATE: RATE_AND_BOOK,
    Kind.UNATTRIBUTED: UNATTRIBUTED,
}


class Unit(StrEnum):
    """What a difference is counted in."""

    SECONDS = "seconds"
    MONEY = "money"
    ROWS = "rows"


class Finding(NamedTuple):
    """What two sources say differently: about what, by how much, in which way.

    ``allowed`` is the difference that its tolerance would have allowed. ``facts`` are what its
    sentence is made of; ``money`` is what the difference is worth, in the currency of the bill.
    """

    code: Code
    subject: str
    difference: Fraction = Fraction(0)
    whole: Fraction = Fraction(0)
    allowed: Fraction | None = None
    unit: Unit = Unit.SECONDS
    cluster: str = ""
    facts: Mapping[str, str | int] = {}
    money: Fraction | None = None

    @property
    def blocks(self) -> bool:
        """Return whether a month with it cannot be closed."""
        if self.code is Code.UNATTRIBUTED:
            allowed = UNATTRIBUTED.most(self.whole) if self.allowed is None else self.allowed
            return abs(self.difference) > allowed
        return self.code in BLOCKS


def compare(
    subject: str,
    found: Fraction | int,
    expected: Fraction | int,
    tolerance: Tolerance,
    otherwise: Code,
) -> Finding:
    """Compare what was found with what was expected; ``difference`` is found less expected."""
    difference, whole = Fraction(found - expected), Fraction(expected)
    if not difference:
        code = Code.MATCHED
    else:
        code = Code.WITHIN_TOLERANCE if tolerance.allows(difference, whole) else otherwise
    return Finding(code, subject, difference, whole)
