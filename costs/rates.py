"""Prices: what a unit costs for an hour, by flavor, basis and purchase class, from a date on.

A price is looked up for every hour, so a change in the middle of a month counts from there. An
hour without a price is an error, as is used time that is not known: neither is ever 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Final, NamedTuple

from costs.facts import Fact
from costs.steps import Dated
from costs.times import HOUR, moment


class Basis(StrEnum):
    """What a price is for."""

    COMMITTED = "committed"
    ADMITTED = "admitted"
    RUNNING = "running"
    USED = "used"
    BORROWED = "borrowed"
    LENT_CREDIT = "lent_credit"
    IDLE = "idle"
    LOST_CREDIT = "lost_credit"
    OVERHEAD = "overhead"


#: What is paid out and not charged.
CREDITS: Final = frozenset({Basis.LENT_CREDIT, Basis.LOST_CREDIT})


class Purchase(StrEnum):
    """How devices are bought; each has prices of its own, which are never averaged."""

    ON_DEMAND = "on_demand"
    RESERVED = "reserved"
    SPOT = "spot"


class PriceKey(NamedTuple):
    """What one row of a price book is about."""

    flavor: str
    basis: Basis
    purchase: Purchase = Purchase.ON_DEMAND


class Unpriced(LookupError):
    """No price holds for an hour in which there was something to pay."""


class NotKnown(LookupError):
    """A quantity that is to be paid was not observed."""


class Charge(NamedTuple):
    """One line: a quantity in resource-seconds, the rate of an hour, and the exact amount."""

    key: PriceKey
    quantity: Fraction
    rate: Decimal
    amount: Fraction


@dataclass(frozen=True, slots=True)
class PriceBook:
    """Rates per native unit and hour, in one currency."""

    currency: str
    rates: Mapping[PriceKey, Dated[Decimal]]

    def rate(self, key: PriceKey, hour: int) -> Decimal:
        """Return the rate that holds in an hour; ``Unpriced`` if there is none."""
        dated = self.rates.get(key)
        found = dated.at(hour) if dated else None
        if found is None:
            message = (
                f"no {key.basis} price for {key.flavor} ({key.purchase}) at {moment(hour):%F %R}"
            )
            raise Unpriced(message)
        return found

    def charge(self, key: PriceKey, hour: int, seconds: Fraction | int) -> Charge:
        """Return what an hour's quantity costs; credits are negative."""
        rate = self.rate(key, hour)
        sign = -1 if key.basis in CREDITS else 1
        return Charge(key, Fraction(seconds), rate, sign * cost(seconds, rate))


def cost(seconds: Fraction | int, rate: Decimal) -> Fraction:
    """Return resource-seconds at a rate per hour, exactly."""
    return Fraction(seconds) * Fraction(rate) * Fraction(1, HOUR)


def price(
    fact: Fact,
    book: PriceBook,
    bases: Iterable[Basis],
    purchase: Purchase = Purchase.ON_DEMAND,
) -> Iterator[Charge]:
    """Yield what a tenant pays for one hour on each basis, as far as it had something of it."""
    for basis in bases:
        if seconds := quantity(fact, basis):
            key = PriceKey(fact.pool.flavor, basis, purchase)
            yield book.charge(key, fact.hour, seconds)


def quantity(fact: Fact, basis: Basis) -> Fraction | int:
    """Return resource-seconds of a basis; ``NotKnown`` if they were not or are not counted."""
    match basis:
        case Basis.USED:
            return used(fact)
        case Basis.LENT_CREDIT:
            return fact.lent
        case Basis.RUNNING:
            return running(fact)
        case Basis.COMMITTED | Basis.ADMITTED | Basis.BORROWED | Basis.IDLE:
            return int(getattr(fact, basis))
    message = f"{basis} is not counted by the hour"
    raise NotKnown(message)


def running(fact: Fact) -> int:
    """Return the time in which pods ran; ``NotKnown`` if too little was seen of them."""
    if not fact.pods_known:
        message = f"what ran of {fact.tenant} on {fact.pool.flavor} is not known"
        raise NotKnown(message)
    return fact.running


def used(fact: Fact) -> Fraction:
    """Return GPU-seconds that were used; ``NotKnown`` if too little of them was seen."""
    if fact.use is None or not fact.use.known:
        if fact.use is None and fact.pods_known and not fact.running:
            return Fraction(0)
        message = f"what {fact.tenant} used of {fact.pool.flavor} is not known"
        raise NotKnown(message)
    return fact.use.least


# -- from the price of a node to the rate of a GPU ------------------------------------------


class Parts(NamedTuple):
    """GPUs, virtual CPUs and gigabytes, or a price for one of each."""

    gpus: Decimal
    cpus: Decimal
    memory: Decimal

    def times(self, other: Parts) -> Parts:
        """Return the products of the same parts."""
        return Parts(*(a * b for a, b in zip(self, other, strict=True)))


#: A GPU weighs nine times as much as its CPUs and memory, a CPU nine times a gigabyte.
SPLIT_WEIGHTS: Final = Parts(Decimal(9), Decimal("0.9"), Decimal("0.1"))


def whole_node(price: Decimal, gpus: int) -> Fraction:
    """Return the rate of a GPU if a node is there for its GPUs alone: the portal's own way."""
    return Fraction(price) * Fraction(1, gpus)


def scaled_to_node(price: Decimal, listed: Parts) -> tuple[Fraction, Fraction, Fraction]:
    """Scale what GPUs, CPUs and memory cost by the list until they add up to the node."""
    whole = sum(map(Fraction, listed), Fraction(0))
    gpus, cpus, memory = (Fraction(price) * Fraction(Fraction(part), whole) for part in listed)
    return gpus, cpus, memory


def split_cost(price: Decimal, has: Parts) -> Fraction:
    """Return the rate of one GPU by the weights of AWS's split cost allocation."""
    weights = sum(map(Fraction, has.times(SPLIT_WEIGHTS)), Fraction(0))
    return Fraction(price) * Fraction(Fraction(SPLIT_WEIGHTS.gpus), weights)
