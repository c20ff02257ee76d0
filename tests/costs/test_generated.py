"""Figures that were made up say so: on each page, in each file, and in each answer of the API."""

import csv
import io
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.conf import settings

from costs.models import GeneratedTime
from costs.selectors.generated import generated
from costs.times import HOUR, Span, instant
from tests.costs import stored
from tests.costs.ledger_rows import book_of, closed, item
from tests.queues.api import ROOT

MONTH = {"month": "2026-11"}
NOVEMBER = datetime(2026, 11, 1, tzinfo=UTC)
UNTIL = datetime(2026, 11, 1, 6, tzinfo=UTC)
#: Pages without any figure of GPU time or money of a cluster.
WITHOUT = {
    "bill_source_new.html", "book_new.html", "books.html", "open.html", "policy.html",
    "policy_new.html", "tolerances.html",
}  # fmt: skip


@pytest.fixture
def made(lab):
    """Six hours of the cluster were made up, and the seventh was not."""
    GeneratedTime.objects.create(
        cluster=lab.cluster, starts=datetime(2026, 10, 1, tzinfo=UTC), until=UNTIL, hours=750
    )
    stored.store(
        lab.cluster,
        *(stored.fact(stored.at(1, hour), "nlp", committed=16, own=12) for hour in (5, 6)),
        stored.fact(stored.at(2), "nlp", committed=16, own=12),
    )
    return lab


def ask(client, url):
    answer = client.get(f"{ROOT}{url}")
    assert answer.status_code == 200
    return answer.json()


def rows(answer):
    body = b"".join(answer) if answer.streaming else answer.content
    return list(csv.DictReader(io.StringIO(body.decode("utf-8-sig"))))


def test_every_page_with_figures_has_the_mark():
    folder = Path(settings.BASE_DIR) / "templates" / "costs"
    pages = {each.name: each.read_text() for each in folder.glob("*.html") if each.name[0] != "_"}
    assert {name for name, text in pages.items() if "{% generated_mark %}" not in text} == WITHOUT


def test_the_mark_says_what_is_made_up(made, client):
    client.force_login(made.dave)
    url = "/clusters/lab/costs/efficiency/"
    said = stored.said(client.get(url, MONTH))
    assert "from 1 Oct 2026 to 1 Nov 2026 06:00 UTC were generated for the demo" in said
    GeneratedTime.objects.update(lasting=True)
    assert "Its machines have no GPUs" in stored.said(client.get(url, MONTH))
    GeneratedTime.objects.update(lasting=False, unmeasured="Go could not be installed")
    said = stored.said(client.get(url, MONTH))
    assert "What GPUs did is not in them: Go could not be installed" in said


def test_hours_of_a_file_say_it_each_for_itself(made, client):
    client.force_login(made.dave)
    for url in ("/t/nlp/costs/hourly.csv", "/clusters/lab/costs/hourly.csv"):
        assert [row["generated"] for row in rows(client.get(url, MONTH))] == [
            "true", "false", "false",
        ]  # fmt: skip
    GeneratedTime.objects.update(lasting=True)
    assert {row["generated"] for row in rows(client.get(url, MONTH))} == {"true"}


def test_focus_rows_say_it_in_a_column_of_ours(priced, client):
    client.force_login(priced.dave)
    url = "/clusters/lab/costs/focus.csv"
    assert {row["x_Generated"] for row in rows(client.get(url, MONTH))} == {"false"}
    GeneratedTime.objects.create(cluster=priced.cluster, starts=NOVEMBER, until=UNTIL, hours=6)
    assert {row["x_Generated"] for row in rows(client.get(url, MONTH))} == {"true"}


@pytest.mark.parametrize(
    "url",
    [
        "/t/nlp/costs.csv", "/t/nlp/costs/utilisation.csv", "/t/nlp/costs/efficiency.csv",
        "/t/nlp/costs/budget.csv", "/clusters/lab/costs/utilisation.csv",
        "/clusters/lab/costs/efficiency.csv", "/clusters/lab/costs/teams.csv",
    ],
)  # fmt: skip
def test_files_of_pages_say_it_of_their_month(made, client, url):
    client.force_login(made.dave)
    assert {row["generated"] for row in rows(client.get(url, MONTH))} == {"true"}
    GeneratedTime.objects.update(until=NOVEMBER)
    assert {row["generated"] for row in rows(client.get(url, MONTH))} == {"false"}


def test_answers_of_the_api_say_it(made, client):
    client.force_login(made.dave)
    said = {
        name: [each["generated"] for each in ask(client, f"tenants/nlp/costs/{name}/?sort=oldest")["items"]]
        for name in ("hours", "days", "months")
    }  # fmt: skip
    assert said == {"hours": [True, False, False], "days": [True, False], "months": [True]}
    pool = "clusters/lab/costs/months/"
    assert [each["generated"] for each in ask(client, pool)["items"]] == [True]
    assert ask(client, f"{pool}2026-11/a100/nvidia.com/gpu/")["generated"] is True
    amounts = "tenants/nlp/costs/amounts/2026-11/lab/a100/nvidia.com/gpu/"
    assert ask(client, amounts)["generated"] is True
    GeneratedTime.objects.update(until=NOVEMBER)
    assert ask(client, amounts)["generated"] is False


def test_a_closed_month_says_it_too(made, client):
    book = book_of(made)
    period = closed(made, book, 10, item("nlp", 100))
    client.force_login(made.dave)
    statement = ask(client, f"tenants/nlp/statements/2026-10/{book.name}/")["statement"]
    found = {
        "statement": statement,
        "statements": ask(client, "tenants/nlp/statements/")["items"][0],
        "period": ask(client, f"periods/2026-10/{book.name}/")["period"],
        "periods": ask(client, "periods/")["items"][0],
        "bills": ask(client, "bills/")["items"][0],
    }
    assert {name: each["generated"] for name, each in found.items()} == dict.fromkeys(found, True)
    assert rows(client.get(f"/t/nlp/statements/{period.pk}.csv"))[0]["generated"] == "true"
    GeneratedTime.objects.update(starts=NOVEMBER)
    assert ask(client, "periods/")["items"][0]["generated"] is False


def test_nothing_is_marked_where_nothing_was_made_up(lab):
    assert not generated().within(Span(0, 10**12))


def test_another_cluster_is_not_meant(made):
    told, hour = generated(), Span(instant(NOVEMBER), instant(NOVEMBER) + HOUR)
    assert told.within(hour)
    assert told.within(hour, ["lab"])
    assert told.within(hour, [made.cluster.pk])
    assert not told.within(hour, ["other"])
    assert not told.within(Span(instant(UNTIL), instant(UNTIL) + HOUR))
