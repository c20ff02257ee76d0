"""Reckoning a period: from counted hours, a bill, prices and policies to lines and findings.

It only reads. The same rows give the same outcome, in whatever order the database has them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final

from costs.comparing import Comparison, Place, Tolerances
from costs.facts import Fact, Pool
from costs.models import (
    BillFile,
    BillLine,
    ExchangeRate,
    Period,
    PolicyVersion,
    PoolTolerance,
    PriceVersion,
)
from costs.models.prices import VersionState
from costs.money import grains
from costs.passing import PoolBill, Tally, charged, purchase_of
from costs.policy import Bucket, Policy
from costs.rates import Basis, NotKnown, PriceBook, PriceKey, Unpriced, quantity
from costs.selectors import control, losses, month_bills, use_findings
from costs.selectors.bill_hours import Billed, billed
from costs.selectors.dividing import Division, hours
from costs.selectors.month_bills import Due
from costs.selectors.period_hours import PoolHourFacts, expected, read, span_of
from costs.selectors.prices import price_book, switches
from costs.states import DEFAULTS, Code, Finding, Kind, Tolerance, Unit
from costs.steps import Dated
from costs.times import HOUR, instant

ZERO: Final = Fraction(0)


@dataclass(frozen=True, slots=True)
class Given:
    """What a run is given: the bills of its sources, the prices, and the policies by date."""

    due: list[Due]
    prices: PriceVersion | None
    policies: list[PolicyVersion]
    tolerances: Tolerances
    rate: Fraction | None

    @property
    def bills(self) -> list[BillFile]:
        """Return the bills that count."""
        return month_bills.counting(self.due)

    @property
    def currencies(self) -> list[str]:
        """Return the currencies of the bills; those of more than one are not divided."""
        return month_bills.currencies(self.bills)

    @property
    def complete(self) -> bool:
        """Return whether statements can be made of it."""
        given = None not in (self.prices, self.rate) and bool(self.policies)
        return given and len(self.currencies) == 1

    @property
    def gives_back(self) -> bool:
        """Return whether a policy of the period has lost work given back."""
        return any(switches(each).lost.gives for each in self.policies)


@dataclass(slots=True)
class Outcome:
    """Lines, findings, and what the price list alone would bring in (in the book's currency).

    ``unwatched`` is what of the lines belongs to hours in which nobody listened.
    """

    tally: Tally
    unwatched: Tally = field(default_factory=Tally)
    findings: list[Finding] = field(default_factory=list)
    listed: Fraction = ZERO
    hours: int = 0
    missing: int = 0
    partial: int = 0
    method: str = ""


def given(period: Period) -> Given:
    """Return what a run of a period would be given now; eight queries."""
    due = month_bills.due(period)
    rows = PolicyVersion.objects.filter(
        book=period.book_id, state=VersionState.ACTIVE, starts__lt=period.ends
    )
    return Given(
        due=due,
        prices=PriceVersion.objects.filter(book=period.book_id, state=VersionState.ACTIVE)
        .select_related("book")
        .prefetch_related("prices")
        .first(),
        policies=_in_force(list(rows.order_by("starts")), period),
        tolerances=tolerances(),
        rate=_rate(period, month_bills.currencies(month_bills.counting(due))),
    )


def stored(period: Period) -> Given:
    """Return what the statements of a closed period rest on, whatever holds by now; eight queries."""
    rows = period.bills.select_related("bill", "source").order_by("source__name")
    due = [Due(each.source, each.bill, each.left_out) for each in rows]
    run = period.runs.order_by("-at", "-pk").first()
    keys: list[int] = run.policies if run else [period.policy_id or 0]
    policies = PolicyVersion.objects.filter(pk__in=keys)
    return Given(
        due=due,
        prices=PriceVersion.objects.filter(pk=period.prices_id or 0)
        .select_related("book")
        .prefetch_related("prices")
        .first(),
        policies=list(policies.order_by("starts")),
        tolerances=tolerances(),
        rate=_rate(period, month_bills.currencies(month_bills.counting(due))),
    )


def _in_force(rows: list[PolicyVersion], period: Period) -> list[PolicyVersion]:
    """Leave out what was replaced before the period begins."""
    before = [each for each in rows if each.starts <= period.starts]
    return [*before[-1:], *(each for each in rows if each.starts > period.starts)]


def _rate(period: Period, currencies: list[str]) -> Fraction | None:
    """Return what a unit of the bills is in the book's currency; 1 where there is no bill."""
    quote = period.book.currency
    if len(currencies) > 1:
        return None
    base = "".join(currencies) or quote
    if base == quote:
        return Fraction(1)
    month = period.starts.date().replace(day=1)
    found = ExchangeRate.objects.filter(month=month, base=base, quote=quote).first()
    return Fraction(found.rate) if found else None


def tolerances() -> dict[tuple[Place, Kind], Tolerance]:
    """Return what was set for single pools; one query."""
    rows = PoolTolerance.objects.select_related("cluster")
    return {
        (Place(each.cluster.slug, Pool(each.flavor, each.resource)), Kind(each.kind)): Tolerance(
            Fraction(each.relative), each.absolute
        )
        for each in rows
    }


def reckon(period: Period, using: Given) -> Outcome:
    """Reckon a period; the lines are the bills to the last grain."""
    span = span_of(period)
    asked = asked_of(period, using)
    book = price_book(using.prices) if using.prices else None
    compared, listing = Comparison(using.tolerances), Listing(book, using.rate or Fraction(1))
    divided = Division(dated(using.policies))
    outcome = Outcome(divided.tally, method=asked.method if len(using.currencies) == 1 else "")
    left = dict(asked.hours)
    gone = losses.by_hour(span) if using.gives_back else {}
    for each in hours(read(span), left, gone):
        place, pool, facts = each.facts
        compared.add(place.cluster, pool, facts)
        outcome.hours += 1
        policy = divided.add(each)
        if policy is not None:
            listing.add(each.facts, policy, each.bill)
    divided.finish(asked, sum(each.grains for each in left.values()), span.ends)
    outcome.unwatched = divided.unwatched
    outcome.listed = listing.sum
    outcome.findings = [
        *compared.findings(expected(span)), *control.gaps(span, using.tolerances),
        *use_findings.of_span(span), *asked.findings,
        *listing.findings(using.tolerances),
        *_about_bill(using, asked, outcome.tally, divided.lawless),
    ]  # fmt: skip
    gaps = [each.facts for each in outcome.findings if each.code is Code.HARVEST_GAP]
    outcome.missing = sum(int(each["never"]) + int(each["blind"]) for each in gaps)
    outcome.partial = sum(int(each["hours"]) for each in gaps) - outcome.missing
    return outcome


def asked_of(period: Period, using: Given) -> Billed:
    """Return what the bills say of the pools and hours of a period; of several currencies nothing."""
    bills = using.bills if len(using.currencies) == 1 else []
    return billed(bills, period) if bills else Billed(0, {})


def dated(policies: list[PolicyVersion]) -> Dated[Policy]:
    """Return policies by the hour from which they hold."""
    return Dated((instant(each.starts), switches(each)) for each in policies)


@dataclass(slots=True)
class Listing:
    """The same hours by the price list: what they would cost, and what has no price."""

    book: PriceBook | None
    rate: Fraction
    sum: Fraction = ZERO
    unpriced: dict[tuple[str, str], Fraction] = field(default_factory=dict)
    drift: dict[Place, list[Fraction]] = field(default_factory=dict)

    def add(self, hour: PoolHourFacts, policy: Policy, bill: PoolBill) -> None:
        """Add an hour of a pool."""
        flavor = hour.place.pool.flavor
        bases = sorted(charged(policy))
        purchase = purchase_of(self.book, {flavor}) if self.book else None
        for basis in bases:
            seconds = sum((self._had(fact, basis) for fact in hour.facts), ZERO)
            if not seconds:
                continue
            try:
                if self.book is None or purchase is None:
                    raise Unpriced(flavor)
                key = PriceKey(flavor, basis, purchase)
                self.sum += self.book.charge(key, hour.pool.hour, seconds).amount
            except Unpriced:
                place = (flavor, basis.value)
                self.unpriced[place] = self.unpriced.get(place, ZERO) + seconds
        if bases and purchase and bill.grains:
            self._compare(hour, PriceKey(flavor, Basis(policy.base), purchase), bill)

    @staticmethod
    def _had(fact: Fact, basis: Basis) -> Fraction:
        try:
            return Fraction(quantity(fact, basis))
        except NotKnown:
            return ZERO

    def _compare(self, hour: PoolHourFacts, key: PriceKey, bill: PoolBill) -> None:
        """Note what a pool was billed with, and what the list says of the same devices."""
        assert self.book is not None  # noqa: S101 - asked for by add
        try:
            listed = self.book.charge(key, hour.pool.hour, hour.pool.provisioned).amount
        except Unpriced:
            return
        sums = self.drift.setdefault(hour.place, [ZERO, ZERO, ZERO])
        sums[0] += Fraction(bill.grains, grains(1)) * self.rate
        sums[1] += listed
        sums[2] += hour.pool.provisioned

    def findings(self, tolerances: Tolerances) -> Iterator[Finding]:
        """Yield what has no price, and pools that cost something else than the list says."""
        for (flavor, basis), seconds in sorted(self.unpriced.items()):
            yield Finding(
                Code.UNPRICED, f"{flavor} {basis}", seconds, seconds, ZERO,
                facts={"flavor": flavor, "basis": basis},
            )  # fmt: skip
        for place, (bill, listed, seconds) in sorted(self.drift.items()):
            allowed = tolerances.get((place, Kind.RATE), DEFAULTS[Kind.RATE]).most(listed)
            if abs(bill - listed) > allowed:
                yield Finding(
                    Code.RATE_DRIFT, str(place), bill - listed, listed, allowed, Unit.MONEY,
                    place.cluster,
                    {"flavor": place.pool.flavor, "hours": str(seconds * Fraction(1, HOUR))},
                )  # fmt: skip


def _about_bill(using: Given, asked: Billed, tally: Tally, lawless: int) -> Iterator[Finding]:
    if lawless:
        yield Finding(
            Code.UNPRICED, "policy", Fraction(lawless), Fraction(lawless), ZERO, Unit.ROWS,
            facts={"policy": "", "hours": lawless},
        )  # fmt: skip
    if len(using.currencies) != 1:
        return
    if using.rate is None:
        (currency,) = using.currencies
        yield Finding(Code.CURRENCY_MISSING, currency, unit=Unit.MONEY, facts={"from": currency})
    nobody = tally.payers().get(Bucket.UNALLOCATED, 0)
    if nobody:
        whole, part = _amount(asked.total), _amount(nobody)
        allowed = DEFAULTS[Kind.UNATTRIBUTED].most(whole)
        yield Finding(Code.UNATTRIBUTED, "bill", part, whole, allowed, Unit.MONEY, "", {"bill": ""})
    for bill in asked.untold:
        yield from _aside(bill)


def _amount(count: int) -> Fraction:
    return Fraction(count, grains(1))


def _aside(bill: BillFile) -> Iterator[Finding]:
    """Yield the rows that were put aside when the file was read; one query."""
    codes = {
        BillLine.Aside.CORRECTION.value: Code.LATE_CORRECTION,
        BillLine.Aside.SPLIT.value: Code.DOUBLE_SPLIT,
    }
    found: dict[str, tuple[int, Fraction]] = {}
    rows = BillLine.objects.filter(file=bill, aside__in=codes)
    for aside, effective in rows.values_list("aside", "effective").iterator(chunk_size=5000):
        count, amount = found.get(aside, (0, ZERO))
        found[aside] = (count + 1, amount + Fraction(effective))
    whole = Fraction(bill.effective)
    for aside, (count, amount) in sorted(found.items()):
        yield Finding(
            codes[aside], f"{bill.source.name} {aside}", amount, whole, ZERO, Unit.MONEY, "",
            {"rows": count, "source": bill.source.name},
        )  # fmt: skip
