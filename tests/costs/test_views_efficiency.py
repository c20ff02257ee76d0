"""Efficiency is a ratio of sums: what was not seen lowers what is known, and is never 0."""

import csv
import io
from datetime import UTC, datetime

import pytest
import time_machine

from costs.facts import Quality
from costs.selectors.efficiency import ratio
from costs.times import HOUR
from costs.used import Use
from portal.web.wording import DASH
from tests.costs import stored
from tests.query_counts import counted
from tests.queues import pages

URL = "/t/nlp/costs/efficiency/"
CSV = "/t/nlp/costs/efficiency.csv"
POOL = "/clusters/lab/costs/efficiency/"
NOVEMBER = {"month": "2026-11"}


@pytest.fixture(autouse=True)
def on_the_fourth(lab):
    with time_machine.travel(datetime(2026, 11, 4, 15, 30, tzinfo=UTC), tick=False):
        yield


def hour(day, of, gpus, used=None, seen=None, tenant="nlp", **more):
    """An hour of so many GPUs; ``used`` and ``seen`` are tenths of a GPU-hour."""
    use = None if used is None else Use(used * 100 * HOUR, seen * HOUR // 10, gpus * HOUR)
    return stored.fact(
        stored.at(day, of), tenant, committed=8, own=gpus, running=gpus, use=use, **more
    )


@pytest.fixture
def measured(lab):
    found = [
        hour(1, 0, 8, 8, 80), hour(1, 1, 2, 18, 20),  # 0.8 of 8 and 1.8 of 2
        hour(2, 0, 4, 20, 36),  # 2 of 4, nine tenths seen
        hour(3, 0, 4, 10, 20),  # half of it seen
        hour(4, 0, 4),  # nobody measured
    ]  # fmt: skip
    theirs = [hour(1, 0, 6, 54, 60, "cv"), hour(2, 0, 0, 0, 0, "cv")]
    stored.store(lab.cluster, *found, *theirs)
    return lab


def rows(client):
    answer = client.get(CSV, NOVEMBER)
    return list(csv.DictReader(io.StringIO(answer.content.decode("utf-8-sig"))))


def test_a_day_is_the_sum_of_its_hours_and_not_the_mean_of_their_percents(measured, client):
    client.force_login(measured.alice)
    said = stored.said(client.get(URL, NOVEMBER))

    assert "1 Nov 26.0 % 10.0 2.6 7.4 100 % seen" in said
    assert "2 Nov 50.0 % 4.0 2.0 2.0 at least; 90 % seen" in said
    assert f"3 Nov {DASH} 4.0 {DASH} {DASH} only 50 % seen, too little for a number" in said
    assert f"4 Nov {DASH} 4.0 {DASH} {DASH} not measured" in said


def test_the_month_is_not_known_when_too_little_of_it_was_seen(measured, client):
    """Of 22 GPU-hours 15.6 were seen: the day without a measurement is expected too."""
    client.force_login(measured.alice)

    assert f"Efficiency {DASH} used by admitted time" in stored.said(client.get(URL, NOVEMBER))
    assert "only 70 % seen" in stored.said(client.get(URL, NOVEMBER))


def test_the_file_has_both_bounds_and_empty_cells(measured, client):
    client.force_login(measured.alice)
    found = rows(client)

    assert [row["efficiency_least"] for row in found] == ["0.260000", "0.500000", "", ""]
    assert [row["efficiency_most"] for row in found] == ["0.260000", "0.600000", "", ""]
    assert [row["used_least_h"] for row in found] == ["2.600000", "2.000000", "", ""]
    assert [row["admitted_h"] for row in found] == ["10.000000", "4.000000", "4.000000", "4.000000"]


def test_nothing_admitted_is_a_dash_and_no_0(lab, client):
    stored.store(lab.cluster, hour(1, 0, 0, 0, 0))
    client.force_login(lab.alice)
    said = stored.said(client.get(URL, NOVEMBER))

    assert f"1 Nov {DASH} 0.0" in said
    assert "nothing was admitted" in said
    assert "0.0 %" not in said


def test_hours_that_nobody_watched_are_in_no_ratio(lab, client):
    stored.store(lab.cluster, hour(1, 0, 4, 20, 40), hour(1, 1, 4, 0, 0, quality=Quality.MISSING))
    client.force_login(lab.alice)

    assert [row["efficiency_least"] for row in rows(client)] == ["0.500000"]
    # One that was noted as missing, and the others of its day, which were never counted.
    assert "seen · 23 hours missing" in stored.said(client.get(URL, NOVEMBER))


def test_what_ran_unmeasured_beside_what_was_measured_is_expected():
    facts = [hour(1, 0, 4, 20, 40), hour(1, 1, 4)]

    assert ratio(facts).use == Use(2000 * HOUR, 4 * HOUR, 8 * HOUR)


def test_without_any_measurement_the_page_says_so_and_draws_nothing(lab, client):
    stored.store(lab.cluster, hour(1, 0, 4))
    client.force_login(lab.alice)
    page = client.get(URL, NOVEMBER)

    assert "Nobody has measured the devices" in stored.said(page)
    assert 'class="e-used" x=' not in pages.text(page)


def test_the_platform_sees_who_leaves_the_most_unused(measured, client):
    stored.store(measured.cluster, hour(1, 5, 8, 0, 80), hour(1, 6, 8, 80, 80, "cv"))
    client.force_login(measured.carol)
    page = client.get(POOL, NOVEMBER | {"pool": "lab/a100/nvidia.com/gpu"})
    said = stored.said(page)

    assert "95.7 % 14.0 13.4 0.6 100 % seen" in said
    order = [pages.text(page).index(f"/t/{slug}/costs/efficiency/") for slug in ("cv", "nlp")]
    assert order == sorted(order)  # what nlp used is not known


def test_the_file_of_a_pool_has_a_row_for_each_tenant(measured, client):
    client.force_login(measured.carol)
    answer = client.get("/clusters/lab/costs/efficiency.csv", NOVEMBER)
    found = list(csv.DictReader(io.StringIO(answer.content.decode("utf-8-sig"))))

    assert [(row["tenant"], row["efficiency_least"]) for row in found] == [
        ("cv", "0.900000"), ("nlp", "")
    ]  # fmt: skip
    assert found[1]["admitted_h"] == "22.000000"


def test_queries_do_not_grow(measured, client):
    client.force_login(measured.alice)
    client.get(URL, NOVEMBER)
    with counted("costs: tenant's efficiency"):
        client.get(URL, NOVEMBER)
    client.force_login(measured.carol)
    client.get(POOL, NOVEMBER)
    with counted("costs: a pool's efficiency"):
        client.get(POOL, NOVEMBER)


@pytest.mark.parametrize(
    "query", ["month=", "pool=", "month=2026-11&month=2026-10", "month=2026-11&month=2026-11"]
)
def test_a_program_gets_no_month_that_it_has_not_named_once(measured, client, query):
    client.force_login(measured.alice)

    assert client.get(f"{CSV}?{query}").status_code == 404
    assert client.get(f"{CSV}?month=2026-11").status_code == 200
