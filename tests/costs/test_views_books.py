"""Pages of price books and policies: what a change would mean, and who lets it count."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest
import time_machine

from costs.lost import Funder, LostRule
from costs.models import PolicyVersion, PriceBook, PriceVersion
from costs.policy import Base, Policy
from costs.selectors import previews
from costs.selectors.prices import switches
from costs.services import prices
from costs.times import instant
from portal.web.wording import MINUS
from tests.costs import stored
from tests.costs.ledger_rows import OCTOBER, book_of
from tests.costs.test_reconcile import november, w16
from tests.costs.test_views_months import actions, ask
from tests.query_counts import counted
from tests.queues import pages

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 12, 2, 9, 30, tzinfo=UTC)
PRICE = {
    "flavor": "a100", "basis": "borrowed", "purchase": "on_demand", "starts": "2026-10-01",
    "rate": "1.25",
}  # fmt: skip
SWITCHES = {
    "starts": "2027-01-01 00:00", "base": "used", "borrow": "50", "credit": "yes",
    "rest": "admitted", "shared": "cost", "unused": "platform", "lost": "nobody", "failures": "no",
}  # fmt: skip


@pytest.fixture(autouse=True)
def in_december():
    with time_machine.travel(NOW, tick=False):
        yield


def test_a_book_goes_from_its_name_to_prices_that_count(lab, client):
    data = {"name": "Team prices", "purpose": "chargeback", "currency": "usd"}
    for wrong in ({"currency": "$$$"}, {"currency": "ABC"}, {"currency": "XTS"}, {"name": ""},
                  {"purpose": "free"}):  # fmt: skip
        assert ask(client, lab, "carol", "/costs/books/new/", {**data, **wrong}).status_code == 422
    ask(client, lab, "carol", "/costs/books/new/", data)
    book = PriceBook.objects.get()
    assert (book.currency, str(book)) == ("USD", "Team prices")
    assert ask(client, lab, "carol", "/costs/books/new/", data).status_code == 422
    ask(client, lab, "carol", f"/costs/books/{book.pk}/draft/", {})
    version = PriceVersion.objects.get()
    url = f"/costs/versions/{version.pk}/"
    for wrong in ({"rate": "-1"}, {"rate": "1,25"}, {"starts": "2026-10-01 00:30"},
                  {"rate": "0.00000000001"}, {"starts": "2026-13-01"}, {"basis": "x"}):  # fmt: skip
        refused = ask(client, lab, "carol", url, {**PRICE, **wrong})
        assert (refused.status_code, "field-error" in pages.text(refused)) == (422, True), wrong
    assert ask(client, lab, "carol", url, PRICE).status_code == 302
    ask(client, lab, "carol", url, {**PRICE, "basis": "idle"})
    drop = version.prices.get(basis="idle").pk
    ask(client, lab, "carol", f"{url}step/", {"step": f"drop:{drop}"})
    ask(client, lab, "carol", f"{url}step/", {"step": "drop:x"})
    assert [(each.basis, each.rate) for each in version.prices.all()] == [
        ("borrowed", Decimal("1.25"))
    ]
    assert "Somebody else decides" in pages.text(ask(client, lab, "carol", url))
    ask(client, lab, "carol", f"{url}step/", {"step": "activate"})
    version.refresh_from_db()
    assert version.state == "draft"
    ask(client, lab, "dave", f"{url}step/", {"step": "activate"})
    version.refresh_from_db()
    assert (version.state, version.approved_by) == ("active", lab.dave)
    assert ask(client, lab, "carol", url, PRICE).status_code == 422
    ask(client, lab, "carol", f"{url}step/", {"step": f"drop:{version.prices.get().pk}"})
    assert version.prices.count() == 1
    assert actions()[-6:] == [
        "book.create Carol (carol)", "prices.draft Carol (carol)", "prices.set Carol (carol)",
        "prices.set Carol (carol)", "prices.set Carol (carol)", "prices.activate Dave (dave)",
    ]  # fmt: skip


def test_hours_without_a_price_are_shown_until_they_have_one(lab, client):
    period = november(lab)
    url = f"/costs/books/{period.book_id}/"
    said = stored.said(ask(client, lab, "erin", url))

    assert "a100, Borrowed: 2.0 hours of this month and the last" in said
    assert "a100, Committed" not in said


def test_prices_are_previewed_against_the_same_bill(lab, client):
    period = november(lab)
    version = prices.draft(book=period.book, actor=lab.carol)
    ask(client, lab, "carol", f"/costs/versions/{version.pk}/", {**PRICE, "rate": "10"})
    found = previews.of_prices(version, instant(NOW))
    said = stored.said(ask(client, lab, "dave", f"/costs/versions/{version.pk}/"))

    assert sum(row.now for row in found.rows) == sum(row.then for row in found.rows) == 96
    assert {row.payer: row.then for row in found.rows} == {"nlp": 60, "cv": 20, "*recovery": 16}
    assert "Language 40.00 60.00 +20.00" in said
    assert f"36.00 16.00 {MINUS}20.00" in said
    assert "2.0 hours have no price." in said  # lent time


def test_a_policy_is_previewed_by_who_would_pay_what(lab, client):
    """W16: from the first policy to the third, of the same 96.00."""
    period = november(lab)
    url = f"/costs/books/{period.book_id}/policy/"
    said = stored.said(ask(client, lab, "carol", url, {**SWITCHES, "step": "look"}))

    assert "Language 51.00 74.70 +23.70" in said
    assert (
        f"21.00 21.30 +0.30 Unsold platform · devices promised to nobody 24.00 0.00 {MINUS}24.00"
        in said
    )
    assert "Bill 96.00 96.00" in said
    assert "Tenants pay the time for which their devices were used." in said
    assert PolicyVersion.objects.count() == 1


def test_large_months_are_previewed_by_the_day_and_say_so(lab, client, monkeypatch):
    period = november(lab, hours=5)
    whole = previews.of_policy(period.book, Policy(base=Base.ADMITTED), instant(NOW))
    monkeypatch.setattr(previews, "BY_HOUR", 3)
    found = previews.of_policy(period.book, Policy(base=Base.ADMITTED), instant(NOW))

    assert (found.by_day, whole.by_day, found.total) == (True, False, 96)
    assert found.rows == whole.rows  # every hour is the same one
    url = f"/costs/books/{period.book_id}/policy/"
    assert "Reckoned by the day" in pages.text(
        ask(client, lab, "carol", url, {**SWITCHES, "step": "look"})
    )


def test_without_a_bill_devices_are_taken_at_their_list_price(lab):
    period = november(lab, bill="")
    found = previews.of_policy(period.book, Policy(), instant(NOW))

    assert (found.billed, found.total) == (False, 80)  # 32 GPUs at 2.50
    assert previews.of_policy(period.book, Policy(), instant(OCTOBER)) is None


def test_a_policy_is_proposed_by_one_and_activated_by_another(lab, client):
    book = book_of(lab)
    url = f"/costs/books/{book.pk}/policy/"
    assert 'value="2027-01-01 00:00"' in pages.text(ask(client, lab, "carol", url))
    for wrong in ({"borrow": "101"}, {"base": "x"}, {"starts": "2027-01-01 00:10"}, {"rest": ""},
                  {"base": "committed", "borrow": ""}, {"lost": "x"}, {"failures": ""},
                  {"lost": "taker"}, {"failures": "yes", "lost_minutes": "0"},
                  {"lost": "taker", "lost_minutes": "10081"},
                  {"lost": "taker", "lost_minutes": "1_0"},
                  {"lost": "taker", "lost_minutes": "\uff11\uff10"}):  # fmt: skip
        refused = ask(client, lab, "carol", url, {**SWITCHES, **wrong, "step": "propose"})
        assert (refused.status_code, "field-error" in pages.text(refused)) == (422, True), wrong
    lost = {"lost": "taker", "lost_minutes": "90", "failures": "yes"}
    sent = ask(client, lab, "carol", url, {**SWITCHES, **lost, "step": "propose"})
    row = PolicyVersion.objects.get(state="draft")
    assert switches(row).lost == LostRule(Funder.TAKER, 5400, failures=True)
    assert sent.url == f"/costs/policies/{row.pk}/"
    assert "Somebody else decides" in pages.text(client.get(sent.url))
    for who, state in (("carol", "draft"), ("dave", "active"), ("dave", "active")):
        ask(client, lab, who, f"{sent.url}activate/", {})
        row.refresh_from_db()
        assert row.state == state
    assert actions()[-2:] == ["policy.propose Carol (carol)", "policy.activate Dave (dave)"]


@pytest.mark.parametrize("number", [1, 6])
def test_queries_do_not_grow(lab, client, number):
    period = november(lab)
    stored.store(lab.cluster, *w16(stored.at(29, 23)))
    book = period.book
    for _ in range(number):
        version = prices.draft(book=book, actor=lab.carol)
        row = prices.propose_policy(book=book, starts=OCTOBER, policy=Policy(), actor=lab.carol)
    client.force_login(lab.dave)
    for name, url in {
        "books": "/costs/books/", "book": f"/costs/books/{book.pk}/",
        "version": f"/costs/versions/{version.pk}/", "policy": f"/costs/policies/{row.pk}/",
    }.items():  # fmt: skip
        with counted(f"costs: {name}"):
            client.get(url)
