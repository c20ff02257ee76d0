"""What a tenant had: its months, days and hours in each pool, a page at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import django_filters
from django.db.models import Max, QuerySet
from rest_framework.request import Request
from rest_framework.response import Response

from costs.api import shapes
from costs.api.made import mark
from costs.filters import HourQuery, RollupQuery
from costs.models import Run, TenantDay, TenantHour, TenantMonth
from portal.web.api import ReadView
from portal.web.cursors import asked, window
from queues.api import describe
from queues.api.answers import at_once, filtered, next_page
from tenants import access

_POOL = ("cluster__slug", "flavor", "resource")
_DOWN = ("-cluster__slug", "-flavor", "-resource")
ORDERS = {"newest": ("-starts", *_DOWN), "oldest": ("starts", *_POOL)}
HOURS = {"newest": ("-hour", *_DOWN), "oldest": ("hour", *_POOL)}


def newest_run() -> int:
    """Return what moves whenever hours are counted: nothing else changes their facts."""
    found: int | None = Run.objects.aggregate(last=Max("pk"))["last"]
    return found or 0


class Months(ReadView):
    """Months of a tenant."""

    filters = tuple(RollupQuery.base_filters)
    paged = True

    @describe.pages_of("list_tenant_months", "costs", shapes.Months, ORDERS, filters=RollupQuery)
    def get(self, request: Request, slug: str) -> Response:
        """List what a tenant had in each month and pool, newest first."""
        return _listed(self, request, slug, TenantMonth.objects.all(), shapes.Months, RollupQuery)


class Days(ReadView):
    """Days of a tenant."""

    filters = tuple(RollupQuery.base_filters)
    paged = True

    @describe.pages_of("list_tenant_days", "costs", shapes.Days, ORDERS, filters=RollupQuery)
    def get(self, request: Request, slug: str) -> Response:
        """List what a tenant had on each day in each pool, newest first."""
        return _listed(self, request, slug, TenantDay.objects.all(), shapes.Days, RollupQuery)


class Hours(ReadView):
    """Hours of a tenant."""

    filters = tuple(HourQuery.base_filters)
    paged = True

    @describe.pages_of("list_tenant_hours", "costs", shapes.Hours, HOURS, filters=HourQuery)
    def get(self, request: Request, slug: str) -> Response:
        """List what a tenant had in each hour and pool, newest first."""
        return _listed(self, request, slug, TenantHour.objects.all(), shapes.Hours, HourQuery)


def _listed(
    view: ReadView,
    request: Request,
    slug: str,
    rows: QuerySet[Any],
    shape: type[Any],
    filters: type[django_filters.FilterSet],
) -> Response:
    """Answer with one page of a tenant's rows; nothing is read when no hour was counted since."""
    row = access.tenant(request.user, slug, "tenant.numbers")
    orders = HOURS if rows.model is TenantHour else ORDERS
    wanted = asked(request.query_params, f"{rows.model._meta.model_name} {slug}", orders)
    mine = filtered(filters, rows.filter(tenant=row).select_related("cluster"), request)
    money_of = slug if access.can(request.user, "tenant.costs", row) else ""

    def gather() -> dict[str, Any]:
        page = window(mine, wanted)
        mark(page.rows)
        for each in page.rows:
            each.money_of = money_of
        return {"clusters": [], "items": page.rows, "next": next_page(request, page.after)}

    return answer_counted(view, shape, gather, access.rights(request.user))


def answer_counted(
    view: ReadView, shape: type[Any], gather: Callable[[], dict[str, Any]], held: access.Rights
) -> Response:
    """Answer what rests on counted hours alone, and on the rights of whoever asks."""
    now = at_once()
    return view.answer_if_moved(
        shape,
        lambda: {**now, **gather()},
        moved=(newest_run(), held),
        observed_at=now["observed_at"],
    )
