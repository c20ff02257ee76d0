"""A month with the bills of several sources: divided together to the cent, each named and kept."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest
import time_machine
from django.core.management import call_command
from django.db import DatabaseError, connection, transaction
from django.db.models import Sum

from costs.models import (
    BilledHour,
    BillFinding,
    BillSource,
    PeriodBill,
    PoolHour,
    StatementLine,
)
from costs.selectors.blockers import blockers
from costs.selectors.month_bills import rests_on
from costs.services import closing, matches, periods, progress, reconcile
from costs.times import HOUR
from tenants.models import AuditEvent
from tests.costs import noted, stored
from tests.costs.ledger_rows import ITEMS, bill_of, book_of, closed, item, reviewed, written
from tests.costs.test_matches import hour, take
from tests.costs.test_reconcile import AFTER, november, owed
from tests.costs.test_views_months import ask

pytestmark = pytest.mark.django_db
REFUSAL = "are not changed|is not changed|rests on this bill"


def names(period, actor=None):
    return set(map(str, blockers(period, actor)))


def amounts(period):
    return {each.source.name: each.amount for each in rests_on(period)}


def total(period):
    return StatementLine.objects.filter(statement__period=period).aggregate(s=Sum("amount"))["s"]


@pytest.mark.parametrize(
    ("bills", "together"),
    [
        (("96.00", "4.00"), "100.00"),
        (("33.335", "33.335"), "66.67"),
        (("0.004", "0.004"), "0.01"),
        (("100.005", "-5.555", "0.3333333333"), "94.78"),
        (("10", "10.005", "10.005", "0.001"), "30.01"),
    ],
)
def test_bills_of_several_sources_are_divided_together_to_the_cent(lab, bills, together):
    period = november(lab, bill="")
    for n, amount in enumerate(bills):
        bill_of(11, amount, source=f"source {n}")
    run = reconcile.run(period=period, now=AFTER)
    period.refresh_from_db()

    assert total(period) == period.bill_total == run.billed == Decimal(together)
    assert sum(map(Decimal, owed(period).values())) == Decimal(together)
    parts = amounts(period)
    assert sum(parts.values()) == Decimal(together)
    for n, amount in enumerate(bills):
        assert abs(parts[f"source {n}"] - Decimal(amount)) < Decimal("0.01")
    assert len(run.bills) == len(bills)


def test_two_bills_that_have_parts_of_one_pool_name_all_of_its_nodes(lab):
    """The cloud's bill was joined before that of the own machines came: n2 is billed all the same."""
    book = book_of(lab, "showback")
    noted.node(lab.cluster, "n1", (0, 720), machine="i-1")
    noted.node(lab.cluster, "n2", (0, 720), machine="rack-2")
    noted.counted(lab.cluster, 0, 720)
    cloud, own = (BillSource.objects.create(name=each, currency="USD") for each in ("cloud", "own"))
    first = take(cloud, *[hour(at, "i-1", "2.00") for at in range(720)])
    matches.match(file=first)
    second = take(own, *[hour(at, "rack-2", "1.00") for at in range(720)])
    matches.match(file=second)
    assert BillFinding.objects.filter(file=first, code="cluster_not_billed", node="n2").exists()
    period = periods.open_period(book=book, year=2026, number=11)
    run = reconcile.run(period=period, now=AFTER)

    assert (run.method, run.billed) == ("matched", 2160)
    assert amounts(period) == {"cloud": 1440, "own": 720}
    assert not period.discrepancies.filter(code="cluster_not_billed").exists()
    third = take(BillSource.objects.create(name="other", currency="USD"), hour(0, "i-9", "5.00"))
    matches.match(file=third)
    assert reconcile.run(period=period, now=AFTER).billed == 2165
    assert owed(period)["*orphan"] == "5.00"


def test_what_two_bills_have_beyond_the_nodes_is_a_gap_of_both(lab):
    """Each bill is within what the pool has; together they bill it twice."""
    book = book_of(lab, "showback")
    for name in ("n1", "n2"):
        noted.node(lab.cluster, name, (0, 24), machine=name)
    noted.counted(lab.cluster, 0, 24)
    PoolHour.objects.update(ready=8 * HOUR)
    for name in ("n1", "n2"):
        source = BillSource.objects.create(name=name, currency="USD")
        matches.match(file=take(source, *[hour(at, name, "2.00") for at in range(24)]))
    period = periods.open_period(book=book, year=2026, number=11)
    reconcile.run(period=period, now=AFTER)

    assert total(period) == 96
    assert owed(period)["*gap"] == "48.00"


def test_a_second_bill_that_comes_late_opens_a_reviewed_month_again(lab):
    period = november(lab)
    reconcile.run(period=period, now=AFTER)
    period.discrepancies.update(blocks=False)
    closing.review(period=period, actor=lab.carol)
    bill_of(11, "4.00", source="own machines")

    assert "changed_since" in names(period, lab.dave)
    with pytest.raises(closing.Blocked, match="have changed since the last run"):
        closing.close(period=period, actor=lab.dave)
    assert progress.due(AFTER) == [period.pk]
    reconcile.run(period=period, now=AFTER)
    period.refresh_from_db()
    assert (period.state, period.bill_total) == ("provisional", Decimal("100.00"))
    assert progress.due(AFTER) == []


def test_each_bill_that_is_missing_or_not_final_is_named_with_its_source(lab):
    book = book_of(lab)
    bills = [bill_of(10, "60.00", source="cloud"), bill_of(10, "40.00", source="own machines")]
    october = written(lab, book, 10, item("nlp", "100.00"), bills=bills)
    closing.close(period=reviewed(lab, october), actor=lab.dave)
    month = periods.open_period(book=book, year=2026, number=11)

    assert {"bill_missing cloud", "bill_missing own machines"} <= names(month)
    bill_of(11, "70.00", source="cloud", finalized=False)
    assert names(month) >= {"bill_missing own machines", "bill_not_final cloud: b.csv"}
    reconcile.run(period=month, now=AFTER)
    month.refresh_from_db()
    assert month.bill_total == Decimal("70.00")
    source = BillSource.objects.get(name="own machines")
    reconcile.count_source(period=month, source=source, counts=False, actor=lab.carol)
    assert not {each for each in names(month) if "own machines" in each}
    reconcile.run(period=month, now=AFTER)
    bill_of(11, "70.50", source="cloud")
    bill_of(11, "40.00", source="own machines")
    reconcile.run(period=month, now=AFTER)
    month.refresh_from_db()
    assert month.bill_total == Decimal("70.50")
    # The month after leaves it out too, until somebody takes it in.
    december = periods.open_period(book=book, year=2026, number=12)
    assert "bill_missing cloud" in names(december)
    assert "bill_missing own machines" not in names(december)
    reconcile.count_source(period=december, source=source, counts=True, actor=lab.carol)
    assert "bill_missing own machines" in names(december)
    rows = AuditEvent.objects.filter(action="period.bill").order_by("seq")
    assert [(each.data["source"], each.data["counts"]) for each in rows] == [
        ("own machines", False), ("own machines", True),
    ]  # fmt: skip


def test_bills_of_different_currencies_are_never_added_up(lab, client):
    period = november(lab)
    reconcile.run(period=period, now=AFTER)
    bill_of(11, "50.00", currency="EUR")
    run = reconcile.run(period=period, now=AFTER)
    period.refresh_from_db()

    assert (run.written, run.billed) == (False, None)
    assert period.bill_total == Decimal("96.00")
    assert "bills_in_several_currencies EUR, USD" in names(period)
    euro = BillSource.objects.get(name="EUR")
    reconcile.count_source(period=period, source=euro, counts=False, actor=lab.carol)
    assert reconcile.run(period=period, now=AFTER).billed == Decimal("96.00")
    with pytest.raises(reconcile.OtherCurrency, match=r"EUR is in EUR, the other bills .* in USD"):
        reconcile.count_source(period=period, source=euro, counts=True, actor=lab.carol)
    with time_machine.travel(AFTER):
        url = f"/costs/periods/{period.pk}/"
        ask(client, lab, "dave", f"{url}bill/", {"source": euro.pk, "step": "in"})
        said = stored.said(ask(client, lab, "dave", url))
    assert "Amounts of different currencies are not added up." in said
    assert "Left out" in said
    both = [bill_of(10, "1", source="a"), bill_of(10, "1", source="b", currency="EUR")]
    with pytest.raises(periods.NotTheBill):
        written(lab, period.book, 10, item("nlp", "2"), bills=both)


@pytest.fixture
def two(lab):
    """A closed October of two bills."""
    bills = [bill_of(10, "10000.00", source="cloud"), bill_of(10, "6666.675", source="own")]
    return closing.close(
        period=reviewed(lab, written(lab, book_of(lab), 10, *ITEMS, bills=bills)), actor=lab.dave
    )


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE costs_periodbill SET amount = amount + 1",
        "UPDATE costs_periodbill SET bill_id = NULL, amount = NULL",
        "DELETE FROM costs_periodbill",
        "INSERT INTO costs_periodbill (period_id, source_id, left_out) "
        "SELECT p.id, s.id, true FROM costs_period AS p, costs_billsource AS s WHERE s.name = 'c'",
        "TRUNCATE costs_periodbill",
    ],
)
def test_the_bills_of_a_closed_month_cannot_be_changed_by_any_statement(two, statement):
    BillSource.objects.create(name="c", currency="USD")
    with pytest.raises(DatabaseError, match=f"{REFUSAL}|permission denied"), transaction.atomic():
        connection.cursor().execute(statement)


def test_every_bill_of_a_closed_month_stays_as_it_was_joined(lab, two):
    found = rests_on(two)
    assert {each.source.name: each.amount for each in found} == {
        "cloud": Decimal("10000.00"), "own": Decimal("6666.68"),
    }  # fmt: skip
    for each in found:
        with pytest.raises(matches.Rested):
            matches.match(file=each.bill)
        with pytest.raises(DatabaseError, match=REFUSAL), transaction.atomic():
            BilledHour.objects.create(file=each.bill, bucket="*shared", cost=1)
    assert AuditEvent.objects.get(action="period.close").data["bills"] == (
        "cloud: b.csv, own: b.csv"
    )
    # A newer version of one of them counts elsewhere, and leaves the month as it was.
    bill_of(10, "7000.00", source="own")
    assert [each.bill.number for each in rests_on(two)] == [1, 1]
    assert two.bill_total == Decimal("16666.68")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("UPDATE costs_periodbill SET amount = amount + 1", "are not bills of"),
        ("UPDATE costs_periodbill SET bill_id = NULL, amount = NULL", "closed with a bill"),
        ("UPDATE costs_billfile SET finalized = false WHERE id = (SELECT max(id) FROM "
         "costs_billfile)", "not final: own: b.csv"),
    ],
)  # fmt: skip
def test_the_database_closes_no_month_that_is_not_its_bills(lab, change, said):
    bills = [bill_of(10, "60", source="cloud"), bill_of(10, "40", source="own")]
    month = reviewed(lab, written(lab, book_of(lab), 10, item("nlp", "100"), bills=bills))
    connection.cursor().execute(change)
    with pytest.raises(DatabaseError, match=said), transaction.atomic():
        connection.cursor().execute(
            "UPDATE costs_period SET state = 'closed', closed_at = now(), closed_by_id = %s",
            [lab.dave.pk],
        )
    assert month.state == "review"


def test_w20_a_correction_names_the_bill_that_said_so(lab, client):
    book = book_of(lab)
    october = closed(lab, book, 10, item("nlp", "6000.00"), item("cv", "4000.00"))
    month = written(lab, book, 11, item("nlp", "100.00"))
    late = bill_of(10, "9750.00", source="USD", finalized=True)
    url = f"/costs/periods/{october.pk}/correct/"
    data = {"amount": "-250.00", "period": month.pk, "reason": "late credit", "bill": late.pk,
            "form_key": "k" * 20}  # fmt: skip
    with time_machine.travel(datetime(2026, 12, 2, tzinfo=UTC)):
        assert late.name in ask(client, lab, "dave", url).content.decode()
        ask(client, lab, "dave", url, {**data, "step": "book"})
        lines = StatementLine.objects.filter(corrects=october)
        assert {each.statement.tenant.slug: (each.amount, each.bill) for each in lines} == {
            "nlp": (-150, late), "cv": (-100, late),
        }  # fmt: skip
        page = ask(client, lab, "alice", f"/t/nlp/statements/{month.pk}/").content.decode()
        file = ask(client, lab, "alice", f"/t/nlp/statements/{month.pk}.csv").content.decode()
        board = stored.said(ask(client, lab, "dave", f"/costs/periods/{month.pk}/"))
    assert late.sha256 in page
    assert late.sha256 in file
    assert "corrections of earlier months" in board
    assert [each.bill for each in rests_on(october)] != [late]


def test_the_board_and_the_close_show_each_bill(lab, client):
    period = november(lab)
    bill_of(11, "33.335", source="own machines")
    reconcile.run(period=period, now=AFTER)
    with time_machine.travel(AFTER):
        board = stored.said(ask(client, lab, "dave", f"/costs/periods/{period.pk}/"))
        effect = stored.said(ask(client, lab, "dave", f"/costs/periods/{period.pk}/close/"))
        answer = client.get("/api/v1/periods/2026-11/main%20showback/").json()["period"]

    for said in (board, effect):
        assert "USD 96.00" in said
        assert "own machines 33.34" in said
        assert "Bills together 129.34" in said
    assert answer["bill"] is None
    assert [(each["source"], each["amount"], each["final"]) for each in answer["bills"]] == [
        ("USD", "96.00", True), ("own machines", "33.34", True),
    ]  # fmt: skip
    assert sum(Decimal(each["amount"]) for each in answer["bills"]) == Decimal(answer["bill_total"])


@pytest.mark.owner
@pytest.mark.fault
@pytest.mark.django_db(transaction=True)
def test_a_month_that_was_closed_with_one_bill_keeps_it(committed_lab):
    """Back to one bill for each month and forwards again: nothing of a closed month is lost."""
    book = book_of(committed_lab)
    october = closed(committed_lab, book, 10, item("nlp", "96.00"))
    before = [(each.bill_id, each.amount) for each in rests_on(october)]
    run = october.runs.get()
    period = written(committed_lab, book, 11, item("nlp", "4.00"))
    other = bill_of(11, "5.00", source="own machines")
    call_command("migrate", "costs", "0015", verbosity=0)
    call_command("migrate", "costs", verbosity=0)

    assert [(each.bill_id, each.amount) for each in rests_on(october)] == before
    assert [(each.source, each.left_out) for each in period.bills.order_by("pk")] == [
        (BillSource.objects.get(name="USD"), False), (other.source, True),
    ]  # fmt: skip
    assert october.runs.get().bills == run.bills
    with pytest.raises(DatabaseError, match="are not changed"), transaction.atomic():
        PeriodBill.objects.filter(period=october).update(amount=0)
