"""Who pays what: how an hour of a pool is divided among tenants and the platform.

A policy is a set of switches. ``weigh`` turns the facts of an hour into shares of the pool,
which add up to the pool; ``allocate`` splits the hour's bill in their proportion, to the last
grain. What no rule gives to anybody has a bucket of its own and is never lost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Final

from costs.facts import NOBODY, Fact, PoolFact
from costs.lost import NOTHING_BACK, LostRule
from costs.rates import used
from costs.rounding import NoWeights, split


class Bucket(StrEnum):
    """Where money goes that no tenant pays. Tenants are named by what cannot begin with "*"."""

    IDLE = "*idle"
    UNSOLD = "*unsold"
    DOWN = "*down"
    SHARED = "*shared"
    ORPHAN = "*orphan"
    GAP = "*gap"
    UNATTRIBUTED = "*unattributed"
    UNUSED = "*unused"
    UNALLOCATED = "*unallocated"
    GRANTED = "*granted"
    LOST = "*lost"


class Base(StrEnum):
    """What a tenant pays first."""

    COMMITTED = "committed"
    HELD = "held"
    ADMITTED = "admitted"
    USED = "used"


class Rest(StrEnum):
    """Who pays what is left of the pool."""

    PLATFORM = "platform"
    COMMITTED = "committed"
    ADMITTED = "admitted"
    EVEN = "even"


class Spread(StrEnum):
    """Who pays what belongs to no pool: shared costs, unused commitments."""

    PLATFORM = "platform"
    COST = "cost"
    EVEN = "even"


class NotAPolicy(ValueError):
    """Switches that contradict each other."""


class CannotReconcile(ValueError):
    """Devices are used in a pool that has none: a unit is not known, and no number is right."""


@dataclass(frozen=True, slots=True)
class Policy:
    """The switches. ``borrow`` is the part of the full rate that borrowers pay (0 to 1).

    Borrowing is paid for only where the base is committed quota; on every other base borrowed
    time is held time like any other. ``credit``: lenders get what their borrowers pay.
    """

    base: Base = Base.COMMITTED
    borrow: Fraction = Fraction(1, 2)
    credit: bool = True
    rest: Rest = Rest.PLATFORM
    shared: Spread = Spread.COST
    unused: Spread = Spread.PLATFORM
    lost: LostRule = NOTHING_BACK

    def __post_init__(self) -> None:
        """Refuse a rate of borrowing that is no part of the rate, and times below nothing."""
        if not 0 <= self.borrow <= 1:
            message = f"a borrower cannot pay {self.borrow} of the rate"
            raise NotAPolicy(message)
        if self.lost.most < 0:
            message = f"{self.lost.most} seconds of a run cannot be given back"
            raise NotAPolicy(message)


Seconds = Fraction | int

_BASES: Final[Mapping[Base, Callable[[Fact], Seconds]]] = {
    Base.COMMITTED: lambda fact: fact.committed,
    Base.HELD: lambda fact: fact.held,
    Base.ADMITTED: lambda fact: fact.admitted + fact.draining,
    Base.USED: used,
}


def weigh(facts: Sequence[Fact], pool: PoolFact, policy: Policy) -> dict[str, Seconds]:
    """Return shares of a pool in an hour by tenant and bucket, in resource-seconds.

    ``facts`` are those of this pool and hour alone.
    They add up to all that is provisioned, or to more where more is promised or counted than
    there are devices. ``CannotReconcile`` if something is used where nothing is.
    """
    shares: dict[str, Seconds] = {}
    for fact in facts:
        share = _share(fact, policy)
        if share:
            payer = Bucket.UNATTRIBUTED if fact.tenant == NOBODY else fact.tenant
            shares[payer] = shares.get(payer, 0) + share
    if pool.provisioned == 0 and shares:
        message = f"{pool.pool.flavor} has no devices, but they are used"
        raise CannotReconcile(message)
    rest = pool.provisioned - sum(shares.values())
    for payer, part in _rest(max(0, rest), facts, pool, policy).items():
        shares[payer] = shares.get(payer, 0) + part
    return {payer: share for payer, share in shares.items() if share}


def _share(fact: Fact, policy: Policy) -> Seconds:
    """Return what a tenant pays of a pool; devices taken without quota are paid in full.

    A whole number stays one: a month has many hours, and fractions are slow.
    """
    share: Seconds = _BASES[policy.base](fact) + fact.unmanaged
    if policy.base is Base.COMMITTED:
        if fact.borrowed:
            share += policy.borrow * fact.borrowed
        if fact.lent and policy.credit:
            share -= policy.borrow * fact.lent
    return share


def _rest(
    rest: Seconds, facts: Sequence[Fact], pool: PoolFact, policy: Policy
) -> dict[str, Seconds]:
    """Return who pays what is left; what the rule can give to nobody stays unallocated."""
    if policy.rest is Rest.PLATFORM:
        return _platform(rest, facts, pool)
    weights = {fact.tenant: _REST[policy.rest](fact) for fact in facts if fact.tenant != NOBODY}
    whole = sum(weights.values())
    if not whole:
        return {Bucket.UNALLOCATED: rest}
    return {tenant: rest * Fraction(weight, whole) for tenant, weight in weights.items()}


_REST: Final[Mapping[Rest, Callable[[Fact], int]]] = {
    Rest.COMMITTED: lambda fact: fact.committed,
    Rest.ADMITTED: lambda fact: fact.admitted + fact.draining,
    Rest.EVEN: lambda fact: 1,
}


def _platform(rest: Seconds, facts: Sequence[Fact], pool: PoolFact) -> dict[str, Seconds]:
    """Name what the platform pays: devices that are down, never sold, or idle."""
    sold = sum(fact.committed for fact in facts) + pool.nominal
    down = min(rest, pool.down)
    unsold = min(rest - down, max(0, pool.provisioned - sold))
    return {Bucket.DOWN: down, Bucket.UNSOLD: unsold, Bucket.IDLE: rest - down - unsold}


def allocate(
    bill: int, shares: Mapping[str, Seconds], *, orphan: int = 0, gap: int = 0
) -> dict[str, int]:
    """Split the grains of an hour's bill by the shares of a pool; the parts add up to it.

    ``orphan`` are billed seconds of nodes that were not in the cluster, ``gap`` those that the
    bill counts beyond what was seen of its nodes; both have a bucket instead of a payer.
    """
    billed = {Bucket.ORPHAN: orphan, Bucket.GAP: gap}
    weights = dict(shares) | {bucket: part for bucket, part in billed.items() if part}
    try:
        return split(bill, weights)
    except NoWeights:
        return {Bucket.UNALLOCATED: bill} if bill else {}


def spread(amount: int, costs: Mapping[str, int], rule: Spread, bucket: Bucket) -> dict[str, int]:
    """Split an amount that belongs to no pool among tenants, by what each pays already.

    ``costs`` may hold buckets too; they get nothing. ``bucket`` takes it under the platform's
    rule, and *unallocated* where no tenant pays anything.
    """
    if rule is Spread.PLATFORM:
        return {bucket: amount}
    tenants = {key: max(0, cost) for key, cost in costs.items() if not key.startswith("*")}
    weights = tenants if rule is Spread.COST else dict.fromkeys(tenants, 1)
    try:
        return split(amount, weights)
    except NoWeights:
        return {Bucket.UNALLOCATED: amount}


def totals(parts: Sequence[Mapping[str, int]]) -> dict[str, int]:
    """Add up what hours and rules gave to each, in the order of the names."""
    found: dict[str, int] = {}
    for part in parts:
        for key, amount in part.items():
            found[str(key)] = found.get(str(key), 0) + amount
    return dict(sorted(found.items()))
