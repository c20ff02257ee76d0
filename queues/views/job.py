"""Why one job is where it is: the sentence, the way it has to go, and what would help."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from portal.web.pages import page, page_if_moved, wants_partial
from queues import access as own
from queues import reading
from queues.models import Lifetime, Workload
from queues.reading.past import history_of, past, words_of
from queues.selectors import pulse
from queues.services.looked import look
from queues.views import whyparts
from queues.views.answers import oldest
from tenants import access

PAST = "past"


@require_safe
@login_required
def job(request: HttpRequest, cluster: str, namespace: str, name: str) -> HttpResponse:
    """Show one job; of another tenant's there is no page, as of one that does not exist."""
    sight = own.sight(request.user)
    try:
        row = own.job(sight, namespace, name, cluster, add=pulse.of_job)
    except access.Hidden:
        return _gone(request, sight, own.lifetime(sight, namespace, name, cluster))
    look([(row.cluster_id, row.queue)])
    beat = pulse.read(row)
    part = PAST if request.GET.get("part") == PAST else "now"
    draw = partial(_draw, sight, row, beat, part if wants_partial(request) else "")
    moved = beat.quiet_stamp(access.rights(request.user), row.resource_version)
    return page_if_moved(request, "queues/job.html", draw, part, moved=moved, alive=beat.alive)


def _draw(
    sight: own.Sight, row: Workload, beat: pulse.Pulse, part: str
) -> tuple[dict[str, Any], object]:
    """Give a polled part, or all."""
    context: dict[str, Any] = {
        "job": row, "alive": " ".join(beat.alive),
        "crumbs": [{"label": _("My jobs"), "url": reverse("jobs")}],
    }  # fmt: skip
    facts: list[object] = []
    history = history_of(sight, row) if part != "now" else None
    foreign = None
    if part != PAST:
        why = reading.why(sight, row, oldest(beat.ages), words_of(history) if history else ())
        context |= whyparts.parts(why)
        facts.append(why.stamp)
        foreign = why.facts.foreign
    if history is not None:
        context["past"] = past(sight, history, foreign)
        facts.append(context["past"])
    return context, (facts, beat.looks)


def _gone(request: HttpRequest, sight: own.Sight, life: Lifetime) -> HttpResponse:
    """Show what is kept of a job that the cluster has forgotten."""
    row = whyparts.of_life(life)
    context = {
        "job": row, "life": life, "past": past(sight, history_of(sight, row)),
        "crumbs": [{"label": _("My jobs"), "url": reverse("jobs")}],
    }  # fmt: skip
    seen = (life.noted_at, context["past"])
    return page(request, "queues/job_gone.html", context, partial=PAST, seen=seen)
