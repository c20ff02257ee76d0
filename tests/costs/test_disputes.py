"""Disputes: said about one line, answered once, paid by the platform and never by others."""

from decimal import Decimal

import pytest
from django.db import DatabaseError, transaction

from costs.models import Dispute, Statement
from costs.selectors.blockers import blockers
from costs.selectors.periods import as_billed, as_restated
from costs.services import disputes, periods
from portal.web.errors import Stale
from tenants import access
from tenants.models import AuditEvent
from tests.costs.ledger_rows import ITEMS, bills_of, book_of, closed, item, reviewed, written

pytestmark = pytest.mark.django_db


def said(lab, period, text="this queue was given back in September", who="alice"):
    return disputes.dispute(
        statement=Statement.objects.get(period=period, tenant=lab.nlp), flavor="a100",
        basis="committed", text=text, actor=getattr(lab, who),
    )  # fmt: skip


def test_an_accepted_one_is_booked_in_the_open_month_and_the_bill_stays(lab):
    book = book_of(lab)
    october = closed(lab, book, 10, *ITEMS)
    row = said(lab, october)
    with pytest.raises(disputes.NowhereToBook):
        disputes.accept(dispute=row, credit=Decimal("5.00"), answer="", actor=lab.dave)
    november = written(lab, book, 11, item("nlp", "500"))
    before, owed = as_billed(october), november.bill_total
    done = disputes.accept(dispute=row, credit=Decimal("120.50"), answer="half", actor=lab.dave)
    november.refresh_from_db()

    assert november.bill_total == owed == sum(each.total for each in november.statements.all())
    assert {(each.tenant_id or each.bucket, each.total) for each in november.statements.all()} == {
        (lab.nlp.pk, Decimal("379.50")),
        ("*granted", Decimal("120.50")),
    }
    assert as_billed(october) == before
    assert as_restated(october)[str(lab.nlp)] == Decimal("9879.50")
    assert (done.booked.corrects, done.booked.amount) == (october, Decimal("-120.50"))
    assert done.booked.reason == "Credit after a dispute: half"


def test_in_a_month_that_is_open_it_is_booked_there_and_outlives_the_next_run(lab):
    period = reviewed(lab, written(lab, book_of(lab), 10, *ITEMS))
    row = said(lab, period, who="frank")
    assert "open_disputes" in {each.name for each in blockers(period)}
    disputes.accept(dispute=row, credit=Decimal("1.00"), answer="", actor=lab.carol)
    period.refresh_from_db()
    assert (period.state, period.reviewed_by) == ("provisional", None)
    periods.write(
        period=period,
        bills=bills_of(period),
        prices=period.prices,
        policy=period.policy,
        items=ITEMS,
    )

    assert as_restated(period)[str(lab.nlp)] == Decimal("9999.00")
    assert "open_disputes" not in {each.name for each in blockers(period)}


def test_it_is_answered_once_and_with_a_reason(lab):
    row = said(lab, closed(lab, book_of(lab), 10, *ITEMS))
    with pytest.raises(disputes.NoAnswer):
        disputes.reject(dispute=row, answer=" ", actor=lab.dave)
    disputes.reject(dispute=row, answer="the queue was yours until the 30th", actor=lab.dave)
    with pytest.raises(Stale):
        disputes.reject(dispute=row, answer="again", actor=lab.dave)
    with pytest.raises(DatabaseError, match="kept"), transaction.atomic():
        Dispute.objects.update(answer="something else")
    assert list(
        AuditEvent.objects.filter(scope="tenant:nlp", object_type="dispute")
        .order_by("seq").values_list("action", flat=True)
    ) == ["dispute.open", "dispute.reject"]  # fmt: skip


@pytest.mark.parametrize("credit", ["0", "-1", "10000.01", "0.001"])
def test_what_is_no_credit_is_refused(lab, credit):
    row = said(lab, written(lab, book_of(lab), 10, *ITEMS))
    with pytest.raises(disputes.NotThatMuch):
        disputes.accept(dispute=row, credit=Decimal(credit), answer="", actor=lab.dave)


def test_a_line_is_credited_up_to_what_it_is_and_no_further(lab):
    october = written(lab, book_of(lab), 10, *ITEMS)
    for more, credit in (("10000.01", "6000.00"), ("4000.01", "4000.00")):
        row = said(lab, october)
        with pytest.raises(disputes.NotThatMuch):
            disputes.accept(dispute=row, credit=Decimal(more), answer="", actor=lab.dave)
        disputes.accept(dispute=row, credit=Decimal(credit), answer="", actor=lab.dave)
    with pytest.raises(disputes.NotThatMuch, match="in full"):
        disputes.accept(
            dispute=said(lab, october), credit=Decimal("0.01"), answer="", actor=lab.dave
        )
    assert as_restated(october)[str(lab.nlp)] == 0


def test_who_may_say_and_who_may_answer(lab):
    period = written(lab, book_of(lab), 10, *ITEMS)
    for who in ("bob", "grace", "dave", "erin"):
        with pytest.raises(access.Denied):
            said(lab, period, who=who)
    row = said(lab, period)
    with pytest.raises(disputes.NoSuchLine, match="already"):
        said(lab, period, who="frank")
    for who in ("alice", "frank", "erin", "grace"):
        with pytest.raises(access.Denied):
            disputes.reject(dispute=row, answer="no", actor=getattr(lab, who))
    with pytest.raises(disputes.NoSuchLine):
        disputes.amount_of(row.statement, "a100", "used")
