"""My jobs: where each one stands, why it waits, since when."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from portal.web.lists import keyset
from portal.web.pages import page
from queues import reading, sentences
from queues.filters import JobFilter
from queues.selectors import jobs as select
from queues.selectors.freshness import JOBS, freshness
from queues.services.looked import look
from queues.views.answers import generation, oldest
from tenants import access
from tenants.models import Tenant


@require_safe
@login_required
def jobs(request: HttpRequest) -> HttpResponse:
    """Show the jobs in the namespaces of the viewer's tenants."""
    held = access.rights(request.user)
    own = held.tenant_ids(frozenset({access.USER, access.LEAD}))
    tenants = Tenant.objects.filter(pk__in=own)
    if not own and held.platform:
        tenants = Tenant.objects.all()
    request.visible_tenants = tenants  # type: ignore[attr-defined]
    found = JobFilter(request.GET, select.of_tenants(tenants), request=request)
    rows = keyset(select.ranked(found.qs), request.GET, select.ORDERS)
    look((job.cluster_id, job.queue) for job in rows if job.state == "waiting")
    viewer = reading.viewer(rows.rows, tenants, sees_all=bool(held.platform))
    shown = sentences.shown(rows.rows, select.owners(rows.rows), viewer)
    numbers = select.counts(select.of_tenants(tenants))
    ages = freshness({job.cluster_id for job in rows}, JOBS)
    context = {
        "several": not own or len(own) > 1, "rows": rows, "jobs": shown, "filter": found, "counts": numbers, "all": not own,
        "ages": oldest(ages), "filtered": any(request.GET.get(name) for name in found.filters),
    }  # fmt: skip
    stamp = generation([row.stamp for row in shown], numbers, ages=oldest(ages))
    return page(request, "queues/jobs.html", context, partial="list", seen=stamp)
