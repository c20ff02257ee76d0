"""A month that is being closed and a writer of its hours: one waits for the other, none slips in."""

from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as StillWaiting

import pytest
from django.db import DatabaseError, connection, transaction

from costs.ledger import ledger
from costs.models import TenantHour
from costs.services import closing, facts
from costs.times import HOUR, Span, instant
from tests.costs.ledger_rows import ITEMS, OCTOBER, book_of, reviewed, written
from tests.costs.make import grant, hold, records

pytestmark = pytest.mark.django_db(transaction=True)
BEGIN = instant(OCTOBER)
SPAN = Span(BEGIN, BEGIN + HOUR)
PATIENCE = 1.0  # seconds


def count(lab):
    """Store an hour of October."""
    known = records([hold("00:00", "01:00", 4)._replace(queue="q", span=SPAN)], q=grant(8))
    known.owners["q"].values[:] = ["nlp"]
    return facts.store(cluster=lab.cluster, span=SPAN, found=ledger(known, SPAN))


def aside(pool: ThreadPoolExecutor, call) -> Future:
    """Start a call on a connection of its own."""

    def run():
        try:
            return call()
        finally:
            connection.close()

    return pool.submit(run)


@pytest.fixture
def october(committed_lab):
    """Give a month that only has to be closed."""
    book = book_of(committed_lab)
    return reviewed(committed_lab, written(committed_lab, book, 10, *ITEMS))


def test_closing_waits_for_who_writes_hours_of_the_month(committed_lab, october):
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            count(committed_lab)
            ending = aside(pool, lambda: closing.close(period=october, actor=committed_lab.dave))
            with pytest.raises(StillWaiting):
                ending.result(PATIENCE)
        assert ending.result(30).state == "closed"
    assert TenantHour.objects.count() == 1


def test_who_comes_while_a_month_is_being_closed_is_refused(committed_lab, october):
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            closing.close(period=october, actor=committed_lab.dave)
            counting = aside(pool, lambda: count(committed_lab))
            with pytest.raises(StillWaiting):
                counting.result(PATIENCE)
        with pytest.raises(DatabaseError, match="closed"):
            counting.result(30)
    assert TenantHour.objects.count() == 0
