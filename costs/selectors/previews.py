"""What other prices or another policy would have meant for a month that was: who pays how much.

Nothing is written. Small months are reckoned by the hour as a statement is; large ones by the
day, which is close and answers a page in time. Both columns add up to the same bill.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from fractions import Fraction
from typing import Any, Final

from django.db.models import F

from costs.comparing import Place
from costs.facts import NOBODY, Fact, Pool, PoolFact, Quality
from costs.lost import Loss
from costs.models import (
    Period,
    PolicyVersion,
    PoolDay,
    PoolHour,
    PriceBook,
    PriceVersion,
    TenantDay,
    TenantHour,
)
from costs.models.prices import VersionState
from costs.money import from_grains, grains
from costs.passing import PoolBill, Tally, charged, divide, give_back, purchase_of, second
from costs.policy import Policy
from costs.rates import Basis, NotKnown, PriceKey, Unpriced, quantity
from costs.rates import PriceBook as Rates
from costs.selectors import hours, losses, month_bills
from costs.selectors.bill_hours import billed
from costs.selectors.hours import SUMMED
from costs.selectors.months import Month
from costs.selectors.period_hours import PoolHourFacts, read
from costs.selectors.prices import policies, price_book
from costs.steps import Dated
from costs.times import HOUR, instant, moment
from costs.used import Use

#: Rows of hours that a page may wait for; beyond that it is reckoned by the day.
BY_HOUR: Final = 20_000
DAY: Final = 24 * HOUR
#: The payer under which a price list shows what it does not bring in.
RECOVERY: Final = "*recovery"


@dataclass(frozen=True, slots=True)
class Row:
    """One payer: what it pays now, and what it would pay, in the currency of the book."""

    payer: str
    now: Fraction
    then: Fraction

    @property
    def difference(self) -> Fraction:
        """Return how much more it would be."""
        return self.then - self.now


@dataclass(frozen=True, slots=True)
class Preview:
    """A month reckoned twice. ``billed``: by a real bill, else by the prices of its devices."""

    month: Month
    rows: list[Row]
    total: Fraction
    by_day: bool
    billed: bool
    unpriced: Fraction = Fraction(0)


def last_month(now: int) -> Month:
    """Return the month before the one that it is."""
    at = moment(now)
    return Month(at.year, at.month).moved(-1)


def of_policy(book: PriceBook, wanted: Policy, now: int) -> Preview | None:
    """Reckon the last month by the policy that holds and by another one.

    ``None`` if nothing was counted in it, or nothing says what its devices cost.
    """
    month = last_month(now)
    basis = _Basis.of(book, month)
    if basis is None:
        return None
    current = policies(book.pk)
    tallies = Tally(), Tally()
    gives = any(each is not None and each.lost.gives for each in (*current.values, wanted))
    gone = basis.lost() if gives else {}
    for hour, bill in basis.hours():
        here = gone.get((hour.place, hour.pool.hour), ())
        for tally, policy in zip(tallies, (current.at(hour.pool.hour), wanted), strict=True):
            if policy is not None and bill.grains:
                divide(tally, hour.facts, hour.pool, policy, bill)
                _back(tally, hour, here, policy, bill)
    before, after = (each.payers() for each in tallies)
    payers = sorted(before.keys() | after.keys())
    rows = [
        Row(key, basis.worth(before.get(key, 0)), basis.worth(after.get(key, 0))) for key in payers
    ]
    return Preview(month, rows, basis.worth(tallies[1].total), basis.by_day, basis.billed)


def _back(
    tally: Tally, hour: PoolHourFacts, gone: Sequence[Loss], policy: Policy, bill: PoolBill
) -> None:
    if gone and policy.lost.gives:
        give_back(tally, gone, policy, second(hour.facts, hour.pool, policy, bill))


def of_prices(version: PriceVersion, now: int) -> Preview | None:
    """Reckon the last month by the prices that hold and by those of a version.

    What the list does not bring in of the bill is the platform's.
    """
    month, book = last_month(now), version.book
    basis = _Basis.of(book, month, version)
    if basis is None:
        return None
    active = book.versions.filter(state=VersionState.ACTIVE).prefetch_related("prices").first()
    lists = [price_book(active) if active else None, price_book(version)]
    known = policies(book.pk)
    sums: tuple[dict[str, Fraction], ...] = (defaultdict(Fraction), defaultdict(Fraction))
    unpriced, total = Fraction(0), 0
    for hour, bill in basis.hours():
        total += bill.grains
        policy = known.at(hour.pool.hour) or Policy()
        for found, rates in zip(sums, lists, strict=True):
            lacking = _listed(found, hour, policy, rates)
            unpriced += lacking if found is sums[1] else 0
    bill_total = basis.worth(total)
    for found in sums:
        found[RECOVERY] = bill_total - sum(found.values(), Fraction(0))
    payers = sorted(sums[0].keys() | sums[1].keys())
    rows = [
        Row(key, sums[0].get(key, Fraction(0)), sums[1].get(key, Fraction(0))) for key in payers
    ]
    return Preview(month, rows, bill_total, basis.by_day, basis.billed, unpriced)


def _listed(
    found: dict[str, Fraction], hour: PoolHourFacts, policy: Policy, rates: Rates | None
) -> Fraction:
    """Add what tenants pay of an hour by a price list; return the seconds without a price."""
    lacking = Fraction(0)
    flavor = hour.place.pool.flavor
    purchase = purchase_of(rates, {flavor}) if rates else None
    for fact in hour.facts:
        for basis in sorted(charged(policy)):
            seconds = _had(fact, basis)
            if not seconds or fact.tenant == NOBODY:
                continue
            try:
                if rates is None or purchase is None:
                    raise Unpriced(flavor)
                key = PriceKey(flavor, basis, purchase)
                found[fact.tenant] += rates.charge(key, hour.pool.hour, seconds).amount
            except Unpriced:
                lacking += seconds
    return lacking


def _had(fact: Fact, basis: Basis) -> Fraction:
    try:
        return Fraction(quantity(fact, basis))
    except NotKnown:
        return Fraction(0)


@dataclass(frozen=True, slots=True)
class _Basis:
    """What a month is reckoned from: its hours or days, and what each of them cost."""

    month: Month
    by_day: bool
    bills: Mapping[tuple[Place, int], int] | None
    rates: Rates | None
    base: Basis
    rate: Fraction

    @classmethod
    def of(
        cls, book: PriceBook, month: Month, version: PriceVersion | None = None
    ) -> _Basis | None:
        """Read what is there of a month; ``None`` where that is not enough."""
        number = TenantHour.objects.filter(hours.within(month.span)).count()
        if not PoolHour.objects.filter(hours.within(month.span)).exists():
            return None
        period = Period.objects.filter(
            book=book, starts=moment(month.span.starts), ends=moment(month.span.ends)
        ).first()
        bills = month_bills.counting(month_bills.due(period)) if period else []
        same = month_bills.currencies(bills) == [book.currency]
        active = book.versions.filter(state=VersionState.ACTIVE).first() or version
        if not same and active is None:
            return None
        asked = billed(bills, period) if period and same else None
        policy = policies(book.pk).at(month.span.ends - 1) or Policy()
        return cls(
            month=month, by_day=number > BY_HOUR,
            bills={key: each.grains for key, each in asked.hours.items()} if asked else None,
            rates=price_book(active) if active else None,
            base=next((each for each in Basis if each == policy.base.value), Basis.COMMITTED),
            rate=Fraction(1),
        )  # fmt: skip

    @property
    def billed(self) -> bool:
        """Return whether a real bill is divided."""
        return self.bills is not None

    def worth(self, count: int) -> Fraction:
        """Return grains as an amount of the book's currency."""
        return Fraction(from_grains(count)) * self.rate

    def hours(self) -> Iterator[tuple[PoolHourFacts, PoolBill]]:
        """Yield each hour, or each day, of every pool with its bill."""
        span = self.month.span
        by_day = self._by_day() if self.by_day and self.bills is not None else self.bills
        for each in _days(self.month) if self.by_day else read(span, span.seconds):
            if by_day is not None:
                yield each, PoolBill(by_day.get((each.place, each.pool.hour), 0))
            else:
                yield each, PoolBill(self._list(each))

    def lost(self) -> dict[tuple[Place, int], list[Loss]]:
        """Return lost work by pool and hour, or day."""
        found: dict[tuple[Place, int], list[Loss]] = defaultdict(list)
        for (place, hour), gone in losses.by_hour(self.month.span).items():
            found[place, hour - hour % DAY if self.by_day else hour] += gone
        return found

    def _by_day(self) -> dict[tuple[Place, int], int]:
        found: dict[tuple[Place, int], int] = defaultdict(int)
        for (place, hour), count in (self.bills or {}).items():
            found[place, hour - hour % DAY] += count
        return found

    def _list(self, hour: PoolHourFacts) -> int:
        """Return what the devices of a pool cost by the price list, where there is no bill."""
        if self.rates is None:
            return 0
        flavor = hour.place.pool.flavor
        key = PriceKey(flavor, self.base, purchase_of(self.rates, {flavor}))
        try:
            return grains(self.rates.charge(key, hour.pool.hour, hour.pool.provisioned).amount)
        except Unpriced:
            return 0


def _days(month: Month) -> Iterator[PoolHourFacts]:
    """Yield each day of each pool as if it were one long hour; two queries."""
    first, last = moment(month.span.starts).date(), moment(month.span.ends - 1).date()
    names = ("starts", "cluster__slug", "flavor", "resource")
    facts: dict[tuple[int, Place], list[Fact]] = defaultdict(list)
    tenants = TenantDay.objects.filter(starts__range=(first, last)).annotate(of=F("tenant__slug"))
    own = ("of", "quality", "used", "seen", "expected", "coverage", "hours", "pods")
    columns = (*names, *own, *SUMMED)
    for values in tenants.values_list(*columns).iterator(chunk_size=5000):
        row = dict(zip(columns, values, strict=True))
        place = Place(row["cluster__slug"], Pool(row["flavor"], row["resource"]))
        facts[_instant(row["starts"]), place].append(_fact(row, place.pool))
    devices = PoolDay.objects.filter(starts__range=(first, last))
    numbers = ("ready", "cordoned", "down", "nominal", "borrowed", "overdraft")
    for starts, slug, flavor, resource, *counts in devices.values_list(*names, *numbers):
        day, place = _instant(starts), Place(slug, Pool(flavor, resource))
        yield PoolHourFacts(place, PoolFact(day, place.pool, *counts), facts.get((day, place), []))


def _instant(day: date) -> int:
    return instant(datetime(day.year, day.month, day.day, tzinfo=UTC))


def _fact(row: dict[str, Any], pool: Pool) -> Fact:
    counted = {name: row[name] for name in (*SUMMED, "coverage")}
    used = row["used"]
    use = None if used is None else Use(*(row[name] for name in ("used", "seen", "expected")))
    return Fact(
        hour=_instant(row["starts"]), tenant=row["of"] or NOBODY, pool=pool,
        quality=Quality(row["quality"]), use=use, pods=row["pods"] // row["hours"], **counted,
    )  # fmt: skip


def unpriced(book: PriceBook, now: int) -> dict[tuple[str, str], Fraction]:
    """Return hours of last month and this that the active prices do not cover, by flavor and basis."""
    active = book.versions.filter(state=VersionState.ACTIVE).prefetch_related("prices").first()
    rates = price_book(active) if active else None
    known: Dated[Policy] = policies(book.pk)
    found: dict[tuple[str, str], Fraction] = defaultdict(Fraction)
    current = Month(moment(now).year, moment(now).month)
    for month in (current.moved(-1), current):
        for day in _days(month):
            policy = known.at(day.pool.hour)
            for basis in sorted(charged(policy)) if policy else []:
                seconds = sum((_had(fact, basis) for fact in day.facts), Fraction(0))
                if seconds and not _priced(rates, day, basis):
                    found[day.place.pool.flavor, basis.value] += seconds
    return dict(sorted(found.items()))


def _priced(rates: Rates | None, day: PoolHourFacts, basis: Basis) -> bool:
    if rates is None:
        return False
    flavor = day.place.pool.flavor
    try:
        rates.rate(PriceKey(flavor, basis, purchase_of(rates, {flavor})), day.pool.hour)
    except Unpriced:
        return False
    return True


def newest_policy(book: PriceBook) -> PolicyVersion | None:
    """Return the policy that began last."""
    return book.policies.filter(state=VersionState.ACTIVE).order_by("-starts").first()
