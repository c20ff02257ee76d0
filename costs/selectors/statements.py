"""Statements as they were written."""

from __future__ import annotations

from django.db.models import QuerySet

from costs.models import Statement, StatementLine

#: Months that a page lists; older ones are found by their address.
LISTED = 24


def of_tenant(tenant_id: int) -> QuerySet[Statement]:
    """Return a tenant's statements with their periods and books, the newest first."""
    rows = Statement.objects.filter(tenant=tenant_id).select_related("period__book")
    return rows.order_by("-period__starts", "period__book__name", "pk")


def newest(tenant_id: int) -> list[Statement]:
    """Return the newest statements of a tenant; one query."""
    return list(of_tenant(tenant_id)[:LISTED])


def lines(statement: Statement) -> list[StatementLine]:
    """Return the lines of a statement, corrections of earlier periods last; one query."""
    rows = StatementLine.objects.filter(statement=statement).select_related("corrects__book")
    return sorted(rows, key=lambda row: (row.corrects_id is not None, row.flavor, row.pk))
