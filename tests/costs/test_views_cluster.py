"""A month of a pool: all tenants in one table, its devices, and where their time went."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from costs.facts import Pool, Quality
from costs.models import TenantHour
from costs.selectors.hours import sums
from costs.selectors.months import Month
from costs.selectors.pool_month import TenantRow, pool_month
from costs.times import HOUR
from costs.used import Use
from costs.views.cluster import ordered
from costs.waterfall import waterfall
from portal.web.wording import MINUS
from queues.models import Lifetime, PodRun
from tenants.models import Cluster
from tests.cast import MARK
from tests.costs import stored
from tests.query_counts import counted
from tests.queues import pages

URL = "/clusters/lab/costs/"
NOVEMBER = {"month": "2026-11"}
OTHER = Pool("h100", "nvidia.com/gpu")


@pytest.fixture(autouse=True)
def on_the_third(lab):
    with time_machine.travel(datetime(2026, 11, 3, 15, 30, tzinfo=UTC), tick=False):
        yield


def both(when, **more):
    """Return an hour: nlp has 12 of 16 and lends 2, cv has its 8 and borrows them."""
    use = Use(5000 * HOUR, 10 * HOUR, 10 * HOUR)
    return [
        stored.fact(when, "nlp", committed=16, own=12, lent=2, running=10, use=use, **more),
        stored.fact(when, "cv", committed=8, own=8, borrowed=2, running=10, use=use, **more),
    ]


@pytest.fixture
def two_hours(lab):
    found = [fact for of in range(2) for fact in both(stored.at(1, of))]
    stored.store(lab.cluster, *found, devices=32, cordoned=4, down=1)
    return lab


def show(client, lab, **query):
    client.force_login(lab.dave)
    return client.get(URL, NOVEMBER | query)


def test_every_tenant_stands_beside_the_others(two_hours, client):
    answer = show(client, two_hours)
    said = stored.said(answer)

    assert "Language 32.0 24.0 24.0 0.0 4.0 4.0 10.0 100 %" in said
    assert f"Vision {MARK} 16.0 20.0 16.0 4.0 0.0 0.0 10.0 100 %" in said
    assert "All 48.0 44.0 40.0 4.0 4.0 4.0 20.0 100 %" in said
    assert "/t/nlp/costs/?month=2026-11&amp;pool=lab/a100/nvidia.com/gpu" in pages.text(answer)


def test_devices_and_what_is_unsold(two_hours, client):
    said = stored.said(show(client, two_hours))

    assert "Ready 64.0" in said
    assert "Cordoned 8.0" in said
    assert "Down 2.0" in said
    assert "Unsold 16.0 ready and promised to nobody" in said


def test_every_second_stands_in_one_row_of_the_waterfall(two_hours, client):
    said = stored.said(show(client, two_hours))
    found = pool_month(two_hours.cluster.pk, Month(2026, 11), None, stored.at(3)).fall

    assert sum(found.rows.values()) == found.whole == 2 * (32 + 4 + 1) * HOUR
    assert "All devices 74.0" in said
    for row in ("Down nodes that were not ready 2.0 2.7 %", "Starting admitted, no pod runs yet 4.0 5.4 %",
                "Running, not used devices of pods that did nothing 20.0 27.0 %",
                "Used as the devices measured it 20.0 27.0 %"):  # fmt: skip
        assert row in said
    assert "Not explained" not in said


def test_where_no_pod_was_counted_nobody_knows_what_ran(lab, client):
    """As before the history of pods began: rows of that time are unknown, and not 0."""
    blind = replace(stored.fact(stored.at(1), "nlp", committed=16, own=12), pods=0)
    stored.store(lab.cluster, blind, devices=32)
    said = stored.said(show(client, lab))

    assert "Admitted pods were not watched: what of it ran is not known 12.0" in said
    assert "In 1 hour pods were not watched" in said
    assert "no pod runs yet" not in said


def test_where_pods_were_watched_what_did_not_run_is_starting(lab, client):
    idle = stored.fact(stored.at(1), "nlp", committed=16, own=12, running=4, terminating=2)
    stored.store(lab.cluster, replace(idle, use=None), devices=32)
    said = stored.said(show(client, lab))

    for row in ("Starting admitted, no pod runs yet 8.0", "Terminating pods whose quota is gone 2.0",
                "Running how much of it was used is not known 4.0"):  # fmt: skip
        assert row in said
    assert "were not watched" not in said


def test_what_was_seen_of_running_devices_is_told_where_not_all_were(lab, client):
    """The table has what was seen of each tenant, the waterfall only hours that were seen whole."""
    seen = stored.fact(stored.at(1), "nlp", committed=16, own=8, running=8)
    seen = replace(seen, use=Use(4000 * HOUR, 8 * HOUR, 8 * HOUR))
    unseen = stored.fact(stored.at(1), "cv", committed=8, own=4, running=4)
    stored.store(lab.cluster, seen, replace(unseen, use=None), devices=32)
    said = stored.said(show(client, lab))

    assert "at least 4.0 was used, as tenants have it above 12.0" in said


@pytest.fixture
def odd(lab):
    """A pod that bypasses Kueue, a Workload whose job is gone, and one of each that is sound."""
    own = {"cluster": lab.cluster, "namespace": "nlp", "starts": timezone.now() - timedelta(hours=2),
           "starts_quality": "exact"}  # fmt: skip
    life = {"created_at": own["starts"], "first_seen_at": own["starts"], "noted_at": own["starts"],
            "phase": "admitted", "queue": "nlp-train", "resource_version": "1"}  # fmt: skip
    for name, orphaned in (("job-lost", True), ("job-runs", True), ("job-owned", False)):
        Lifetime.objects.create(name=name, uid=name, devices=3, orphaned=orphaned, **own, **life)
    pod = {"node": "n1", "resource": "nvidia.com/gpu", "kind": "running"}
    for name, workload in (("wild", ""), ("fakes", "job-none"), ("sound", "job-runs")):
        PodRun.objects.create(name=name, uid=name, workload=workload, amount=4, **own, **pod)
    return lab


def test_what_holds_devices_for_nobody_is_reported(odd, client):
    said = stored.said(show(client, odd))

    assert "nlp/job-lost nlp-train 3 Nov 13:30 UTC 3 6.0" in said
    assert "nlp/wild n1 3 Nov 13:30 UTC 4 8.0" in said
    assert "nlp/fakes n1" in said
    for sound in ("job-runs", "job-owned", "nlp/sound"):
        assert sound not in said


def test_where_nothing_is_odd_nothing_is_said(two_hours, client):
    assert "need a look" not in stored.said(show(client, two_hours))


HOURS = st.integers(0, 6)
USES = st.none() | st.builds(lambda n: Use(n * 500 * HOUR, n * HOUR, n * HOUR), HOURS)
KINDS = (
    "committed",
    "own",
    "borrowed",
    "reserved",
    "admitted",
    "running",
    "terminating",
    "unmanaged",
)


@st.composite
def any_fact(draw, tenant):
    gpus = {kind: draw(HOURS) for kind in KINDS}
    fact = stored.fact(stored.at(1), tenant, use=draw(USES), **gpus)
    held = fact.own + fact.borrowed
    reserved = min(fact.reserved, held)
    excess = max(0, fact.own - fact.committed)
    return replace(fact, held=held, excess=excess, reserved=reserved, admitted=held - reserved)


@given(st.data())
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_the_database_adds_up_is_what_facts_add_up_to(lab, data):
    facts = [data.draw(any_fact(tenant)) for tenant in ("nlp", "cv", "")]
    stored.store(lab.cluster, *facts, devices=120, down=3, nominal=4)
    found = pool_month(lab.cluster.pk, Month(2026, 11), None, stored.at(3))
    expected = waterfall(facts, stored.pool(stored.at(1), 120, down=3, nominal=4))

    assert found.fall.rows == expected.rows
    assert found.fall.whole == expected.billed
    assert found.total == sums(facts)
    assert {row.slug: row.sums for row in found.tenants} == {
        one.tenant: sums([one]) for one in facts
    }


def test_bars_follow_each_other(two_hours, client):
    page = pages.text(show(client, two_hours))
    bars = re.findall(
        r'<rect class="w-(?!track|all)\w+" x="([\d.]+)%" y="1" width="([\d.]+)%"', page
    )

    at = 0.0
    for x, width in bars:
        assert float(x) == pytest.approx(at, abs=0.02)
        at = float(x) + float(width)
    assert at == pytest.approx(100, abs=0.03)


def test_counts_that_contradict_each_other_are_said(lab, client):
    stored.store(lab.cluster, stored.fact(stored.at(1), "nlp", committed=8, lent=4), devices=8)
    crowded = stored.fact(stored.at(1, 1), "nlp", committed=8, own=8, unmanaged=12)
    stored.store(lab.cluster, crowded, devices=8)
    said = stored.said(show(client, lab))

    assert "Not explained the counts contradict each other 4.0 50.0 %" in said
    assert "In 1 hour more devices were taken than there were" in said
    assert "devices are not counted. 1 Nov 01:00 to 02:00 UTC." in said


def test_more_promised_than_ready_is_alarming(lab, client):
    stored.store(lab.cluster, stored.fact(stored.at(1), "nlp", committed=40), devices=32)
    answer = show(client, lab)

    assert f"Unsold {MINUS}8.0 more is promised than is ready" in stored.said(answer)
    assert 'class="figure unsold alarm"' in pages.text(answer)


def test_hours_that_nobody_watched_are_in_no_sum(two_hours, client):
    blind = [
        each for of in range(3) for each in both(stored.at(1, 2 + of), quality=Quality.MISSING)
    ]
    stored.store(two_hours.cluster, *blind)
    said = stored.said(show(client, two_hours))

    assert "2 hours counted · 58 hours are missing and in no sum" in said
    assert "Language 32.0 24.0" in said


def test_what_is_nobodys_has_a_row_without_a_link(lab, client):
    stored.store(lab.cluster, stored.fact(stored.at(1), "", unmanaged=3, own=3))
    answer = show(client, lab)

    assert "no tenant 0.0 3.0" in stored.said(answer)


def test_departments_own_quota_is_not_unsold(lab, client):
    stored.store(lab.cluster, stored.fact(stored.at(1), "nlp", committed=8), devices=16, nominal=5)
    said = stored.said(show(client, lab))

    assert "Departments 5.0" in said
    assert "Unsold 3.0" in said


def tenant(name, own, used=None):
    use = None if used is None else Use(used * 1000, 10, 10)
    return TenantRow(name, name, sums([stored.fact(0, name, own=own, committed=1, use=use)]))


@pytest.mark.parametrize(
    ("sort", "names"),
    [
        ("tenant", "abc"), ("-tenant", "cba"), ("own", "cab"), ("-own", "bac"), ("-used", "acb"), ("used", "bca"),
        ("password", "abc"), ("", "abc"), ("--own", "abc"), ("-own;", "abc"), ("\0", "abc"),
    ],
)  # fmt: skip
def test_columns_sort_and_other_words_do_not(sort, names):
    rows = [tenant("b", 9), tenant("a", 5, used=3), tenant("c", 1, used=2)]

    assert "".join(row.slug for row in ordered(rows, sort)) == names


def test_sorting_keeps_month_and_pool(two_hours, client):
    page = pages.text(show(client, two_hours, pool="lab/a100/nvidia.com/gpu", sort="-held"))

    assert "month=2026-11&amp;pool=lab%2Fa100%2Fnvidia.com%2Fgpu&amp;sort=held" in page
    names = re.findall(r'class="open" href="[^"]*">([^<]+)<', page)
    assert names == ["Language", f"Vision {MARK}"]
    assert 'aria-sort="descending"' in page


def test_each_pool_has_its_own_page(two_hours, client):
    stored.store(two_hours.cluster, stored.fact(stored.at(2), "cv", OTHER, committed=3))
    first = stored.said(show(client, two_hours))
    other = stored.said(show(client, two_hours, pool="lab/h100/nvidia.com/gpu"))

    assert "Committed 48.0" in first
    assert "Committed 3.0" in other


@pytest.mark.parametrize("pool", ["other/a100/nvidia.com/gpu", "\0", "a100"])
def test_a_pool_of_another_cluster_is_none_of_this_one(two_hours, client, pool):
    said = stored.said(show(client, two_hours, pool=pool))

    assert "It names no pool" in said
    assert "Committed 48.0" in said


def test_an_empty_month_says_what_will_fill_it(lab, client):
    Cluster.objects.create(slug="new", display_name="New")
    client.force_login(lab.dave)

    assert "are counted for every hour" in stored.said(client.get("/clusters/new/costs/"))
    assert "No hours in this month" in stored.said(show(client, lab, month="2026-10"))


@pytest.mark.parametrize(
    ("who", "code"), [("alice", 403), ("bob", 403), ("frank", 403), ("heidi", 404)]
)
def test_members_of_tenants_do_not_see_the_others(two_hours, client, who, code):
    client.force_login(getattr(two_hours, who))
    answer = client.get(URL, NOVEMBER)

    assert answer.status_code == code
    pages.nothing_of_others(answer)
    assert URL not in pages.text(client.get("/clusters/lab/", follow=True))


@pytest.mark.parametrize("who", ["carol", "dave", "erin"])
def test_the_platform_finds_it_from_the_cluster(two_hours, client, who):
    client.force_login(getattr(two_hours, who))

    assert f'href="{URL}"' in pages.text(client.get("/clusters/lab/"))
    assert client.get(URL, NOVEMBER).status_code == 200


@pytest.mark.parametrize("number", [1, 30])
def test_queries_do_not_grow(lab, client, number):
    stored.store(lab.cluster, *[fact for of in range(number) for fact in both(stored.at(1, of))])
    client.force_login(lab.dave)
    with counted("costs: a pool's month"):
        client.get(URL, NOVEMBER)
    assert TenantHour.objects.count() == 2 * number
