"""What the facts of an hour say about themselves: sums that must hold, and what looks wrong.

``broken`` names identities that do not hold, which is an error of the ledger. ``findings`` are
about the cluster, and go to a person.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from costs.facts import NOBODY, Fact, HourFacts, PoolFact
from costs.states import RUNNING_AND_ADMITTED, Code, Finding
from costs.times import HOUR


def broken(hour: HourFacts) -> list[str]:
    """Return the identities that do not hold in an hour; there must be none."""
    found = [f"{fact.tenant} {fact.pool}: {what}" for fact in hour.facts for what in _fact(fact)]
    for pool in hour.pools:
        facts = of_pool(hour, pool)
        borrowed = sum(fact.borrowed for fact in facts)
        lent = sum(fact.lent for fact in facts)
        if borrowed != lent + pool.borrowed + pool.overdraft:
            found.append(f"{pool.pool}: borrowed is not what was lent")
        if pool.overdraft != sum(fact.overdraft for fact in facts):
            found.append(f"{pool.pool}: overdraft is not the sum of its parts")
        if not 0 <= pool.borrowed <= pool.nominal:
            found.append(f"{pool.pool}: more is lent by cohorts than they have")
    return found


def _fact(fact: Fact) -> Iterator[str]:
    if fact.own + fact.borrowed != fact.held:
        yield "own and borrowed are not what is held"
    if fact.reserved + fact.admitted + fact.draining != fact.held:
        yield "the phases are not what is held"
    if not fact.overdraft <= fact.borrowed or not fact.excess <= fact.own:
        yield "more is beyond quota than is held"
    if not fact.held_least <= fact.held <= fact.held_most:
        yield "what is held is outside of its bounds"
    if fact.idle < 0:
        yield "less than nothing is idle"
    if min(fact.running, fact.terminating, fact.unmanaged) < 0:
        yield "pods ran for less than no time"
    if not 0 <= fact.pods <= HOUR:
        yield "pods were listened to for another time than the hour has"


def of_pool(hour: HourFacts, pool: PoolFact) -> list[Fact]:
    """Return the facts that belong to a pool."""
    return [fact for fact in hour.facts if fact.pool == pool.pool]


def findings(hour: HourFacts) -> Iterator[Finding]:
    """Yield what a person should look at in an hour."""
    for fact in hour.facts:
        yield from _about_tenant(fact)
    for pool in hour.pools:
        yield from _about_pool(of_pool(hour, pool), pool)


def _about_tenant(fact: Fact) -> Iterator[Finding]:
    who = f"{fact.tenant}/{fact.pool.flavor}"
    if fact.coverage < HOUR:
        yield Finding(Code.HARVEST_GAP, who, Fraction(fact.coverage - HOUR), Fraction(HOUR))
    yield from _about_pods(fact, who)
    if fact.unmanaged:
        yield Finding(Code.UNMANAGED, who, Fraction(fact.unmanaged))
    if fact.running and (fact.use is None or not fact.use.known):
        yield Finding(Code.USED_UNKNOWN, who, Fraction(fact.running), Fraction(fact.running))
    if fact.overdraft or fact.excess:
        yield Finding(Code.OVERDRAFT, who, Fraction(fact.overdraft + fact.excess))


def _about_pods(fact: Fact, who: str) -> Iterator[Finding]:
    """Compare what ran with what was admitted: that is why both are counted.

    What the bounds of held time allow may have been admitted as well. Of pods that were not
    watched nothing is missing.
    """
    granted = fact.granted
    beyond = fact.running - granted - max(0, fact.held_most - fact.held)
    if beyond > 0 and not RUNNING_AND_ADMITTED.allows(beyond, granted):
        yield Finding(Code.RUN_OVER_ADMIT, who, Fraction(beyond), Fraction(granted))
    missing = granted - fact.running
    if fact.pods_known and missing > 0 and not RUNNING_AND_ADMITTED.allows(missing, granted):
        yield Finding(Code.ADMIT_NOT_RUNNING, who, Fraction(missing), Fraction(granted))


def _about_pool(facts: Sequence[Fact], pool: PoolFact) -> Iterator[Finding]:
    exists = Fraction(pool.provisioned)
    name = pool.pool.flavor
    held = sum(fact.held for fact in facts)
    taken = sum(fact.running + fact.terminating + fact.unmanaged for fact in facts)
    if max(held, taken) > exists:
        yield Finding(Code.OVER_CAPACITY, name, max(held, taken) - exists, exists)
    nobody = sum(
        fact.held + fact.terminating + fact.unmanaged for fact in facts if fact.tenant == NOBODY
    )
    if nobody:
        yield Finding(Code.UNATTRIBUTED, name, Fraction(nobody), exists)
