"""Statements as they were written."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Final

from django.db.models import QuerySet

from costs import money
from costs.models import Statement, StatementLine

#: Months that a page lists; older ones are found by their address.
LISTED: Final = 24


def of_tenant(tenant_id: int) -> QuerySet[Statement]:
    """Return a tenant's statements with their periods and books, the newest first."""
    rows = Statement.objects.filter(tenant=tenant_id).select_related(
        "period__book", "period__prices", "period__policy"
    )
    return rows.order_by("-period__starts", "period__book__name", "pk")


def newest(tenant_id: int) -> list[Statement]:
    """Return the newest statements of a tenant; one query."""
    return list(of_tenant(tenant_id)[:LISTED])


def lines(statement: Statement) -> list[StatementLine]:
    """Return the lines of a statement, corrections of earlier periods last; one query."""
    rows = StatementLine.objects.filter(statement=statement).select_related("corrects", "bill")
    return sorted(rows, key=lambda row: (row.corrects_id is not None, row.flavor, row.pk))


def booked_later(statement: Statement) -> list[StatementLine]:
    """Return what was booked in later statements of the same payer because of this period.

    One query; the oldest first.
    """
    rows = StatementLine.objects.filter(
        corrects=statement.period_id, statement__tenant=statement.tenant_id
    )
    # What a dispute has changed in the month itself is among its own lines.
    later = rows.exclude(statement=statement).select_related(
        "statement__period", "corrects", "bill"
    )
    return list(later.order_by("statement__period__starts", "pk"))


def restated(
    statement: Statement, found: Iterable[StatementLine], later: Iterable[StatementLine]
) -> Decimal:
    """Return what a period is with everything that was booked because of it.

    What an earlier period made it carry belongs to that one, and is left out.
    """
    period = statement.period_id
    own = [line.amount for line in found if line.corrects_id in (None, period)]
    return money.add([*own, *(line.amount for line in later)])
