"""What hours cost by the price books that are in use: each basis apart, and what is charged.

Bases overlap (idle time is committed too), so they are never added up; what the policy charges
is. Nothing here rounds, and what has no price or was not measured is named, never 0.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from typing import Final, NamedTuple

from django.db.models import Max, Min, Q

from costs.facts import Fact
from costs.models import Period, PolicyVersion, PriceVersion
from costs.models.prices import Purpose, VersionState
from costs.money import from_minor, minor
from costs.passing import charged, purchase_of
from costs.policy import Policy
from costs.rates import Basis, NotKnown, PriceBook, PriceKey, Purchase, Unpriced, quantity
from costs.selectors.months import Month
from costs.selectors.prices import price_book, switches
from costs.statements import lines as settled
from costs.steps import Dated
from costs.times import instant, moment

#: What is counted by the hour, in the order of a page.
BASES: Final = (
    Basis.COMMITTED, Basis.BORROWED, Basis.LENT_CREDIT, Basis.ADMITTED, Basis.RUNNING, Basis.USED,
    Basis.IDLE,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Book:
    """A price book as it is used in a month, with its policies by date; ``kind`` is its purpose's key.

    ``begun`` says that it has had a month of its own by then.
    """

    name: str
    purpose: str
    kind: str
    version: int
    prices: PriceBook
    policies: Dated[Policy]
    begun: bool = True


@dataclass(slots=True)
class Line:
    """One basis: resource-seconds, exact amount, and what of it is charged by the policy.

    ``unpriced`` are resource-seconds without a price, ``unknown`` hours without a measurement.
    """

    basis: Basis
    seconds: Fraction = Fraction(0)
    amount: Fraction = Fraction(0)
    charged: Fraction | None = None
    unpriced: Fraction = Fraction(0)
    unknown: int = 0
    rates: set[Decimal] = field(default_factory=set)

    @property
    def whole(self) -> bool:
        """Return whether the amount is that of all hours."""
        return not self.unpriced and not self.unknown

    @property
    def priced(self) -> bool:
        """Return whether there is an amount at all."""
        return self.whole or bool(self.rates)


@dataclass(frozen=True, slots=True)
class Priced:
    """What hours cost by one book. ``due`` is ``None`` where it cannot be told."""

    book: Book
    lines: list[Line]
    policy: Policy | None
    without_policy: int
    due: Fraction | None

    def settled(self) -> dict[Basis, Decimal]:
        """Return what is charged in minor units whose sum is the rounded sum; nothing without one."""
        if self.due is None:
            return {}
        currency = self.book.prices.currency
        exact = {str(line.basis): line.charged for line in self.lines if line.charged is not None}
        whole = settled(exact, minor(self.due, currency), currency)
        return {Basis(key): from_minor(count, currency) for key, count in whole.items()}

    @property
    def has_prices(self) -> bool:
        """Return whether anything of the pool has a price."""
        return any(line.rates for line in self.lines)


class Months(NamedTuple):
    """What periods say of a book: its first one, the newest of its time, and that of the month."""

    first: datetime
    newest: datetime | None
    covers: bool
    prices: int | None


def book_of(month: Month) -> Book | None:
    """Return the one book that a tenant's numbers of a month are by: wherever one has to do."""
    return next(iter(offered(month, internal=False)), None)


def books(month: Month, *, internal: bool) -> list[Book]:
    """Return the books that are in use in a month, the one of ``book_of`` first; four queries.

    A book for charging counts from its first month on: before, its prices are only prepared.
    Lists that are ``internal`` are not what a tenant pays.
    """
    found = offered(month, internal=internal)
    return [
        each
        for place, each in enumerate(found)
        if not place or each.begun or each.kind != Purpose.CHARGEBACK
    ]


def offered(month: Month, *, internal: bool) -> list[Book]:
    """Return all books with active prices, also such as were never used; in order of ``_rank``.

    A month whose statements are written keeps the version that they were priced by.
    """
    had = _months(month)
    by_book = {book: each.prices for book, each in had.items() if each.prices is not None}
    versions = PriceVersion.objects.filter(
        Q(pk__in=by_book.values()) | (Q(state=VersionState.ACTIVE) & ~Q(book__in=by_book.keys()))
    )
    if not internal:
        versions = versions.exclude(book__purpose=Purpose.LIST)
    rows = list(versions.select_related("book").prefetch_related("prices"))
    policies = _policies()
    return [
        Book(
            name=each.book.name,
            purpose=each.book.get_purpose_display(),
            kind=each.book.purpose,
            version=each.number,
            prices=price_book(each),
            policies=policies.get(each.book_id, Dated([])),
            begun=each.book_id in had and had[each.book_id].newest is not None,
        )
        for each in sorted(rows, key=lambda row: _rank(row, had.get(row.book_id)))
    ]


def _months(month: Month) -> dict[int, Months]:
    """Return of each book what its periods say; one query."""
    # A period in another zone reaches over an edge of the month, and never over its middle.
    middle = moment(sum(month.span) // 2)
    covers = Q(starts__lte=middle, ends__gt=middle)
    rows = Period.objects.order_by().values("book").annotate(
        first=Min("starts"), newest=Max("starts", filter=Q(starts__lte=middle)),
        one=Max("pk", filter=covers), fixed=Max("prices", filter=covers),
    )  # fmt: skip
    return {
        row["book"]: Months(row["first"], row["newest"], row["one"] is not None, row["fixed"])
        for row in rows
    }


def _rank(version: PriceVersion, had: Months | None) -> tuple[bool, int, int, bool, int]:
    """Order books: with this month, with the newest one before, with a later one, with none.

    Of two such, the one for charging goes first, then the older one. Never by name: a book that
    is only prepared must not change what others have read.
    """
    step, when = 3, 0
    if had is not None and had.covers:
        step = 0
    elif had is not None:
        step, when = (1, -instant(had.newest)) if had.newest else (2, instant(had.first))
    purpose = version.book.purpose
    return purpose == Purpose.LIST, step, when, purpose != Purpose.CHARGEBACK, version.book_id


def _policies() -> dict[int, Dated[Policy]]:
    rows: dict[int, list[tuple[int, Policy | None]]] = defaultdict(list)
    for each in PolicyVersion.objects.filter(state=VersionState.ACTIVE):
        rows[each.book_id].append((instant(each.starts), switches(each)))
    return {book: Dated(found) for book, found in rows.items()}


def priced(book: Book, facts: Sequence[Fact]) -> Priced:
    """Return what hours of one pool cost, on every basis that has a price or is charged."""
    purchase = purchase_of(book.prices, {fact.pool.flavor for fact in facts})
    lines = {basis: Line(basis) for basis in BASES}
    without, countable = 0, True
    for fact in facts:
        policy = book.policies.at(fact.hour)
        due = charged(policy) if policy else set()
        without += policy is None
        countable = countable and bool(due)
        for basis in BASES:
            _add(lines[basis], fact, book.prices, purchase, charge=basis in due)
    shown = [line for line in lines.values() if line.rates or line.charged is not None]
    owed = [line for line in shown if line.charged is not None]
    can = countable and bool(owed) and all(line.whole for line in owed)
    return Priced(
        book=book,
        lines=shown,
        policy=book.policies.at(facts[-1].hour) if facts else None,
        without_policy=without,
        due=sum((line.charged or Fraction(0) for line in owed), Fraction(0)) if can else None,
    )


def _add(line: Line, fact: Fact, prices: PriceBook, purchase: Purchase, *, charge: bool) -> None:
    """Add one hour to a basis; credits are negative."""
    if charge and line.charged is None:
        line.charged = Fraction(0)
    try:
        seconds = Fraction(quantity(fact, line.basis))
    except NotKnown:
        line.unknown += 1
        return
    if not seconds:
        return
    line.seconds += seconds
    try:
        cost = prices.charge(PriceKey(fact.pool.flavor, line.basis, purchase), fact.hour, seconds)
    except Unpriced:
        line.unpriced += seconds
        return
    line.rates.add(cost.rate)
    line.amount += cost.amount
    if charge and line.charged is not None:
        line.charged += cost.amount


def all_priced(month: Month, facts: Sequence[Fact], *, internal: bool) -> list[Priced]:
    """Return what hours of one pool cost by each book that is in use."""
    return [priced(book, facts) for book in books(month, internal=internal)]
