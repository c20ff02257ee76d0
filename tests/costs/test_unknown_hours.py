"""Missing and partly observed hours: one meaning on all pages, named, and in every number or beside it."""

import csv
import io
import json
from datetime import UTC, datetime
from decimal import Decimal

import pytest
import time_machine

from costs.facts import Quality
from costs.models import StatementLine
from costs.selectors.months import Month
from costs.selectors.pool_month import pool_month
from costs.selectors.unknown_hours import Unknown, runs
from costs.services import closing, findings, periods, reconcile
from costs.times import HOUR, Span, instant
from costs.views.unknown import clocks
from costs.waterfall import Row
from tests.costs import stored
from tests.costs.ledger_rows import bill_of, book_of
from tests.costs.make import A100
from tests.costs.test_reconcile import w16
from tests.costs.test_views_months import ask

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 12, 2, 9, 30, tzinfo=UTC)


@pytest.fixture(autouse=True)
def in_december():
    with time_machine.travel(NOW, tick=False):
        yield


@pytest.fixture
def month(lab):
    """Four hours at the end of November: the second partly observed, the third missing."""
    book = book_of(lab, "showback")
    for hour in (20, 23):
        stored.store(lab.cluster, *w16(stored.at(30, hour)))
    for hour, quality in ((21, Quality.PARTIAL), (22, Quality.MISSING)):
        when = stored.at(30, hour)
        one = stored.fact(when, "nlp", quality=quality, committed=16, own=9, running=9)
        other = stored.fact(when, "cv", quality=quality, committed=8, own=8, running=8)
        stored.store(lab.cluster, one, other)
    bill_of(11, "384.00")
    period = periods.open_period(book=book, year=2026, number=11)
    reconcile.run(period=period)
    period.refresh_from_db()
    return period


def close(lab, period):
    for each in period.discrepancies.filter(blocks=True):
        findings.resolve(finding=each, actor=lab.dave, reason="agreed")
    closing.review(period=period, actor=lab.carol)
    return closing.close(period=period, actor=lab.dave)


def table(answer):
    return list(csv.DictReader(io.StringIO(answer.content.decode("utf-8-sig"))))


def test_hours_that_follow_each_other_and_are_known_alike_are_one():
    found = runs({0: 0, HOUR: 0, 2 * HOUR: 900, 5 * HOUR: 0})

    assert found == [
        Unknown(Span(0, 2 * HOUR), 0), Unknown(Span(2 * HOUR, 3 * HOUR), 900),
        Unknown(Span(5 * HOUR, 6 * HOUR), 0),
    ]  # fmt: skip
    assert [each.hours for each in found] == [2, 1, 1]


def test_hours_are_named_together_and_many_are_counted():
    day = instant(datetime(2026, 11, 3, tzinfo=UTC))

    assert clocks([day + 4 * HOUR, day + 5 * HOUR, day + 9 * HOUR]) == (
        "3 Nov 04:00 to 06:00, 3 Nov 09:00 to 10:00"
    )
    assert clocks([day + 2 * n * HOUR for n in range(8)]).endswith(", and 2 times more")
    assert clocks([]) == ""


def test_a_statement_is_what_was_watched_and_the_estimate_of_what_was_not(lab, month, client):
    line = StatementLine.objects.get(statement__tenant=lab.nlp, basis="committed")
    assert (line.quantity, line.unwatched, line.amount) == (64, 16, Decimal("192.00"))
    url = f"/t/nlp/statements/{month.pk}/"
    said = stored.said(ask(client, lab, "alice", url))
    assert "64 of it 16 in missing hours" in said
    assert "30 Nov 21:00 to 22:00 UTC partly observed, 30 of 60 minutes seen" in said
    assert "30 Nov 22:00 to 23:00 UTC 1 hour missing" in said

    page = stored.said(ask(client, lab, "alice", "/t/nlp/costs/?month=2026-11"))
    assert "Committed 48.0 16.0 64.0" in page
    assert "Held 45.0 9.0 54.0" in page
    assert "30 Nov 22:00 to 23:00 1 hour missing" in page
    days = table(client.get("/t/nlp/costs.csv?month=2026-11"))
    watched = sum(Decimal(each["committed_h"] or 0) for each in days)
    missing = sum(Decimal(each["missing_committed_s"] or 0) for each in days)
    assert (watched, missing) == (48, 16 * HOUR)


def test_the_file_and_the_api_of_a_statement_say_how_much_was_not_watched(lab, month, client):
    lines = table(ask(client, lab, "alice", f"/t/nlp/statements/{month.pk}.csv"))
    (row,) = [each for each in lines if each["basis"] == "committed"]
    assert (row["quantity_h"], row["unwatched_h"]) == ("64.000000", "16.000000")
    answer = client.get(f"/api/v1/tenants/nlp/statements/2026-11/{month.book.name}/")
    (found,) = [
        each for each in json.loads(answer.content)["lines"] if each["basis"] == "committed"
    ]
    assert (found["resource_hours"], found["unwatched_resource_hours"]) == (
        "64.000000",
        "16.000000",
    )


def test_everybody_counts_the_same_missing_and_partly_observed_hours(lab, month, client):
    run = month.runs.get()
    assert (run.missing, run.partial) == (1, 1)
    home = stored.said(ask(client, lab, "erin", "/costs/"))
    assert "1 and 1 partly observed" in home
    assert "1 hour missing · 1 partly observed" in home
    gap = "Missing: 1, partly observed: 1."
    assert gap in stored.said(client.get(f"/costs/periods/{month.pk}/"))
    close_page = stored.said(ask(client, lab, "dave", f"/costs/periods/{month.pk}/close/"))
    assert "4 pool hours counted; missing: 1, partly observed: 1" in close_page
    assert gap in close_page
    pool = stored.said(client.get("/clusters/lab/costs/?month=2026-11"))
    assert "3 hours counted" in pool
    assert "1 hour is partly observed" in pool
    assert "30 Nov 21:00 to 22:00 partly observed, 30 of 60 minutes seen" in pool
    assert "30 Nov 22:00 to 23:00 1 hour missing" in pool


def test_a_waterfall_begins_with_all_devices_and_has_a_row_for_what_nobody_watched(lab, month):
    found = pool_month(lab.cluster.pk, Month(2026, 11), A100, instant(NOW))

    assert (found.fall.whole, found.fall.rows[Row.UNWATCHED]) == (128 * HOUR, 32 * HOUR)
    assert sum(found.fall.rows.values()) == found.fall.whole
    assert (found.total.committed, found.guess.sums.committed) == (72 * HOUR, 24 * HOUR)
    lines = StatementLine.objects.filter(basis="committed").values_list("quantity", flat=True)
    assert sum(lines) * HOUR == found.total.committed + found.guess.sums.committed


def test_what_was_not_settled_at_the_close_is_kept_and_not_open(lab, month, client):
    close(lab, month)
    left = month.discrepancies.filter(resolved_at=None)
    assert left.count() > 0
    said = stored.said(ask(client, lab, "erin", f"/costs/periods/{month.pk}/"))
    assert f"as the month was closed: {left.count()} did not block it and stay" in said
    assert "kept at the close" in said
    assert " open " not in said.split("Findings")[1].split("Statements")[0]
    one = stored.said(client.get(f"/costs/findings/{left[0].pk}/"))
    assert "with this finding, which did not keep it open. It stays as it was then." in one
    assert "What to do:" not in one
    states = {each["state"] for each in table(client.get(f"/costs/periods/{month.pk}.csv"))}
    assert states == {"settled", "frozen"}
    answer = client.get(f"/api/v1/periods/2026-11/discrepancies/{month.book.name}/")
    assert {each["state"] for each in json.loads(answer.content)["items"]} == states
    assert f"{left.count()} kept" in stored.said(client.get("/costs/"))


def test_an_open_month_that_has_a_correction_alone_says_that_it_is_open(lab, month, client):
    close(lab, month)
    december = periods.open_period(book=month.book, year=2026, number=12)
    closing.correct(
        closed=month, period=december, amount=Decimal("-10.00"), reason="refund", actor=lab.carol
    )
    board = stored.said(ask(client, lab, "erin", f"/costs/periods/{december.pk}/"))
    assert "Every cent of the bill is in one place." not in board
    assert "= Corrections USD \u221210.00" in board
    assert "The month is open, and its own bill is not divided yet." in board
    assert "USD has no bill of this month yet, and the month before had one." in board
    home = stored.said(client.get("/costs/"))
    assert "corrections alone; its bill is not divided yet" in home
    said = stored.said(ask(client, lab, "alice", f"/t/nlp/statements/{december.pk}/"))
    assert "so far only corrections of earlier months are on this statement" in said
