"""A tenant's month: its numbers are the sums of rows, and what is not known is no 0."""

import csv
import io
from datetime import UTC, datetime
from decimal import Decimal

import pytest
import time_machine
from django.db.models import Sum

from costs.facts import Pool, Quality
from costs.models import Period, PriceBook, TenantHour
from costs.policy import Base, Policy
from costs.rates import Basis, PriceKey
from costs.services import periods, prices
from costs.times import HOUR
from costs.used import Use
from portal.web.wording import DASH, MINUS
from tenants.models import Cluster
from tests.cast import MARK
from tests.costs import stored
from tests.costs.ledger_rows import KEY, OCTOBER, book_of, item, written
from tests.query_counts import counted
from tests.queues import pages

URL = "/t/nlp/costs/"
CSV = "/t/nlp/costs.csv"
NOVEMBER = {"month": "2026-11"}
MORNING = datetime(2026, 11, 1, tzinfo=UTC)
H100 = Pool("h100", "nvidia.com/gpu")


@pytest.fixture(autouse=True)
def on_the_third(lab):
    """Let it be the third of November, half past three in the afternoon."""
    with time_machine.travel(datetime(2026, 11, 3, 15, 30, tzinfo=UTC), tick=False):
        yield


def hour(day, of, **gpus):
    return stored.fact(stored.at(day, of), "nlp", **gpus)


@pytest.fixture
def two_days(lab):
    """One whole day; a second one of which two hours are missing; of the third two hours."""
    first = [hour(1, of, committed=16, own=12, lent=2, running=12) for of in range(24)]
    second = [hour(2, of, committed=16, own=16, borrowed=4, running=20) for of in range(22)]
    third = [hour(3, of, committed=16, own=8, quality=Quality.PARTIAL) for of in range(2)]
    theirs = [stored.fact(each.hour, "cv", committed=8, own=5) for each in first]
    stored.store(lab.cluster, *first, *second, *third, *theirs)
    return lab


def rows(client, **query):
    answer = client.get(CSV, NOVEMBER | query)
    assert answer.status_code == 200
    return list(csv.DictReader(io.StringIO(answer.content.decode("utf-8-sig"))))


def test_the_months_sums_are_those_of_its_rows(two_days, client):
    client.force_login(two_days.alice)
    said = stored.said(client.get(URL, NOVEMBER))
    columns = ("committed", "held", "own", "borrowed", "lent")
    mine = TenantHour.objects.filter(tenant=two_days.nlp)
    sums = mine.aggregate(**{each: Sum(each) for each in columns})

    assert {key: number / HOUR for key, number in sums.items()} == {
        "committed": 768, "held": 744, "own": 656, "borrowed": 88, "lent": 48,
    }  # fmt: skip
    for text in ("Committed 768.0", "Held 744.0", "Own 656.0", "Borrowed 88.0", "Lent out 48.0"):
        assert text in said
    assert "Idle 64.0" in said
    assert "Counted up to 3 Nov 02:00 UTC" in said


def test_every_day_stands_in_the_file_as_on_the_page(two_days, client):
    client.force_login(two_days.alice)
    found = rows(client)
    page = stored.said(client.get(URL, NOVEMBER))

    assert [each["day"] for each in found] == ["2026-11-01", "2026-11-02", "2026-11-03"]
    assert [each["own_s"] for each in found] == [str(n * HOUR) for n in (288, 352, 16)]
    assert [each["idle_h"] for each in found] == ["48.000000", "0.000000", "16.000000"]
    assert [each["hours_missing"] for each in found] == ["0", "2", "10"]
    assert [each["hours_partial"] for each in found] == ["0", "0", "2"]
    assert [each["hours_not_counted_yet"] for each in found] == ["0", "0", "3"]
    for each in found:
        assert f"{Decimal(each['own_h']):.1f}" in page


def test_what_is_missing_is_marked_and_never_0(two_days, client):
    late = [hour(3, of, quality=Quality.MISSING, committed=16) for of in range(24)]
    stored.store(two_days.cluster, *late)
    client.force_login(two_days.alice)
    answer = client.get(URL, NOVEMBER)
    third = rows(client)[2]

    assert (third["committed_s"], third["own_h"], third["hours_missing"]) == ("", "", "24")
    assert pages.text(answer).count('class="d-gap"') == 3  # two days and the key
    assert "26 hours are missing" in stored.said(answer)
    assert "Committed 736.0" in stored.said(answer)


def test_an_hour_that_was_counted_without_the_tenant_is_known(lab, client):
    stored.store(lab.cluster, *[stored.fact(stored.at(1, of), "cv", own=1) for of in range(24)])
    stored.store(lab.cluster, hour(2, 0, committed=16))
    client.force_login(lab.alice)
    first = rows(client)[0]

    assert (first["hours_counted"], first["hours_missing"], first["own_s"]) == ("24", "0", "0")


def test_a_month_begins_and_ends_at_midnight_of_utc(lab, client):
    """The last Sunday of October has 25 hours in Berlin, and 24 here."""
    october = stored.NOVEMBER - HOUR
    stored.store(
        lab.cluster,
        stored.fact(october, "nlp", committed=1, own=1),
        stored.fact(stored.at(1), "nlp", committed=2, own=2),
        stored.fact(stored.at(31), "nlp", committed=4, own=4),
    )
    client.force_login(lab.alice)

    assert "Committed 2.0" in stored.said(client.get(URL, NOVEMBER))
    assert "Committed 1.0" in stored.said(client.get(URL, {"month": "2026-10"}))
    found = rows(client, month="2026-10")
    assert len(found) == 31
    assert {each["hours_missing"] for each in found} == {"24", "23"}


def test_used_time_is_shown_only_where_enough_was_seen(lab, client):
    def used(day, seen):
        return hour(day, 0, own=4, running=4, use=Use(2000 * HOUR, seen * HOUR // 10, 4 * HOUR))

    stored.store(lab.cluster, used(1, 40), used(2, 35), used(3, 20))
    client.force_login(lab.alice)
    said = stored.said(client.get(URL, NOVEMBER))

    assert [each["used_h"] for each in rows(client)] == ["2.000000", "2.000000", ""]
    assert "2.0 87 % " in said
    assert f"{DASH} only 79 % seen, too little for a number" in said


def test_what_nobody_measured_is_not_measured(two_days, client):
    client.force_login(two_days.alice)

    assert f"Used {DASH} not measured" in stored.said(client.get(URL, NOVEMBER))
    assert {each["used_h"] for each in rows(client)} == {""}


def test_pools_are_switched_and_kept(two_days, client):
    stored.store(two_days.cluster, hour(3, 2, pool=H100, committed=8, own=8))
    client.force_login(two_days.alice)
    first = pages.text(client.get(URL, NOVEMBER))
    other = client.get(URL, NOVEMBER | {"pool": "lab/h100/nvidia.com/gpu"})

    assert "?month=2026-11&amp;pool=lab/h100/nvidia.com/gpu" in first
    assert "Committed 8.0" in stored.said(other)
    assert "?month=2026-10&amp;pool=lab/h100/nvidia.com/gpu" in pages.text(other)


def test_an_empty_month_says_what_will_fill_it(lab, client):
    client.force_login(lab.alice)
    now, before = client.get(URL), client.get(URL, {"month": "2026-08"})

    assert "No hours yet" in stored.said(now)
    assert "are counted for every hour" in stored.said(now)
    assert "This month" in stored.said(before)
    assert rows(client) == []


def test_a_pool_without_hours_is_not_another_one(two_days, client):
    client.force_login(two_days.alice)
    query = NOVEMBER | {"pool": "lab/b200/nvidia.com/gpu"}

    assert "No hours of this pool" in stored.said(client.get(URL, query))
    assert rows(client, pool="lab/b200/nvidia.com/gpu") == []


@pytest.mark.parametrize(
    "query",
    [
        {"month": "2026-13"}, {"month": "0000-00"}, {"month": "9999-12"}, {"month": "\uff12\uff10\uff12\uff16-11"},
        {"month": "x" * 5000}, {"month": "\0"}, {"month": "2026-11\n"}, {"pool": "\0"}, {"pool": "a"},
        {"pool": "lab/a100/" + "x" * 400}, {"pool": "//"}, {"month": "-1", "pool": "'"},
    ],
)  # fmt: skip
def test_what_is_no_month_or_pool_is_said(two_days, client, query):
    client.force_login(two_days.alice)
    page = client.get(URL, query)

    assert page.status_code == 200
    assert "Part of the address was left out" in stored.said(page)
    assert client.get(CSV, query).status_code == 404


def test_months_that_have_not_begun_are_not_linked(two_days, client):
    client.force_login(two_days.alice)
    now = pages.text(client.get(URL))

    assert "month=2026-10" in now
    assert "month=2026-12" not in now
    assert "month=1999" not in pages.text(client.get(URL, {"month": "2000-01"}))
    assert client.get(URL, {"month": "2199-12"}).status_code == 200


@pytest.fixture
def priced(two_days):
    """Committed time has a price, borrowed time only from the second on, used time none."""
    book = book_of(two_days)
    version = prices.draft(book=book, actor=two_days.carol)
    for basis in (Basis.BORROWED, Basis.LENT_CREDIT):
        key = PriceKey("a100", basis)
        prices.set_price(version=version, key=key, starts=OCTOBER, rate=Decimal("1.25"))
    prices.activate(version=version, actor=two_days.dave)
    return two_days


def test_each_basis_has_its_amount_and_only_what_is_charged_is_added_up(priced, client):
    client.force_login(priced.frank)
    said = stored.said(client.get(URL, NOVEMBER))

    assert "Committed charged 768.0 2.50 1,920.00" in said
    assert "Borrowed charged 88.0 1.25 110.00" in said
    assert f"Lent out (credit) charged 48.0 1.25 {MINUS}60.00" in said
    assert "Charged by the policy 1,970.00" in said
    assert "The 12 hours that are missing are in no amount." in said


def test_without_a_price_there_is_no_amount(two_days, client):
    book_of(two_days)
    client.force_login(two_days.frank)
    said = stored.said(client.get(URL, NOVEMBER))

    assert f"Borrowed charged 88.0 {DASH} no price" in said
    assert "No sum: what is charged has no price or was not measured (Borrowed, Lent out" in said
    assert "Charged by the policy" not in said


def test_without_a_book_it_says_so(two_days, client):
    client.force_login(two_days.frank)

    assert "That does not mean that it costs nothing" in stored.said(client.get(URL, NOVEMBER))


def test_a_price_that_changes_counts_from_its_hour(two_days, client):
    book = book_of(two_days, "showback")
    version = prices.draft(book=book, actor=two_days.carol)
    second = datetime(2026, 11, 2, tzinfo=UTC)
    prices.set_price(version=version, key=KEY, starts=second, rate=Decimal("3.00"))
    prices.activate(version=version, actor=two_days.dave)
    client.force_login(two_days.frank)

    # 384 GPU-hours on the first, 352 on the second and 32 on the third.
    assert f"768.0 2.50 {DASH} 3.00 2,112.00" in stored.said(client.get(URL, NOVEMBER))


def test_hours_before_the_first_price_are_named(two_days, client):
    book = PriceBook.objects.create(name="late", purpose="showback", currency="JPY")
    version = prices.draft(book=book, actor=two_days.carol)
    second = datetime(2026, 11, 2, tzinfo=UTC)
    prices.set_price(version=version, key=KEY, starts=second, rate=Decimal("300"))
    prices.activate(version=version, actor=two_days.dave)
    client.force_login(two_days.frank)
    said = stored.said(client.get(URL, NOVEMBER))

    assert "Committed 768.0 300.00 115,200 384.0 without a price" in said
    assert "No policy says what tenants pay" in said


def test_held_time_has_no_price_of_its_own(two_days, client):
    book = book_of(two_days, "showback")
    policy = Policy(base=Base.HELD)
    version = prices.propose_policy(book=book, starts=MORNING, policy=policy, actor=two_days.carol)
    prices.activate_policy(version=version, actor=two_days.dave)
    client.force_login(two_days.frank)

    assert "The policy charges held time" in stored.said(client.get(URL, NOVEMBER))


def test_a_written_month_keeps_its_prices(lab, client):
    """Also where a period of another zone begins before the month is over."""
    stored.store(lab.cluster, stored.fact(stored.NOVEMBER - HOUR, "nlp", committed=4))
    book = book_of(lab)
    period = written(lab, book, 10, item("nlp", "10"))
    version = prices.draft(book=book, actor=lab.carol)
    prices.set_price(version=version, key=KEY, starts=OCTOBER, rate=Decimal("9.00"))
    prices.activate(version=version, actor=lab.dave)
    later = book_of(lab, "showback")
    berlin = periods.open_period(book=later, year=2026, number=11, zone="Europe/Berlin")
    Period.objects.filter(pk=berlin.pk).update(prices=version)
    client.force_login(lab.frank)
    said = stored.said(client.get(URL, {"month": "2026-10"}))

    assert period.prices is not None
    assert "chargeback · version 1" in said
    assert "showback · version 1" in said
    assert said.count("4.0 2.50 10.00") == 2


def test_an_internal_list_is_for_the_platform(two_days, client):
    book_of(two_days, "list")
    for who, shown in (("frank", False), ("alice", False), ("dave", True)):
        client.force_login(getattr(two_days, who))
        assert ("main list" in stored.said(client.get(URL, NOVEMBER))) == shown


def test_pools_of_several_clusters_are_told_apart(two_days, client):
    other = Cluster.objects.create(slug="far", display_name="Far away")
    slices = Pool("a100", "nvidia.com/mig-3g.20gb")
    stored.store(other, hour(1, 0, pool=slices, committed=7))
    client.force_login(two_days.alice)
    said = stored.said(client.get(URL, NOVEMBER))

    assert "Far away · a100 · mig-3g.20gb Lab · a100 · gpu" in said
    assert "nvidia.com/mig-3g.20gb · h of mig-3g.20gb" in said


def test_what_is_held_beyond_any_quota_is_drawn_apart(lab, client):
    stored.store(lab.cluster, hour(1, 0, committed=2, own=6, excess=4))
    client.force_login(lab.alice)
    page = pages.text(client.get(URL, NOVEMBER))

    assert page.count('class="d-over"') == 2
    assert "Idle 0.0" in stored.said(client.get(URL, NOVEMBER))


def test_a_month_that_nobody_watched_has_no_sums(lab, client):
    blind = [hour(1, of, committed=16, quality=Quality.MISSING) for of in range(24)]
    stored.store(lab.cluster, *blind)
    client.force_login(lab.alice)
    said = stored.said(client.get(URL, NOVEMBER))

    assert "Nobody watched this pool in any hour of this month" in said
    assert "Committed 0" not in said
    assert "Committed \u2013 384.0 384.0" in said
    assert "Nothing to price" in said


@pytest.mark.parametrize(
    ("who", "money"),
    [("alice", True), ("frank", True), ("bob", False), ("dave", True), ("erin", True)],
)
def test_money_is_for_those_who_may_read_it(priced, client, who, money):
    client.force_login(getattr(priced, who))
    said = stored.said(client.get(URL, NOVEMBER))

    assert "Committed 768.0" in said
    assert ("1,920.00" in said) == money
    assert ("Statements" in said) == money


@pytest.mark.parametrize("who", ["grace", "heidi"])
def test_others_find_nothing(two_days, client, who):
    client.force_login(getattr(two_days, who))

    assert client.get(URL).status_code == 404
    assert client.get(CSV).status_code == 404


@pytest.mark.parametrize("who", ["alice", "bob", "frank"])
def test_nothing_of_others(priced, client, who):
    client.force_login(getattr(priced, who))
    for url in (URL, CSV, "/t/nlp/"):
        answer = client.get(url, NOVEMBER)

        pages.nothing_of_others(answer)
        assert MARK not in str(answer.headers)
    assert 'href="/t/nlp/costs/"' in pages.text(client.get("/t/nlp/"))


@pytest.mark.parametrize("many", [False, True])
def test_queries_do_not_grow(lab, client, many):
    days = range(1, 4) if many else [1]
    books = ("showback", "chargeback") if many else ["showback"]
    stored.store(lab.cluster, *[hour(day, of, own=1) for day in days for of in range(24)])
    for purpose in books:
        book_of(lab, purpose)
    client.force_login(lab.alice)
    with counted("costs: tenant's month"):
        client.get(URL, NOVEMBER)
    with counted("costs: tenant's month as a file"):
        client.get(CSV, NOVEMBER)


def test_looking_changes_nothing(priced, client):
    before = list(TenantHour.objects.order_by("pk").values())
    client.force_login(priced.dave)
    client.get(URL, NOVEMBER)

    assert list(TenantHour.objects.order_by("pk").values()) == before
    assert client.post(URL).status_code == 405
