"""A bill by pool and hour: all of it in one place, whatever the rows say and whoever was there."""

import io
from decimal import Decimal

import pytest

from costs.models import BillSource, Discrepancy, PoolHour, TenantHour
from costs.policy import Bucket, Policy, Spread
from costs.selectors import bill_hours
from costs.selectors.bill_hours import Billed, billed, over_devices
from costs.services import bills, periods, prices, reconcile
from costs.states import Code, Finding
from tests.costs import stored
from tests.costs.focus import table
from tests.costs.ledger_rows import OCTOBER, book_of
from tests.costs.test_reconcile import AFTER, owed, w16

pytestmark = pytest.mark.django_db
TIMES = {
    "BillingPeriodStart": "2026-11-01T00:00:00Z", "BillingPeriodEnd": "2026-12-01T00:00:00Z",
    "ChargePeriodStart": "2026-11-01T00:00:00Z", "ChargePeriodEnd": "2026-12-01T00:00:00Z",
    "BillingCurrency": "USD",
}  # fmt: skip


def row(amount, **more):
    return TIMES | {"BilledCost": amount, "EffectiveCost": amount} | more


def november(lab, *rows, policy=None):
    book = book_of(lab, "showback")
    if policy:
        made = prices.propose_policy(book=book, starts=OCTOBER, policy=policy, actor=lab.carol)
        prices.activate_policy(version=made, actor=lab.dave)
    stored.store(lab.cluster, *w16(stored.at(30, 23)))
    source = BillSource.objects.create(name="USD", currency="USD")
    file = io.BytesIO(table(*rows))
    bill = bills.take_focus(source=source, file=file, name="b", actor=None, finalized=True)
    return periods.open_period(book=book, year=2026, number=11), bill


def test_commitments_that_nobody_used_are_apart_and_paid_by_the_switch(lab):
    unused = row("36.00", CommitmentDiscountStatus="Unused", CommitmentDiscountId="c1")
    switch = Policy(unused=Spread.COST)
    period, bill = november(lab, row("96.00"), unused, policy=switch)
    found = over_devices(bill, period)
    reconcile.run(period=period, now=AFTER)

    assert found.whole
    assert (found.unused, len(found.hours)) == (36 * 10**10, 1)
    # 51.00 and 21.00 of the pool, and 36.00 in their proportion.
    assert owed(period) == {"nlp": "76.50", "cv": "31.50", "*unsold": "24.00"}


def test_without_devices_a_bill_stays_unallocated_and_is_named(lab):
    period, bill = november(lab, row("96.00"))
    TenantHour.objects.all().delete()
    PoolHour.objects.all().delete()
    reconcile.run(period=period, now=AFTER)
    finding = Discrepancy.objects.get(code="unattributed")

    assert billed([bill], period).lost == 96 * 10**10
    assert owed(period) == {"*unallocated": "96.00"}
    assert (finding.blocks, finding.difference, finding.money) == (True, 96, 96)


def test_another_method_takes_its_place_with_buckets_and_findings(lab, monkeypatch):
    period, bill = november(lab, row("100.00"))
    spread = over_devices(bill, period)
    ((key, pool),) = spread.hours.items()

    def joined(_bill, _period):
        about = Finding(
            Code.ORPHAN_NODE, "i-0abc", difference=Decimal(3600), whole=Decimal(3600),
            facts={"node": "i-0abc"}, money=Decimal(4),
        )  # fmt: skip
        return Billed(
            spread.total, {key: replace_grains(pool, 88)}, shared=8 * 10**10,
            buckets={Bucket.ORPHAN: 4 * 10**10}, method="joined", findings=[about, about], told=True,
        )  # fmt: skip

    monkeypatch.setattr(bill_hours, "METHODS", (joined,))
    run = reconcile.run(period=period, now=AFTER)
    assert set(Discrepancy.objects.filter(code="orphan_node").values_list("subject", flat=True)) == {
        "i-0abc", "i-0abc (2)"
    }  # fmt: skip
    finding = Discrepancy.objects.get(subject="i-0abc")

    assert (run.method, run.billed) == ("joined", 100)
    assert owed(period)["*orphan"] == "4.00"
    assert sum(map(Decimal, owed(period).values())) == 100
    assert (finding.money, finding.unit, finding.blocks) == (4, "seconds", False)


def replace_grains(pool, amount):
    return pool._replace(grains=amount * 10**10)
