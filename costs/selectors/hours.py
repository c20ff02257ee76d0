"""Stored hours as the plain part knows them, and their sums."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from django.db.models import F, Q, QuerySet

from costs.facts import NOBODY, Fact, Pool, PoolFact, Quality
from costs.models import PoolHour, TenantHour
from costs.times import Span, instant, moment
from costs.used import Use, together

#: What two facts are together is the sum of theirs.
SUMMED: Final = (
    "committed", "held", "own", "borrowed", "lent", "overdraft", "excess", "reserved", "admitted",
    "draining", "running", "terminating", "unmanaged", "held_least", "held_most",
)  # fmt: skip
USED: Final = ("used", "seen", "expected", "fallback")
_COUNTED: Final = (*SUMMED, "coverage", "pods")
COLUMNS: Final = (
    "hour", "of", "flavor", "resource", "quality", *USED, *_COUNTED,
)  # fmt: skip
#: In the order of a fact.
_OF_POOLS: Final = ("ready", "cordoned", "down", "nominal", "borrowed", "overdraft")
_CHUNK: Final = 5000


def within(span: Span) -> Q:
    """Return the condition for the hours of a span."""
    return Q(hour__gte=moment(span.starts), hour__lt=moment(span.ends))


def facts(rows: QuerySet[TenantHour]) -> Iterator[Fact]:
    """Yield stored hours as facts, tenants by their slugs; one query."""
    found = rows.annotate(of=F("tenant__slug")).order_by("hour").values_list(*COLUMNS)
    for row in found.iterator(chunk_size=_CHUNK):
        yield fact(dict(zip(COLUMNS, row, strict=True)))


def fact(row: dict[str, Any]) -> Fact:
    """Return one stored hour as a fact."""
    known = row["used"] is not None
    return Fact(
        hour=instant(row["hour"]),
        tenant=row["of"] or NOBODY,
        pool=Pool(row["flavor"], row["resource"]),
        quality=Quality(row["quality"]),
        use=Use(*(row[name] or 0 for name in USED)) if known else None,
        **{name: row[name] for name in _COUNTED},
    )


def pools(rows: QuerySet[PoolHour]) -> Iterator[PoolFact]:
    """Yield stored hours of pools as facts; one query."""
    columns = ("hour", "flavor", "resource", "used", "seen", "expected", "unattributed", *_OF_POOLS)
    found = rows.order_by("hour").values_list(*columns)
    for hour, flavor, resource, used, *rest in found.iterator(chunk_size=_CHUNK):
        seen, expected, unattributed, *numbers = rest
        use = None if used is None else Use(used, seen or 0, expected or 0)
        pool = Pool(flavor, resource)
        plain = PoolFact(instant(hour), pool, *numbers)
        yield replace(plain, use=use, unattributed=unattributed)


def counted(cluster_id: int, span: Span) -> set[int]:
    """Return the hours of a span that were counted, by their starts; one query.

    A tenant without a row in one of them had nothing and was promised nothing.
    """
    rows = PoolHour.objects.filter(within(span), cluster=cluster_id)
    found: QuerySet[PoolHour, datetime] = rows.values_list("hour", flat=True)
    return {instant(hour) for hour in found.distinct()}


@dataclass(frozen=True, slots=True)
class Sums:
    """Sums of hours that were watched, in resource-seconds.

    ``over`` is held without quota. ``use`` is ``None`` where nothing was measured in any hour;
    an hour without a measurement among others is expected and not seen.
    """

    committed: int = 0
    held: int = 0
    own: int = 0
    over: int = 0
    borrowed: int = 0
    lent: int = 0
    idle: int = 0
    use: Use | None = None


def sums(found: Iterable[Fact]) -> Sums:
    """Add up facts; of none it is nothing at all."""
    each = list(found)
    uses = [one.use for one in each]
    measured = [use or Use(0, 0, one.at_work) for use, one in zip(uses, each, strict=True)]
    return Sums(
        committed=sum(one.committed for one in each),
        held=sum(one.held for one in each),
        own=sum(one.own for one in each),
        over=sum(one.excess for one in each),
        borrowed=sum(one.borrowed for one in each),
        lent=sum(one.lent for one in each),
        idle=sum(one.idle for one in each),
        use=together(measured) if any(use is not None for use in uses) else None,
    )


def added(found: Iterable[Sums], use: Use | None) -> Sums:
    """Add up sums of several tenants; their ``use`` is told, also of those without a measurement."""
    each = list(found)
    return Sums(
        committed=sum(one.committed for one in each),
        held=sum(one.held for one in each),
        own=sum(one.own for one in each),
        over=sum(one.over for one in each),
        borrowed=sum(one.borrowed for one in each),
        lent=sum(one.lent for one in each),
        idle=sum(one.idle for one in each),
        use=use,
    )
