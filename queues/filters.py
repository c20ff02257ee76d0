"""What lists can be narrowed to: the same filters for pages and the API."""

from __future__ import annotations

from typing import Any

import django_filters
from django.db.models import Exists, OuterRef, QuerySet
from django.utils.translation import gettext_lazy as _

from queues.models import Workload
from queues.models.observed import URGENCY, urgency
from queues.selectors.requests import GROUPS
from tenants.models import Cluster, Entry, Queue, Request, Tenant

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

    state = django_filters.ChoiceFilter(
        label=_("State"), choices=JOB_STATES, method="by_state", empty_label=_("all")
    )
    tenant = django_filters.ModelChoiceFilter(
        label=_("Tenant"), queryset=visible_tenants, to_field_name="slug", method="by_tenant",
        empty_label=_("all"),
    )  # fmt: skip
    cluster = django_filters.ModelChoiceFilter(
        label=_("Cluster"), queryset=Cluster.objects.all(), to_field_name="slug",
        empty_label=_("all"),
    )  # fmt: skip
    name = django_filters.CharFilter(
        label=_("Name contains"), field_name="job_name", lookup_expr="icontains", max_length=80
    )

    class Meta:
        model = Workload
        fields: list[str] = []

    def by_state(self, rows: QuerySet[Workload], _name: str, value: str) -> QuerySet[Workload]:
        """Keep one state, in the words of the index, so that a page begins where it begins."""
        return rows.annotate(urgency=urgency()).filter(urgency=URGENCY.index(value))

    def by_tenant(self, rows: QuerySet[Workload], _name: str, value: Tenant) -> QuerySet[Workload]:
        """Keep the jobs in one tenant's namespaces."""
        entry = Entry.objects.filter(
            queue__tenant=value, cluster=OuterRef("cluster"), namespace=OuterRef("namespace")
        )
        return rows.filter(Exists(entry))


class JobQuery(JobFilter):
    """What a program can ask for beside it: names as they are, not parts of them."""

    cluster = django_filters.CharFilter(
        label=_("Name of the cluster"), field_name="cluster__slug", max_length=40
    )
    namespace = django_filters.CharFilter(label=_("Namespace"), max_length=63)
    queue = django_filters.CharFilter(label=_("Name of the queue"), max_length=253)
    entry = django_filters.CharFilter(label=_("Name of the entry"), max_length=253)
    priority = django_filters.CharFilter(
        label=_("Priority class"), field_name="priority_class", max_length=253
    )
    job = django_filters.CharFilter(
        label=_("Name of the job"), field_name="job_name", max_length=253
    )
    uid = django_filters.CharFilter(label=_("UID of the Workload"), max_length=64)


class QueueQuery(django_filters.FilterSet):
    """Queues by cluster and tenant."""

    cluster = django_filters.CharFilter(
        label=_("Name of the cluster"), field_name="cluster__slug", max_length=40
    )
    tenant = django_filters.CharFilter(
        label=_("Name of the tenant"), field_name="tenant__slug", max_length=40
    )

    class Meta:
        model = Queue
        fields: list[str] = []
