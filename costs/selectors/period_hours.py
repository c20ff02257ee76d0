"""The hours of a period, pool by pool, as a run reads them; never all of them at once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from django.db.models import Min

from costs.comparing import Place
from costs.facts import Fact, Pool, PoolFact
from costs.models import Period, PoolHour, PoolMonth, Run, TenantHour
from costs.selectors import hours
from costs.times import HOUR, Span, instant
from tenants.models import Cluster

#: Days that are read together: what bounds the memory of a run.
_STEP = 2 * 24 * HOUR


class PoolHourFacts(NamedTuple):
    """One hour of a pool with everybody in it."""

    place: Place
    pool: PoolFact
    facts: list[Fact]


def span_of(period: Period) -> Span:
    """Return the hours of a period."""
    return Span(instant(period.starts), instant(period.ends))


def read(span: Span, step: int = _STEP) -> Iterator[PoolHourFacts]:
    """Yield every counted hour of every pool, by cluster and time; two queries for each step.

    Pools that somebody held and that have no devices on record are among them, with none.
    """
    for cluster in Cluster.objects.order_by("slug"):
        for starts in range(span.starts, span.ends, step):
            part = Span(starts, min(starts + step, span.ends))
            yield from _part(cluster, part)


def _part(cluster: Cluster, span: Span) -> Iterator[PoolHourFacts]:
    rows = TenantHour.objects.filter(hours.within(span), cluster=cluster)
    facts: dict[tuple[int, Pool], list[Fact]] = defaultdict(list)
    for fact in hours.facts(rows.order_by()):
        facts[fact.hour, fact.pool].append(fact)
    pools = {
        (each.hour, each.pool): each
        for each in hours.pools(PoolHour.objects.filter(hours.within(span), cluster=cluster))
    }
    for hour, pool in sorted(facts.keys() | pools.keys()):
        found = pools.get((hour, pool)) or PoolFact(hour, pool, 0, 0, 0, 0, 0, 0)
        of_pool = sorted(facts.get((hour, pool), ()), key=lambda fact: fact.tenant)
        yield PoolHourFacts(Place(cluster.slug, pool), found, of_pool)


def expected(span: Span) -> dict[str, Span]:
    """Return the hours that each cluster should have: from the first that ever was counted on.

    A cluster that was connected in the middle of a month has no hours before, and misses none.
    """
    firsts = PoolHour.objects.order_by().values_list("cluster__slug").annotate(first=Min("hour"))
    found: dict[str, Span] = {}
    for slug, first in firsts:
        starts = max(span.starts, instant(first))
        if starts < span.ends:
            found[slug] = Span(starts, span.ends)
    return found


def counted(period: Period) -> list[tuple[int, str]]:
    """Return the counts whose facts stand in a period, with their hashes: what a run rests on."""
    ids = PoolHour.objects.filter(hour__gte=period.starts, hour__lt=period.ends)
    runs = Run.objects.filter(pk__in=ids.values("run").distinct())
    return list(runs.order_by("starts", "pk").values_list("pk", "result"))


def known_pools() -> list[Place]:
    """Return every pool that was ever counted; one query over the months."""
    rows = PoolMonth.objects.order_by().values_list("cluster__slug", "flavor", "resource")
    return sorted(Place(slug, Pool(flavor, resource)) for slug, flavor, resource in rows.distinct())
