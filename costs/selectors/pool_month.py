"""A month of one pool: all its tenants, its devices, and where each of their seconds went."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from costs.facts import NOBODY, Fact, Pool, PoolFact, Quality
from costs.models import PoolHour, TenantHour
from costs.selectors.hours import Sums, facts, pools, sums, within
from costs.selectors.months import GRACE, Month
from costs.times import hours
from costs.waterfall import OverCapacity, Row, waterfall
from tenants.models import Tenant


@dataclass(frozen=True, slots=True)
class TenantRow:
    """One tenant in the pool; without a slug it is what no tenant has."""

    slug: str
    name: str
    sums: Sums


@dataclass(frozen=True, slots=True)
class Devices:
    """Devices of the pool and the quota that was given of them, in resource-seconds."""

    ready: int
    cordoned: int
    down: int
    committed: int
    departments: int

    @property
    def unsold(self) -> int:
        """Return what is ready and promised to nobody; below 0 more is promised than is ready."""
        return self.ready - self.committed - self.departments


@dataclass(frozen=True, slots=True)
class Fall:
    """The waterfall of all hours in which everything fits.

    ``crowded`` are hours in which more devices were taken than there were, so that something is
    counted twice; they are in no row.
    """

    rows: dict[Row, Fraction]
    whole: Fraction
    hours: int
    crowded: int


@dataclass(frozen=True, slots=True)
class PoolMonth:
    """A pool's month; without a pool nothing of the cluster was counted in it."""

    month: Month
    pools: list[Pool]
    pool: Pool | None
    tenants: list[TenantRow]
    total: Sums
    devices: Devices
    fall: Fall
    counted: int
    missing: int


def pool_month(cluster_id: int, month: Month, wanted: Pool | None, now: int) -> PoolMonth:
    """Return a month of the pool that is wanted, or of the first one; three queries.

    Hours that nobody watched are counted as missing and stand in no sum.
    """
    rows = PoolHour.objects.filter(within(month.span), cluster=cluster_id)
    by_pool: dict[Pool, dict[int, PoolFact]] = defaultdict(dict)
    for each in pools(rows):
        by_pool[each.pool][each.hour] = each
    pool = wanted or min(by_pool, default=None)
    exist = by_pool.get(pool, {}) if pool else {}
    found = _facts(cluster_id, month, pool) if pool else {}
    watched = {hour: each for hour, each in exist.items() if _watched(found.get(hour, []))}
    known = [fact for hour in watched for fact in found.get(hour, [])]
    ended = sum(hour.ends <= now - GRACE or hour.starts in exist for hour in hours(month.span))
    total = sums(known)
    return PoolMonth(
        month=month,
        pools=sorted(by_pool),
        pool=pool,
        tenants=_tenants(known),
        total=total,
        devices=_devices(watched.values(), total.committed),
        fall=_fall(watched, found),
        counted=len(watched),
        missing=ended - len(watched),
    )


def _facts(cluster_id: int, month: Month, pool: Pool) -> dict[int, list[Fact]]:
    rows = TenantHour.objects.filter(
        within(month.span), cluster=cluster_id, flavor=pool.flavor, resource=pool.resource
    )
    found: dict[int, list[Fact]] = defaultdict(list)
    for fact in facts(rows):
        found[fact.hour].append(fact)
    return found


def _watched(found: list[Fact]) -> bool:
    """Return whether somebody listened in an hour; all its facts say the same."""
    return all(fact.quality is not Quality.MISSING for fact in found)


def _tenants(known: Iterable[Fact]) -> list[TenantRow]:
    by_tenant: dict[str, list[Fact]] = defaultdict(list)
    for fact in known:
        by_tenant[fact.tenant].append(fact)
    names = dict(Tenant.objects.filter(slug__in=by_tenant).values_list("slug", "display_name"))
    return [
        TenantRow(slug, names.get(slug, slug) if slug != NOBODY else "", sums(each))
        for slug, each in sorted(by_tenant.items())
    ]


def _devices(hours: Iterable[PoolFact], committed: int) -> Devices:
    each = list(hours)
    return Devices(
        ready=sum(one.ready for one in each),
        cordoned=sum(one.cordoned for one in each),
        down=sum(one.down for one in each),
        committed=committed,
        departments=sum(one.nominal for one in each),
    )


def _fall(pools: dict[int, PoolFact], found: dict[int, list[Fact]]) -> Fall:
    """Add up the waterfalls of hours. Without a bill they begin with the devices that exist."""
    whole, counted, crowded = Fraction(0), 0, 0
    parts: dict[Row, Fraction] = dict.fromkeys(Row, Fraction(0))
    for hour, pool in pools.items():
        try:
            each = waterfall(found.get(hour, []), pool)
        except OverCapacity:
            crowded += 1
            continue
        counted += 1
        whole += each.billed
        for row, seconds in each.rows.items():
            parts[row] += seconds
    return Fall(parts, whole, counted, crowded)
