"""Used by admitted time, as ratios of sums: of a tenant by day, and of each tenant of a pool."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from django.db.models import F, Q, Sum
from django.db.models.functions import Greatest

from costs.facts import NOBODY, Fact, Pool, Quality
from costs.models import TenantHour
from costs.selectors.hours import within
from costs.selectors.months import DAY, Month
from costs.used import Use, efficiency, together


@dataclass(frozen=True, slots=True)
class Ratio:
    """Admitted resource-seconds, and what of them was used; ``use`` None: nobody measured."""

    admitted: int
    use: Use | None

    @property
    def share(self) -> Fraction | None:
        """Return used by admitted time at least; ``None`` where it is not known or nothing."""
        return efficiency(self.use, self.admitted)

    @property
    def most(self) -> Fraction | None:
        """Return the same if all that was not seen was used."""
        if self.use is None or self.share is None:
            return None
        return self.use.most * Fraction(1, self.admitted)

    @property
    def coverage(self) -> Fraction | None:
        """Return how much was looked at; ``None`` where nothing was to be seen."""
        return self.use.coverage if self.use else None

    @property
    def unused(self) -> Fraction | None:
        """Return admitted resource-seconds that were not used, at most."""
        return None if self.use is None or self.share is None else self.admitted - self.use.least


def ratio(found: Iterable[Fact]) -> Ratio:
    """Add up hours. One without a measurement is expected and not seen, so it lowers coverage.

    What is expected there is what was admitted, where no pod was counted.
    """
    each = list(found)
    measured = [one.use or Use(0, 0, max(one.running, one.admitted)) for one in each]
    known = any(one.use is not None for one in each)
    return Ratio(sum(one.admitted for one in each), together(measured) if known else None)


def by_day(found: Iterable[Fact]) -> dict[int, Ratio]:
    """Return the ratio of each day that has a known hour, by its start."""
    days: dict[int, list[Fact]] = defaultdict(list)
    for fact in found:
        days[fact.hour - fact.hour % DAY].append(fact)
    return {start: ratio(facts) for start, facts in sorted(days.items())}


@dataclass(frozen=True, slots=True)
class TenantRatio:
    """One tenant of a pool; without a slug it is what no tenant has."""

    slug: str
    name: str
    ratio: Ratio


def by_tenant(cluster_id: int, month: Month, pool: Pool) -> list[TenantRatio]:
    """Return the tenants of a pool in a month; one query, the database adds up."""
    rows = TenantHour.objects.filter(
        within(month.span), cluster=cluster_id, flavor=pool.flavor, resource=pool.resource
    ).exclude(quality=Quality.MISSING)
    blind = Q(used__isnull=True)
    of = rows.values_list("tenant__slug", "tenant__display_name").order_by("tenant__slug")
    summed = of.annotate(
        Sum("admitted"), Sum("used"), Sum("seen"), Sum("expected"),
        blind=Sum(Greatest(F("running"), F("admitted")), filter=blind),
    )  # fmt: skip
    found: list[TenantRatio] = []
    for slug, name, admitted, used, seen, expected, unseen in summed:
        use = None
        if used is not None:
            use = Use(int(used), int(seen), int(expected) + int(unseen or 0))
        row = Ratio(int(admitted), use)
        found.append(TenantRatio(slug or NOBODY, name or slug or "", row))
    return sorted(found, key=lambda row: (-(row.ratio.unused or -1), row.name, row.slug))


def total(found: Iterable[TenantRatio]) -> Ratio:
    """Add up tenants; one that nobody measured is expected and not seen."""
    each = [row.ratio for row in found]
    uses = [one.use or Use(0, 0, one.admitted) for one in each]
    known = any(one.use is not None for one in each)
    return Ratio(sum(one.admitted for one in each), together(uses) if known else None)
