"""A preview starts from what a month was closed with, and changes what the policy changes."""

import io
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction

import pytest
import time_machine

from costs.facts import Quality
from costs.lost import Funder, LostRule
from costs.models import BillSource, ExchangeRate, PolicyVersion, PriceBook
from costs.policy import Base, Bucket, Policy, Rest, Spread
from costs.rates import Basis, PriceKey
from costs.selectors import bill_hours, previews
from costs.selectors.bill_hours import Billed
from costs.services import bills, closing, findings, periods, prices, reconcile
from costs.times import HOUR, instant
from tests.costs import stored
from tests.costs.focus import table
from tests.costs.ledger_rows import OCTOBER, book_of
from tests.costs.test_bill_hours import row
from tests.costs.test_reconcile import AFTER, w16
from tests.costs.test_views_months import ask

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 12, 2, 9, 30, tzinfo=UTC)
POLICIES = [
    Policy(), Policy(base=Base.ADMITTED, rest=Rest.COMMITTED, unused=Spread.COST),
    Policy(base=Base.HELD, shared=Spread.EVEN, unused=Spread.EVEN), Policy(base=Base.USED),
    Policy(base=Base.USED, rest=Rest.ADMITTED, shared=Spread.PLATFORM),
]  # fmt: skip


def joined(bill, period):
    """A bill with all that there is: a machine nobody knew, time beyond the nodes, and the rest."""
    grains = 10**10
    found = bill_hours.over_devices(bill, period)
    keys = sorted(found.hours, key=lambda each: each[1])
    hours = {key: found.hours[key]._replace(grains=30 * grains + n) for n, key in enumerate(keys)}
    for key in keys[1:]:
        hours[key] = hours[key]._replace(orphan=4 * HOUR + 7)
    left = found.total - sum(each.grains for each in hours.values())
    buckets = {Bucket.ORPHAN: 4 * grains}
    return Billed(
        found.total, hours, shared=left - 12 * grains, unused=7 * grains, lost=grains,
        buckets=buckets, method="joined", told=True,
    )  # fmt: skip


def closed(lab, monkeypatch, policy, currency="USD"):
    """A November of three hours, one of which nobody watched, with a correction of October."""
    monkeypatch.setattr(bill_hours, "METHODS", (joined,))
    book = book_of(lab, "showback")
    made = prices.propose_policy(book=book, starts=OCTOBER, policy=policy, actor=lab.carol)
    prices.activate_policy(version=made, actor=lab.dave)
    for hour in (21, 23):
        stored.store(lab.cluster, *w16(stored.at(30, hour)))
    blind = stored.fact(
        stored.at(30, 22), "nlp", quality=Quality.MISSING, committed=16, own=9, running=9
    )
    stored.store(lab.cluster, blind)
    source = BillSource.objects.create(name=currency, currency=currency)
    if currency != "USD":
        ExchangeRate.objects.create(
            month="2026-11-01", base=currency, quote="USD", rate="1.0837", source="by hand"
        )
    file = io.BytesIO(table(row("120.01", BillingCurrency=currency)))
    bills.take_focus(source=source, file=file, name="b", actor=None, finalized=True)
    period = periods.open_period(book=book, year=2026, number=11)
    reconcile.run(period=period, now=AFTER)
    for each in period.discrepancies.filter(blocks=True):
        findings.resolve(finding=each, actor=lab.dave, reason="agreed")
    closing.review(period=period, actor=lab.carol)
    return closing.close(period=period, actor=lab.dave, now=AFTER)


def owed(period):
    rows = period.statements.values_list("tenant__slug", "bucket", "total")
    return {slug or bucket: total for slug, bucket, total in rows if total}


def look(period, policy):
    found = previews.of_policy(period.book, policy, instant(NOW))
    assert sum(each.difference for each in found.rows) == 0
    assert sum(each.then for each in found.rows) == found.total == period.bill_total
    return found


def then(found):
    return {each.payer: each.then for each in found.rows if each.then}


@pytest.mark.parametrize("policy", POLICIES)
def test_the_policy_of_a_closed_month_gives_its_statements_to_the_cent(lab, monkeypatch, policy):
    period = closed(lab, monkeypatch, policy)
    expected = owed(period)
    assert {*expected} > {"*orphan"}
    assert sum(expected.values()) == period.bill_total

    assert then(look(period, policy)) == expected
    # The statements are not only repeated: reckoned anew they are the same.
    monkeypatch.setattr(previews, "_written", lambda _period: {})
    found = look(period, policy)
    assert {each.payer: each.now for each in found.rows if each.now} == expected
    assert then(found) == expected


def test_in_another_currency_too(lab, monkeypatch):
    period = closed(lab, monkeypatch, Policy(), currency="EUR")
    assert period.bill_total == Decimal("130.05")
    monkeypatch.setattr(previews, "_written", lambda _period: {})

    assert then(look(period, Policy())) == owed(period)


@pytest.mark.parametrize("policy", POLICIES)
def test_another_policy_changes_what_it_says_and_nothing_else(lab, monkeypatch, policy):
    period = closed(lab, monkeypatch, Policy(unused=Spread.PLATFORM))
    before, after = owed(period), then(look(period, policy))

    # The last cent goes to the largest remainder of all payers.
    assert abs(after["*orphan"] - Fraction(before["*orphan"])) <= Fraction(1, 100)
    assert after.get("*unused", 0) == (7 if policy.unused is Spread.PLATFORM else 0)
    assert after == then(look(period, policy))


def test_what_came_after_the_close_changes_no_preview(lab, monkeypatch):
    period = closed(lab, monkeypatch, Policy())
    other = Policy(base=Base.ADMITTED)
    before = look(period, other)
    book = period.book
    version = prices.draft(book=book, actor=lab.carol)
    key = PriceKey("a100", Basis.COMMITTED)
    prices.set_price(version=version, key=key, starts=OCTOBER, rate=Decimal(9))
    prices.activate(version=version, actor=lab.dave)
    late = datetime(2026, 11, 20, tzinfo=UTC)
    rule = Policy(base=Base.USED, lost=LostRule(Funder.PLATFORM))
    made = prices.propose_policy(book=book, starts=late, policy=rule, actor=lab.carol)
    prices.activate_policy(version=made, actor=lab.dave)
    bills.take_focus(
        source=BillSource.objects.get(), file=io.BytesIO(table(row("999.00"))), name="c",
        actor=None, finalized=True,
    )  # fmt: skip

    assert look(period, other) == before
    assert (before.written, before.closed, before.billed) == (True, True, True)


def test_what_was_booked_beside_the_bill_stays_in_both_columns(lab, monkeypatch):
    monkeypatch.setattr(bill_hours, "METHODS", (joined,))
    first = closed(lab, monkeypatch, Policy())
    december = periods.open_period(book=first.book, year=2026, number=12)
    closing.correct(
        closed=first, period=december, amount=Decimal("-10.00"), reason="refund", actor=lab.carol
    )
    # Not divided yet: of December only what was booked is there, and that is no baseline.
    found = previews.of_policy(first.book, Policy(), instant(datetime(2027, 1, 2, tzinfo=UTC)))
    assert found is None
    assert then(look(first, Policy())) == owed(first)


def test_of_a_large_month_the_statements_are_the_beginning_too(lab, monkeypatch):
    period = closed(lab, monkeypatch, Policy())
    monkeypatch.setattr(previews, "BY_HOUR", 1)
    found = look(period, Policy(base=Base.ADMITTED))

    assert found.by_day
    assert {each.payer: each.now for each in found.rows if each.now} == owed(period)
    assert all(not each.difference for each in look(period, Policy()).rows)


def test_what_was_not_measured_is_named_and_takes_no_orphan(lab, monkeypatch, client):
    """One of three hours has no use: its devices are nobody's, its unknown machine is an orphan."""
    period = closed(lab, monkeypatch, Policy())
    found = look(period, Policy(base=Base.USED))
    # 30.00 less the part of the unknown machine, which is 14,407 of 129,607 seconds.
    assert round(found.unmeasured, 2) == Decimal("26.67")
    # With the 1.00 that belongs to no hour; the last cent goes to the largest remainder.
    assert abs(then(found)["*unallocated"] - Fraction(2767, 100)) <= Fraction(1, 100)
    with time_machine.travel(NOW, tick=False):
        said = stored.said(ask(client, lab, "carol", f"/costs/books/{period.book_id}/policy/", {
            "starts": "2027-01-01 00:00", "base": "used", "borrow": "50", "credit": "yes",
            "rest": "platform", "shared": "cost", "unused": "platform", "lost": "nobody",
            "failures": "no", "step": "look",
        }))  # fmt: skip
    assert "26.67 of hours whose use was not measured: nobody can be charged with it" in said
    assert "As it is: the statements of the closed month." in said
    assert f"Bill {period.bill_total:.2f} {period.bill_total:.2f} 0.00" in said
    assert PolicyVersion.objects.filter(book=PriceBook.objects.get()).count() == 2
