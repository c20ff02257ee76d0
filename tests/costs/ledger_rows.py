"""A price book, a policy, a bill and a period for tests of closing."""

import io
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction

from costs.models import BillSource, Period, PriceBook, Reconciliation
from costs.models.states import move
from costs.money import grains
from costs.policy import Bucket, Policy
from costs.rates import Basis, PriceKey
from costs.selectors.inputs import of_period
from costs.selectors.month_bills import rests_on
from costs.services import bills, closing, periods, prices
from tests.costs.focus import table

OCTOBER = datetime(2026, 10, 1, tzinfo=UTC)
KEY = PriceKey("a100", Basis.COMMITTED)


def book_of(lab, purpose="chargeback"):
    """Return a book with an active version and policy, written by carol, decided by dave."""
    book = PriceBook.objects.create(name=f"main {purpose}", purpose=purpose, currency="USD")
    version = prices.draft(book=book, actor=lab.carol)
    prices.set_price(version=version, key=KEY, starts=OCTOBER, rate=Decimal("2.50"))
    prices.activate(version=version, actor=lab.dave)
    proposed = prices.propose_policy(book=book, starts=OCTOBER, policy=Policy(), actor=lab.carol)
    prices.activate_policy(version=proposed, actor=lab.dave)
    return book


def bill_of(month, amount, *, finalized=True, currency="USD", source=""):
    """Return an active bill of one row for a month of 2026."""
    source, _new = BillSource.objects.get_or_create(name=source or currency, currency=currency)
    times = {
        "BillingPeriodStart": f"2026-{month:02}-01T00:00:00Z",
        "BillingPeriodEnd": f"2026-{month + 1:02}-01T00:00:00Z",
        "ChargePeriodStart": f"2026-{month:02}-01T00:00:00Z",
        "ChargePeriodEnd": f"2026-{month + 1:02}-01T00:00:00Z",
    }
    row = times | {"BilledCost": amount, "EffectiveCost": amount, "BillingCurrency": currency}
    return bills.take_focus(
        source=source, file=io.BytesIO(table(row)), name="b.csv", actor=None, finalized=finalized
    )


def bills_of(period):
    """Return the bills that a period rests on."""
    return [each.bill for each in rests_on(period)]


def item(payer, amount, basis="committed", flavor="a100"):
    return periods.Item(
        payer, flavor, basis, Fraction(3600), Decimal("2.50"), grains(Decimal(amount))
    )


def written(lab, book, month, *items, bill=None, bills=()):
    """Return a period in collecting with the statements of these items."""
    period = periods.open_period(book=book, year=2026, number=month)
    total = sum(each.amount for each in items)
    bills = bills or [bill or bill_of(month, str(Decimal(total).scaleb(-10)))]
    version, policy = book.versions.get(state="active"), book.policies.get(state="active")
    periods.write(period=period, bills=bills, prices=version, policy=policy, items=items)
    return period


def reconciled(period):
    """Say that the newest run has read what is on record now."""
    return Reconciliation.objects.create(
        period=period, inputs=of_period(period), result="0" * 64, hours=0, missing=0, findings=0,
        written=True, bills=[each.pk for each in bills_of(period)],
    )  # fmt: skip


def reviewed(lab, period):
    """Bring a period to its review, by carol."""
    for state in (Period.State.COLLECTING, Period.State.PROVISIONAL):
        move(period, state)
    reconciled(period)
    return move(period, Period.State.REVIEW, reviewed_by=lab.carol)


def closed(lab, book, month, *items):
    """Return a closed period, closed by dave."""
    period = written(lab, book, month, *items)
    return closing.close(period=reviewed(lab, period), actor=lab.dave)


ITEMS = (item("nlp", "10000.00"), item("cv", "6666.67"), item(Bucket.IDLE.value, "0.005"))
