"""A tenant's home: what it has, holds, borrows and lends, and what the cluster really says."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from portal.web.pages import page_if_moved
from queues import access as own
from queues import sentences
from queues.reading.within import counted_within
from queues.selectors import jobs as select
from queues.selectors import pulse
from queues.selectors.misrouted import WRONG
from queues.selectors.requests import opened, with_open
from queues.selectors.tenants import BESIDE, QueueNow, tenant_queues, with_beside
from queues.views import meters
from queues.views.answers import oldest
from tenants import access
from tenants.models import Tenant

WAITING_SHOWN = 10


@require_safe
@login_required
def tenant(request: HttpRequest, slug: str) -> HttpResponse:
    """Show one tenant's quota, waiting jobs and open requests."""
    rows = with_beside(with_open(pulse.of_tenant(access.tenants(request.user))))
    row = access.fetch(request.user, rows, "tenant.see", slug=slug)
    beat = pulse.read(row)
    draw = partial(_draw, request, row, beat)
    moved = beat.quiet_stamp(
        access.rights(request.user), opened(row), *(getattr(row, name) for name in BESIDE)
    )
    return page_if_moved(request, "queues/tenant.html", draw, "now", moved=moved, alive=beat.alive)


def _draw(request: HttpRequest, row: Tenant, beat: pulse.Pulse) -> tuple[dict[str, Any], object]:
    queues = tenant_queues(row)
    shown = [meters.shown(each, beat.ages) for each in queues]
    context: dict[str, Any] = {
        "tenant": row, "queues": shown, "requests": opened(row), "ages": oldest(beat.ages), "alive": " ".join(beat.alive),
        "sees_jobs": access.can(request.user, "tenant.jobs", row),
        "sees_costs": access.can(request.user, "tenant.numbers", row),
        "sees_people": access.can(request.user, "tenant.people", row),
        "may_ask": access.can(request.user, "request.create", row),
    }  # fmt: skip
    facts = _jobs(request, row, queues) if context["sees_jobs"] else {"jobs": [], "numbers": {}}
    context |= facts
    stamps = [each.stamp for each in [*shown, *facts["jobs"]]]
    return context, (stamps, facts["numbers"], context["requests"], beat.looks)


def _jobs(request: HttpRequest, row: Tenant, queues: list[QueueNow]) -> dict[str, Any]:
    """Give the first waiting jobs in the words of the viewer, and the numbers of all jobs."""
    jobs = select.of_tenants(Tenant.objects.filter(pk=row.pk))
    waiting = list(select.waiting(jobs.filter(state="waiting").exclude(WRONG))[:WAITING_SHOWN])
    viewer, numbers = counted_within(own.sight(request.user), waiting, queues, jobs)
    owners = {(each.queue.cluster_id, each.queue.name): each.queue for each in queues}
    return {
        "jobs": sentences.shown(waiting, owners, viewer),
        "numbers": numbers,
    }
