"""What a tenant's time costs: by price list for a month of one pool, and by its statements."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.http import Http404
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from costs.api import money_shapes as shapes
from costs.api.made import mark
from costs.api.months import month_of, of_month, text
from costs.filters import StatementQuery
from costs.models import Statement
from costs.selectors import statements
from costs.selectors.generated import generated
from costs.selectors.pricing import Priced, all_priced
from costs.selectors.tenant_month import Place, tenant_month
from costs.times import instant
from portal.web.api import ReadView
from portal.web.cursors import asked, window
from queues.api import describe
from queues.api.answers import at_once, filtered, next_page
from tenants import access

ORDERS = {
    "newest": ("-period__starts", "-period__book__name"),
    "oldest": ("period__starts", "period__book__name"),
}


class Amounts(ReadView):
    """What a month costs a tenant in one pool."""

    @describe.one("get_tenant_amounts", "costs", shapes.Amounts, guarded=True)
    def get(
        self, request: Request, slug: str, month: str, cluster: str, flavor: str, resource: str
    ) -> Response:
        """Give the amounts of the counted hours by each price book that was in use."""
        row = access.tenant(request.user, slug, "tenant.costs")
        wanted, place = month_of(month), Place(cluster, flavor, resource)
        found = tenant_month(row.pk, wanted, place, instant(timezone.now()))
        if place not in found.places:
            raise Http404
        internal = bool(access.rights(request.user).platform)
        facts = {
            **at_once(), **place._asdict(),
            "tenant": slug, "month": month, "hours_counted": len(found.facts),
            "generated": generated().within(wanted.span, [cluster]),
            "books": [
                _book(each) for each in all_priced(wanted, found.facts, internal=internal)
            ] if found.facts else [],
        }  # fmt: skip
        return self.answer(shapes.Amounts, facts)


def _book(found: Priced) -> dict[str, Any]:
    rounded = found.settled()
    return {
        "book": found.book.name,
        "purpose": found.book.kind,
        "version": found.book.version,
        "currency": found.book.prices.currency,
        "due": found.due,
        "lines": [
            {"line": line, "settled": rounded.get(line.basis), "of": found} for line in found.lines
        ],
    }


class Statements(ReadView):
    """The statements of a tenant."""

    filters = tuple(StatementQuery.base_filters)
    paged = True

    @describe.pages_of(
        "list_tenant_statements", "costs", shapes.Statements, ORDERS, StatementQuery, guarded=True
    )
    def get(self, request: Request, slug: str) -> Response:
        """List a tenant's statements, newest first."""
        row = access.tenant(request.user, slug, "tenant.costs")
        wanted = asked(request.query_params, f"statements {slug}", ORDERS)
        page = window(filtered(StatementQuery, _of(row.pk), request), wanted)
        mark(page.rows)
        facts = {
            **at_once(), "clusters": [], "items": page.rows,
            "next": next_page(request, page.after),
        }  # fmt: skip
        return self.answer(shapes.Statements, facts)


class OneStatement(ReadView):
    """One statement."""

    @describe.one("get_tenant_statement", "costs", shapes.StatementAnswer, guarded=True)
    def get(self, request: Request, slug: str, month: str, book: str) -> Response:
        """Give a statement as it was written, and what was booked later because of it."""
        row = access.tenant(request.user, slug, "tenant.costs")
        found = of_month(_of(row.pk).filter(period__book__name=text(book)), month, "period__")
        lines, later = statements.lines(found), statements.booked_later(found)
        currency = found.period.book.currency
        mark([found])
        facts = {
            **at_once(), "statement": found,
            "lines": [shapes.Line(each, currency) for each in lines],
            "booked_later": [shapes.Line(each, currency) for each in later],
            "restated_total": shapes.amount(statements.restated(found, lines, later), currency),
        }  # fmt: skip
        return self.answer(shapes.StatementAnswer, facts)


def _of(tenant_id: int) -> QuerySet[Statement]:
    return statements.of_tenant(tenant_id).select_related("tenant")
