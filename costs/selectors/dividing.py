"""Dividing what a month was billed by policies: the one reckoning behind closing and previews.

Whoever asks what a month costs, by the policies that held or by other ones, divides here. So the
same policies give the same parts to the last grain, and another policy changes what it says and
nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final, NamedTuple

from costs import passing
from costs.comparing import Place
from costs.facts import Quality
from costs.lost import Loss
from costs.passing import Key, PoolBill, Tally, divide, give_back, second
from costs.policy import Bucket, Policy
from costs.selectors.bill_hours import Billed
from costs.selectors.period_hours import PoolHourFacts
from costs.statements import rounded_payers
from costs.steps import Dated

NOTHING: Final = PoolBill(0)
_UNALLOCATED: Final = Bucket.UNALLOCATED.removeprefix("*")
Lost = Mapping[tuple[Place, int], list[Loss]]


class Hour(NamedTuple):
    """One hour of a pool with what was billed for it, and the work that was lost in it."""

    facts: PoolHourFacts
    bill: PoolBill
    gone: list[Loss]


@dataclass(slots=True)
class Division:
    """A month's bills divided by ``policies``, by the hour from which each holds.

    ``unwatched`` are those of the lines' seconds and grains that belong to hours in which nobody
    listened. ``lawless`` are pool hours without a policy; ``unmeasured`` are unallocated grains of
    pool hours that a policy could not divide, because what it asks for was not measured.
    """

    policies: Dated[Policy]
    tally: Tally = field(default_factory=Tally)
    unwatched: Tally = field(default_factory=Tally)
    lost: int = 0
    lawless: int = 0
    unmeasured: int = 0

    def add(self, hour: Hour) -> Policy | None:
        """Divide one hour of a pool, and return by which policy."""
        policy = self.policies.at(hour.facts.pool.hour)
        if policy is None:
            self.lost += hour.bill.grains
            self.lawless += 1
            return None
        if any(fact.quality is Quality.MISSING for fact in hour.facts.facts):
            part = Tally()
            self._divide(part, hour, policy)
            self.tally.merge(part)
            self.unwatched.merge(part)
        else:
            self._divide(self.tally, hour, policy)
        return policy

    def _divide(self, tally: Tally, hour: Hour, policy: Policy) -> None:
        (_place, pool, facts), bill, gone = hour
        nobody = Key(Bucket.UNALLOCATED, pool.pool.flavor, _UNALLOCATED)
        before = tally.grains.get(nobody, 0)
        if not divide(tally, facts, pool, policy, bill):
            self.unmeasured += tally.grains.get(nobody, 0) - before
        if gone and policy.lost.gives:
            give_back(tally, gone, policy, second(facts, pool, policy, bill))

    def finish(self, asked: Billed, beyond: int, ends: int) -> None:
        """Add what belongs to no pool, by the policy that holds at the end of the month.

        ``beyond`` was billed for hours of pools that nobody has counted; ``ends`` is the end.
        """
        lost = asked.lost + self.lost + beyond
        rules = self.policies.at(ends - 1) or Policy()
        # Both are divided by what the pools cost, whichever comes first.
        pools = Tally(dict(self.tally.seconds), dict(self.tally.grains))
        for amount, rule, bucket in (
            (asked.shared, rules.shared, Bucket.SHARED),
            (asked.unused, rules.unused, Bucket.UNUSED),
        ):
            more = Tally(dict(pools.seconds), dict(pools.grains))
            passing.beyond(more, amount, rule, bucket)
            for key, count in more.grains.items():
                if added := count - pools.grains.get(key, 0):
                    self.tally.add(key, 0, added)
        for name, amount in sorted(asked.buckets.items()):
            passing.kept(self.tally, name, amount)
        passing.kept(self.tally, Bucket.UNALLOCATED, lost)

    def owed(self, rate: Fraction, currency: str) -> dict[str, int]:
        """Return what each payer owes in minor units of a currency, as statements say it."""
        worth = {key: passing.worth(count, rate) for key, count in self.tally.payers().items()}
        return rounded_payers(worth, currency)


def hours(
    found: Iterable[PoolHourFacts], bills: dict[tuple[Place, int], PoolBill], gone: Lost
) -> Iterator[Hour]:
    """Yield hours of pools with their bills, which are taken out of ``bills``.

    What is left in it afterwards was billed for hours that nobody has counted.
    """
    for each in found:
        key = (each.place, each.pool.hour)
        yield Hour(each, bills.pop(key, NOTHING), gone.get(key, []))
