"""The API of costs: the numbers of the pages and files, the same rights, nothing of others."""

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

import pytest
import time_machine
from django.db.models import Sum

from costs.facts import Quality
from costs.models import Discrepancy, PriceBook, TenantHour
from costs.rates import Basis, PriceKey
from costs.services import periods, prices
from costs.times import HOUR
from costs.used import Use
from tests.cast import MARK
from tests.costs import stored
from tests.costs.ledger_rows import ITEMS, OCTOBER, bill_of, book_of, closed, written
from tests.query_counts import counted
from tests.queues.api import ROOT, ask, described, nothing_of_others

MONTHS = "tenants/{slug}/costs/months/"
DAYS = "tenants/{slug}/costs/days/"
HOURS = "tenants/{slug}/costs/hours/"
AMOUNTS = "tenants/{slug}/costs/amounts/{month}/{cluster}/{flavor}/{resource}/"
STATEMENTS = "tenants/{slug}/statements/"
STATEMENT = "tenants/{slug}/statements/{month}/{book}/"
POOL_MONTHS = "clusters/{cluster}/costs/months/"
POOL_MONTH = "clusters/{cluster}/costs/months/{month}/{flavor}/{resource}/"
PERIOD = "periods/{month}/{book}/"
POOL = "lab/a100/nvidia.com/gpu"
QUANTITIES = ("committed", "held", "own", "borrowed", "lent", "admitted", "running")


@pytest.fixture(autouse=True)
def on_the_third(lab):
    with time_machine.travel(datetime(2026, 11, 3, 15, 30, tzinfo=UTC), tick=False):
        yield


def hour(day, of, **gpus):
    return stored.fact(stored.at(day, of), "nlp", **gpus)


@pytest.fixture
def three_days(lab):
    """A whole day, one with two hours that nobody watched, one of which nobody knows anything."""
    first = [hour(1, of, committed=16, own=12, lent=2, running=12) for of in range(24)]
    second = [
        hour(2, of, committed=16, own=16, borrowed=4, running=20,
             quality=Quality.MISSING if of > 21 else Quality.PARTIAL if of else Quality.ESTIMATED)
        for of in range(24)
    ]  # fmt: skip
    third = [hour(3, of, committed=16, own=9, quality=Quality.MISSING) for of in range(3)]
    theirs = [stored.fact(each.hour, "cv", committed=8, own=5) for each in first]
    stored.store(lab.cluster, *first, *second, *third, *theirs)
    return lab


def known():
    return TenantHour.objects.filter(tenant__slug="nlp").exclude(quality="missing")


def test_a_month_is_the_sum_of_the_hours_that_somebody_watched(three_days, client):
    client.force_login(three_days.bob)
    (month,) = ask(client, "tenants/nlp/costs/months/", MONTHS)["items"]
    sums = known().aggregate(**{name: Sum(name) for name in QUANTITIES})

    assert {name: month[f"{name}_resource_seconds"] for name in QUANTITIES} == sums
    assert month["idle_resource_seconds"] == 24 * 2 * HOUR
    assert (month["month"], month["quality"], month["hours_in_all"]) == ("2026-11", "partial", 720)
    assert (month["hours_counted"], month["hours_unwatched"]) == (46, 5)
    assert (month["hours_estimated"], month["hours_partial"]) == (1, 21)
    assert month["coverage_seconds"] == known().aggregate(sum=Sum("coverage"))["sum"]
    assert month["used_resource_milliseconds"] is None
    assert month["amounts_url"] is None


def test_what_nobody_watched_is_null_and_never_0(three_days, client):
    client.force_login(three_days.alice)
    days = ask(client, "tenants/nlp/costs/days/", DAYS, sort="oldest")["items"]
    (last, *_) = ask(client, "tenants/nlp/costs/hours/", HOURS, size=1)["items"]

    assert [each["day"] for each in days] == ["2026-11-01", "2026-11-02", "2026-11-03"]
    assert [each["held_resource_seconds"] for each in days] == [
        24 * 12 * HOUR,
        22 * 20 * HOUR,
        None,
    ]
    assert (days[2]["hours_counted"], days[2]["quality"]) == (0, "missing")
    assert (last["hour"], last["quality"]) == ("2026-11-03T02:00:00Z", "missing")
    assert {value for name, value in last.items() if "_resource_" in name} == {None}


def test_what_ran_is_null_where_nobody_watched_pods(lab, client):
    stored.store(lab.cluster, replace(hour(1, 0, committed=2, own=2), pods=0))
    client.force_login(lab.bob)
    (found,) = ask(client, "tenants/nlp/costs/hours/", HOURS)["items"]

    assert (found["running_resource_seconds"], found["held_resource_seconds"]) == (None, 2 * HOUR)
    assert found["pods_coverage_seconds"] == 0


def test_pages_by_key_give_every_hour_once(three_days, client):
    client.force_login(three_days.frank)
    found, url = [], f"{ROOT}tenants/nlp/costs/hours/?size=20"
    while url:
        body = described(client.get(url), HOURS)
        found += [each["hour"] for each in body["items"]]
        url = body["next"]

    assert len(found) == len(set(found)) == 51
    assert found == sorted(found, reverse=True)


def test_hours_of_a_time_and_a_pool(three_days, client):
    client.force_login(three_days.frank)
    found = ask(
        client, "tenants/nlp/costs/hours/", HOURS, since="2026-11-01T05:00:00Z",
        until="2026-11-01T08:00:00Z", flavor="a100", cluster="lab",
    )  # fmt: skip
    none = ask(client, "tenants/nlp/costs/days/", DAYS, month="2026-10")

    assert [each["hour"][11:13] for each in found["items"]] == ["07", "06", "05"]
    assert none["items"] == []


@pytest.mark.parametrize("query", ["month=2026-13", "month=nonsense", "month=%00", "pool=lab"])
def test_a_month_that_cannot_be_is_refused(three_days, client, query):
    client.force_login(three_days.frank)
    answer = client.get(f"{ROOT}tenants/nlp/costs/months/?{query}")

    assert (answer.status_code, answer.json()["code"]) == (400, "GP-1421")


def test_nothing_is_read_until_hours_are_counted_again(three_days, client):
    client.force_login(three_days.alice)
    first = client.get(f"{ROOT}tenants/nlp/costs/months/")
    tag = {"If-None-Match": first["ETag"]}
    with counted("costs: tenant's months, API, unchanged"):
        assert client.get(f"{ROOT}tenants/nlp/costs/months/", headers=tag).status_code == 304
    stored.store(three_days.cluster, hour(1, 0, committed=16, own=11))

    again = client.get(f"{ROOT}tenants/nlp/costs/months/", headers=tag)
    assert again.status_code == 200
    assert again.json()["items"] != first.json()["items"]


def test_what_is_measured_comes_in_thousandths_with_what_there_was_to_see(lab, client):
    use = Use(used=1_234_567, seen=3_600, expected=7_200)
    stored.store(lab.cluster, hour(1, 0, committed=2, own=2, running=2, use=use))
    client.force_login(lab.bob)
    (month,) = ask(client, "tenants/nlp/costs/months/", MONTHS)["items"]

    assert month["used_resource_milliseconds"] == 1_234_567
    assert (month["seen_resource_seconds"], month["expected_resource_seconds"]) == (3_600, 7_200)


# --- money ----------------------------------------------------------------------------------------


@pytest.fixture
def billed(three_days):
    """Prices from October on, and October closed with a correction in November."""
    lab = three_days
    book = book_of(lab)
    october = closed(lab, book, 10, *ITEMS)
    november = written(lab, book, 11, *ITEMS[:1])
    periods.correct(
        closed=october, period=november, amount=Decimal("-250.00"), reason="late credit",
        weights={"nlp": Decimal(60), "cv": Decimal(40)},
    )  # fmt: skip
    Discrepancy.objects.create(
        period=november,
        code="orphan_node",
        subject="i-1",
        difference="12.5",
        whole="100",
        blocks=False,
    )
    return lab


def test_amounts_are_text_and_add_up(billed, client):
    book = PriceBook.objects.get()
    version = prices.draft(book=book, actor=billed.carol)
    prices.set_price(
        version=version, key=PriceKey("a100", Basis.BORROWED), starts=OCTOBER, rate=Decimal("1.25")
    )
    prices.set_price(
        version=version,
        key=PriceKey("a100", Basis.LENT_CREDIT),
        starts=OCTOBER,
        rate=Decimal("1.25"),
    )
    prices.activate(version=version, actor=billed.dave)
    client.force_login(billed.frank)
    url = f"tenants/nlp/costs/amounts/2026-11/{POOL}/"
    body = ask(client, url, AMOUNTS)
    (found,) = body["books"]
    lines = {each["basis"]: each for each in found["lines"]}

    # November's statements are written, so they keep the version that they were priced by.
    assert found["version"] == 1
    assert lines["committed"]["amount"] == "1840.00"
    assert lines["committed"]["rates"] == ["2.5"]
    assert lines["committed"]["resource_milliseconds"] == 46 * 16 * HOUR * 1000
    assert lines["borrowed"]["unpriced_resource_milliseconds"] == 22 * 4 * HOUR * 1000
    assert (found["due"], found["currency"]) == (None, "USD")
    assert body["hours_counted"] == 46


def test_months_lead_to_their_amounts(billed, client):
    client.force_login(billed.alice)
    (month,) = ask(client, "tenants/nlp/costs/months/", MONTHS)["items"]

    assert month["amounts_url"] == f"{ROOT}tenants/nlp/costs/amounts/2026-11/{POOL}/"
    assert client.get(month["amounts_url"]).status_code == 200
    gone = month["amounts_url"].replace("a100", "h100")
    assert client.get(gone).status_code == 404


def test_statements_as_billed_and_as_restated(billed, client):
    client.force_login(billed.frank)
    items = ask(client, "tenants/nlp/statements/", STATEMENTS)["items"]
    october = client.get(items[1]["url"])
    body = described(october, STATEMENT)

    assert [(each["month"], each["state"], each["total"]) for each in items] == [
        ("2026-11", "open", "9850.00"), ("2026-10", "closed", "10000.00"),
    ]  # fmt: skip
    assert [each["amount"] for each in body["lines"]] == ["10000.00"]
    assert [(each["booked_in"], each["amount"]) for each in body["booked_later"]] == [
        ("2026-11", "-150.00")
    ]
    assert body["restated_total"] == "9850.00"
    assert body["lines"][0]["resource_hours"] == "1.000000"


@pytest.mark.parametrize("path", [f"costs/amounts/2026-11/{POOL}/", "statements/"])
def test_who_may_not_see_money_is_told_so(billed, client, path):
    client.force_login(billed.bob)
    answer = client.get(f"{ROOT}tenants/nlp/{path}")

    assert (answer.status_code, answer.json()["status"]) == (403, 403)


OWN = [
    "costs/months/", "costs/days/", "costs/hours/", f"costs/amounts/2026-11/{POOL}/", "statements/",
    "statements/2026-10/main chargeback/",
]  # fmt: skip


@pytest.mark.parametrize("path", OWN)
@pytest.mark.parametrize("who", ["alice", "frank"])
def test_nothing_of_others_is_in_any_answer(billed, client, who, path):
    client.force_login(getattr(billed, who))
    mine, theirs = (client.get(f"{ROOT}tenants/{slug}/{path}") for slug in ("nlp", "cv"))

    assert (mine.status_code, theirs.status_code) == (200, 404)
    nothing_of_others(mine)
    nothing_of_others(theirs)


# --- the platform ---------------------------------------------------------------------------------


def test_a_pools_rows_are_its_whole(billed, client):
    client.force_login(billed.carol)
    (item,) = ask(client, "clusters/lab/costs/months/", POOL_MONTHS)["items"]
    body = described(client.get(item["url"]), POOL_MONTH)
    fall = body["waterfall"]

    assert (item["hours_counted"], item["hours_unwatched"]) == (46, 5)
    assert item["ready_resource_seconds"] == body["ready_resource_seconds"] == 46 * 32 * HOUR
    assert (
        sum(each["resource_milliseconds"] for each in fall["rows"])
        == (fall["whole_resource_milliseconds"])
    )
    assert {each["tenant"] for each in body["tenants"]} == {"nlp", "cv"}


def test_periods_payers_findings_and_bills(billed, client):
    client.force_login(billed.erin)
    october, november = ask(client, "periods/", "periods/", sort="oldest")["items"]
    body = described(client.get(october["url"]), PERIOD)
    found = ask(
        client, "periods/2026-11/discrepancies/main chargeback/",
        "periods/{month}/discrepancies/{book}/", show="open",
    )  # fmt: skip
    bills = ask(client, "bills/", "bills/", state="active")["items"]
    problems = ask(
        client, bills[0]["problems_url"].removeprefix(ROOT),
        "bills/{digest}/problems/{source}/",
    )  # fmt: skip

    assert (october["state"], october["closed_by"], october["bill_total"]) == (
        "closed", "dave", "16666.68",
    )  # fmt: skip
    assert (november["state"], november["price_version"]) == ("open", 1)
    assert [(each["payer"], each["billed"], each["restated"]) for each in body["payers"]] == [
        ("*idle", "0.01", "0.01"), ("Language", "10000.00", "9850.00"),
        (f"Vision {MARK}", "6666.67", "6566.67"),
    ]  # fmt: skip
    assert [each["subject"] for each in found["items"]] == ["i-1"]
    assert [each["source"] for each in bills] == ["USD", "USD"]
    assert problems["items"] == []


def test_a_refused_file_says_what_is_wrong(lab, client):
    bill_of(10, "1.00")
    refused = bill_of(10, "nonsense")
    client.force_login(lab.dave)
    (item,) = ask(client, "bills/", "bills/", state="refused")["items"]
    problems = described(client.get(item["problems_url"]), "bills/{digest}/problems/{source}/")

    assert (item["sha256"], item["errors"]) == (refused.sha256, 2)
    assert {(each["row"], each["error"]) for each in problems["items"]} == {(1, True)}


# --- queries --------------------------------------------------------------------------------------

ASKED = {
    "tenant's months": ("frank", "tenants/nlp/costs/months/"),
    "tenant's hours": ("frank", "tenants/nlp/costs/hours/"),
    "tenant's amounts": ("frank", f"tenants/nlp/costs/amounts/2026-11/{POOL}/"),
    "tenant's statements": ("frank", "tenants/nlp/statements/"),
    "tenant's statement": ("frank", "tenants/nlp/statements/2026-10/main chargeback/"),
    "pools' months": ("carol", "clusters/lab/costs/months/"),
    "a pool's month": ("carol", "clusters/lab/costs/months/2026-11/a100/nvidia.com/gpu/"),
    "periods": ("carol", "periods/"),
    "a period": ("carol", "periods/2026-10/main chargeback/"),
    "bills": ("carol", "bills/"),
}


@pytest.mark.parametrize("name", ASKED)
def test_an_answer_asks_the_agreed_number_of_times(billed, client, name):
    who, url = ASKED[name]
    client.force_login(getattr(billed, who))
    with counted(f"costs: {name}, API"):
        assert client.get(f"{ROOT}{url}").status_code == 200
