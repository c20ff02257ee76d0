"""What bills have for a pool, hour by hour: those that count, added up over their sources."""

from __future__ import annotations

from decimal import Decimal
from typing import NamedTuple

from django.db.models import IntegerField, Max, Q, Sum
from django.db.models.functions import Cast

from costs.facts import Pool
from costs.models import BilledHour, BillFile, BillSource
from costs.selectors.hours import within
from costs.times import Span, instant


class Billed(NamedTuple):
    """One hour of a pool in device-seconds; ``seconds`` are ``None`` where no bill tells them."""

    seconds: int | None
    orphan: int
    cost: Decimal


class BilledHours(NamedTuple):
    """The hours of a pool by their starts. ``currency`` is empty where bills are in several."""

    hours: dict[int, Billed]
    currency: str
    spread: bool


def counting() -> Q:
    """Return the condition for rows of files that count and are paid."""
    paid = [each.value for each in BillSource.PAID]
    return Q(file__state=BillFile.State.ACTIVE, file__source__kind__in=paid)


def billed_hours(cluster_id: int, pool: Pool, span: Span) -> BilledHours:
    """Return what was billed for a pool within a span; one query."""
    rows = BilledHour.objects.filter(
        within(span), counting(), cluster=cluster_id, flavor=pool.flavor, resource=pool.resource
    )
    summed = rows.values("hour", "file__source__currency").annotate(
        seconds_=Sum("seconds"), orphan_=Sum("orphan"), cost_=Sum("cost"),
        spread_=Max(Cast("spread", IntegerField())),
    )  # fmt: skip
    found: dict[int, Billed] = {}
    currencies: set[str] = set()
    spread = False
    for row in summed.order_by("hour"):
        if row["hour"] is None:
            continue
        hour = instant(row["hour"])
        before = found.get(hour, Billed(None, 0, Decimal(0)))
        found[hour] = Billed(
            _sum(before.seconds, row["seconds_"]), before.orphan + int(row["orphan_"]),
            before.cost + row["cost_"],
        )  # fmt: skip
        currencies.add(row["file__source__currency"])
        spread = spread or bool(row["spread_"])
    return BilledHours(found, currencies.pop() if len(currencies) == 1 else "", spread)


def _sum(one: int | None, other: Decimal | None) -> int | None:
    if other is None:
        return one
    return (one or 0) + int(other)
