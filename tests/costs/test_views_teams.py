"""A pool by tenant: the parts are the whole, in hours and in money, on every basis."""

import csv
import io
from datetime import UTC, datetime
from decimal import Decimal

import pytest
import time_machine

from costs.facts import Quality
from costs.models import PriceBook
from costs.rates import Basis, PriceKey
from costs.services import prices
from costs.times import HOUR
from costs.used import Use
from portal.web.wording import DASH
from tenants.models import Tenant
from tests.costs import stored
from tests.costs.ledger_rows import OCTOBER
from tests.query_counts import counted
from tests.queues import pages

URL = "/clusters/lab/costs/teams/"
CSV = "/clusters/lab/costs/teams.csv"
NOVEMBER = {"month": "2026-11"}


@pytest.fixture(autouse=True)
def on_the_third(lab):
    with time_machine.travel(datetime(2026, 11, 3, 15, 30, tzinfo=UTC), tick=False):
        yield


@pytest.fixture
def two_days(lab):
    found = [
        stored.fact(stored.at(day, of), slug, committed=committed, own=own, borrowed=borrowed)
        for day in (1, 2)
        for of in range(24)
        for slug, committed, own, borrowed in (("nlp", 16, 12, 0), ("cv", 8, 8, 2))
    ]
    stored.store(lab.cluster, *found)
    return lab


@pytest.fixture
def carol(lab, client):
    client.force_login(lab.carol)
    return client


def rows(client, **query):
    answer = client.get(CSV, NOVEMBER | query)
    assert answer.status_code == 200
    return list(csv.DictReader(io.StringIO(answer.content.decode("utf-8-sig"))))


def price(lab, *rates):
    book = PriceBook.objects.create(name="main", purpose="showback", currency="USD")
    version = prices.draft(book=book, actor=lab.carol)
    for starts, rate in rates:
        prices.set_price(
            version=version, key=PriceKey("a100", Basis.ADMITTED), starts=starts,
            rate=None if rate is None else Decimal(rate),
        )  # fmt: skip
    prices.activate(version=version, actor=lab.dave)


@pytest.mark.parametrize(
    ("basis", "nlp", "cv"),
    [("committed", 384, 192), ("held", 288, 240), ("borrowed", None, 48), ("idle", 96, None)],
)
def test_each_basis_is_the_sum_of_its_hours(two_days, carol, basis, nlp, cv):
    found = {(row["day"], row["tenant"]): row["amount"] for row in rows(carol, basis=basis)}

    expected = {"nlp": nlp, "cv": cv}
    assert found == {
        (f"2026-11-0{day}", slug): f"{hours}.000000"
        for day in (1, 2) for slug, hours in expected.items() if hours
    }  # fmt: skip


def test_the_page_adds_up_to_the_whole(two_days, carol):
    said = stored.said(carol.get(URL, NOVEMBER))

    assert "Language 576.0 54.5 %" in said
    assert "480.0 45.5 %" in said
    assert "All 1,056.0" in said


def test_money_changes_with_the_price_at_its_hour(two_days, carol):
    price(two_days, (OCTOBER, "2"), (datetime(2026, 11, 1, 6, tzinfo=UTC), "3"))
    found = {
        (row["day"], row["tenant"]): row["amount"]
        for row in rows(carol, basis="admitted", book="main")
    }

    assert found["2026-11-01", "nlp"] == f"{12 * (6 * 2 + 18 * 3)}.000000"
    assert found["2026-11-02", "cv"] == f"{10 * 24 * 3}.000000"


def test_what_has_no_price_is_a_gap_and_no_0(two_days, carol):
    price(two_days, (OCTOBER, "2"), (datetime(2026, 11, 2, tzinfo=UTC), None))
    page = carol.get(URL, NOVEMBER | {"basis": "admitted", "book": "main"})

    assert "2 Nov" in stored.said(page)
    assert "not known in part" in stored.said(page)
    assert {row["day"] for row in rows(carol, basis="admitted", book="main")} == {"2026-11-01"}


def test_hours_that_nobody_watched_are_marked(two_days, carol):
    stored.store(
        two_days.cluster, stored.fact(stored.at(2, 5), "nlp", own=9, quality=Quality.MISSING)
    )
    page = carol.get(URL, NOVEMBER)

    assert "1 hours missing" in stored.said(page)
    assert pages.text(page).count('class="d-gap"') == 1


def test_used_time_that_was_not_seen_is_not_known(lab, carol):
    stored.store(
        lab.cluster,
        stored.fact(
            stored.at(1), "nlp", own=4, running=4, use=Use(2000 * HOUR, 4 * HOUR, 4 * HOUR)
        ),
        stored.fact(stored.at(1), "cv", own=4, running=4),
    )

    assert [(row["tenant"], row["amount"]) for row in rows(carol, basis="used")] == [
        ("nlp", "2.000000")
    ]
    assert "not known in part" in stored.said(carol.get(URL, NOVEMBER | {"basis": "used"}))


def test_more_than_ten_tenants_are_nine_and_the_others(lab, carol):
    slugs = [f"team-{n:02}" for n in range(12)]
    Tenant.objects.bulk_create(Tenant(slug=slug, display_name=slug.title()) for slug in slugs)
    stored.store(
        lab.cluster, *[stored.fact(stored.at(1), slug, own=n + 1) for n, slug in enumerate(slugs)]
    )
    said = stored.said(carol.get(URL, NOVEMBER))
    found = rows(carol)

    assert "3 others 6.0" in said
    assert [row["tenant"] for row in found][:2] == ["team-11", "team-10"]
    assert sum(Decimal(row["amount"]) for row in found) == 78
    assert (found[-1]["tenant"], found[-1]["amount"]) == ("*others", "6.000000")


def test_held_time_has_no_price_to_choose(two_days, carol):
    price(two_days, (OCTOBER, "2"))

    assert "USD" not in stored.said(carol.get(URL, NOVEMBER | {"basis": "held", "book": "main"}))
    assert "USD" in stored.said(carol.get(URL, NOVEMBER | {"basis": "admitted"}))


@pytest.mark.parametrize(
    "query", [{"basis": "x"}, {"book": "none"}, {"month": "x"}, {"basis": "held", "book": "main"}]
)
def test_a_file_is_of_what_was_asked_for_or_there_is_none(two_days, carol, query):
    price(two_days, (OCTOBER, "2"))

    assert carol.get(CSV, NOVEMBER | query).status_code == 404


def test_an_empty_month_says_so(lab, carol):
    assert "No hours in this month" in stored.said(carol.get(URL))
    assert DASH not in [row["amount"] for row in rows(carol)]


def test_queries_do_not_grow_with_tenants(two_days, carol):
    carol.get(URL, NOVEMBER)
    with counted("costs: a pool by tenant"):
        carol.get(URL, NOVEMBER)
