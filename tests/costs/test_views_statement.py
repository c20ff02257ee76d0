"""Statements as pages and files: what was written, and nothing else."""

import csv
import io
import re
from decimal import Decimal

import pytest

from costs.models import Period, Statement
from costs.selectors.periods import as_restated
from costs.services import periods
from portal.web.wording import MINUS
from tests.cast import MARK
from tests.costs import stored
from tests.costs.ledger_rows import ITEMS, book_of, closed, item, written
from tests.query_counts import counted
from tests.queues import pages

WEIGHTS = {"nlp": Decimal(60), "cv": Decimal(40)}


@pytest.fixture
def october(lab):
    return closed(lab, book_of(lab), 10, item("nlp", "100.10", "borrowed"), *ITEMS)


def url(period, kind="/"):
    return f"/t/nlp/statements/{period.pk}{kind}"


def show(client, lab, period, who="frank"):
    client.force_login(getattr(lab, who))
    return client.get(url(period))


def rows(client, period):
    answer = client.get(url(period, ".csv"))
    return answer, list(csv.DictReader(io.StringIO(answer.content.decode("utf-8-sig"))))


def test_its_lines_add_up_to_its_total(lab, october, client):
    said = stored.said(show(client, lab, october))
    statement = Statement.objects.get(period=october, tenant=lab.nlp)

    assert "Statement October 2026" in said
    assert "1 Oct 2026 00:00 to 1 Nov 2026 00:00 UTC" in said
    assert "Borrowed a100 1 2.50 100.10" in said
    assert "Committed a100 1 2.50 10,000.00" in said
    assert said.count("10,100.10") == 2
    assert statement.total == Decimal("10100.10")
    assert statement.sha256 in said
    assert "Not final" not in said


def test_the_file_has_the_same_lines(lab, october, client):
    client.force_login(lab.frank)
    answer, found = rows(client, october)

    assert sum(Decimal(each["amount"]) for each in found) == Decimal("10100.10")
    assert {each["period"] for each in found} == {"2026-10"}
    assert {(each["rate_per_h"], each["currency"]) for each in found} == {("2.5000000000", "USD")}
    assert 'filename="statement-nlp-main-chargeback-2026-10.csv"' in answer["Content-Disposition"]
    assert answer.content.startswith(b"\xef\xbb\xbf")


def test_what_can_still_change_says_so(lab, client):
    period = written(lab, book_of(lab), 10, *ITEMS)

    assert "Not final" in stored.said(show(client, lab, period))


def test_policy_and_prices_are_named(lab, october, client):
    said = stored.said(show(client, lab, october))

    assert "Tenants pay the quota that is committed to them." in said
    assert "Borrowed time costs 50.0 % of the rate." in said
    assert "main chargeback chargeback · version 1" in said


@pytest.fixture
def corrected(lab, october):
    november = written(lab, october.book, 11, *ITEMS)
    periods.correct(
        closed=october, period=november, amount=Decimal("-25.00"), weights=WEIGHTS,
        reason="=HYPERLINK(1) credit came late",
    )  # fmt: skip
    return november


def test_a_correction_points_to_its_month_and_back(lab, october, corrected, client):
    before = stored.said(show(client, lab, october))
    after = stored.said(show(client, lab, corrected))
    owed = as_restated(october)[str(lab.nlp)]

    assert "Booked later because of this month" in before
    assert "November 2026 =HYPERLINK(1) credit came late" in before
    assert f"As restated {owed:,.2f} USD" in before
    assert "Correction of October 2026: =HYPERLINK(1) credit came late" in after
    assert MINUS in after
    assert "As restated" not in after


def test_a_reason_is_no_formula(lab, corrected, client):
    client.force_login(lab.frank)
    _answer, found = rows(client, corrected)

    assert found[-1]["reason"] == "'=HYPERLINK(1) credit came late"
    assert found[-1]["corrects"] == "2026-10"
    assert Decimal(found[-1]["amount"]) < 0


def test_a_month_is_named_in_the_zone_of_its_bill(lab, client):
    period = periods.open_period(book=book_of(lab), year=2026, number=10, zone="Europe/Berlin")
    Statement.objects.create(
        period=period, tenant=lab.nlp, payer_name="NLP", total=0, sha256="0" * 64
    )
    said = stored.said(show(client, lab, period))

    assert "Statement October 2026" in said
    assert "1 Oct 2026 00:00 to 1 Nov 2026 00:00 Europe/Berlin" in said


@pytest.mark.parametrize("who", ["alice", "frank", "dave", "erin", "carol"])
def test_statements_are_found_from_the_costs(lab, october, client, who):
    client.force_login(getattr(lab, who))
    page = client.get("/t/nlp/costs/")

    assert f'href="{url(october)}"' in pages.text(page)
    assert "October 2026 main chargeback closed 10,100.10 USD" in re.sub(
        "Closed", "closed", stored.said(page)
    )


@pytest.mark.parametrize(("who", "code"), [("bob", 403), ("grace", 404), ("heidi", 404)])
def test_only_those_who_may_read_money(lab, october, client, who, code):
    client.force_login(getattr(lab, who))

    assert client.get(url(october)).status_code == code
    assert client.get(url(october, ".csv")).status_code == code
    if who == "bob":
        assert url(october) not in pages.text(client.get("/t/nlp/costs/"))


@pytest.mark.parametrize("kind", ["/", ".csv"])
def test_nothing_of_others(lab, october, corrected, client, kind):
    client.force_login(lab.frank)
    for period in (october, corrected):
        answer = client.get(url(period, kind))

        pages.nothing_of_others(answer)
        assert "6,666" not in pages.text(answer)
        assert MARK not in str(answer.headers)


def test_a_period_without_a_statement_of_the_tenant_is_none(lab, client):
    period = written(lab, book_of(lab), 10, item("cv", "5"))

    assert show(client, lab, period).status_code == 404


@pytest.mark.parametrize("number", [1, 20])
def test_queries_do_not_grow(lab, client, number):
    found = [item("nlp", "1", flavor=f"f{each}") for each in range(number)]
    october = closed(lab, book_of(lab), 10, *found)
    november = written(lab, october.book, 11, *ITEMS)
    for each in range(number):
        periods.correct(
            closed=october,
            period=november,
            amount=Decimal(-1),
            weights=WEIGHTS,
            reason=f"late {each}",
        )
    client.force_login(lab.frank)
    with counted("costs: statement"):
        client.get(url(october))
    with counted("costs: statement as a file"):
        client.get(url(november, ".csv"))
    assert Period.objects.count() == 2
