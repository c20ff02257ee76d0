"""A month is reconciled: its bill divided to the last cent, and what does not fit is named."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from io import StringIO

import pytest
import time_machine
from django.core.management import CommandError, call_command

from costs.facts import Quality
from costs.models import Discrepancy, Period, Reconciliation, Statement, StatementLine
from costs.policy import Base, Policy, Rest
from costs.rates import Basis, PriceKey
from costs.selectors.blockers import blockers
from costs.services import findings, periods, prices, progress, reconcile
from costs.times import HOUR
from costs.used import Use
from tenants.models import AuditEvent
from tests.costs import stored
from tests.costs.ledger_rows import OCTOBER, bill_of, book_of

pytestmark = pytest.mark.django_db
AFTER = datetime(2026, 12, 1, 1, tzinfo=UTC)
POLICIES = {
    "P1": (Policy(), {"nlp": "51.00", "cv": "21.00", "*unsold": "24.00"}),
    "P2": (
        Policy(base=Base.ADMITTED, rest=Rest.COMMITTED), {"nlp": "70.00", "cv": "26.00"},
    ),
    "P3": (Policy(base=Base.USED, rest=Rest.ADMITTED), {"nlp": "74.70", "cv": "21.30"}),
}  # fmt: skip


def w16(when):
    """An hour of 32 GPUs: nlp holds 18 of 16, two of them borrowed from cv, which holds 6 of 8."""

    def use(thousandths):
        return Use(thousandths * HOUR, 20 * HOUR, 20 * HOUR)

    return (
        stored.fact(when, "nlp", committed=16, own=16, borrowed=2, running=18, use=use(12_600)),
        stored.fact(when, "cv", committed=8, own=6, lent=2, running=6, use=use(3_000)),
    )


def november(lab, *, policy=None, bill="96.00", hours=1, purpose="showback"):
    """A November with a few hours of W16 at its end, so that none is missing."""
    book = book_of(lab, purpose)
    if policy is not None:
        row = prices.propose_policy(book=book, starts=OCTOBER, policy=policy, actor=lab.carol)
        prices.activate_policy(version=row, actor=lab.dave)
    for n in range(hours):
        stored.store(lab.cluster, *w16(stored.at(30, 23 - n)))
    if bill:
        bill_of(11, bill)
    return periods.open_period(book=book, year=2026, number=11)


def owed(period):
    rows = period.statements.exclude(total=0).select_related("tenant")
    return {each.tenant.slug if each.tenant else each.bucket: f"{each.total:.2f}" for each in rows}


@pytest.mark.parametrize("name", POLICIES)
def test_w16_each_policy_divides_the_same_bill(lab, name):
    policy, expected = POLICIES[name]
    period = november(lab, policy=policy)
    run = reconcile.run(period=period, now=AFTER)
    period.refresh_from_db()

    assert owed(period) == expected
    assert run.tenants + run.platform == run.billed == period.bill_total == Decimal("96.00")
    assert period.state == Period.State.PROVISIONAL


def test_lines_say_what_a_tenant_pays_for_and_are_its_total(lab):
    period = november(lab)
    reconcile.run(period=period, now=AFTER)
    lines = StatementLine.objects.filter(statement__period=period)

    assert {
        (each.statement.payer_name[:8], each.basis, each.quantity, each.rate, each.amount)
        for each in lines
    } == {
        ("Language", "committed", 16, 3, Decimal("48.00")),
        ("Language", "borrowed", 2, Decimal("1.5"), Decimal("3.00")),
        ("Vision B", "committed", 8, 3, Decimal("24.00")),
        ("Vision B", "lent_credit", 2, Decimal("1.5"), Decimal("-3.00")),
        ("*unsold", "unsold", 8, 3, Decimal("24.00")),
    }


def test_the_same_inputs_write_nothing_and_new_ones_do(lab):
    period = november(lab)
    first = reconcile.run(period=period, now=AFTER)
    before = (
        list(StatementLine.objects.order_by("pk").values()), list(Statement.objects.values()),
        list(Discrepancy.objects.values()), AuditEvent.objects.count(),
    )  # fmt: skip
    assert reconcile.run(period=period, now=AFTER) == first
    assert progress.due(AFTER) == []
    assert before == (
        list(StatementLine.objects.order_by("pk").values()), list(Statement.objects.values()),
        list(Discrepancy.objects.values()), AuditEvent.objects.count(),
    )  # fmt: skip
    stored.store(lab.cluster, *w16(stored.at(30, 23)))  # counted again, the same facts
    assert progress.due(AFTER) == [period.pk]
    again = reconcile.run(period=period, now=AFTER)
    assert (again.pk != first.pk, again.result) == (True, first.result)
    assert list(StatementLine.objects.order_by("pk").values()) == before[0]
    assert Reconciliation.objects.count() == 2


def test_what_is_missing_blocks_until_it_is_counted_or_settled(lab):
    period = november(lab)
    stored.store(lab.cluster, *w16(stored.at(30, 20)))
    stored.store(
        lab.cluster, stored.fact(stored.at(30, 21), "nlp", quality=Quality.MISSING, committed=16)
    )
    run = reconcile.run(period=period, now=AFTER)
    gap = Discrepancy.objects.get(code="harvest_gap")

    assert (gap.subject, gap.difference, gap.blocks) == ("lab 2026-11-30T21:00Z", 2 * HOUR, True)
    assert gap.facts == {
        "from": "2026-11-30T21:00Z", "to": "2026-11-30T23:00Z", "hours": 2, "never": 1,
        "blind": 1,
    }  # fmt: skip
    assert (run.missing, run.hours) == (2, 3)
    assert "harvest_gap lab 2026-11-30T21:00Z" in map(str, blockers(period))

    findings.resolve(finding=gap, actor=lab.dave, reason="nothing ran then")
    stored.store(lab.cluster, *w16(stored.at(30, 21)))
    reconcile.run(period=period, now=AFTER)
    gap.refresh_from_db()
    rest = Discrepancy.objects.get(subject="lab 2026-11-30T22:00Z")
    assert (gap.resolution, gap.resolved_by) == ("nothing ran then", lab.dave)
    assert (rest.resolved_at, rest.settled_by) == (None, None)

    stored.store(lab.cluster, *w16(stored.at(30, 22)))
    last = reconcile.run(period=period, now=AFTER)
    rest.refresh_from_db()
    assert (rest.settled_by, rest.resolved_by, last.missing) == (last, None, 0)
    assert "harvest_gap" not in {each.name for each in blockers(period)}


def test_a_resolution_stays_as_long_as_the_difference_does_not_grow(lab):
    period = november(lab)
    when = stored.at(30, 23)
    for over, open_again in ((1, False), (1, False), (2, True)):
        stored.store(lab.cluster, stored.fact(when, "nlp", committed=4, own=4 + over, excess=over))
        reconcile.run(period=period, now=AFTER)
        row = Discrepancy.objects.get(code="overdraft")
        assert (row.resolved_at is None) == (open_again or row.resolution == "")
        if not row.resolution:
            findings.resolve(finding=row, actor=lab.carol, reason="agreed with the lead")
    assert (row.difference, row.resolution) == (2 * HOUR, "agreed with the lead")
    assert list(
        AuditEvent.objects.filter(action="finding.resolve").values_list("actor_name", flat=True)
    ) == ["Carol (carol)"]


def test_a_month_that_is_not_over_or_has_no_bill_gets_no_statements(lab):
    period = november(lab, bill="")
    with pytest.raises(reconcile.MonthNotOver):
        reconcile.run(period=period, now=AFTER - timedelta(days=2))
    run = reconcile.run(period=period, now=AFTER)
    period.refresh_from_db()

    assert (run.written, run.billed, period.state) == (False, None, Period.State.COLLECTING)
    assert {each.name for each in blockers(period)} >= {"no_bill", "not_reconciled"}
    bill_of(11, "96.00")
    assert reconcile.run(period=period, now=AFTER).written
    period.refresh_from_db()
    assert period.state == Period.State.PROVISIONAL


def test_prices_that_are_missing_or_far_from_the_bill_are_named(lab):
    """The list says 2.50 for committed time, has no price for borrowed, and the bill says 3.00."""
    period = november(lab)
    run = reconcile.run(period=period, now=AFTER)
    rows = {(each.code, each.subject): each for each in period.discrepancies.all()}
    drift = rows["rate_drift", "lab/a100/nvidia.com/gpu"]

    assert set(rows) == {
        ("rate_drift", "lab/a100/nvidia.com/gpu"), ("unpriced", "a100 borrowed"),
        ("unpriced", "a100 lent_credit"),
    }  # fmt: skip
    assert (drift.unit, drift.difference, drift.whole) == ("money", 16, 80)
    assert (drift.allowed, drift.money, drift.blocks) == (Decimal("2.4"), 16, False)
    assert run.listed == Decimal("60.00")  # 24 committed hours at 2.50
    book = period.book
    version = prices.draft(book=book, actor=lab.carol)
    for basis in (Basis.BORROWED, Basis.LENT_CREDIT):
        key = PriceKey("a100", basis)
        prices.set_price(version=version, key=key, starts=OCTOBER, rate=Decimal("1.25"))
    prices.activate(version=version, actor=lab.dave)
    reconcile.run(period=period, now=AFTER)
    assert not period.discrepancies.filter(code="unpriced", resolved_at=None).exists()


def test_a_bill_in_another_currency_waits_for_its_rate(lab):
    period = november(lab, bill="")
    bill_of(11, "96.00", currency="EUR")
    run = reconcile.run(period=period, now=AFTER)

    assert not run.written
    assert "currency_missing EUR" in map(str, blockers(period))


def test_the_command_and_the_task_say_the_same(lab):
    period = november(lab)
    said = StringIO()
    with pytest.raises(CommandError, match="GP-5305"), time_machine.travel(OCTOBER):
        call_command("costs_reconcile", "--period", str(period.pk), stdout=said)
    with time_machine.travel(AFTER):
        call_command("costs_reconcile", stdout=said)
        progress.take_turn(period.pk)
    run = Reconciliation.objects.get()

    assert run.result in said.getvalue()
    assert "bill 96.0000" in said.getvalue()
    progress.take_turn(999_999)
    assert Reconciliation.objects.count() == 1


def test_months_follow_each_other_up_to_now(lab):
    book = book_of(lab)
    periods.open_period(book=book, year=2026, number=10, zone="Europe/Berlin")
    found = progress.open_months(datetime(2027, 1, 15, tzinfo=UTC))

    assert [f"{each.ends:%F %H}" for each in found] == [
        "2026-11-30 23", "2026-12-31 23", "2027-01-31 23"
    ]  # fmt: skip
    assert progress.open_months(datetime(2027, 1, 15, tzinfo=UTC)) == []
