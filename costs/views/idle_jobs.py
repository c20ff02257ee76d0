"""Jobs that run and do nothing, in words."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from django.urls import reverse
from django.utils import timezone

from costs.models import Case
from costs.selectors.idle_jobs import IdleJob, idle_jobs, last_hours
from costs.times import moment
from costs.views.words import hours_text, seen_text, share_text
from portal.web.wording import DASH
from tenants.models import Cluster, Tenant


class JobLine(NamedTuple):
    """A job of the last hours: what it had, for how much of it it was active."""

    url: str
    job: str
    sub: str
    held: str
    active: str
    seen: str


class IdleJobs(NamedTuple):
    """The idle jobs of some hours."""

    starts: datetime
    ends: datetime
    lines: list[JobLine]


def of_tenant(tenant: Tenant) -> list[IdleJobs]:
    """Return the idle jobs of a tenant in each of its clusters, as far as there are any."""
    clusters = Cluster.objects.filter(queues__tenant=tenant).distinct().order_by("slug")
    found = [_found(each.pk, tenant, timezone.now(), None) for each in clusters]
    return [each for each in found if each is not None]


def of_case(case: Case) -> IdleJobs | None:
    """Return the jobs because of which devices of a pool are not used; by its last sighting."""
    if case.kind != Case.Kind.NOT_USED:
        return None
    return _found(case.cluster_id, case.tenant, case.closed_at or timezone.now(), case)


def _found(cluster: int, tenant: Tenant, at: datetime, case: Case | None) -> IdleJobs | None:
    span = last_hours(cluster, tenant.pk, at)
    if span is None:
        return None
    found = [
        each
        for each in idle_jobs(cluster, tenant.slug, span)
        if case is None or each.pool == (case.flavor, case.resource)
    ]
    return (
        IdleJobs(moment(span.starts), moment(span.ends), [_line(x) for x in found])
        if found
        else None
    )


def _line(each: IdleJob) -> JobLine:
    life, busy = each.lifetime, each.use.busy
    return JobLine(
        url=reverse("job-costs", args=[life.cluster.slug, life.namespace, life.name]),
        job=life.job_name or life.name,
        sub=" · ".join([each.queue, each.pool.flavor, life.cluster.slug]),
        held=hours_text(each.seconds),
        active=DASH if busy is None else share_text(busy),
        seen=seen_text(each.use),
    )
