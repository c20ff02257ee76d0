"""Periods: statements that add up to the bill, closing, and what becomes known too late.

Nothing that is closed is touched again. A correction is booked in an open period, divided as the
closed one was, and points to it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Final, NamedTuple

from django.db import transaction
from django.db.models import Sum
from django.utils.translation import gettext_lazy as _

from costs import money, statements
from costs.digest import digest
from costs.models import (
    BillFile,
    ExchangeRate,
    Period,
    PolicyVersion,
    PriceBook,
    PriceVersion,
    Statement,
    StatementLine,
)
from costs.models.states import move
from costs.rounding import settle_fractions
from costs.times import CutsHours, month
from costs.times import moment as at
from portal.web.errors import Refused
from tenants.models import Tenant

CORRECTION: Final = "correction"
CREDIT: Final = "credit"
_CLOSED: Final = Period.State.CLOSED


class NotTheBill(Refused):
    """Costs that do not add up to the bill, or a bill that cannot be used."""

    code = "GP-5301"


class NotOpen(Refused):
    """A closed period was to be changed, or an open one corrected."""

    code = "GP-5303"


class NoRate(Refused):
    """No rate between the currency of the bill and that of the book is known."""

    code = "GP-5304"


class Item(NamedTuple):
    """What a payer had of one thing in a period; the amount in grains of the bill's currency.

    A payer is a tenant's slug or a bucket of ``costs.policy``.
    """

    payer: str
    flavor: str
    basis: str
    seconds: Fraction
    rate: Decimal | None
    amount: int


@transaction.atomic
def open_period(*, book: PriceBook, year: int, number: int, zone: str = "UTC") -> Period:
    """Begin a month of a book. ``Refused`` for zones whose months cut hours of UTC."""
    try:
        span = month(year, number, zone)
    except CutsHours as error:
        raise NotOpen(_("Months of this time zone do not begin on whole hours of UTC.")) from error
    return Period.objects.create(book=book, starts=at(span.starts), ends=at(span.ends), zone=zone)


@transaction.atomic
def write(
    *,
    period: Period,
    bill: BillFile,
    prices: PriceVersion,
    policy: PolicyVersion,
    items: Iterable[Item],
) -> list[Statement]:
    """Write the statements of a period anew; corrections that were booked in it stay.

    Money is rounded here, and only here. ``NotTheBill`` if the items are not the bill to the
    last minor unit, ``NoRate`` if it is in a currency without a rate for the month.
    """
    lock(period)
    by_payer: dict[str, list[Item]] = defaultdict(list)
    for item in items:
        by_payer[item.payer].append(item)
    rate = _rate(period, bill)
    rounded = _rounded(period, bill, by_payer, rate)
    StatementLine.objects.filter(statement__period=period, corrects__isnull=True).delete()
    for payer, found in by_payer.items():
        _lines(_statement(period, payer), found, rate, rounded[payer])
    written = [add_up(each) for each in period.statements.order_by("payer_name")]
    period.bill, period.prices, period.policy = bill, prices, policy
    period.bill_total = money.add([each.total for each in written])
    period.save(update_fields=["bill", "prices", "policy", "bill_total"])
    return written


def _rounded(
    period: Period, bill: BillFile, by_payer: Mapping[str, list[Item]], rate: Fraction
) -> dict[str, int]:
    """Return the total of each payer in minor units; together they are the bill."""
    currency = period.book.currency
    exact = {
        payer: sum((_worth(item, rate) for item in found), Fraction(0))
        for payer, found in by_payer.items()
    }
    total = money.minor(sum(exact.values(), Fraction(0)), currency)
    billed = money.minor(Fraction(bill.effective) * rate, currency)
    if bill.state != BillFile.State.ACTIVE or total != billed:
        raise NotTheBill(_("These costs are not the bill."), details={"bill": str(bill.effective)})
    scale = int(10 ** money.places(currency))
    return settle_fractions({key: part * scale for key, part in exact.items()}, total)


def _worth(item: Item, rate: Fraction) -> Fraction:
    return Fraction(money.from_grains(item.amount)) * rate


def _rate(period: Period, bill: BillFile) -> Fraction:
    """Return what a unit of the bill's currency is in the book's, fixed for the month."""
    base, quote = bill.source.currency, period.book.currency
    if base == quote:
        return Fraction(1)
    found = ExchangeRate.objects.filter(
        month=period.starts.date().replace(day=1), base=base, quote=quote
    ).first()
    if found is None:
        sentence = _("There is no rate from %(base)s to %(quote)s for this month.")
        raise NoRate(sentence % {"base": base, "quote": quote})
    return Fraction(found.rate)


def _lines(statement: Statement, items: list[Item], rate: Fraction, total: int) -> None:
    currency = statement.period.book.currency
    amounts = {f"{n:06}": _worth(item, rate) for n, item in enumerate(items)}
    rounded = statements.lines(amounts, total, currency)
    StatementLine.objects.bulk_create(
        StatementLine(
            statement=statement, flavor=item.flavor, basis=item.basis, rate=item.rate,
            quantity=money.shown(item.seconds * Fraction(1, 3600)),
            amount=money.from_minor(amount, currency),
        )
        for item, (_place, amount) in zip(items, sorted(rounded.items()), strict=True)
    )  # fmt: skip


def _statement(period: Period, payer: str) -> Statement:
    """Return the statement of a payer, and make it if it is the first time."""
    if payer.startswith("*"):
        key: dict[str, object] = {"tenant": None, "bucket": payer}
        name = payer
    else:
        tenant = Tenant.objects.get(slug=payer)
        key, name = {"tenant": tenant, "bucket": ""}, tenant.display_name
    found, _new = Statement.objects.get_or_create(
        period=period, **key, defaults={"payer_name": name, "total": 0, "sha256": ""}
    )
    return found


def add_up(statement: Statement) -> Statement:
    """Set the total and the hash of a statement from its lines."""
    names = ("flavor", "basis", "quantity", "rate", "amount", "corrects_id", "reason")
    rows = list(statement.lines.order_by("pk").values_list(*names))
    statement.total = money.add([row[names.index("amount")] for row in rows])
    statement.sha256 = digest(sorted(rows, key=str))
    statement.save(update_fields=["total", "sha256"])
    return statement


@transaction.atomic
def correct(
    *, closed: Period, period: Period, amount: Decimal, reason: str, weights: Mapping[str, Decimal]
) -> list[StatementLine]:
    """Book in an open period what a closed one would have had; ``weights`` are that one's.

    Weights are by payer. The bill of the open period grows by the amount.
    """
    lock(period)
    if closed.state != _CLOSED:
        raise NotOpen(_("A period that is not closed is corrected by writing it anew."))
    parts = statements.adjust(
        amount, weights, of=f"{closed.starts:%Y-%m}", currency=period.book.currency
    )
    lines = [
        StatementLine.objects.create(
            statement=_statement(period, part.payer), basis=CORRECTION, quantity=0,
            amount=money.from_minor(part.amount, period.book.currency), corrects=closed,
            reason=reason,
        )
        for part in parts
    ]  # fmt: skip
    _count_again(period, lines)
    return lines


def _count_again(period: Period, lines: list[StatementLine]) -> None:
    """Bring the totals of a period up to date with lines that were added."""
    for line in lines:
        add_up(line.statement)
    total = period.statements.aggregate(sum=Sum("total"))["sum"]
    period.bill_total = total
    period.save(update_fields=["bill_total"])
    changed(period)


@transaction.atomic
def credit(
    *, of: Statement, period: Period, amount: Decimal, reason: str, funded_by: str
) -> StatementLine:
    """Take an amount off a payer in an open period, and let a bucket pay it instead.

    The bill stays what it is. ``of`` is the statement because of which it is booked.
    """
    lock(period)
    payer = of.tenant.slug if of.tenant else of.bucket
    lines = [
        StatementLine.objects.create(
            statement=_statement(period, each), basis=CREDIT, quantity=0, amount=part,
            corrects=of.period, reason=reason,
        )
        for each, part in ((payer, -amount), (funded_by, amount))
    ]  # fmt: skip
    _count_again(period, lines)
    return lines[0]


def lock(period: Period) -> None:
    """Let one writer at a time into a period that is open, and read how it is now."""
    found = Period.objects.select_for_update().get(pk=period.pk)
    period.refresh_from_db(fields=["state", "version", "reviewed_by"])
    if found.state == _CLOSED:
        raise NotOpen(_("This period is closed. Book a correction in an open one."))


def changed(period: Period) -> None:
    """Take a review back whose statements have changed; call it with the period locked."""
    if period.state == Period.State.REVIEW:
        move(period, Period.State.PROVISIONAL, reviewed_by=None)
