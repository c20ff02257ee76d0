"""Plans and applies as a viewer may see them: through the request that they belong to."""

from __future__ import annotations

from uuid import UUID

from queues.models import Apply, Plan
from tenants import access
from tenants.models import User


def plan(user: User, pk: UUID | str, to: str = "plan.see") -> Plan:
    """Fetch a plan with its request, or raise a 404, or a 403 when ``to`` is not allowed."""
    rows = (
        Plan.objects.filter(request__in=access.requests(user))
        .select_related("request__author", "request__tenant", "cluster", "base", "decision__actor")
        .defer("base__catalog")
    )
    return access.fetch(user, rows, to, pk=pk)


def apply(user: User, pk: UUID | str, to: str = "apply.see") -> Apply:
    """Fetch an apply with its request and revision."""
    rows = (
        Apply.objects.filter(request__in=access.requests(user))
        .select_related("request__author", "request__tenant", "cluster", "revision", "plan")
        .defer("revision__catalog", "plan__proposed")
    )
    return access.fetch(user, rows, to, pk=pk)
