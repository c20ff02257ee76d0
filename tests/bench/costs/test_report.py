"""Ten million phases in a month: its report, a day counted again, and the page of 500 tenants.

Not part of the ordinary run: ``make bench-costs``. Client and database share one machine, so only
ratios of the same run are judged; the figures are printed for the record. GPUPORTAL_PHASES sets
another number of phases.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from costs.models import PoolDay, PoolMonth, TenantDay, TenantHour, TenantMonth
from costs.selectors.hours import within
from costs.selectors.months import DAY, Month
from costs.services import hourly
from costs.services.rollups import roll
from costs.times import HOUR, Span, moment
from tenants.models import Cluster, User
from tests import cast
from tests.bench.costs import fill

pytestmark = [
    pytest.mark.scale, pytest.mark.owner, pytest.mark.django_db(transaction=True),
]  # fmt: skip

PHASES = int(os.environ.get("GPUPORTAL_PHASES", "10000000"))
SIZE = fill.Size(tenants=500, lifetimes=PHASES // 100, phases=100)
ROUNDS = 5
LASTING = 1.0  # seconds; what takes milliseconds is asked until then, past any hiccup
REPORT = 10  # a report from rollups against the raw sum
PAGE = 3.0  # a page against its own statements
FURTHER = 1.5  # the same page with months of hours beside it
#: Of each tenant and flavor, without rollups: as little work per phase as can be.
RAW = """
SELECT queue, held->0->>'flavor' AS flavor, sum(devices * extract(
    epoch FROM least(ends, %(last)s) - greatest(starts, %(first)s))::bigint)::bigint
FROM queues_interval
WHERE cluster_id = %(cluster)s AND phase IN ('reserved', 'admitted')
    AND ends > %(first)s AND starts < %(last)s
GROUP BY queue, flavor
"""
ROLLED = """
SELECT 'queue-' || substr(t.slug, 8), m.flavor, m.held
FROM costs_tenantmonth m JOIN tenants_tenant t ON t.id = m.tenant_id
WHERE m.starts = %(day)s AND m.cluster_id = %(cluster)s
"""


def best(run: Callable[[], Any], rounds: int = ROUNDS) -> float:
    """Return the shortest time of several runs, in milliseconds."""
    times: list[float] = []
    while len(times) < rounds or sum(times) < LASTING:
        began = time.perf_counter()
        run()
        times.append(time.perf_counter() - began)
    return 1000 * min(times)


def report(name: str, **numbers: float) -> None:
    said = "  ".join(f"{key} {value:,.1f}" for key, value in numbers.items())
    print(f"{name:28} {said}", flush=True)  # noqa: T201


def fetched(statement: str, **values: Any) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return list(cursor.fetchall())


def stored(span: Span) -> list[tuple[Any, ...]]:
    """Return the facts of hours without the key and the run of each row."""
    own = ("id", "run")
    names = [each.attname for each in TenantHour._meta.local_fields if each.name not in own]
    rows = TenantHour.objects.filter(within(span)).order_by("hour", "tenant", "flavor")
    return list(rows.values_list(*names))


def versions(model: Any, part: str) -> dict[tuple[Any, ...], tuple[Any, ...]]:
    """Return which transaction has written each row, by day or hour, tenant and flavor."""
    tenant = "tenant_id" if hasattr(model, "tenant_id") else "0"
    table = model._meta.db_table
    rows = fetched(f"SELECT {part}, {tenant}, flavor, xmin::text, ctid::text FROM {table}")  # noqa: S608
    return {row[:3]: row[3:] for row in rows}


def touched(before: dict[Any, Any], after: dict[Any, Any]) -> set[Any]:
    return {key[0] for key in before.keys() | after.keys() if before.get(key) != after.get(key)}


@pytest.fixture
def large():
    lab = cast.make()
    cluster = Cluster.objects.create(slug="large", display_name="Large")
    lab = replace(lab, cluster=cluster)
    now = timezone.now()
    month = Month(now.year, now.month).moved(-1)
    began = time.monotonic()
    fill.standing(lab.cluster, month, SIZE)
    written = fill.intervals(lab.cluster, month, SIZE)
    report("phases", written=written, seconds=time.monotonic() - began)
    fill.hours(lab.cluster, month)
    roll(cluster=lab.cluster, span=month.span)
    fill.run("VACUUM ANALYZE costs_tenantday")
    fill.run("VACUUM ANALYZE costs_tenantmonth")
    report("hours", rows=TenantHour.objects.count(), seconds=time.monotonic() - began)
    yield lab, month
    fill.restore()


def test_report_count_and_pages_of_ten_million_phases(large):
    """Filling takes longer than measuring, so all is measured in one go."""
    lab, month = large
    the_product_counts_the_same(lab.cluster, month)
    the_report_is_the_raw_sum(lab.cluster, month)
    one_day_touches_one_day(lab.cluster, month)
    the_page_costs_little_more_than_its_statements(lab, month)


def the_product_counts_the_same(cluster: Any, month: Month) -> None:
    """The hours were made by one statement; on a sample the product's own count says the same."""
    first = month.span.starts
    for at in (0, 11 * 24 + 3, (month.span.seconds // HOUR) - 6):
        span = Span(first + at * HOUR, first + (at + 6) * HOUR)
        before = stored(span)
        began = time.perf_counter()
        hourly.count(cluster=cluster, span=span)
        report("six hours counted", milliseconds=1000 * (time.perf_counter() - began))
        assert stored(span) == before


def the_report_is_the_raw_sum(cluster: Any, month: Month) -> None:
    edges = {"first": moment(month.span.starts), "last": moment(month.span.ends)}
    raw = sorted(fetched(RAW, **edges, cluster=cluster.pk))
    day = edges["first"].date()
    rolled = sorted(fetched(ROLLED, day=day, cluster=cluster.pk))
    assert [row for row in rolled if row[2]] == raw

    url = f"/api/v1/tenants/tenant-7/costs/months/?month={month}"
    client = Client()
    client.force_login(User.objects.get(username="carol"))
    (found,) = [each for each in client.get(url).json()["items"] if each["flavor"] == "a100"]
    assert found["held_resource_seconds"] == dict_of(raw)["queue-7", "a100"]

    times = {
        "raw": best(lambda: fetched(RAW, **edges, cluster=cluster.pk), 3),
        "report": best(lambda: fetched(ROLLED, day=day, cluster=cluster.pk)),
        "answer": best(lambda: client.get(url)),
    }
    report("report of 500 tenants", **times)
    assert REPORT * times["report"] < times["raw"]
    assert REPORT * times["answer"] < times["raw"]


def dict_of(rows: list[tuple[Any, ...]]) -> dict[tuple[Any, Any], Any]:
    return {row[:2]: row[2] for row in rows}


def one_day_touches_one_day(cluster: Any, month: Month) -> None:
    """What is made anew is told by the transactions that have written the rows."""
    day = date(month.year, month.number, 17)
    parts = {
        TenantHour: "hour", TenantDay: "starts", TenantMonth: "starts", PoolDay: "starts",
        PoolMonth: "starts",
    }  # fmt: skip
    before = {model: versions(model, part) for model, part in parts.items()}
    starts = month.span.starts + 16 * DAY
    with CaptureQueriesContext(connection) as caught:
        began = time.perf_counter()
        for span in hourly.parts(Span(starts, starts + DAY)):
            hourly.count(cluster=cluster, span=span)
    report("a day counted again", seconds=time.perf_counter() - began, statements=len(caught))
    after = {model: touched(before[model], versions(model, part)) for model, part in parts.items()}

    assert after[TenantHour] == {moment(starts) + timedelta(hours=n) for n in range(24)}
    assert after[TenantDay] == after[PoolDay] == {day}
    assert after[TenantMonth] == after[PoolMonth] == {day.replace(day=1)}


def the_page_costs_little_more_than_its_statements(lab: Any, month: Month) -> None:
    """The platform's page of 500 tenants, and one tenant's; then with older months beside them."""
    client = Client()
    client.force_login(lab.carol)
    urls = [
        f"/clusters/large/costs/?month={month}&pool=large/a100/nvidia.com/gpu",
        f"/t/tenant-7/costs/?month={month}&pool=large/a100/nvidia.com/gpu",
        f"/api/v1/tenants/tenant-7/costs/hours/?since={moment(month.span.starts):%FT%TZ}",
    ]
    alone = {url: measured(client, url) for url in urls}
    fill.older(lab.cluster, month, months=2)
    beside = {url: measured(client, url) for url in urls}

    # One tenant's statements take so little that drawing its page is most of it.
    assert alone[urls[0]]["page"] < PAGE * alone[urls[0]]["bare"]
    assert {url for url in urls if beside[url]["page"] > FURTHER * alone[url]["page"]} == set()


def asked(query: dict[str, str]) -> str:
    """Return what a statement asks for, also where the answer is read part by part."""
    sql = query["sql"]
    return sql.partition(" FOR ")[2] if sql.startswith("DECLARE ") else sql


def measured(client: Client, url: str) -> dict[str, float]:
    with CaptureQueriesContext(connection) as caught:
        assert client.get(url).status_code == 200
    statements = [each for each in map(asked, caught) if each.startswith(("SELECT", "(SELECT"))]

    def bare() -> None:
        with connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
                cursor.fetchall()

    numbers = {"page": best(lambda: client.get(url)), "bare": best(bare)}
    report(url.partition("?")[0], **numbers)
    return numbers
