"""Pools of a cluster: their months, and where the time of their devices went."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Final

from django.http import Http404
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from costs import facts
from costs.api import shapes
from costs.api.made import mark
from costs.api.months import month_of
from costs.api.tenants import ORDERS, answer_counted
from costs.filters import RollupQuery
from costs.models import PoolMonth as Row
from costs.rounding import settle_fractions
from costs.selectors import pool_month
from costs.selectors.generated import generated
from costs.selectors.hours import Sums
from costs.times import instant
from costs.used import MILLI
from portal.web.api import ReadView
from portal.web.cursors import asked, window
from queues.api import describe
from queues.api.answers import at_once, filtered, next_page
from tenants import access

_UNEXPLAINED: Final = "unexplained"


class PoolMonths(ReadView):
    """Months of the pools of a cluster."""

    filters = tuple(RollupQuery.base_filters)
    paged = True

    @describe.pages_of(
        "list_pool_months", "costs", shapes.PoolMonths, ORDERS, RollupQuery, guarded=True
    )
    def get(self, request: Request, cluster: str) -> Response:
        """List the devices of each pool in each month, newest first."""
        row = access.cluster(request.user, cluster, "cluster.details")
        wanted = asked(request.query_params, f"pool months {cluster}", ORDERS)
        rows = Row.objects.filter(cluster=row).select_related("cluster")
        found = filtered(RollupQuery, rows, request)

        def gather() -> dict[str, Any]:
            page = window(found, wanted)
            mark(page.rows)
            return {"clusters": [], "items": page.rows, "next": next_page(request, page.after)}

        return answer_counted(self, shapes.PoolMonths, gather, access.rights(request.user))


class PoolMonth(ReadView):
    """One month of one pool."""

    @describe.one("get_pool_month", "costs", shapes.PoolAnswer, guarded=True)
    def get(
        self, request: Request, cluster: str, month: str, flavor: str, resource: str
    ) -> Response:
        """Give all tenants of a pool, its devices, and the waterfall of their time."""
        row = access.cluster(request.user, cluster, "cluster.details")
        pool = facts.Pool(flavor, resource)
        wanted, now = month_of(month), instant(timezone.now())
        found = pool_month.pool_month(row.pk, wanted, pool, now)
        if pool not in found.pools:
            raise Http404
        answer = {
            **at_once(), **pool._asdict(), **_devices(found.devices),
            "cluster": cluster, "month": month, "hours_counted": found.counted,
            "hours_missing": found.missing, "waterfall": _fall(found.fall),
            "tenants": [_share(each) for each in found.tenants],
            "generated": generated().within(wanted.span, [row.pk]),
        }  # fmt: skip
        return self.answer(shapes.PoolAnswer, answer)


def _devices(found: pool_month.Devices) -> dict[str, int]:
    names = ("ready", "cordoned", "down", "committed", "departments", "unsold")
    return {f"{name}_resource_seconds": getattr(found, name) for name in names}


def _share(row: pool_month.TenantRow) -> dict[str, Any]:
    names = ("committed", "held", "own", "borrowed", "lent", "idle")
    return {
        "tenant": row.slug or None,
        **{f"{name}_resource_seconds": getattr(row.sums, name) for name in names},
        **_use(row.sums),
    }


def _use(sums: Sums) -> dict[str, int | None]:
    use = sums.use
    return {
        "used_resource_milliseconds": use.used if use else None,
        "seen_resource_seconds": use.seen if use else None,
        "expected_resource_seconds": use.expected if use else None,
    }


def _fall(found: pool_month.Fall) -> dict[str, Any]:
    """Return the rows in whole milliseconds that add up to the whole.

    What they leave over is one too: then the counts contradict each other.
    """
    whole = round(found.whole * MILLI)
    parts: dict[str, Fraction] = {row.value: part * MILLI for row, part in found.rows.items()}
    parts[_UNEXPLAINED] = found.whole * MILLI - sum(parts.values(), Fraction(0))
    rounded = settle_fractions(parts, whole)
    return {
        "hours": found.hours,
        "hours_over_capacity": len(found.crowded),
        "whole_resource_milliseconds": whole,
        "rows": [{"row": row, "resource_milliseconds": rounded[row]} for row in parts],
    }
