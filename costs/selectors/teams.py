"""What each tenant of a pool had by day, on one basis, in hours or in money."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC
from enum import StrEnum
from fractions import Fraction
from typing import Any, Final

from django.db.models import Count, F, Q, QuerySet, Sum
from django.db.models.functions import Coalesce, TruncDay

from costs.facts import NOBODY, Pool, Quality
from costs.models import PoolHour, TenantHour
from costs.rates import Basis, PriceKey, Purchase
from costs.selectors.hours import within
from costs.selectors.months import DAY, Month
from costs.selectors.pricing import Book
from costs.times import HOUR, Span, instant
from costs.used import Use


class Of(StrEnum):
    """The bases that a chart can be drawn on."""

    COMMITTED = "committed"
    HELD = "held"
    ADMITTED = "admitted"
    BORROWED = "borrowed"
    IDLE = "idle"
    USED = "used"


#: Held time has no price of its own.
PRICES: Final = {
    Of.COMMITTED: Basis.COMMITTED, Of.ADMITTED: Basis.ADMITTED, Of.BORROWED: Basis.BORROWED,
    Of.IDLE: Basis.IDLE, Of.USED: Basis.USED,
}  # fmt: skip
#: Tenants that have a colour of their own; the rest is one.
SHOWN: Final = 9
_SUMMED: Final = ("committed", "held", "own", "excess", "borrowed", "lent", "admitted")


@dataclass(frozen=True, slots=True)
class Team:
    """One tenant, or all ``others`` together; what it had by day (its start), and in all."""

    slug: str
    name: str
    others: int
    days: dict[int, Fraction]

    @property
    def total(self) -> Fraction:
        """Return the sum of all days."""
        return sum(self.days.values(), Fraction(0))


@dataclass(frozen=True, slots=True)
class Teams:
    """The largest first. ``missing`` are hours of a day that ended and are in no sum.

    ``unknown`` are days in which too little was measured of somebody, or which have no price in
    part: what is there of them is a lower bound.
    """

    teams: list[Team]
    missing: dict[int, int]
    unknown: set[int]


def teams(cluster_id: int, month: Month, pool: Pool, of: Of, book: Book | None, now: int) -> Teams:
    """Return a month of a pool by tenant and day; a query for each price that held, and one more.

    Resource-seconds, or with a ``book`` money by its prices.
    """
    days: dict[tuple[str, str], dict[int, Fraction]] = defaultdict(lambda: defaultdict(Fraction))
    unknown: set[int] = set()
    for span, rate in _rates(month.span, pool, of, book):
        for slug, name, day, seconds in _summed(cluster_id, span, pool, of):
            if seconds is None or (rate is None and seconds):
                unknown.add(day)
            elif seconds and rate is not None:
                days[slug, name][day] += seconds * rate
    found = [Team(slug, name, 0, dict(of_day)) for (slug, name), of_day in days.items()]
    ordered = sorted(found, key=lambda team: (-team.total, team.name, team.slug))
    return Teams(_cut(ordered), _missing(cluster_id, month.span, pool, now), unknown)


def _rates(
    span: Span, pool: Pool, of: Of, book: Book | None
) -> Iterator[tuple[Span, Fraction | None]]:
    """Yield the parts of a span in which one price holds, by the second; 1 for seconds."""
    if book is None:
        yield span, Fraction(1)
        return
    bought = {key.purchase for key in book.prices.rates if key.flavor == pool.flavor}
    purchase = bought.pop() if len(bought) == 1 else Purchase.ON_DEMAND
    dated = book.prices.rates.get(PriceKey(pool.flavor, PRICES[of], purchase))
    if dated is None:
        yield span, None
        return
    for part, rate in dated.within(span):
        yield part, None if rate is None else Fraction(rate) * Fraction(1, HOUR)


def _summed(
    cluster_id: int, span: Span, pool: Pool, of: Of
) -> Iterator[tuple[str, str, int, Fraction | None]]:
    """Yield tenant, day and quantity; ``None`` where it was measured too little. One query."""
    rows: QuerySet[TenantHour] = TenantHour.objects.filter(
        within(span), cluster=cluster_id, flavor=pool.flavor, resource=pool.resource
    ).exclude(quality=Quality.MISSING)
    grouped = rows.annotate(day=TruncDay("hour", tzinfo=UTC), of=F("tenant__slug")).values(
        "day", "of", "tenant__display_name"
    )
    summed = grouped.annotate(
        **{f"{name}_": Sum(name) for name in _SUMMED},
        measured=Count("used"), used_=Sum("used"), seen_=Sum("seen"),
        expected_=Sum(Coalesce("expected", "admitted")),
        blind=Count("pk", filter=Q(used__isnull=True, admitted__gt=0)),
    ).order_by("day", "of")  # fmt: skip
    for row in summed:
        slug = row["of"] or NOBODY
        name = row["tenant__display_name"] or slug
        yield slug, name, instant(row["day"]), _quantity(row, of)


def _quantity(row: Mapping[str, Any], of: Of) -> Fraction | None:
    if of is Of.IDLE:
        committed, own, over, lent = (
            int(row[f"{n}_"]) for n in ("committed", "own", "excess", "lent")
        )
        return Fraction(committed - (own - over) - lent)
    if of is not Of.USED:
        return Fraction(int(row[f"{of}_"]))
    if not row["admitted_"]:
        return Fraction(0)
    use = Use(int(row["used_"] or 0), int(row["seen_"] or 0), int(row["expected_"] or 0))
    return use.least if row["measured"] and use.known else None


def _cut(ordered: list[Team]) -> list[Team]:
    """Return the largest, and the rest as one; a rest of one keeps its name."""
    if len(ordered) <= SHOWN + 1:
        return ordered
    rest = ordered[SHOWN:]
    days: dict[int, Fraction] = defaultdict(Fraction)
    for team in rest:
        for day, amount in team.days.items():
            days[day] += amount
    return [*ordered[:SHOWN], Team("", "", len(rest), dict(days))]


def _missing(cluster_id: int, span: Span, pool: Pool, now: int) -> dict[int, int]:
    """Return how many hours of each day that is over nobody watched or counted; one query."""
    rows = PoolHour.objects.filter(
        within(span), cluster=cluster_id, flavor=pool.flavor, resource=pool.resource
    )
    blind = TenantHour.objects.filter(
        within(span), cluster=cluster_id, flavor=pool.flavor, resource=pool.resource,
        quality=Quality.MISSING,
    ).values("hour")  # fmt: skip
    known = rows.exclude(hour__in=blind).annotate(day=TruncDay("hour", tzinfo=UTC))
    counted = {
        instant(day): number
        for day, number in known.values_list("day").annotate(Count("hour")).order_by("day")
    }
    over = [at for at in range(span.starts, span.ends, DAY) if at + DAY <= now]
    return {at: lost for at in over if (lost := DAY // HOUR - counted.get(at, 0)) > 0}
