"""A budget holds until another one; what is spent of it are the rows of all pools and clusters."""

import csv
import io
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
import time_machine

from costs.facts import Pool, Quality
from costs.models import Budget
from costs.services import budgets
from portal.web.wording import DASH
from tenants import access
from tenants.models import AuditEvent
from tests.costs import stored
from tests.costs.ledger_rows import book_of
from tests.query_counts import counted
from tests.queues import pages

URL = "/t/nlp/costs/budget/"
CSV = "/t/nlp/costs/budget.csv"
MONTH = date(2026, 11, 1)
NOVEMBER = {"month": "2026-11"}
H100 = Pool("h100", "nvidia.com/gpu")


@pytest.fixture(autouse=True)
def on_the_fifth(lab):
    """Let it be noon of the fifth of November."""
    with time_machine.travel(datetime(2026, 11, 5, 12, 0, tzinfo=UTC), tick=False):
        yield


def hour(day, of, gpus, **more):
    return stored.fact(stored.at(day, of), "nlp", committed=16, own=gpus, **more)


@pytest.fixture
def four_days(lab):
    """240 GPU-h a day for four days."""
    found = [hour(day, of, 10) for day in (1, 2, 3, 4) for of in range(24)]
    stored.store(lab.cluster, *found)
    return lab


def put(lab, amount, book=None, month=MONTH, actor=None):
    return budgets.set_budget(
        actor=actor or lab.frank, tenant=lab.nlp, month=month, book=book,
        amount=None if amount is None else Decimal(amount),
    )  # fmt: skip


def rows(client):
    return list(csv.DictReader(io.StringIO(client.get(CSV, NOVEMBER).content.decode("utf-8-sig"))))


def test_spent_left_and_forecast_are_the_sums_of_held_hours(four_days, client):
    put(four_days, "7000")
    client.force_login(four_days.alice)
    said = stored.said(client.get(URL, NOVEMBER))

    assert "Budget 7,000.0 GPU-h held" in said
    assert "Spent 960.0 13.7 % of the budget" in said
    assert "Left 6,040.0" in said
    # 26 days and the four days that are over; the hours of today until nine are missing.
    assert "9 hours are missing" in said
    assert "Forecast 7,110.0 7,110.0 to 7,110.0, by the last 4 days" in said
    assert "The month is likely to cost more than its budget" in said


def test_all_pools_count_together(four_days, client):
    stored.store(four_days.cluster, *[hour(5, of, 10, pool=H100) for of in range(9)])
    put(four_days, "10000")
    client.force_login(four_days.alice)

    assert "Spent 1,050.0" in stored.said(client.get(URL, NOVEMBER))


def test_money_is_what_the_policy_charges(four_days, client):
    book = book_of(four_days)
    put(four_days, "4000", book)
    client.force_login(four_days.alice)
    found = rows(client)

    # Committed: 16 GPUs, 24 hours, 2.50; nothing borrowed and nothing lent has no price to need.
    assert [row["spent"] for row in found[:4]] == ["960.000000"] * 4
    assert found[3]["left"] == "160.000000"
    assert {row["unit"] for row in found} == {"USD"}
    assert "More than 80 % of the budget is spent" in stored.said(client.get(URL, NOVEMBER))


def test_what_cannot_be_priced_is_said_and_never_0(four_days, client):
    stored.store(four_days.cluster, hour(5, 0, 10, borrowed=2))
    put(four_days, "4000", book_of(four_days))
    client.force_login(four_days.alice)

    assert rows(client)[4]["spent"] == ""
    assert "1 day has no amount" in stored.said(client.get(URL, NOVEMBER))


def test_hours_that_nobody_watched_are_in_no_sum(lab, client):
    stored.store(lab.cluster, hour(1, 0, 10), hour(1, 1, 10, quality=Quality.MISSING))
    put(lab, "100")
    client.force_login(lab.alice)

    assert (rows(client)[0]["spent"], rows(client)[0]["hours_known"]) == ("10.000000", "1")


def test_all_spent_is_an_alarm(four_days, client):
    put(four_days, "960")
    client.force_login(four_days.alice)
    said = stored.said(client.get(URL, NOVEMBER))

    assert "The budget is spent" in said
    assert "100.0 % of the budget" in said
    assert "More than 80 %" not in said


def test_a_budget_holds_until_the_next_one_and_can_end(lab, client):
    put(lab, "100")
    put(lab, "200", month=date(2027, 1, 1))
    put(lab, None, month=date(2027, 3, 1))
    client.force_login(lab.alice)

    def shown(month):
        return stored.said(client.get(URL, {"month": month}))

    assert "No budget" in shown("2026-10")
    assert "Budget 100.0" in shown("2026-12")
    assert "Budget 200.0" in shown("2027-02")
    assert "No budget" in shown("2027-03")


def test_finance_sets_it_by_the_form_and_the_trail_says_so(lab, client):
    client.force_login(lab.frank)
    answer = client.post(f"{URL}?month=2026-11", {"unit": "gpu_hours", "amount": "1200.5"})

    assert (answer.status_code, answer.url) == (302, f"{URL}?month=2026-11")
    assert Budget.objects.get().amount == Decimal("1200.5")
    event = AuditEvent.objects.get(action="budget.set")
    assert (event.scope, event.actor, event.data["amount"]) == ("tenant:nlp", lab.frank, "1200.5")


def test_setting_it_again_keeps_what_it_was_in_the_trail(lab):
    put(lab, "100")
    put(lab, "200", actor=lab.carol)

    assert Budget.objects.get().set_by == lab.carol
    assert AuditEvent.objects.filter(action="budget.set").latest("pk").data["was"] == "100.0000"


@pytest.mark.parametrize(
    "amount",
    ["0", "-1", "1.23", "1e3", "x", "1,000.50", "1 000,50", "1_000", "99999999999999", "NaN",
     "\u0661"],
)  # fmt: skip
def test_what_is_no_amount_is_said_beside_its_field(lab, client, amount):
    client.force_login(lab.frank)
    answer = client.post(f"{URL}?month=2026-11", {"unit": "gpu_hours", "amount": amount})

    assert answer.status_code in (302, 422)
    if answer.status_code == 422:
        assert 'class="field-error"' in pages.text(answer)
        assert not Budget.objects.exists()
    else:
        # An exponent and digits of other scripts are numbers for a form; they say the same.
        assert Budget.objects.get().amount in (Decimal(1000), Decimal(1))


@pytest.mark.parametrize(
    ("amount", "words"),
    [
        ("0", "Type an amount above 0."),
        ("-5", "Type an amount above 0."),
        ("-5.12345", "Type an amount above 0."),
        ("5.12345", "At most 1 decimal place."),
        ("1.23", "At most 1 decimal place."),
        ("1000000000000", "This number is too large."),
        ("99999999999999.99999", "This number is too large."),
    ],
)
def test_an_amount_is_refused_for_one_reason(lab, client, amount, words):
    client.force_login(lab.frank)
    answer = client.post(f"{URL}?month=2026-11", {"unit": "gpu_hours", "amount": amount})

    assert answer.context["form"].errors == {"amount": [words]}
    assert not Budget.objects.exists()


def test_money_has_the_places_of_its_currency(lab):
    with pytest.raises(budgets.NotABudget, match=r"At most 2 decimal places\."):
        put(lab, "1.001", book_of(lab))


def test_a_unit_that_is_not_offered_is_refused(lab, client):
    client.force_login(lab.frank)
    answer = client.post(f"{URL}?month=2026-11", {"unit": "999", "amount": "1"})

    assert answer.status_code == 422
    assert not Budget.objects.exists()


def test_a_month_that_is_over_keeps_its_budget(lab, client):
    client.force_login(lab.frank)
    answer = client.post(f"{URL}?month=2026-10", {"unit": "gpu_hours", "amount": "1"})

    assert answer.status_code == 422
    assert "A month that is over keeps its budget" in stored.said(answer)
    assert not Budget.objects.exists()


def test_a_lead_does_not_set_the_budget_of_the_own_tenant(lab, client):
    client.force_login(lab.alice)

    assert client.post(URL, {"unit": "gpu_hours", "amount": "1"}).status_code == 403
    with pytest.raises(access.Denied):
        put(lab, "1", actor=lab.alice)
    assert AuditEvent.objects.filter(action="budget.set", outcome="refused").count() == 1


def test_without_a_budget_the_page_says_who_sets_it(four_days, client):
    client.force_login(four_days.alice)
    said = stored.said(client.get(URL, NOVEMBER))

    assert "Its finance person or an approver of the platform can" in said
    assert "Spent 960.0" in said
    assert f"1 Nov 240.0 240.0 {DASH} 24/24" in said


def test_queries_do_not_grow(four_days, client):
    put(four_days, "4000", book_of(four_days))
    client.force_login(four_days.frank)
    client.get(URL, NOVEMBER)
    with counted("costs: tenant's budget in money"):
        client.get(URL, NOVEMBER)
