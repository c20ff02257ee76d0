"""Closing: refused with its reasons, final when done, and corrected only in an open month."""

from decimal import Decimal

import pytest
from django.db import DatabaseError, IntegrityError, connection, transaction

from costs.ledger import ledger
from costs.models import (
    Discrepancy,
    ExchangeRate,
    Period,
    PoolHour,
    PriceBook,
    Statement,
    TenantHour,
)
from costs.selectors import blockers as known
from costs.selectors.blockers import Blocker, blockers, sentence
from costs.selectors.periods import as_billed, as_restated
from costs.services import closing, facts, periods
from costs.states import Code
from costs.times import HOUR, Span, instant
from tests.costs.ledger_rows import (
    ITEMS,
    OCTOBER,
    bill_of,
    bills_of,
    book_of,
    closed,
    item,
    reviewed,
    written,
)
from tests.costs.make import grant, hold, records

pytestmark = pytest.mark.django_db
#: What the database says when it forbids something, and never of a mistake in a statement.
REFUSAL = "closed|kept|not changed|only a draft|stays in|permission denied|must be owner"


def hours_of_october(lab):
    """Store two hours of facts of October and return their span."""
    starts = instant(OCTOBER)
    span = Span(starts, starts + 2 * HOUR)
    work = hold("00:00", "01:00", 4)._replace(queue="q", span=span)
    known = records([work], nodes=8, q=grant(8))
    known.owners["q"].values[:] = ["nlp"]
    return facts.store(cluster=lab.cluster, span=span, found=ledger(known, span)), span, known


def test_statements_add_up_to_the_bill(lab):
    period = written(lab, book_of(lab), 10, *ITEMS)

    assert period.bill_total == Decimal("16666.68")
    assert as_billed(period) == {
        "*idle": Decimal("0.01"),
        lab.nlp.display_name: Decimal("10000.00"),
        lab.cv.display_name: Decimal("6666.67"),
    }
    assert {x.total for x in period.statements.all()} == {
        sum(line.amount for line in x.lines.all()) for x in period.statements.all()
    }


def test_costs_that_are_not_the_bill_are_refused(lab):
    bill = bill_of(10, "16666.66")
    with pytest.raises(periods.NotTheBill):
        written(lab, book_of(lab), 10, *ITEMS, bill=bill)


def test_writing_again_gives_the_same_hashes(lab):
    period = written(lab, book_of(lab), 10, *ITEMS)
    before = list(period.statements.order_by("pk").values_list("sha256", "total"))
    periods.write(
        period=period, bills=bills_of(period), prices=period.prices, policy=period.policy,
        items=reversed(ITEMS),
    )  # fmt: skip

    assert list(period.statements.order_by("pk").values_list("sha256", "total")) == before


def test_a_bill_in_another_currency_needs_the_rate_of_the_month(lab):
    book, bill = book_of(lab), bill_of(10, "100", currency="EUR")
    with pytest.raises(periods.NoRate), transaction.atomic():
        written(lab, book, 10, item("nlp", "100"), bill=bill)
    ExchangeRate.objects.create(
        month=OCTOBER.date(), base="EUR", quote="USD", rate="1.08755", source="ECB"
    )
    period = written(lab, book, 10, item("nlp", "60"), item("cv", "40"), bill=bill)

    assert period.bill_total == Decimal("108.76")


def test_a_period_with_a_blocker_is_not_closed_and_the_blocker_is_named(lab):
    period = reviewed(lab, written(lab, book_of(lab), 10, *ITEMS))
    found = Discrepancy.objects.create(
        period=period, code="harvest_gap", subject="lab 02:10", difference=-1800, whole=3600,
        blocks=True,
    )  # fmt: skip
    with pytest.raises(closing.Blocked, match="No cluster data: lab 02:10") as refused:
        closing.close(period=period, actor=lab.dave)
    assert refused.value.details == {"reasons": ["harvest_gap lab 02:10"]}
    with pytest.raises(DatabaseError, match="harvest_gap lab 02:10"), transaction.atomic():
        Period.objects.filter(pk=period.pk).update(
            state="closed", closed_by=lab.dave, closed_at=OCTOBER
        )
    Discrepancy.objects.filter(pk=found.pk).update(
        resolution="bounded by hand", resolved_by=lab.carol, resolved_at=OCTOBER
    )

    assert closing.close(period=period, actor=lab.dave).state == "closed"


def test_one_person_alone_closes_no_chargeback(lab):
    period = reviewed(lab, written(lab, book_of(lab), 10, *ITEMS))
    with pytest.raises(closing.Blocked, match="closed by somebody else than who reviewed it"):
        closing.close(period=period, actor=lab.carol)


def test_a_period_without_statements_is_not_closed(lab):
    period = reviewed(lab, periods.open_period(book=book_of(lab), year=2026, number=10))
    with pytest.raises(closing.Blocked) as refused:
        closing.close(period=period, actor=lab.dave)
    assert refused.value.details == {"reasons": ["no_bill", "not_reconciled"]}
    assert str(refused.value.message) == (
        "This cannot be done yet. No bill that covers exactly this month was taken. "
        "The month was not reconciled with a bill yet."
    )


def test_a_month_that_was_only_opened_lacks_no_prices(lab):
    """It has prices and a policy: only no run has happened yet."""
    period = periods.open_period(book=book_of(lab), year=2026, number=10)
    bare = PriceBook.objects.create(name="bare", purpose="chargeback", currency="USD")
    without = periods.open_period(book=bare, year=2026, number=10)

    assert {"no_prices_or_policy", "not_reconciled"} & {each.name for each in blockers(period)} == {
        "not_reconciled"
    }
    assert "no_prices_or_policy" in {each.name for each in blockers(without)}


@pytest.mark.parametrize("code", Code)
def test_no_reason_is_said_as_a_code(code):
    names = {
        value for key, value in vars(known).items() if key.isupper() and isinstance(value, str)
    }
    for name in {code.value, *names - {known.NOT_OVER}}:
        assert name not in sentence(Blocker(name, "lab"))


def test_a_bill_that_is_not_final_keeps_a_period_open(lab):
    bill = bill_of(10, "100", finalized=False)
    period = reviewed(lab, written(lab, book_of(lab), 10, item("nlp", "100"), bill=bill))
    with pytest.raises(closing.Blocked, match="is not final: it may still change"):
        closing.close(period=period, actor=lab.dave)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE costs_period SET state = 'open'",
        "UPDATE costs_period SET bill_total = 0",
        "DELETE FROM costs_period",
        "UPDATE costs_statement SET total = total + 1",
        "DELETE FROM costs_statementline",
        "UPDATE costs_statementline SET amount = 0",
        "INSERT INTO costs_statementline (statement_id, flavor, basis, quantity, amount, reason) "
        "SELECT id, '', 'x', 0, 1, '' FROM costs_statement",
        "UPDATE costs_tenanthour SET held_most = held_most + 1",
        "DELETE FROM costs_tenanthour",
        "UPDATE costs_tenanthour SET hour = hour + interval '60 days'",
        "UPDATE costs_poolhour SET ready = 0",
        "INSERT INTO costs_poolhour (cluster_id, hour, flavor, resource, ready, cordoned, down, "
        "nominal, borrowed, overdraft, run_id) SELECT cluster_id, hour, 'new', resource, 1, 0, 0, "
        "0, 0, 0, run_id FROM costs_poolhour",
        "UPDATE costs_billline SET effective = 0",
        "DELETE FROM costs_billfile",
        "UPDATE costs_price SET rate = 9",
        "DELETE FROM costs_price",
        "UPDATE costs_priceversion SET state = 'draft'",
        "UPDATE costs_policyversion SET borrow = 1",
        "TRUNCATE costs_statementline",
        "ALTER TABLE costs_period DISABLE TRIGGER ALL",
        "SET session_replication_role = replica",
    ],
)
def test_a_closed_month_cannot_be_changed_by_any_statement(lab, statement):
    hours_of_october(lab)
    closed(lab, book_of(lab), 10, *ITEMS)
    with pytest.raises(DatabaseError, match=REFUSAL), transaction.atomic():
        connection.cursor().execute(statement)


def test_hours_of_a_closed_month_are_not_counted_again(lab):
    run, span, known = hours_of_october(lab)
    assert facts.store(cluster=lab.cluster, span=span, found=ledger(known, span)).result == (
        run.result
    )
    closed(lab, book_of(lab), 10, *ITEMS)
    with pytest.raises(DatabaseError, match="closed"), transaction.atomic():
        facts.store(cluster=lab.cluster, span=span, found=ledger(known, span))
    assert (TenantHour.objects.count(), PoolHour.objects.count()) == (2, 2)


def test_what_is_stored_is_what_was_counted(lab):
    hours_of_october(lab)
    row = TenantHour.objects.order_by("hour").first()

    assert (row.tenant, row.held, row.committed, row.used) == (lab.nlp, 4 * HOUR, 8 * HOUR, None)
    assert (row.quality, row.coverage, row.hour) == ("observed", HOUR, OCTOBER)
    assert PoolHour.objects.first().ready == 8 * HOUR


def test_a_tenant_that_does_not_exist_loses_no_time_silently(lab):
    _run, span, known = hours_of_october(lab)
    known.owners["q"].values[:] = ["nobody-knows"]
    with pytest.raises(KeyError), transaction.atomic():
        facts.store(cluster=lab.cluster, span=span, found=ledger(known, span))
    assert TenantHour.objects.count() == 2


def test_w20_a_late_correction_is_booked_in_the_open_month(lab):
    book = book_of(lab)
    october = closed(lab, book, 10, item("nlp", "10000.00"), item("cv", "6666.67"))
    november = written(lab, book, 11, item("nlp", "500"))
    before = as_billed(october)
    lines = periods.correct(
        closed=october, period=november, amount=Decimal("-250.00"), reason="refund of the provider",
        weights={"nlp": Decimal(60), "cv": Decimal(40)},
    )  # fmt: skip
    names = {x.slug: x.display_name for x in (lab.nlp, lab.cv)}
    november.refresh_from_db()

    assert {x.statement.tenant.slug: x.amount for x in lines} == {"nlp": -150, "cv": -100}
    assert as_billed(october) == before
    assert as_restated(october) == {
        names["nlp"]: Decimal("9850.00"), names["cv"]: Decimal("6566.67")
    }  # fmt: skip
    assert as_restated(november) == {names["nlp"]: Decimal(500), names["cv"]: Decimal(0)}
    assert november.bill_total == Decimal("250.00")
    assert Statement.objects.get(period=november, tenant=lab.nlp).total == Decimal(350)


def test_an_open_month_is_written_anew_instead_of_corrected(lab):
    book = book_of(lab)
    october, november = (written(lab, book, n, item("nlp", "500")) for n in (10, 11))
    with pytest.raises(periods.NotOpen):
        periods.correct(
            closed=october, period=november, amount=Decimal(1), reason="x", weights={"nlp": 1}
        )


def test_a_closed_month_takes_no_correction(lab):
    book = book_of(lab)
    october = closed(lab, book, 10, item("nlp", "500"))
    with pytest.raises(periods.NotOpen):
        periods.correct(
            closed=october, period=october, amount=Decimal(1), reason="x", weights={"nlp": 1}
        )


def test_no_hour_is_in_two_months_of_a_book(lab):
    book = book_of(lab)
    periods.open_period(book=book, year=2026, number=10)
    periods.open_period(book=book_of(lab, "list"), year=2026, number=10)
    periods.open_period(book=book, year=2026, number=11)
    with pytest.raises(IntegrityError, match="period_one_at_a_time"), transaction.atomic():
        periods.open_period(book=book, year=2026, number=12, zone="Europe/Berlin")


def test_a_zone_whose_months_cut_hours_is_refused(lab):
    with pytest.raises(periods.NotOpen):
        periods.open_period(book=book_of(lab), year=2026, number=10, zone="Asia/Kolkata")
