"""A month of one tenant in one pool, from the stored hours."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Final, NamedTuple

from django.db.models import F

from costs.facts import Fact, Quality
from costs.models import TenantHour
from costs.selectors.hours import COLUMNS, Sums, counted, fact, sums, within
from costs.selectors.months import Day, Month, days
from costs.times import HOUR

_PLACE: Final = ("cluster", "cluster__slug", "cluster__display_name")


class Place(NamedTuple):
    """One pool of one cluster; the order is that of the switch between them."""

    cluster: str
    flavor: str
    resource: str

    def __str__(self) -> str:
        """Return it as addresses name it: lab/a100/nvidia.com/gpu."""
        return "/".join(self)


@dataclass(frozen=True, slots=True)
class TenantMonth:
    """The days of a month in ``place``; without one there is nothing of the tenant at all.

    ``places`` names the clusters of all pools in which the tenant has hours. ``facts`` are the
    hours that were watched, ``total`` their sums: ``None`` if there are none, which is not 0.
    ``counted`` are the hours of the cluster that were counted and watched.
    """

    month: Month
    places: dict[Place, str]
    place: Place | None
    days: list[Day]
    facts: list[Fact]
    total: Sums | None
    counted_to: int | None
    counted: frozenset[int] = frozenset()

    def hours(self, quality: Quality) -> int:
        """Return how many hours of the month are known this well."""
        if quality is Quality.MISSING:
            return sum(day.missing for day in self.days)
        return sum(day.known[quality] for day in self.days)

    @property
    def known(self) -> Counter[Quality]:
        """Return the hours of the month by how well they are known."""
        return Counter({each: self.hours(each) for each in Quality})


def tenant_month(tenant_id: int, month: Month, wanted: Place | None, now: int) -> TenantMonth:
    """Return a month in the pool that is wanted, or in the first one; two queries.

    A pool that is wanted and has no hours in the month has none: no other one is shown for it.
    """
    found, clusters, names = _by_place(tenant_id, month)
    place = wanted or next(iter(names), None)
    if place not in found:
        return TenantMonth(month, names, place, [], [], None, None)
    hours = counted(clusters[place], month.span)
    facts = found[place]
    parts = days(month.span, facts, hours, now)
    watched = [each for each in facts if each.quality is not Quality.MISSING]
    blind = {each.hour for each in facts if each.quality is Quality.MISSING}
    return TenantMonth(
        month=month,
        places=names,
        place=place,
        days=parts,
        facts=watched,
        total=sums(watched) if any(day.sums for day in parts) else None,
        counted_to=max(hours | {each.hour for each in facts}) + HOUR,
        counted=frozenset(hours - blind),
    )


def _by_place(
    tenant_id: int, month: Month
) -> tuple[dict[Place, list[Fact]], dict[Place, int], dict[Place, str]]:
    """Return a tenant's facts by pool, and the clusters' keys and names; one query."""
    rows = TenantHour.objects.filter(within(month.span), tenant=tenant_id)
    rows = rows.annotate(of=F("tenant__slug")).order_by("hour")
    found: dict[Place, list[Fact]] = defaultdict(list)
    clusters: dict[Place, int] = {}
    names: dict[Place, str] = {}
    for pk, slug, name, *row in rows.values_list(*_PLACE, *COLUMNS).iterator(chunk_size=5000):
        one = fact(dict(zip(COLUMNS, row, strict=True)))
        place = Place(slug, *one.pool)
        found[place].append(one)
        clusters[place], names[place] = pk, name or slug
    return dict(found), clusters, dict(sorted(names.items()))
