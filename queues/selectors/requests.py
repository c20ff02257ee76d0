"""Requests: the list, and one request on its way into the cluster."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import OuterRef, Prefetch, QuerySet, Value
from django.db.models.functions import Coalesce, JSONObject, NullIf
from django.utils.dateparse import parse_datetime

from queues.compiled import Part
from queues.models import Apply, ObjectResult, Plan, PlanObject
from tenants.models import Request, Tenant

# For people, the many states are four questions: whose turn is it?
GROUPS: dict[str, tuple[str, ...]] = {
    "open": ("submitted", "planned", "refused", "approved", "applying", "partial", "stale", "conflict", "unknown", "stuck"),
    "decide": ("planned",),
    "problem": ("refused", "partial", "stale", "conflict", "unknown", "stuck"),
    "done": ("applied",),
    "closed": ("rejected", "withdrawn", "abandoned"),
}  # fmt: skip
OPEN_SHOWN = 20


def listed(requests: QuerySet[Request]) -> QuerySet[Request]:
    """Give requests with what one line of a list shows, without a query per line."""
    return requests.select_related("cluster", "tenant", "author", "revision").defer(
        "revision__catalog"
    )


@dataclass(frozen=True, slots=True)
class Course:
    """How far one request has come."""

    request: Request
    plan: Plan | None
    apply: Apply | None
    results: list[ObjectResult]
    earlier: list[Plan]


def course(request: Request) -> Course:
    """Give the newest plan, its decision and apply, and the plans before it."""
    objects = Prefetch("planned", PlanObject.objects.order_by("position"))
    plans = list(
        Plan.objects.filter(request=request)
        .select_related("decision__actor", "apply__revision")
        .defer("proposed", "apply__revision__catalog")
        .prefetch_related(objects)
        .order_by("-created_at")
    )
    plan = plans[0] if plans else None
    apply = getattr(plan, "apply", None) if plan else None
    return Course(request, plan, apply, results_of(apply), plans[1:])


def results_of(apply: Apply | None) -> list[ObjectResult]:
    """Give the result of each object in the order in which they are written."""
    if apply is None:
        return []
    return list(
        ObjectResult.objects.filter(apply=apply)
        .select_related("object")
        .order_by("object__position")
    )


@dataclass(frozen=True, slots=True)
class Opened:
    """One line of an open request."""

    pk: str
    version: int
    state: str
    reason: str
    author: str
    updated_at: datetime | None


def with_open(tenants: QuerySet[Tenant]) -> QuerySet[Tenant]:
    """Add to each tenant its open requests, newest first."""
    return tenants.annotate(its_requests=_OPEN())


def _open() -> ArraySubquery:
    rows = Request.objects.filter(tenant=OuterRef("pk"), state__in=GROUPS["open"])
    name = Coalesce(NullIf("author__display_name", Value("")), "author__username")
    line = JSONObject(
        pk="pk", version="version", state="state", reason="reason", author=name,
        updated_at="updated_at",
    )  # fmt: skip
    return ArraySubquery(rows.order_by("-created_at").values(json=line)[:OPEN_SHOWN])


_OPEN: Final = Part(Tenant, _open)


def opened(tenant: Tenant) -> list[Opened]:
    """Read what ``with_open`` has added."""
    rows: list[dict[str, Any]] = getattr(tenant, "its_requests", None) or []
    return [Opened(**row | {"updated_at": parse_datetime(row["updated_at"])}) for row in rows]
