"""A tenant's budget of a month, and what it has spent of it by day, in all its pools."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from django.db.models import Min, QuerySet

from costs.facts import Fact, Pool, Quality
from costs.models import Budget, PoolHour, PriceBook, TenantHour
from costs.models.prices import Purpose
from costs.selectors.hours import facts, within
from costs.selectors.months import DAY, GRACE, Month
from costs.selectors.pricing import Book, offered, priced
from costs.spending import DAYS, Forecast, Spent, forecast, total
from costs.times import HOUR, Span, hours, instant, moment


@dataclass(frozen=True, slots=True)
class Spending:
    """A month against its budget; ``late`` hours may still be counted, ``missing`` will not.

    ``unpriced`` are days with known hours whose amount cannot be told.
    """

    budget: Budget | None
    days: list[Spent]
    spent: Fraction
    forecast: Forecast | None
    missing: int
    unpriced: int


def current(tenant_id: int, month: Month) -> Budget | None:
    """Return the budget that holds in a month, if there is one; one query."""
    rows = Budget.objects.filter(
        tenant=tenant_id, month__lte=moment(month.span.starts).date()
    ).select_related("book", "set_by")
    found = rows.order_by("-month").first()
    return found if found and found.amount is not None else None


def charging() -> QuerySet[PriceBook]:
    """Return the books in which tenants pay."""
    return PriceBook.objects.exclude(purpose=Purpose.LIST).order_by("name")


def spending(tenant_id: int, month: Month, now: int) -> Spending:
    """Return what a tenant has spent by day: held time, or what the budget's book charges.

    Four queries, and four more for prices where the budget is money.
    """
    budget = current(tenant_id, month)
    span = Span(month.span.starts - DAYS * DAY, month.span.ends)
    rows = TenantHour.objects.filter(within(span), tenant=tenant_id)
    found = list(facts(rows))
    counted = _counted(tenant_id, span)
    using = _unit(budget, month)
    days = [
        _spent(Span(at, at + DAY), found_of, counted, using, now)
        for at, found_of in _by_day(found, span).items()
    ]
    mine = [day for day in days if day.starts >= month.span.starts]
    ended = [day for day in days if day.starts + DAY <= now]
    return Spending(
        budget=budget,
        days=mine,
        spent=total(mine),
        forecast=forecast(mine, ended) if now < month.span.ends + GRACE else None,
        missing=sum(DAY // HOUR - day.known - day.ahead for day in mine),
        unpriced=sum(day.amount is None and day.known > 0 for day in mine),
    )


class _Unit(NamedTuple):
    """In what is counted: money of a book, if it is in use, or held time."""

    money: bool
    book: Book | None


def _unit(budget: Budget | None, month: Month) -> _Unit:
    if budget is None or budget.book is None:
        return _Unit(money=False, book=None)
    name = budget.book.name
    found = (each for each in offered(month, internal=False) if each.name == name)
    return _Unit(money=True, book=next(found, None))


def _counted(tenant_id: int, span: Span) -> set[int]:
    """Return the hours that were counted in all clusters in which the tenant has hours.

    A cluster is asked from its first hour on. Two queries.
    """
    mine = TenantHour.objects.filter(within(span), tenant=tenant_id).values("cluster")
    rows = PoolHour.objects.filter(cluster__in=mine).order_by()
    first = dict(rows.values_list("cluster").annotate(Min("hour")))
    found: dict[int, set[int]] = {cluster: set() for cluster in first}
    for cluster, hour in rows.filter(within(span)).values_list("cluster", "hour").distinct():
        found[cluster].add(instant(hour))
    begun = min(map(instant, first.values()), default=0)
    return {
        hour.starts
        for hour in hours(span)
        if first
        and hour.starts >= begun
        and all(
            hour.starts in found[cluster] or hour.starts < instant(at)
            for cluster, at in first.items()
        )
    }


def _by_day(found: Sequence[Fact], span: Span) -> dict[int, list[Fact]]:
    days: dict[int, list[Fact]] = {at: [] for at in range(span.starts, span.ends, DAY)}
    for fact in found:
        days[fact.hour - fact.hour % DAY].append(fact)
    return days


def _spent(
    day: Span,
    found: Sequence[Fact],
    counted: set[int],
    using: _Unit,
    now: int,
) -> Spent:
    blind = {fact.hour for fact in found if fact.quality is Quality.MISSING}
    known = {hour.starts for hour in hours(day)} & counted - blind
    ahead = sum(
        hour.ends > now - GRACE and hour.starts not in counted | blind for hour in hours(day)
    )
    watched = [fact for fact in found if fact.hour in known]
    amount = _amount(watched, using) if known else None
    return Spent(day.starts, amount, len(known), ahead)


def _amount(watched: Sequence[Fact], using: _Unit) -> Fraction | None:
    """Return held resource-seconds, or what a book charges; ``None`` if that cannot be told."""
    if not using.money:
        return Fraction(sum(fact.held for fact in watched))
    if not watched:
        return Fraction(0)
    if using.book is None:
        return None
    pools: dict[Pool, list[Fact]] = defaultdict(list)
    for fact in watched:
        pools[fact.pool].append(fact)
    parts = [priced(using.book, of).due for of in pools.values()]
    known = [part for part in parts if part is not None]
    return sum(known, Fraction(0)) if len(known) == len(parts) else None
