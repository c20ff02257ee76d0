"""Periods: statements that add up to the bill, closing, and what becomes known too late.

Nothing that is closed is touched again. A correction is booked in an open period, divided as the
closed one was, and points to it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from typing import Final, NamedTuple

from django.db import transaction
from django.db.models import Sum
from django.utils import timezone
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
from costs.models.prices import Purpose
from costs.models.states import move
from costs.rounding import settle_fractions
from costs.times import CutsHours, month
from costs.times import moment as at
from portal.web.errors import Refused
from tenants.models import Tenant, User

CORRECTION: Final = "correction"
_CLOSED: Final = Period.State.CLOSED


class NotTheBill(Refused):
    """Costs that do not add up to the bill, or a bill that cannot be used."""

    code = "GP-5301"


class Blocked(Refused):
    """Something keeps the period from being closed."""

    code = "GP-5302"


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
    _lock(period)
    by_payer: dict[str, list[Item]] = defaultdict(list)
    for item in items:
        by_payer[item.payer].append(item)
    rate = _rate(period, bill)
    rounded = _rounded(period, bill, by_payer, rate)
    StatementLine.objects.filter(statement__period=period, corrects__isnull=True).delete()
    for payer, found in by_payer.items():
        _lines(_statement(period, payer), found, rate, rounded[payer])
    written = [_add_up(each) for each in period.statements.order_by("payer_name")]
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


def _add_up(statement: Statement) -> Statement:
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
    _lock(period)
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
    for line in lines:
        _add_up(line.statement)
    total = period.statements.aggregate(sum=Sum("total"))["sum"]
    period.bill_total = total
    period.save(update_fields=["bill_total"])
    return lines


def _lock(period: Period) -> None:
    """Let one writer at a time into a period that is open."""
    found = Period.objects.select_for_update().get(pk=period.pk)
    if found.state == _CLOSED:
        raise NotOpen(_("This period is closed. Book a correction in an open one."))


@transaction.atomic
def review(*, period: Period, actor: User) -> Period:
    """Say that a provisional period was looked at."""
    return move(period, Period.State.REVIEW, reviewed_by=actor)


@transaction.atomic
def close(*, period: Period, actor: User, now: datetime | None = None) -> Period:
    """Close a period for good. ``Blocked`` names what still forbids it."""
    Period.objects.select_for_update().get(pk=period.pk)
    period.refresh_from_db()
    if reasons := _reasons(period, actor):
        sentence = _("This period cannot be closed: %(reasons)s.")
        raise Blocked(sentence % {"reasons": "; ".join(reasons)}, details={"reasons": reasons})
    return move(period, _CLOSED, closed_by=actor, closed_at=now or timezone.now())


def _reasons(period: Period, actor: User) -> list[str]:
    """Return what keeps a period open, as short names that programs can read."""
    found = [
        f"{each.code} {each.subject}"
        for each in period.discrepancies.filter(blocks=True, resolved_at=None).order_by("code")
    ]
    if period.bill is None or not period.bill.finalized or period.bill.state != "active":
        found.append("bill_not_final")
    if period.prices is None or period.policy is None:
        found.append("no_prices_or_policy")
    if period.book.purpose == Purpose.CHARGEBACK and period.reviewed_by_id in (None, actor.pk):
        found.append("second_person")
    return found
