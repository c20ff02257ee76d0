"""Cases of idle devices as pages show them."""

from __future__ import annotations

from typing import Final

from django.db import models
from django.db.models import QuerySet, Value, When

from costs.models import Case

#: Those that need somebody come first.
_ORDER: Final = (
    Case.State.ASKED, Case.State.OPEN, Case.State.TAKE_BACK, Case.State.JUSTIFIED, Case.State.CLOSED,
)  # fmt: skip
#: Cases that a page lists.
LISTED: Final = 100


def cases() -> QuerySet[Case]:
    """Return cases with what their lines name, those that need somebody first."""
    rank = models.Case(
        *(When(state=state, then=Value(n)) for n, state in enumerate(_ORDER)),
        output_field=models.IntegerField(),
    )
    rows = Case.objects.select_related("cluster", "tenant", "asked_by", "answered_by")
    return rows.annotate(rank=rank).order_by("rank", "-devices", "-found_at", "pk")


def of_tenant(tenant_id: int) -> list[Case]:
    """Return the cases of a tenant, closed ones last; one query."""
    return list(cases().filter(tenant=tenant_id)[:LISTED])


def of_cluster(cluster_id: int) -> list[Case]:
    """Return the open cases of a cluster; one query."""
    return list(cases().filter(cluster=cluster_id).exclude(state=Case.State.CLOSED)[:LISTED])


def questions(tenant_id: int) -> list[Case]:
    """Return the cases that wait for an answer of a tenant, the oldest first; one query."""
    rows = Case.objects.filter(tenant=tenant_id, state=Case.State.ASKED)
    return list(rows.select_related("cluster").order_by("asked_at", "pk")[:LISTED])


def asked(tenant_id: int) -> int:
    """Return how many cases wait for an answer of a tenant; one query."""
    return Case.objects.filter(tenant=tenant_id, state=Case.State.ASKED).count()
