"""Held against quota: means of what is known, limits as they were then, and no other names."""

import csv
import io
from datetime import UTC, datetime, timedelta

import pytest
import time_machine

from costs.facts import Pool, Quality
from costs.selectors.slots import by_hour, slots, week
from costs.selectors.utilisation import ceilings
from costs.times import HOUR, Span, moment
from costs.views.steps import TOP, steps
from costs.views.utilisation import heat
from portal.web.wording import DASH
from queues.models import QuotaChange
from tests.cast import MARK
from tests.costs import stored
from tests.costs.make import A100
from tests.query_counts import counted
from tests.queues import pages

URL = "/t/nlp/costs/utilisation/"
CSV = "/t/nlp/costs/utilisation.csv"
POOL = "/clusters/lab/costs/utilisation/"
NOVEMBER = {"month": "2026-11"}
SLOT = 3 * HOUR


@pytest.fixture(autouse=True)
def on_the_third(lab):
    """Let it be the third of November, half past three in the afternoon."""
    with time_machine.travel(datetime(2026, 11, 3, 15, 30, tzinfo=UTC), tick=False):
        yield


def hour(day, of, tenant="nlp", **gpus):
    return stored.fact(stored.at(day, of), tenant, **gpus)


def quota(lab, name, since, nominal, limit, parent="research", **more):
    lines = [
        {"flavor": "a100", "resource": "nvidia.com/gpu", "nominal": nominal,
         "borrowing_limit": limit, "lending_limit": None}
    ]  # fmt: skip
    return QuotaChange.objects.create(
        cluster=lab.cluster, kind="ClusterQueue", name=name, since=since, quality="exact",
        observed_at=since, digest=1, parent=parent, lines=[] if more.get("removed") else lines, **more,
    )  # fmt: skip


@pytest.fixture
def two_days(lab):
    """A day within the quota, and one above it of which an hour is missing."""
    first = [hour(1, of, committed=16, own=12, lent=2) for of in range(24)]
    second = [hour(2, of, committed=16, own=16, borrowed=4) for of in range(1, 24)]
    blind = [hour(2, 0, committed=16, quality=Quality.MISSING)]
    theirs = [hour(day, of, "cv", committed=8, own=5) for day in (1, 2) for of in range(24)]
    stored.store(lab.cluster, *first, *second, *blind, *theirs)
    quota(lab, "nlp-train", moment(stored.NOVEMBER) - timedelta(days=9), 16, 8)
    return lab


def rows(client, url=CSV, **query):
    answer = client.get(url, NOVEMBER | query)
    assert answer.status_code == 200
    return list(csv.DictReader(io.StringIO(answer.content.decode("utf-8-sig"))))


def test_every_slot_is_the_sum_of_its_known_hours(two_days, client):
    client.force_login(two_days.alice)
    found = rows(client)

    assert len(found) == 240
    assert [found[0][key] for key in ("own_h", "held_h", "committed_h", "most_h", "lent_h")] == [
        "36.000000", "36.000000", "48.000000", "72.000000", "6.000000"
    ]  # fmt: skip
    assert (found[8]["starts"], found[8]["hours_known"]) == ("2026-11-02T00:00Z", "2")
    assert (found[8]["held_h"], found[8]["borrowed_h"]) == ("40.000000", "8.000000")
    assert (found[16]["hours_known"], found[16]["held_h"]) == ("0", "")


def test_the_page_says_means_and_not_sums(two_days, client):
    client.force_login(two_days.alice)
    said = stored.said(client.get(URL, NOVEMBER))

    # 24 x 12 + 23 x 20 of 47 x 16 hours
    assert "Held of quota 99.5 %" in said
    assert "Most at once 20.0" in said
    assert "1 Nov 00:00 12.0 0.0 12.0 16.0 24.0 2.0 2.0 3/3" in said
    assert "2 Nov 00:00 16.0 4.0 20.0 16.0 24.0 0.0 0.0 2/3" in said
    assert "16 hours are missing" in said  # one of the second, fifteen of the third


def test_a_limit_counts_from_its_time_on(lab):
    """Quota 16 + 8 until half past one; then 4 + 4; a queue without a department borrows nothing."""
    start = moment(stored.NOVEMBER)
    quota(lab, "nlp-train", start - timedelta(days=1), 16, 8)
    quota(lab, "nlp-train", start + timedelta(minutes=90), 4, 4)
    quota(lab, "nlp-train", start + timedelta(hours=3), 4, 4, parent="")
    quota(lab, "nlp-train", start + timedelta(hours=4), 4, None)
    quota(lab, "cv-train", start - timedelta(days=1), 8, 100)
    span = Span(stored.NOVEMBER, stored.NOVEMBER + 5 * HOUR)

    found = ceilings(lab.cluster.pk, "nlp", A100, span)

    assert list(found.values()) == [24 * HOUR, 16 * HOUR, 8 * HOUR, 4 * HOUR, None]
    assert ceilings(lab.cluster.pk, "nlp", Pool("h100", "nvidia.com/gpu"), span) == {}


def test_a_slot_that_nobody_watched_is_a_gap_and_breaks_the_line():
    facts = [hour(1, of, committed=8, own=4) for of in (0, 1, 2, 6, 7, 8)]
    known = by_hour(facts, ())
    found = slots(Span(stored.NOVEMBER, stored.NOVEMBER + 9 * HOUR), known, {})

    assert [slot.known for slot in found] == [3, 0, 3]
    drawn = steps(found, stored.at(2))
    assert drawn.lines["held"] == "M0 116H1M2 116H3"
    assert drawn.lines["most"] == ""
    assert [(gap.x, gap.width) for gap in drawn.gaps] == [("33.33%", "33.33%")]
    # What is to come is no gap.
    assert steps(found, stored.at(1)).gaps == []


def test_a_slot_of_which_some_hours_are_missing_is_marked_above_what_is_drawn():
    facts = [hour(1, of, committed=8, own=4) for of in (0, 1, 2, 3, 6, 7, 8)]
    known = by_hour(facts, ())
    found = slots(Span(stored.NOVEMBER, stored.NOVEMBER + 9 * HOUR), known, {})
    drawn = steps(found, stored.at(2))

    assert [slot.known for slot in found] == [3, 1, 3]
    assert [(gap.x, gap.y, gap.height) for gap in drawn.gaps] == [("33.33%", 0, TOP)]
    assert drawn.areas["own"]


def test_a_month_of_hours_is_within_the_limit_of_points():
    found = slots(Span(stored.NOVEMBER, stored.NOVEMBER + 31 * 24 * HOUR), {}, {})

    assert len(found) == 248
    assert not steps(found, 0).drawn


def test_an_hour_of_the_week_is_a_ratio_of_sums(lab):
    """The first of November 2026 is a Sunday: 4 of 16 and 16 of 16, not the mean of 25 and 100 %."""
    facts = [hour(1, 9, committed=16, own=4), hour(8, 9, committed=4, own=4)]
    known = by_hour(facts, ())
    cells = week(known, {each.hour: each.committed for each in facts})
    drawn = heat(cells)

    assert cells[6][9].hours == 2
    assert drawn[6].cells[9].text == "40"
    assert drawn[0].cells[0].text == DASH


def test_a_tenant_reads_no_other_name(two_days, client):
    client.force_login(two_days.bob)

    assert MARK not in pages.text(client.get(URL, NOVEMBER))


def test_a_pools_hours_are_those_of_all_its_tenants(two_days, client):
    client.force_login(two_days.carol)
    found = rows(client, "/clusters/lab/costs/utilisation.csv")
    said = stored.said(client.get(POOL, NOVEMBER))

    assert [found[0][key] for key in ("of", "own_h", "committed_h", "most_h")] == [
        "*", "51.000000", "72.000000", "96.000000"
    ]  # fmt: skip
    # An hour that is missing for one is missing for the pool.
    assert found[8]["hours_known"] == "2"
    assert "1 Nov 00:00 17.0 0.0 17.0 24.0 32.0 2.0 5.0 3/3" in said


def test_a_file_of_another_month_is_not_given(two_days, client):
    client.force_login(two_days.carol)

    assert client.get(CSV, {"month": "2026-13"}).status_code == 404
    query = {"pool": "other/a100/nvidia.com/gpu"}
    assert client.get("/clusters/lab/costs/utilisation.csv", query).status_code == 404


def test_an_empty_month_says_so(lab, client):
    client.force_login(lab.alice)

    assert "No hours in this month" in stored.said(client.get(URL))
    assert rows(client) == []
    client.force_login(lab.carol)
    assert "No hours in this month" in stored.said(client.get(POOL))


def test_all_pages_of_costs_lead_to_each_other(two_days, client):
    client.force_login(two_days.frank)
    text = pages.text(client.get(URL, NOVEMBER))

    assert 'href="/t/nlp/costs/?month=2026-11"' in text
    assert 'href="/t/nlp/statements/"' in text
    client.force_login(two_days.bob)
    assert 'href="/t/nlp/statements/"' not in pages.text(client.get(URL, NOVEMBER))


def test_queries_do_not_grow(two_days, client):
    client.force_login(two_days.frank)
    client.get(URL, NOVEMBER)
    with counted("costs: tenant's utilisation"):
        client.get(URL, NOVEMBER)
    with counted("costs: list of statements"):
        client.get("/t/nlp/statements/")
    client.force_login(two_days.carol)
    client.get(POOL, NOVEMBER)
    with counted("costs: a pool's utilisation"):
        client.get(POOL, NOVEMBER)
