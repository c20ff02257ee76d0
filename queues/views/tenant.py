"""A tenant's home: what it has, holds, borrows and lends, and what the cluster really says."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from portal.web.pages import page
from queues import reading, sentences
from queues.selectors import jobs as select
from queues.selectors.freshness import freshness
from queues.selectors.requests import open_of
from queues.selectors.tenants import tenant_queues
from queues.views import meters
from queues.views.answers import generation, oldest
from tenants import access
from tenants.models import Tenant

WAITING_SHOWN = 10


@require_safe
@login_required
def tenant(request: HttpRequest, slug: str) -> HttpResponse:
    """Show one tenant's quota, waiting jobs and open requests."""
    row = access.tenant(request.user, slug)
    queues = tenant_queues(row)
    ages = freshness(each.queue.cluster_id for each in queues)
    sees_jobs = access.can(request.user, "tenant.jobs", row)
    jobs = select.of_tenants(Tenant.objects.filter(pk=row.pk)) if sees_jobs else None
    tenants = Tenant.objects.filter(pk=row.pk)
    waiting = list(select.waiting(jobs)[:WAITING_SHOWN]) if jobs is not None else []
    viewer = reading.viewer(waiting, tenants, sees_all=bool(access.rights(request.user).platform))
    context: dict[str, Any] = {
        "tenant": row, "queues": [meters.shown(each, ages) for each in queues],
        "jobs": sentences.shown(waiting, select.owners(waiting), viewer), "sees_jobs": sees_jobs,
        "counts": select.counts(jobs) if jobs is not None else {},
        "requests": list(open_of(row)), "ages": oldest(ages),
        "sees_people": access.can(request.user, "tenant.people", row),
        "may_ask": access.can(request.user, "request.create", row),
    }  # fmt: skip
    stamp = generation(
        [each.stamp for each in context["queues"]], [job.stamp for job in context["jobs"]],
        [(each.pk, each.version) for each in context["requests"]], ages=oldest(ages),
    )  # fmt: skip
    return page(request, "queues/tenant.html", context, partial="now", seen=stamp)
