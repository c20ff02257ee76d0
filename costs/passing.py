"""Passing a bill on: what each hour of a pool costs, divided among those who pay for it.

The policy says who pays which part of the pool (``costs.policy``). Here each payer's part is
taken apart again into what it is for, and added up over the hours: that is what a statement
lists. Grains are never lost: the lines of an hour are its bill, and all lines are the whole bill.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final, NamedTuple

from costs.facts import NOBODY, Fact, PoolFact
from costs.lost import PLATFORM, Loss, back
from costs.money import from_grains
from costs.policy import (
    Base,
    Bucket,
    CannotReconcile,
    Policy,
    Spread,
    allocate,
    spread,
    weigh,
)
from costs.rates import Basis, NotKnown, PriceBook, Purchase, used
from costs.rounding import apart

Seconds = Fraction | int

#: What a line is for, beside the bases of prices: what the policy adds to a tenant's part.
UNMANAGED: Final = "unmanaged"
REST: Final = "rest"
SHARED: Final = "shared"
UNUSED: Final = "unused"
BORROWED: Final = "borrowed"
LENT: Final = "lent_credit"
#: Work that was lost and is given back, and the same amount with the one who gives it.
LOST_CREDIT: Final = Basis.LOST_CREDIT.value
LOST_WORK: Final = "lost_work"
#: Held time has no price of its own: a policy that charges it cannot be shown by a price list.
_CHARGED: Final = {
    Base.COMMITTED: Basis.COMMITTED, Base.ADMITTED: Basis.ADMITTED, Base.USED: Basis.USED,
}  # fmt: skip


class Key(NamedTuple):
    """One line of a statement: who pays, for which flavor, on what basis."""

    payer: str
    flavor: str
    basis: str


class PoolBill(NamedTuple):
    """What the bill says of one pool in one hour.

    ``grains`` are in its currency; ``orphan`` are billed seconds of nodes that were not in the
    cluster, ``gap`` those that the bill counts beyond what was seen of its nodes.
    """

    grains: int
    orphan: int = 0
    gap: int = 0


@dataclass(slots=True)
class Tally:
    """Seconds and grains by line."""

    seconds: dict[Key, Seconds] = field(default_factory=dict)
    grains: dict[Key, int] = field(default_factory=dict)

    def add(self, key: Key, seconds: Seconds, grains: int) -> None:
        """Add an hour's part to a line."""
        self.seconds[key] = self.seconds.get(key, 0) + seconds
        self.grains[key] = self.grains.get(key, 0) + grains

    def merge(self, other: Tally) -> None:
        """Add all lines of another one."""
        for key, grains in other.grains.items():
            self.add(key, other.seconds[key], grains)

    @property
    def total(self) -> int:
        """Return the grains of all lines."""
        return sum(self.grains.values())

    def payers(self) -> dict[str, int]:
        """Return the grains of each payer."""
        found: dict[str, int] = {}
        for key, grains in self.grains.items():
            found[key.payer] = found.get(key.payer, 0) + grains
        return dict(sorted(found.items()))


def consists(fact: Fact, policy: Policy) -> Iterator[tuple[str, Seconds, Seconds]]:
    """Yield what a tenant's own part of the pool is made of: basis, seconds, and their weight.

    The weights add up to what ``weigh`` gives the tenant before the rest of the pool is divided.
    """
    if had := _had(fact, policy):
        yield policy.base.value, had, had
    if policy.base is Base.COMMITTED:
        if fact.borrowed and policy.borrow:
            yield BORROWED, fact.borrowed, policy.borrow * fact.borrowed
        if fact.lent and policy.borrow and policy.credit:
            yield LENT, fact.lent, -policy.borrow * fact.lent
    if fact.unmanaged:
        yield UNMANAGED, fact.unmanaged, fact.unmanaged


def _had(fact: Fact, policy: Policy) -> Seconds:
    match policy.base:
        case Base.COMMITTED:
            return fact.committed
        case Base.HELD:
            return fact.held
        case Base.ADMITTED:
            return fact.admitted + fact.draining
        case Base.USED:
            return used(fact)


def divide(
    tally: Tally, facts: Sequence[Fact], pool: PoolFact, policy: Policy, bill: PoolBill
) -> bool:
    """Add the lines of one hour of a pool; they add up to its bill.

    False where the policy cannot be followed, because use was not measured or devices are used
    that are not there: then nobody is charged, and the devices stay *unallocated*. What was
    billed for nodes that were not there is no matter of the policy and has its bucket all the same.
    """
    try:
        shares = weigh(facts, pool, policy)
    except (NotKnown, CannotReconcile):
        _nobody(tally, pool, bill)
        return False
    paid = allocate(bill.grains, shares, orphan=bill.orphan, gap=bill.gap)
    own = {fact.tenant: fact for fact in facts if fact.tenant != NOBODY}
    for payer, grains in paid.items():
        share = shares.get(payer, 0)
        if fact := own.get(payer):
            _apart(tally, fact, policy, share, grains)
        else:
            _whole(tally, payer, pool.pool.flavor, share, grains)
    return True


def _nobody(tally: Tally, pool: PoolFact, bill: PoolBill) -> None:
    """Add an hour of which nobody can be charged with the devices that were there."""
    there = {str(Bucket.UNALLOCATED): pool.provisioned} if pool.provisioned else {}
    for payer, grains in allocate(bill.grains, there, orphan=bill.orphan, gap=bill.gap).items():
        if grains:
            _whole(tally, payer, pool.pool.flavor, 0, grains)


def second(facts: Sequence[Fact], pool: PoolFact, policy: Policy, bill: PoolBill) -> Fraction:
    """Return what a second of a device costs in an hour, in grains; 0 where nobody is charged."""
    try:
        shares = weigh(facts, pool, policy)
    except (NotKnown, CannotReconcile):
        return Fraction(0)
    whole = sum(shares.values(), Fraction(bill.orphan + bill.gap))
    return bill.grains * Fraction(1, whole) if whole > 0 else Fraction(0)


def give_back(tally: Tally, losses: Iterable[Loss], policy: Policy, rate: Fraction) -> None:
    """Add what of an hour's lost work is given back, at the rate of a second in that hour.

    What one gets another one pays, so that the lines are the bill as before.
    """
    for loss in losses:
        found = back(loss, policy.lost)
        payer = Bucket.UNATTRIBUTED if loss.tenant == NOBODY else loss.tenant
        grains = round(found.seconds * rate)
        if not grains:
            continue
        by = Bucket.LOST if found.by == PLATFORM else found.by
        what = LOST_WORK if found.by else str(by).removeprefix("*")
        flavor = loss.pool.flavor
        tally.add(Key(str(payer), flavor, LOST_CREDIT), found.seconds, -grains)
        tally.add(Key(str(by), flavor, what), found.seconds, grains)


def _whole(tally: Tally, payer: str, flavor: str, seconds: Seconds, grains: int) -> None:
    """Add what has one reason only: a bucket's name is what it is for."""
    tally.add(Key(str(payer), flavor, str(payer).removeprefix("*")), seconds, grains)


def _apart(tally: Tally, fact: Fact, policy: Policy, share: Seconds, grains: int) -> None:
    """Take a tenant's part of the bill apart, so that its lines add up to it."""
    parts = list(consists(fact, policy))
    rest = share - sum(weight for _basis, _seconds, weight in parts)
    if rest:
        parts.append((REST, rest, rest))
    if len(parts) == 1:
        amounts = {parts[0][0]: grains}
    else:
        amounts = apart(grains, {basis: weight for basis, _, weight in parts})
    for basis, seconds, _weight in parts:
        tally.add(Key(fact.tenant, fact.pool.flavor, basis), seconds, amounts[basis])


def beyond(tally: Tally, amount: int, rule: Spread, bucket: Bucket) -> None:
    """Add what belongs to no pool: shared costs, or commitments that nobody used."""
    if not amount:
        return
    basis = UNUSED if bucket is Bucket.UNUSED else SHARED
    for payer, grains in spread(amount, tally.payers(), rule, bucket).items():
        tally.add(Key(str(payer), "", basis), 0, grains)


def kept(tally: Tally, bucket: str, amount: int) -> None:
    """Add what stays with the platform: no pool was found for it, and no rule divides it."""
    if amount:
        _whole(tally, bucket, "", 0, amount)


def mean_rate(seconds: Seconds, grains: int) -> Fraction | None:
    """Return what an hour of a line cost on average, in grains; ``None`` where there is none."""
    return abs(Fraction(grains * 3600) * Fraction(1, Fraction(seconds))) if seconds else None


def worth(grains: int, rate: Fraction) -> Fraction:
    """Return grains of a bill in another currency, of which a unit of the bill's is ``rate``."""
    return Fraction(from_grains(grains)) * rate


def by_tenant(payers: Mapping[str, int]) -> tuple[int, int]:
    """Return what tenants pay together, and what the platform pays."""
    tenants = sum(grains for payer, grains in payers.items() if not payer.startswith("*"))
    return tenants, sum(payers.values()) - tenants


def charged(policy: Policy) -> set[Basis]:
    """Return the bases of which a policy makes a tenant pay; none if it charges held time."""
    if policy.base not in _CHARGED:
        return set()
    found = {_CHARGED[policy.base]}
    if policy.base is Base.COMMITTED:
        # Only there is borrowed time something else than held time.
        found |= {Basis.BORROWED} if policy.borrow else set()
        found |= {Basis.LENT_CREDIT} if policy.borrow and policy.credit else set()
    return found


def purchase_of(prices: PriceBook, flavors: Collection[str]) -> Purchase:
    """Return how devices of flavors are bought: as their only prices say, else on demand."""
    found = {key.purchase for key in prices.rates if key.flavor in flavors}
    return found.pop() if len(found) == 1 else Purchase.ON_DEMAND
