"""Prices, bills and the closed month of the demo, all through the services that people use."""

from __future__ import annotations

import io
from datetime import datetime
from decimal import Decimal
from typing import Final

from django.db import transaction

from costs.models import BillFile, BillSource, PriceBook
from costs.policy import Policy
from costs.rates import Basis, PriceKey
from costs.services import bills, closing, findings, matches, prices, reconcile
from costs.times import moment
from portal.demo import past_bill as bill
from portal.demo.past import Times
from tenants.models import User

BOOK: Final = "GPU time"
SOURCE: Final = "Demo Cloud"
FLAVOR: Final = "a100"
SETTLED: Final = "Nobody listened for these hours; both teams accept what is known of them."
#: Per GPU-hour, first and since the price change.
RATES: Final = {
    Basis.COMMITTED: (Decimal("2.50"), Decimal("2.20")),
    Basis.BORROWED: (Decimal("1.25"), Decimal("1.10")),
    Basis.LENT_CREDIT: (Decimal("1.25"), Decimal("1.10")),
    Basis.IDLE: (Decimal("2.50"), Decimal("2.20")),
    Basis.ADMITTED: (Decimal("2.50"), Decimal("2.20")),
}


@transaction.atomic
def priced(story: Times, *, maker: User, decider: User) -> PriceBook:
    """Make the price book with its change of prices, and the policy; two people decide."""
    book = PriceBook.objects.create(name=BOOK, purpose="chargeback", currency=bill.CURRENCY)
    version = prices.draft(book=book, actor=maker)
    for basis, (first, later) in RATES.items():
        key = PriceKey(FLAVOR, basis)
        prices.set_price(version=version, key=key, starts=story.starts, rate=first)
        prices.set_price(version=version, key=key, starts=story.price_change, rate=later)
    prices.activate(version=version, actor=decider)
    proposed = prices.propose_policy(book=book, starts=story.starts, policy=Policy(), actor=maker)
    prices.activate_policy(version=proposed, actor=decider)
    return book


def billed(story: Times, *, actor: User) -> None:
    """Take the bills of both months: that of the one before twice, as it was first and at last."""
    source = BillSource.objects.create(name=SOURCE, currency=bill.CURRENCY, accounts=[bill.ACCOUNT])
    this = story.until.replace(day=1, hour=0)
    last = months_before(this)
    _take(source, bill.focus(last, last.replace(day=25)), f"{last:%Y-%m}-preliminary.csv", actor)
    _take(source, bill.focus(last, this), f"{last:%Y-%m}.csv", actor, final=True)
    today = story.until.replace(hour=0)
    if today > this:
        name = f"{this:%Y-%m}-preliminary.csv"
        _take(source, bill.focus(this, today, corrects=last), name, actor)


def _take(
    source: BillSource, data: bytes, name: str, actor: User, *, final: bool = False
) -> BillFile:
    return bills.take_focus(
        source=source, file=io.BytesIO(data), name=name, actor=actor, finalized=final
    )


def months_before(first: datetime) -> datetime:
    """Return the first day of the month before."""
    year, number = divmod(first.year * 12 + first.month - 2, 12)
    return first.replace(year=year, month=number + 1)


def joined() -> None:
    """Join the bills with the nodes of their hours, which are all counted by now."""
    files = BillFile.objects.filter(source__name=SOURCE, state=BillFile.State.ACTIVE)
    for each in files.order_by("period_starts"):
        matches.match(file=each)


@transaction.atomic
def closed(*, book: PriceBook, people: dict[str, User]) -> None:
    """Reconcile the month that is over, settle what was found, close it, and book what came late.

    Two people look at it, as for every month that is charged.
    """
    carol, dave = people["carol"], people["dave"]
    files = BillFile.objects.filter(source__name=SOURCE, state=BillFile.State.ACTIVE)
    final = files.get(finalized=True)
    starts = final.period_starts or moment(0)
    period = closing.begin(book=book, year=starts.year, number=starts.month, actor=carol)
    reconcile.run(period=period, actor=carol)
    for each in period.discrepancies.filter(blocks=True, resolved_at=None).order_by("pk"):
        findings.resolve(finding=each, actor=dave, reason=SETTLED)
    period.refresh_from_db()
    closing.review(period=period, actor=carol)
    closing.close(period=period, actor=dave)
    late = files.filter(finalized=False, put_aside__lt=0).first()
    if late is not None:
        this = late.period_starts or moment(0)
        following = closing.begin(book=book, year=this.year, number=this.month, actor=carol)
        closing.correct(
            closed=period, period=following, amount=late.put_aside, actor=carol, bill=late,
            reason="Credit of the provider for a machine that was down",
        )  # fmt: skip
