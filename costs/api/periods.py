"""What the platform closes a month with: periods, what was found, and bills."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import django_filters
from django.db.models import Model, QuerySet
from rest_framework.request import Request
from rest_framework.response import Response

from costs.api import period_shapes as shapes
from costs.api.made import mark
from costs.api.months import of_month, text
from costs.filters import BillQuery, DiscrepancyQuery, PeriodQuery
from costs.models import BillFile, Period
from costs.selectors import periods
from portal.web.api import ReadView
from portal.web.cursors import Orders, asked, window
from queues.api import describe
from queues.api.answers import at_once, filtered, next_page
from tenants import access

ORDERS = {"newest": ("-starts", "-book__name"), "oldest": ("starts", "book__name")}
FOUND = {"code": ("code", "subject"), "newest": ("-found_at",)}
BILLS = {"newest": ("-taken_at",), "oldest": ("taken_at",)}
PROBLEMS = {"row": ("row",)}


def _platform(request: Request) -> None:
    """Let nobody but the platform know what there is."""
    if not access.can(request.user, "costs.see"):
        raise access.Hidden("period", "")


class Periods(ReadView):
    """The billing periods, for the roles of the platform."""

    filters = tuple(PeriodQuery.base_filters)
    paged = True

    @describe.listing("periods", shapes.Periods, PeriodQuery, ORDERS, guarded=True)
    def get(self, request: Request) -> Response:
        """List periods, newest first."""
        access.require(request.user, "costs.see")
        how = (PeriodQuery, ORDERS, shapes.Periods)
        return _page(self, request, "periods", _periods(), how, told=mark)


class OnePeriod(ReadView):
    """One period."""

    @describe.one("get_period", "periods", shapes.PeriodAnswer)
    def get(self, request: Request, month: str, book: str) -> Response:
        """Give a period, and what each payer owes: as billed, and as restated since."""
        _platform(request)
        row = _period(month, book)
        mark([row])
        facts = {**at_once(), "period": row, "payers": _payers(row)}
        return self.answer(shapes.PeriodAnswer, facts)


def _payers(row: Period) -> list[dict[str, Any]]:
    billed, restated = periods.as_billed(row), periods.as_restated(row)
    return [
        {"payer": name, "billed": billed.get(name), "restated": restated.get(name),
         "currency": row.book.currency}
        for name in sorted({*billed, *restated})
    ]  # fmt: skip


class Discrepancies(ReadView):
    """What was found on the way to closing a period."""

    filters = tuple(DiscrepancyQuery.base_filters)
    paged = True

    @describe.pages_of(
        "list_discrepancies", "periods", shapes.Discrepancies, FOUND, DiscrepancyQuery
    )
    def get(self, request: Request, month: str, book: str) -> Response:
        """List what two sources say differently."""
        _platform(request)
        rows = _period(month, book).discrepancies.select_related(
            "cluster", "resolved_by", "period__book"
        )
        how = (DiscrepancyQuery, FOUND, shapes.Discrepancies)
        return _page(self, request, f"found {month} {book}", rows, how)


class Bills(ReadView):
    """Files of bills, for the roles of the platform."""

    filters = tuple(BillQuery.base_filters)
    paged = True

    @describe.listing("bills", shapes.Bills, BillQuery, BILLS, guarded=True)
    def get(self, request: Request) -> Response:
        """List files, newest first."""
        access.require(request.user, "costs.see")
        rows = BillFile.objects.select_related("source")
        how = (BillQuery, BILLS, shapes.Bills)
        return _page(self, request, "bills", rows, how, told=mark)


class BillProblems(ReadView):
    """What is wrong with a file."""

    paged = True

    @describe.pages_of("list_bill_problems", "bills", shapes.BillProblems, PROBLEMS)
    def get(self, request: Request, source: str, digest: str) -> Response:
        """List the errors and warnings of a file by row."""
        _platform(request)
        files = BillFile.objects.filter(source__name=text(source))
        row = access.fetch(request.user, files.order_by("-pk"), "costs.see", sha256=digest)
        how = (None, PROBLEMS, shapes.BillProblems)
        return _page(self, request, f"problems {source} {digest}", row.problems.order_by(), how)


How = tuple[type[django_filters.FilterSet] | None, Orders, type[Any]]


def _page(
    view: ReadView,
    request: Request,
    name: str,
    rows: QuerySet[Any, Model],
    how: How,
    told: Callable[[list[Any]], None] = lambda _rows: None,
) -> Response:
    """Answer with one page of rows: their filters, their orders, the shape of the answer."""
    filters, orders, shape = how
    wanted = asked(request.query_params, name, orders)
    page = window(filtered(filters, rows, request) if filters else rows, wanted)
    told(page.rows)
    more = next_page(request, page.after)
    return view.answer(shape, {**at_once(), "clusters": [], "items": page.rows, "next": more})


def _periods() -> QuerySet[Period]:
    rows = Period.objects.select_related("book", "prices", "policy", "reviewed_by", "closed_by")
    return rows.prefetch_related("bills__bill", "bills__source")


def _period(month: str, book: str) -> Period:
    return of_month(_periods().filter(book__name=text(book)), month)
