"""Periods: statements that add up to the bill, closing, and what becomes known too late.

Nothing that is closed is touched again. A correction is booked in an open period, divided as the
closed one was, and points to it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Final, NamedTuple

from django.db import transaction
from django.db.models import Sum
from django.utils.translation import gettext_lazy as _

from costs import money, passing, statements
from costs.digest import digest
from costs.models import (
    BillFile,
    BillSource,
    ExchangeRate,
    Period,
    PeriodBill,
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

#: No statement, and no month, comes to this much.
MOST: Final = Decimal(10) ** 13
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


class TooMuch(Refused):
    """An amount would be larger than one can be kept."""

    code = "GP-5317"


class Item(NamedTuple):
    """What a payer had of one thing in a period; the amount in grains of the bill's currency.

    A payer is a tenant's slug or a bucket of ``costs.policy``. ``unwatched`` are those of the
    seconds in which nobody listened.
    """

    payer: str
    flavor: str
    basis: str
    seconds: Fraction
    rate: Decimal | None
    amount: int
    unwatched: Fraction = Fraction(0)


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
    bills: Sequence[BillFile],
    prices: PriceVersion,
    policy: PolicyVersion,
    items: Iterable[Item],
) -> list[Statement]:
    """Write the statements of a period anew; corrections that were booked in it stay.

    Money is rounded here, and only here. ``NotTheBill`` if the items are not the bills to the
    last minor unit or those are in several currencies, ``NoRate`` if theirs has no rate for the
    month.
    """
    lock(period)
    by_payer: dict[str, list[Item]] = defaultdict(list)
    for item in items:
        by_payer[item.payer].append(item)
    rate = _rate(period, bills)
    total = _total(period, bills, by_payer, rate)
    rounded = _rounded(period, by_payer, rate)
    StatementLine.objects.filter(statement__period=period, corrects__isnull=True).delete()
    for payer, found in by_payer.items():
        _lines(_statement(period, payer), found, rate, rounded[payer])
    written = [add_up(each) for each in period.statements.order_by("payer_name")]
    _rest_on(period, bills, rate, total)
    period.prices, period.policy = prices, policy
    period.bill_total = money.add([each.total for each in written])
    period.save(update_fields=["prices", "policy", "bill_total"])
    return written


def _total(
    period: Period, bills: Sequence[BillFile], by_payer: Mapping[str, list[Item]], rate: Fraction
) -> int:
    """Return the bills together in minor units; ``NotTheBill`` if the items are something else."""
    currency = period.book.currency
    exact = sum((_worth(item, rate) for found in by_payer.values() for item in found), Fraction(0))
    total = money.minor(exact, currency)
    effective = sum((Fraction(each.effective) for each in bills), Fraction(0))
    counts = all(each.state == BillFile.State.ACTIVE for each in bills)
    if not bills or not counts or total != money.minor(effective * rate, currency):
        amounts = ", ".join(str(each.effective) for each in bills)
        raise NotTheBill(_("These costs are not the bill."), details={"bill": amounts})
    if abs(effective * rate) >= MOST:
        raise TooMuch(_("These bills come to more than an amount can be."))
    return total


def _rounded(period: Period, by_payer: Mapping[str, list[Item]], rate: Fraction) -> dict[str, int]:
    """Return the total of each payer in minor units; together they are the bills."""
    exact = {
        payer: sum((_worth(item, rate) for item in found), Fraction(0))
        for payer, found in by_payer.items()
    }
    return statements.rounded_payers(exact, period.book.currency)


def _rest_on(period: Period, bills: Sequence[BillFile], rate: Fraction, total: int) -> None:
    """Keep which version of each source was divided, and what it comes to; all are the total."""
    currency = period.book.currency
    scale = int(10 ** money.places(currency))
    exact = {each.source_id: Fraction(each.effective) * rate * scale for each in bills}
    parts = settle_fractions(exact, total)
    # A source that has no bill any more is waited for.
    gone = PeriodBill.objects.filter(period=period).exclude(source__in=parts)
    gone.update(bill=None, amount=None)
    for each in bills:
        amount = money.from_minor(parts[each.source_id], currency)
        values = {"bill": each, "amount": amount, "left_out": False}
        PeriodBill.objects.update_or_create(
            period=period, source_id=each.source_id, defaults=values
        )  # fmt: skip


def leave_out(*, period: Period, source: BillSource) -> None:
    """Keep that a source does not count in a period; call it with the period locked."""
    values = {"left_out": True, "bill": None, "amount": None}
    PeriodBill.objects.update_or_create(period=period, source=source, defaults=values)


def _worth(item: Item, rate: Fraction) -> Fraction:
    return passing.worth(item.amount, rate)


def _rate(period: Period, bills: Sequence[BillFile]) -> Fraction:
    """Return what a unit of the bills' currency is in the book's, fixed for the month."""
    bases, quote = sorted({each.source.currency for each in bills}), period.book.currency
    if len(bases) > 1:
        sentence = _("Bills in %(known)s are not added up: leave those of one currency out.")
        raise NotTheBill(sentence % {"known": ", ".join(bases)}, details={"currencies": bases})
    base = "".join(bases) or quote
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
            unwatched=money.shown(item.unwatched * Fraction(1, 3600)),
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
    *,
    closed: Period,
    period: Period,
    amount: Decimal,
    reason: str,
    weights: Mapping[str, Decimal],
    bill: BillFile | None = None,
    key: str = "",
) -> list[StatementLine]:
    """Book in an open period what a closed one would have had; ``weights`` are that one's.

    Weights are by payer, ``bill`` is the one that said so, ``key`` that of the form. The bill of
    the open period grows by the amount.
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
            reason=reason, bill=bill, key=key,
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
    if abs(total) >= MOST:
        raise TooMuch(_("The bill of this month would be larger than an amount can be."))
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
