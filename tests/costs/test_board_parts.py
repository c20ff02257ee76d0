"""What a month was billed for: pools by name, and what belongs to none, down to the whole bill."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest
import time_machine

from costs.policy import Bucket, Policy, Spread
from costs.selectors.home import parts
from costs.services import closing, periods, reconcile
from tests.costs import stored
from tests.costs.ledger_rows import book_of, closed, item
from tests.costs.test_bill_hours import november, row
from tests.costs.test_reconcile import AFTER
from tests.costs.test_views_months import ask

pytestmark = pytest.mark.django_db
UNUSED = row("36.00", CommitmentDiscountStatus="Unused", CommitmentDiscountId="c1")
BOARD = "/costs/periods/{}/"


@pytest.fixture(autouse=True)
def in_december():
    with time_machine.travel(datetime(2026, 12, 2, 9, 30, tzinfo=UTC), tick=False):
        yield


@pytest.mark.parametrize("rule", [Spread.PLATFORM, Spread.COST, Spread.EVEN])
def test_pools_and_what_is_in_none_are_the_whole_bill_whoever_pays(lab, client, rule):
    period, _bill = november(lab, row("96.00"), UNUSED, policy=Policy(unused=rule))
    reconcile.run(period=period, now=AFTER)
    period.refresh_from_db()

    found = [tuple(each) for each in parts(period)]
    assert found == [("a100", "", Decimal(96)), ("", "unused", Decimal(36))]
    assert sum(each[2] for each in found) == period.bill_total
    said = stored.said(ask(client, lab, "dave", BOARD.format(period.pk)))
    assert "What it was billed for a100 96.00 Unused commitments, in no pool 36.00" in said


def test_a_bill_of_one_pool_is_not_taken_apart(lab, client):
    period, _bill = november(lab, row("96.00"))
    reconcile.run(period=period, now=AFTER)

    said = stored.said(ask(client, lab, "dave", BOARD.format(period.pk)))
    assert "= Bill USD 96.00" in said
    assert "What it was billed for" not in said


def test_a_refund_has_its_parts_in_the_bar(lab, client):
    book = book_of(lab)
    october = closed(lab, book, 10, item("nlp", "75.00"), item(Bucket.IDLE.value, "25.00"))
    later = periods.open_period(book=book, year=2026, number=11)
    closing.correct(
        closed=october, period=later, amount=Decimal("-10.00"), reason="refund", actor=lab.carol
    )
    tied = ask(client, lab, "dave", BOARD.format(later.pk))
    assert parts(later) == []
    # 7.50 of the 10.00 go back to tenants.
    assert 'class="w-used" x="0" y="0" width="75.00%"' in tied.content.decode()
