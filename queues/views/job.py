"""Why one job is where it is: the sentence, the way it has to go, and what would help."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from portal.web.pages import page
from queues import access as own
from queues import reading
from queues.services.looked import look
from queues.views import whyparts
from queues.views.answers import generation


@require_safe
@login_required
def job(request: HttpRequest, cluster: str, namespace: str, name: str) -> HttpResponse:
    """Show one job; of another tenant's there is no page, as of one that does not exist."""
    sight = own.sight(request.user)
    row = own.job(sight, namespace, name, cluster)
    look([(row.cluster_id, row.queue)])
    why = reading.why(sight, row)
    context: dict[str, Any] = {
        **whyparts.parts(why),
        "crumbs": [{"label": _("My jobs"), "url": reverse("jobs")}],
    }
    stamp = generation(why.stamp, ages=why.facts.ages)
    return page(request, "queues/job.html", context, partial="now", seen=stamp)
