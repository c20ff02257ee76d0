"""Makes days and months of UTC from the hours: those that were touched, and no others."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

from django.db.models import (
    BigIntegerField,
    Case,
    Count,
    IntegerField,
    Max,
    Q,
    QuerySet,
    Sum,
    Value,
    When,
)
from django.db.models.functions import Cast, Coalesce, TruncDate, TruncMonth

from costs.facts import Quality
from costs.models import PoolDay, PoolHour, PoolMonth, TenantDay, TenantHour, TenantMonth
from costs.models.facts import PoolSums, TenantSums
from costs.times import Span, moment
from tenants.models import Cluster

_BATCH: Final = 2000
_WORST_LAST: Final = tuple(each.value for each in Quality)
_TENANT: Final = ("tenant_id", "flavor", "resource")
_POOL: Final = ("flavor", "resource")


def roll(*, cluster: Cluster, span: Span) -> None:
    """Make the days and months anew that a span touches, each in a few statements.

    Call it inside the transaction that wrote the hours. Months are sums of their days.
    """
    first, last = moment(span.starts).date(), moment(span.ends - 1).date()
    _days(TenantHour, TenantDay, cluster, first, last)
    _days(PoolHour, PoolDay, cluster, first, last)
    _months(TenantDay, TenantMonth, cluster, first, last)
    _months(PoolDay, PoolMonth, cluster, first, last)


def _days(of: Any, into: Any, cluster: Cluster, first: date, last: date) -> None:
    lo, hi = _midnight(first), _midnight(last + timedelta(days=1))
    hours = of.objects.filter(cluster=cluster, hour__gte=lo, hour__lt=hi)
    if of is TenantHour:
        blind = Q(quality=Quality.MISSING)
    else:
        blind = Q(hour__in=_unwatched(cluster, lo, hi))
    counts = {"hours": Count("pk", filter=~blind), "unwatched": Count("pk", filter=blind)}
    if of is TenantHour:
        for quality in (Quality.ESTIMATED, Quality.PARTIAL):
            counts[quality.value] = Count("pk", filter=Q(quality=quality))
    found = hours.annotate(part=TruncDate("hour", tzinfo=UTC))
    _replace(into, cluster, (first, last), found, counts, ~blind)


def _unwatched(cluster: Cluster, lo: datetime, hi: datetime) -> list[datetime]:
    """Return the hours that nobody watched; all facts of such an hour say so."""
    blind = TenantHour.objects.filter(
        cluster=cluster, hour__gte=lo, hour__lt=hi, quality=Quality.MISSING
    )
    return list(blind.values_list("hour", flat=True).distinct())


def _months(of: Any, into: Any, cluster: Cluster, first: date, last: date) -> None:
    first, last = first.replace(day=1), last.replace(day=1)
    following = (last + timedelta(days=31)).replace(day=1)
    days = of.objects.filter(cluster=cluster, starts__gte=first, starts__lt=following)
    found = days.annotate(part=TruncMonth("starts"))
    names = ("hours", "unwatched", *(("estimated", "partial") if of is TenantDay else ()))
    counts = {name: Cast(Sum(name), IntegerField()) for name in names}
    _replace(into, cluster, (first, last), found, counts, Q(hours__gt=0))


def _replace(
    into: Any,
    cluster: Cluster,
    span: tuple[date, date],
    parts: QuerySet[Any],
    counts: dict[str, Any],
    watched: Q,
) -> None:
    """Put the sums of rows in place of what stood there, by ``part`` and whom they are of.

    Only what was ``watched`` is added up.
    """
    tenants = issubclass(into, TenantSums)
    key = _TENANT if tenants else _POOL
    columns = {f"sum_{name}": found for name, found in counts.items()}
    for each in _summed(TenantSums if tenants else PoolSums):
        columns[f"sum_{each.name}"] = _sum(each.name, watched, unknown=each.null)
    if tenants:
        columns |= {"sum_coverage": _sum("coverage", watched, unknown=False)}
        columns |= {"worst": _worst(watched)}
    rows = parts.values("part", *key).annotate(**columns).order_by("part", *key)
    into.objects.filter(cluster=cluster, starts__range=span).delete()
    into.objects.bulk_create((_row(into, cluster, row) for row in rows), batch_size=_BATCH)


def _summed(of: type[TenantSums | PoolSums]) -> list[Any]:
    """Return the columns that are added up: every quantity of the row."""
    return [each for each in of._meta.local_fields if type(each) is BigIntegerField]


def _sum(name: str, watched: Q, *, unknown: bool) -> Any:
    # PostgreSQL adds bigints up as numeric. What is not known of any part stays unknown.
    found = Cast(Sum(name, filter=watched), BigIntegerField())
    return found if unknown else Coalesce(found, Value(0), output_field=BigIntegerField())


def _worst(watched: Q) -> Any:
    """Return the place of the worst quality, or of *missing* where nothing was watched."""
    whens = (When(quality=each, then=Value(n)) for n, each in enumerate(_WORST_LAST))
    worst = Max(Case(*whens, output_field=IntegerField()), filter=watched)
    return Coalesce(worst, Value(_WORST_LAST.index(Quality.MISSING.value)))


def _row(into: Any, cluster: Cluster, row: dict[str, Any]) -> Any:
    found = {name.removeprefix("sum_"): value for name, value in row.items()}
    part, worst = found.pop("part"), found.pop("worst", None)
    starts = part.date() if isinstance(part, datetime) else part
    more = {} if worst is None else {"quality": _WORST_LAST[worst]}
    return into(cluster=cluster, starts=starts, **found, **more)


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)
