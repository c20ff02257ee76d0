"""What lists can be narrowed to: the same filters for pages and the API."""

from __future__ import annotations

from typing import Any

import django_filters
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from queues.models import Workload
from queues.selectors.jobs import of_tenants
from queues.selectors.requests import GROUPS
from tenants.models import Cluster, Request, Tenant

SHOW = [
    ("open", _("open")),
    ("decide", _("waiting for a decision")),
    ("problem", _("need attention")),
    ("done", _("in the cluster")),
    ("closed", _("closed")),
]
JOB_STATES = [
    ("waiting", _("waiting")),
    ("running", _("running")),
    ("starting", _("starting")),
    ("stopping", _("being stopped")),
    ("deactivated", _("deactivated")),
    ("finished", _("finished")),
]


def visible_tenants(request: Any) -> QuerySet[Tenant]:
    """Give the tenants set by the view; without a view there are none."""
    found: QuerySet[Tenant] | None = getattr(request, "visible_tenants", None)
    return Tenant.objects.none() if found is None else found


class RequestFilter(django_filters.FilterSet):
    """Requests by whose turn it is, by tenant and by cluster."""

    show = django_filters.ChoiceFilter(
        label=_("Show"), choices=SHOW, method="by_group", empty_label=_("all")
    )
    tenant = django_filters.ModelChoiceFilter(
        label=_("Tenant"), queryset=visible_tenants, to_field_name="slug", empty_label=_("all")
    )
    cluster = django_filters.ModelChoiceFilter(
        label=_("Cluster"),
        queryset=Cluster.objects.all(),
        to_field_name="slug",
        empty_label=_("all"),
    )

    class Meta:
        model = Request
        fields: list[str] = []

    def by_group(self, rows: QuerySet[Request], _name: str, value: str) -> QuerySet[Request]:
        """Keep the states of one group."""
        return rows.filter(state__in=GROUPS[value])


class JobFilter(django_filters.FilterSet):
    """Jobs by state, tenant and queue."""

    state = django_filters.ChoiceFilter(label=_("State"), choices=JOB_STATES, empty_label=_("all"))
    tenant = django_filters.ModelChoiceFilter(
        label=_("Tenant"), queryset=visible_tenants, to_field_name="slug", method="by_tenant",
        empty_label=_("all"),
    )  # fmt: skip
    name = django_filters.CharFilter(
        label=_("Name contains"), field_name="job_name", lookup_expr="icontains", max_length=80
    )

    class Meta:
        model = Workload
        fields: list[str] = []

    def by_tenant(self, rows: QuerySet[Workload], _name: str, value: Tenant) -> QuerySet[Workload]:
        """Keep the jobs in one tenant's namespaces."""
        return rows.filter(pk__in=of_tenants(Tenant.objects.filter(pk=value.pk)).values("pk"))
