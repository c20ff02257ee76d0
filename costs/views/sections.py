"""The pages of a tenant's costs and of a pool's, side by side, with the same month and pool."""

from __future__ import annotations

from typing import NamedTuple

from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _

from costs.selectors import cases
from tenants import access
from tenants.models import Tenant


class Section(NamedTuple):
    """A link to one page; ``waiting`` is what waits there for somebody."""

    label: str
    url: str
    current: bool
    waiting: int = 0


def of_tenant(request: HttpRequest, tenant: Tenant, current: str, query: str = "") -> list[Section]:
    """Return the pages of a tenant's costs that the viewer may open; one query."""
    money = access.can(request.user, "tenant.costs", tenant)
    found = [
        ("tenant-costs", _("Month"), query),
        ("tenant-utilisation", _("Utilisation"), query),
        ("tenant-efficiency", _("Efficiency"), query),
        ("tenant-lost", _("Lost time"), query),
        ("tenant-idle", _("Idle"), ""),
    ]
    if money:
        found += [("tenant-budget", _("Budget"), query), ("tenant-statements", _("Statements"), "")]
    return [
        Section(
            label,
            reverse(name, args=[tenant.slug]) + more,
            name == current,
            cases.asked(tenant.pk) if name == "tenant-idle" else 0,
        )
        for name, label, more in found
    ]


def of_cluster(slug: str, current: str, query: str = "") -> list[Section]:
    """Return the pages of a cluster's costs."""
    found = [
        ("cluster-costs", _("Month"), query),
        ("cluster-teams", _("By tenant"), query),
        ("cluster-utilisation", _("Utilisation"), query),
        ("cluster-efficiency", _("Efficiency"), query),
        ("cluster-idle", _("Idle"), ""),
    ]
    return [
        Section(label, reverse(name, args=[slug]) + more, name == current)
        for name, label, more in found
    ]
