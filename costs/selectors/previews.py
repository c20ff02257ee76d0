"""What other prices or another policy would have meant for a month that was: who pays how much.

Nothing is written. A month is reckoned as its statements are, from the same hours, bills and
rules, so that the policy that held gives the statements to the cent. Of a month that is too
large for a page the differences are reckoned by the day.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
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
from costs.money import from_minor, grains
from costs.passing import PoolBill, charged, purchase_of, worth
from costs.policy import Policy
from costs.rates import Basis, NotKnown, PriceKey, Unpriced, quantity
from costs.rates import PriceBook as Rates
from costs.selectors import dividing, hours, losses
from costs.selectors.bill_hours import Billed
from costs.selectors.dividing import Division, Hour, Lost
from costs.selectors.hours import SUMMED
from costs.selectors.months import Month
from costs.selectors.period_hours import PoolHourFacts, read, span_of
from costs.selectors.prices import policies, price_book
from costs.selectors.reckoning import Given, asked_of, dated, given, stored
from costs.steps import Dated
from costs.times import HOUR, Span, instant, moment
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
    """A month reckoned twice. ``billed``: by real bills, else by the prices of its devices.

    ``written``: what is paid now are its statements as they stand, corrections included, and
    ``closed``: they stay. ``unmeasured`` is what of the bill nobody would be charged with,
    because what the policy asks for was not measured. ``reserved`` are resource-seconds that
    were held and not admitted.
    """

    month: Month
    rows: list[Row]
    total: Fraction
    by_day: bool
    billed: bool
    unpriced: Fraction = Fraction(0)
    unmeasured: Fraction = Fraction(0)
    written: bool = False
    closed: bool = False
    reserved: int = 0


def last_month(now: int) -> Month:
    """Return the month before the one that it is."""
    at = moment(now)
    return Month(at.year, at.month).moved(-1)


def of_policy(book: PriceBook, wanted: Policy, now: int) -> Preview | None:
    """Reckon the last month by the policy that held and by another one.

    ``None`` if nothing was counted in it, or nothing says what its devices cost.
    """
    basis = _Basis.of(book, last_month(now))
    if basis is None:
        return None
    own, other = Division(basis.policies), Division(Dated([(0, wanted)]))
    gives = any(each is not None and each.lost.gives for each in (*own.policies.values, wanted))
    left = basis.bills()
    reserved = 0
    for hour in basis.hours(left, basis.lost() if gives else {}):
        own.add(hour)
        other.add(hour)
        reserved += sum(fact.reserved for fact in hour.facts.facts)
    beyond = sum(each.grains for each in left.values())
    for each in (own, other):
        each.finish(basis.asked, beyond, basis.span.ends)
    before, after = (_amounts(each, basis) for each in (own, other))
    written = _written(basis.period)
    paid = written or before
    rows = [
        Row(key, had := Fraction(paid.get(key, 0)), had + after.get(key, 0) - before.get(key, 0))
        for key in sorted(paid.keys() | before.keys() | after.keys())
    ]
    return Preview(
        month=basis.month, rows=rows, total=sum((row.then for row in rows), Fraction(0)),
        by_day=basis.by_day, billed=basis.billed, unmeasured=worth(other.unmeasured, basis.rate),
        written=bool(written), closed=basis.closed, reserved=reserved,
    )  # fmt: skip


def _amounts(division: Division, basis: _Basis) -> dict[str, Fraction]:
    currency = basis.book.currency
    owed = division.owed(basis.rate, currency)
    return {key: Fraction(from_minor(count, currency)) for key, count in owed.items()}


def _written(period: Period | None) -> dict[str, Fraction]:
    """Return what each payer owes by the statements of a month, if its bills were divided."""
    if period is None or period.prices_id is None:
        return {}
    rows = period.statements.values_list("tenant__slug", "bucket", "total")
    return {slug or bucket: Fraction(total) for slug, bucket, total in rows}


def of_prices(version: PriceVersion, now: int) -> Preview | None:
    """Reckon the last month by the prices that held and by those of a version.

    What a list does not bring in of the bill is the platform's.
    """
    book = version.book
    basis = _Basis.of(book, last_month(now), version)
    if basis is None:
        return None
    active = book.versions.filter(state=VersionState.ACTIVE).prefetch_related("prices").first()
    held = basis.prices if basis.closed else active
    lists = [price_book(held) if held else None, price_book(version)]
    sums: tuple[dict[str, Fraction], ...] = (defaultdict(Fraction), defaultdict(Fraction))
    unpriced, total = Fraction(0), 0
    for hour in basis.hours(basis.bills(), {}):
        total += hour.bill.grains
        policy = basis.policies.at(hour.facts.pool.hour) or Policy()
        for found, rates in zip(sums, lists, strict=True):
            lacking = _listed(found, hour.facts, policy, rates)
            unpriced += lacking if found is sums[1] else 0
    whole = worth(basis.asked.total if basis.billed else total, basis.rate)
    for found in sums:
        found[RECOVERY] = whole - sum(found.values(), Fraction(0))
    rows = [
        Row(key, sums[0].get(key, Fraction(0)), sums[1].get(key, Fraction(0)))
        for key in sorted(sums[0].keys() | sums[1].keys())
    ]
    return Preview(basis.month, rows, whole, basis.by_day, basis.billed, unpriced)


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
    """What a month is reckoned from: its hours or days, what they cost, and by which policies.

    Of a closed month that is what its statements rest on, else what a run would be given now.
    """

    book: PriceBook
    month: Month
    span: Span
    period: Period | None
    by_day: bool
    billed: bool
    asked: Billed
    policies: Dated[Policy]
    prices: PriceVersion | None
    rates: Rates | None
    base: Basis
    rate: Fraction

    @classmethod
    def of(
        cls, book: PriceBook, month: Month, version: PriceVersion | None = None
    ) -> _Basis | None:
        """Read what is there of a month; ``None`` where that is not enough."""
        period = _period(book, month)
        span = span_of(period) if period else month.span
        number = TenantHour.objects.filter(hours.within(span)).count()
        if not PoolHour.objects.filter(hours.within(span)).exists():
            return None
        using = _using(period)
        is_billed = using is not None and len(using.currencies) == 1 and using.rate is not None
        active = book.versions.filter(state=VersionState.ACTIVE).first() or version
        if not is_billed and active is None:
            return None
        held = dated(using.policies) if using else policies(book.pk)
        last = held.at(span.ends - 1) or Policy()
        return cls(
            book=book, month=month, span=span, period=period, by_day=number > BY_HOUR,
            billed=is_billed, policies=held, prices=using.prices if using else None,
            asked=asked_of(period, using) if period and using and is_billed else Billed(0, {}),
            rates=price_book(active) if active else None,
            base=next((each for each in Basis if each == last.base.value), Basis.COMMITTED),
            rate=using.rate if using and is_billed and using.rate else Fraction(1),
        )  # fmt: skip

    @property
    def closed(self) -> bool:
        """Return whether the month does not change any more."""
        return self.period is not None and self.period.state == Period.State.CLOSED

    def bills(self) -> dict[tuple[Place, int], PoolBill]:
        """Return what each hour, or each day, of a pool was billed."""
        if not self.by_day:
            return dict(self.asked.hours)
        found: dict[tuple[Place, int], PoolBill] = {}
        for (place, hour), bill in self.asked.hours.items():
            key = (place, hour - hour % DAY)
            had = found.get(key, dividing.NOTHING)
            found[key] = PoolBill(*(sum(pair) for pair in zip(had, bill, strict=True)))
        return found

    def hours(self, bills: dict[tuple[Place, int], PoolBill], gone: Lost) -> Iterator[Hour]:
        """Yield each hour, or each day, of every pool; its bill is taken out of ``bills``."""
        found = _days(self.span) if self.by_day else read(self.span, self.span.seconds)
        if self.billed:
            yield from dividing.hours(found, bills, gone)
            return
        for each in found:
            yield Hour(each, PoolBill(self._list(each)), gone.get((each.place, each.pool.hour), []))

    def lost(self) -> dict[tuple[Place, int], list[Loss]]:
        """Return lost work by pool and hour, or day."""
        found: dict[tuple[Place, int], list[Loss]] = defaultdict(list)
        for (place, hour), gone in losses.by_hour(self.span).items():
            found[place, hour - hour % DAY if self.by_day else hour] += gone
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


def _period(book: PriceBook, month: Month) -> Period | None:
    """Return the month of a book whose middle is that of a month of UTC, in whatever zone."""
    middle = moment(month.span.starts + 14 * DAY)
    rows = Period.objects.filter(book=book, starts__lte=middle, ends__gt=middle)
    return rows.select_related("book").first()


def _using(period: Period | None) -> Given | None:
    if period is None:
        return None
    return stored(period) if period.state == Period.State.CLOSED else given(period)


def _days(span: Span) -> Iterator[PoolHourFacts]:
    """Yield each day of each pool as if it were one long hour; two queries."""
    first, last = moment(span.starts).date(), moment(span.ends - 1).date()
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
        for day in _days(month.span):
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
