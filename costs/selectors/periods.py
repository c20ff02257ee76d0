"""A period both ways: as it was billed, and with what was booked later because of it."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal

from django.db.models import Sum

from costs.models import Discrepancy, Period, StatementLine
from costs.states import Code


def as_billed(period: Period) -> dict[str, Decimal]:
    """Return the total of each payer by the name that it had then; one query."""
    rows = period.statements.order_by("payer_name").values_list("payer_name", "total")
    return dict(rows)


def as_restated(period: Period) -> dict[str, Decimal]:
    """Return the totals with all later corrections of this period; two queries.

    What an earlier period made this one carry belongs to that one, and is left out.
    """
    own: Counter[tuple[int | None, str]] = Counter()
    names: dict[tuple[int | None, str], str] = {}
    for each in period.statements.all():
        key = (each.tenant_id, each.bucket)
        names[key] = each.payer_name
    for column, sums in (
        ("statement__period", StatementLine.objects.filter(corrects__isnull=True)),
        ("corrects", StatementLine.objects.all()),
    ):
        payers = ("statement__tenant", "statement__bucket", "statement__payer_name")
        rows = sums.filter(**{column: period.pk}).values_list(*payers).annotate(sum=Sum("amount"))
        for tenant, bucket, name, amount in rows:
            names.setdefault((tenant, bucket), name)
            own[tenant, bucket] += amount
    return {names[key]: Decimal(own[key]) for key in sorted(names, key=lambda key: names[key])}


def weights(period: Period) -> dict[str, Decimal]:
    """Return what each payer had of a period, by slug or bucket: how a correction is divided.

    What an earlier month made it carry is left out. One query.
    """
    rows = StatementLine.objects.filter(statement__period=period, corrects=None)
    sums = rows.values_list("statement__tenant__slug", "statement__bucket").annotate(Sum("amount"))
    found = {slug or bucket: Decimal(amount) for slug, bucket, amount in sums}
    return {payer: amount for payer, amount in sorted(found.items()) if amount > 0}


def targets(period: Period) -> list[Period]:
    """Return the months of the same book in which something of a closed one can be booked."""
    later = Period.objects.filter(book=period.book_id, starts__gte=period.ends)
    return list(later.exclude(state=Period.State.CLOSED).order_by("starts"))


def gaps(period: Period) -> list[Discrepancy]:
    """Return the newest findings about hours in which nobody listened, the first first; one query."""
    rows = period.discrepancies.filter(code=Code.HARVEST_GAP, settled_by=None)
    return list(rows.order_by("subject", "pk"))
