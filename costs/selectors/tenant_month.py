"""A month of one tenant in one pool, from the stored hours."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from django.db.models import F

from costs.facts import Fact, Quality
from costs.models import TenantHour
from costs.selectors.hours import COLUMNS, Sums, counted, fact, sums, within
from costs.selectors.months import DAY, GRACE, Day, Month, days
from costs.selectors.unknown_hours import Guess, Unknown, guess, heard, runs
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
    ``counted`` are the hours of the cluster that were counted and watched. ``unknown`` are those
    that are missing or partly observed, ``guess`` what was noted of the missing ones, by day too.
    """

    month: Month
    places: dict[Place, str]
    place: Place | None
    days: list[Day]
    facts: list[Fact]
    total: Sums | None
    counted_to: int | None
    counted: frozenset[int] = frozenset()
    unknown: tuple[Unknown, ...] = ()
    guess: Guess | None = None
    guesses: Mapping[int, Guess] = field(default_factory=dict)

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
        unknown=tuple(runs(heard(facts, month.span, hours, now - GRACE))),
        guess=guess(facts),
        guesses=_by_day(facts),
    )


def _by_day(facts: list[Fact]) -> dict[int, Guess]:
    """Return what was noted of missing hours by the start of their day."""
    found: dict[int, list[Fact]] = defaultdict(list)
    for each in facts:
        if each.quality is Quality.MISSING:
            found[each.hour - each.hour % DAY].append(each)
    guessed = ((day, guess(each)) for day, each in found.items())
    return {day: each for day, each in guessed if each}


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
