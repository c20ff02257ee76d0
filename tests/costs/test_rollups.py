"""Days and months are their hours to the second, whichever hours are counted again."""

from collections import defaultdict
from dataclasses import replace
from datetime import UTC, date, datetime
from importlib import import_module

import pytest
from django.db import connection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from costs.facts import Fact, HourFacts, Pool, PoolFact, Quality
from costs.models import PoolDay, PoolHour, PoolMonth, TenantDay, TenantHour, TenantMonth
from costs.models.facts import PoolSums, TenantSums
from costs.services.facts import store
from costs.services.rollups import _summed
from costs.times import HOUR, Span, instant
from costs.used import Use

pytestmark = pytest.mark.django_db
#: Three hours before the end of October, so that hours fall into two days and two months.
BEGIN = instant(datetime(2026, 10, 31, 21, tzinfo=UTC))
POOLS = (Pool("a100", "nvidia.com/gpu"), Pool("h100", "nvidia.com/gpu"))
QUALITIES = [each.value for each in Quality]
COUNTS = ("hours", "unwatched", "estimated", "partial", "coverage")
POOL_COUNTS = ("hours", "unwatched")


@st.composite
def facts(draw, hour):
    """Facts of some tenants and pools of one hour, with numbers as large as months of a region."""
    lines = draw(st.sets(st.tuples(st.sampled_from(["", "cv", "nlp"]), st.sampled_from(POOLS))))
    number = st.integers(0, 10**13)
    # Nobody watched all of an hour, or somebody did; that is the same for all its facts.
    known = [Quality.MISSING] if draw(st.booleans()) else [*Quality][:-1]
    return HourFacts(
        hour,
        tuple(draw(fact(hour, tenant, pool, number, known)) for tenant, pool in sorted(lines)),
        tuple(draw(pool_fact(hour, pool, number)) for pool in sorted({pool for _, pool in lines})),
    )


@st.composite
def fact(draw, hour, tenant, pool, number, known):
    own, borrowed, reserved = draw(number), draw(number), draw(st.integers(0, 1000))
    reserved = min(reserved, own)
    names = ("committed", "lent", "overdraft", "excess", "running", "terminating", "unmanaged")
    return Fact(
        hour=hour, tenant=tenant, pool=pool, held=own + borrowed, own=own, borrowed=borrowed,
        reserved=reserved, admitted=own + borrowed - reserved, draining=0,
        held_least=max(0, own - 5), held_most=own + borrowed + 7,
        coverage=draw(st.integers(0, HOUR)), pods=draw(st.integers(0, HOUR)),
        quality=draw(st.sampled_from(known)),
        use=draw(st.none() | st.builds(Use, *[st.integers(0, 10**9)] * 4)),
        **{name: draw(number) for name in names},
    )  # fmt: skip


@st.composite
def pool_fact(draw, hour, pool, number):
    ready, cordoned, down, nominal, overdraft = (draw(number) for _ in range(5))
    return PoolFact(hour, pool, ready, cordoned, down, nominal, draw(st.integers(0, nominal)),
                    overdraft)  # fmt: skip


def hours(first, count):
    return st.tuples(*(facts(BEGIN + n * HOUR) for n in range(first, first + count)))


def added(into, of, part):
    """What the rollup must say: the watched hours of each part added up one by one."""
    tenants = issubclass(into, TenantSums)
    fields = _summed(TenantSums if tenants else PoolSums)
    blank = {each.name: None if each.null else 0 for each in fields}
    more = dict.fromkeys(COUNTS if tenants else POOL_COUNTS, 0)
    more |= {"quality": "missing"} if tenants else {}
    blind = set(TenantHour.objects.filter(quality="missing").values_list("hour", flat=True))
    found = defaultdict(lambda: blank | more)
    for row in of.objects.all():
        sums = found[part(row.hour), getattr(row, "tenant_id", None), row.flavor]
        if row.hour in blind:
            sums["unwatched"] += 1
            continue
        for each in fields:
            value = getattr(row, each.name)
            sums[each.name] = (
                (sums[each.name] or 0) + value if value is not None else sums[each.name]
            )
        if tenants:
            known = [] if sums["hours"] == 0 else [sums["quality"]]
            sums["quality"] = max(*known, row.quality, "observed", key=QUALITIES.index)
            sums["coverage"] += row.coverage
            sums["estimated"] += row.quality == "estimated"
            sums["partial"] += row.quality == "partial"
        sums["hours"] += 1
    return dict(found)


def stored(into):
    tenants = issubclass(into, TenantSums)
    names = [each.name for each in _summed(TenantSums if tenants else PoolSums)]
    names += [*COUNTS, "quality"] if tenants else POOL_COUNTS
    return {
        (row.starts, getattr(row, "tenant_id", None), row.flavor):
            {name: getattr(row, name) for name in names}
        for row in into.objects.all()
    }  # fmt: skip


def both_are_the_same():
    for day, month, hour in ((TenantDay, TenantMonth, TenantHour), (PoolDay, PoolMonth, PoolHour)):
        assert stored(day) == added(day, hour, lambda at: at.date())
        assert stored(month) == added(month, hour, lambda at: at.date().replace(day=1))


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(first=hours(0, 5), again=hours(2, 2))
def test_days_and_months_are_their_hours_to_the_second(lab, first, again):
    store(cluster=lab.cluster, span=Span(BEGIN, BEGIN + 5 * HOUR), found=first)
    both_are_the_same()
    store(cluster=lab.cluster, span=Span(BEGIN + 2 * HOUR, BEGIN + 4 * HOUR), found=again)
    both_are_the_same()


def some(n):
    """An hour with one tenant and one pool, the same numbers each time."""
    rows = Fact(
        hour=BEGIN + n * HOUR, tenant="nlp", pool=POOLS[0], committed=10, held=8, own=8, borrowed=0,
        lent=0, overdraft=0, excess=0, reserved=0, admitted=8, draining=0, running=0, terminating=0,
        unmanaged=0, held_least=8, held_most=8, coverage=HOUR, quality=Quality.OBSERVED, use=None,
        pods=HOUR,
    )  # fmt: skip
    pool = PoolFact(BEGIN + n * HOUR, POOLS[0], 5, 0, 0, 0, 0, 0)
    return HourFacts(BEGIN + n * HOUR, (rows,), (pool,))


def put(lab, *numbers):
    span = Span(BEGIN + numbers[0] * HOUR, BEGIN + (numbers[-1] + 1) * HOUR)
    store(cluster=lab.cluster, span=span, found=map(some, numbers))


def test_only_days_that_were_touched_are_made_anew(lab):
    put(lab, *range(50))
    before = dict(TenantDay.objects.values_list("starts", "pk"))
    put(lab, 3, 4)
    after = dict(TenantDay.objects.values_list("starts", "pk"))
    assert {day for day in before if before[day] != after[day]} == {date(2026, 11, 1)}
    assert list(TenantMonth.objects.order_by("starts").values_list("starts", "hours", "held")) == [
        (date(2026, 10, 1), 3, 24), (date(2026, 11, 1), 47, 376),
    ]  # fmt: skip


def test_hours_that_are_empty_now_leave_no_day_behind(lab):
    put(lab, 0, 1, 2)
    store(cluster=lab.cluster, span=Span(BEGIN, BEGIN + 3 * HOUR), found=[])
    assert not TenantDay.objects.exists()
    assert not PoolMonth.objects.exists()


def test_days_of_another_cluster_stay(lab):
    from tenants.models import Cluster

    put(lab, 0)
    other = Cluster.objects.create(slug="other", display_name="Other")
    store(cluster=other, span=Span(BEGIN, BEGIN + HOUR), found=[])
    assert TenantDay.objects.get().cluster == lab.cluster


def test_what_is_not_known_of_any_hour_stays_unknown(lab):
    put(lab, 0)
    row = TenantDay.objects.get()
    assert (row.used, row.seen, row.expected, row.coverage) == (None, None, None, HOUR)


def test_a_day_is_gone_with_its_hours_when_storing_fails(lab):
    put(lab, 0)
    broken = [some(1), some(1)]
    with pytest.raises(Exception, match="tenant_hour_once"):
        store(cluster=lab.cluster, span=Span(BEGIN, BEGIN + 2 * HOUR), found=broken)
    assert (TenantHour.objects.count(), TenantDay.objects.get().hours) == (1, 1)


@pytest.mark.owner
def test_an_update_makes_the_rows_that_a_count_makes(lab):
    """Days and months of older versions are made anew by a migration, in its own words."""
    migration = import_module("costs.migrations.0010_roll_watched_hours")
    blind = replace(some(3).facts[0], quality=Quality.MISSING, coverage=0)
    found = [*map(some, range(3)), HourFacts(BEGIN + 3 * HOUR, (blind,), some(3).pools), some(4)]
    store(cluster=lab.cluster, span=Span(BEGIN, BEGIN + 5 * HOUR), found=found)
    before = [stored(into) for into in (TenantDay, TenantMonth, PoolDay, PoolMonth)]
    TenantDay.objects.update(held=0)
    with connection.cursor() as cursor:
        cursor.execute(migration.SQL)

    assert [stored(into) for into in (TenantDay, TenantMonth, PoolDay, PoolMonth)] == before
    assert PoolMonth.objects.get(starts=date(2026, 11, 1)).unwatched == 1
