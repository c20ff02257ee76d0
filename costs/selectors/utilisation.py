"""What was held against what could be: of a tenant in one pool, and of a pool as a whole."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import Count, Q, Sum

from costs.facts import Pool, PoolFact, Quality
from costs.models import PoolHour, TenantHour
from costs.selectors import standing
from costs.selectors.holdings import owners
from costs.selectors.hours import Sums, pools, within
from costs.selectors.months import Month
from costs.selectors.slots import ByHour, Cell, Slot, by_hour, combined, slots, week
from costs.selectors.tenant_month import TenantMonth
from costs.steps import Dated
from costs.times import Span, hours, instant
from queues.models import QuotaChange
from tenants.models import Cluster

_SUMMED: Final = ("committed", "held", "own", "excess", "borrowed", "lent")


@dataclass(frozen=True, slots=True)
class Utilisation:
    """A month of slots, and the same hours by hour of the week; ``total`` of nothing is none."""

    slots: list[Slot]
    week: list[list[Cell]]
    total: Sums | None

    @property
    def bounded(self) -> bool:
        """Return whether it is known at any time what may be held at most."""
        return any(slot.most is not None for slot in self.slots)


def of_tenant(found: TenantMonth, slug: str) -> Utilisation:
    """Return how much of its quota a tenant held in a month; four queries."""
    place, span = found.place, found.month.span
    if place is None or not found.days:
        return Utilisation([], [], None)
    cluster = Cluster.objects.only("pk").get(slug=place.cluster)
    known = by_hour(found.facts, found.counted)
    most = ceilings(cluster.pk, slug, Pool(place.flavor, place.resource), span)
    quota = {hour: each.committed for hour, each in known.items() if each}
    return _together(span, known, most, quota)


def _together(
    span: Span, known: ByHour, most: Mapping[int, int | None], whole: Mapping[int, int]
) -> Utilisation:
    watched = [each for each in known.values() if each is not None]
    return Utilisation(
        slots=slots(span, known, most),
        week=week(known, whole) if watched else [],
        total=combined(watched) if watched else None,
    )


def ceilings(cluster_id: int, slug: str, pool: Pool, span: Span) -> dict[int, int | None]:
    """Return what a tenant's queues may hold at most by hour: quota and what may be borrowed.

    Resource-seconds; ``None`` in an hour in which a queue may borrow without a limit of its own,
    no entry where it had no queue. Three queries.
    """
    of = owners(cluster_id, span).queues
    steps: dict[str, list[tuple[int, _Most | None]]] = defaultdict(list)
    rows = QuotaChange.objects.filter(cluster=cluster_id, kind=QuotaChange.Kind.QUEUE)
    for name, since, parent, removed, lines in standing.standing(
        rows, ("name",), span, ("parent", "removed", "lines")
    ):
        if name in of:
            # Of two rows of one moment the later one counts.
            steps[name] = [each for each in steps[name] if each[0] != instant(since)]
            steps[name].append((instant(since), None if removed else _most(pool, parent, lines)))
    dated = {name: Dated(found) for name, found in steps.items()}
    found = {hour.starts: list(_parts(hour, dated, of, slug)) for hour in hours(span)}
    return {
        hour: None if any(each is None for each in parts) else sum(each or 0 for each in parts)
        for hour, parts in found.items()
        if parts
    }


@dataclass(frozen=True, slots=True)
class _Most:
    """Devices; ``None`` where there is no limit."""

    devices: int | None


def _most(pool: Pool, parent: str, lines: list[dict[str, Any]]) -> _Most | None:
    for each in lines:
        if (each["flavor"], each["resource"]) == pool:
            limit = each["borrowing_limit"] if parent else 0
            return _Most(None if limit is None else each["nominal"] + limit)
    return None


def _parts(
    hour: Span, dated: Mapping[str, Dated[_Most]], of: Mapping[str, Dated[str]], slug: str
) -> Iterator[int | None]:
    for name, steps in dated.items():
        for part, most in steps.within(hour):
            for cut, owner in of[name].within(part):
                if most is not None and owner == slug:
                    yield None if most.devices is None else most.devices * cut.seconds


def of_pool(cluster_id: int, month: Month, wanted: Pool | None) -> tuple[list[Pool], Utilisation]:
    """Return the pools of a month, and how much of the devices of one was held; two queries.

    What may be held at most are the devices that were ready.
    """
    exist: dict[Pool, dict[int, PoolFact]] = defaultdict(dict)
    for each in pools(PoolHour.objects.filter(within(month.span), cluster=cluster_id)):
        exist[each.pool][each.hour] = each
    pool = wanted or min(exist, default=None)
    if pool is None or pool not in exist:
        return sorted(exist), Utilisation([], [], None)
    here = exist[pool]
    rows = TenantHour.objects.filter(
        within(month.span), cluster=cluster_id, flavor=pool.flavor, resource=pool.resource
    )
    summed = rows.values("hour").annotate(
        blind=Count("pk", filter=Q(quality=Quality.MISSING)),
        **{f"{name}_": Sum(name) for name in _SUMMED},
    )
    tenants = {instant(row["hour"]): row for row in summed}
    known = {hour: _sums(each, tenants.get(hour)) for hour, each in here.items()}
    ready = {hour: each.ready for hour, each in here.items()}
    return sorted(exist), _together(month.span, known, dict(ready), ready)


def _sums(pool: PoolFact, row: Mapping[str, Any] | None) -> Sums | None:
    """Return an hour of a pool; departments' own quota is committed like that of tenants."""
    if row is None:
        return Sums(committed=pool.nominal, idle=pool.nominal - pool.borrowed)
    if row["blind"]:
        return None
    committed, held, own, over, borrowed, lent = (int(row[f"{name}_"]) for name in _SUMMED)
    committed, lent = committed + pool.nominal, lent + pool.borrowed
    return Sums(committed, held, own, over, borrowed, lent, committed - (own - over) - lent)
