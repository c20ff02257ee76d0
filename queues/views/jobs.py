"""My jobs: where each one stands, why it waits, since when."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from portal.web.lists import keyset
from portal.web.pages import page_if_moved
from queues import access as own
from queues import reading
from queues.filters import JobFilter
from queues.selectors import jobs as select
from queues.selectors import pulse
from queues.services.looked import look
from queues.views.answers import generation, oldest
from queues.views.chips import chips
from tenants import access

EVERYONE = "all"


@require_safe
@login_required
def jobs(request: HttpRequest) -> HttpResponse:
    """Show the jobs in the namespaces of the viewer's tenants; the platform's roles see all."""
    listed = _listed(request)
    beat = pulse.joined(pulse.of_jobs(None if listed.sees_all else listed.own))
    draw = partial(_draw, request, listed, beat)
    moved = beat.stamp(access.rights(request.user))
    return page_if_moved(request, "queues/jobs.html", draw, "list", moved=moved)


def _listed(request: HttpRequest) -> own.Sight:
    """Say whose jobs are listed: who has a team and sees everything begins with the team."""
    team = own.own_sight(request.user)
    has_team = access.rights(request.user).tenant_ids(own.READERS)
    return team if has_team and request.GET.get("whose") != EVERYONE else own.sight(request.user)


def _draw(
    request: HttpRequest, listed: own.Sight, beat: pulse.Pulse
) -> tuple[dict[str, Any], object]:
    request.visible_tenants = listed.tenants  # type: ignore[attr-defined]
    found = JobFilter(request.GET, listed.jobs, request=request)
    rows = keyset(select.ranked(found.qs), request.GET, select.ORDERS)
    look((job.cluster_id, job.queue) for job in rows if job.state == "waiting")
    sight, teams = own.sight(request.user), access.rights(request.user).tenant_ids(own.READERS)
    shown, numbers = reading.counted(sight, rows.rows, listed.jobs)
    context = {
        "rows": rows, "jobs": shown, "filter": found, "chips": chips(request, numbers),
        "all": listed.sees_all, "may_see_all": sight.sees_all, "has_team": bool(teams),
        "several_tenants": listed.sees_all or len(teams) > 1, "several_clusters": len(beat.ages) > 1,
        "ages": oldest(beat.ages),
        "filtered": any(request.GET.get(name) for name in found.filters),
    }  # fmt: skip
    return context, generation([row.stamp for row in shown], numbers, ages=oldest(beat.ages))
