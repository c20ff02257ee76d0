"""One queue: meters, who runs, who waits and in which order."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from portal.web.pages import page
from queues import reading, sentences
from queues.selectors.freshness import freshness
from queues.selectors.queues import standing
from queues.selectors.tenants import queues_now
from queues.views import meters
from queues.views.answers import generation, oldest
from tenants import access
from tenants.models import Tenant


@require_safe
@login_required
def queue(request: HttpRequest, cluster: str, name: str) -> HttpResponse:
    """Show one queue; jobs of tenants that the viewer does not see are counted, not named."""
    row = access.queue(request.user, cluster, name)
    held = access.rights(request.user)
    mine = held.tenant_ids(frozenset({access.USER, access.LEAD}))
    tenants = Tenant.objects.filter(pk__in=mine)
    lists = standing(row, tenants, sees_all=bool(held.platform))
    viewer = reading.viewer(lists.named, tenants, sees_all=bool(held.platform))
    ages = freshness([row.cluster_id])
    shown = meters.shown(queues_now([row])[0], ages)
    owners = {(row.cluster_id, row.name): row}
    context: dict[str, Any] = {
        "queue": row, "shown": shown, "lists": lists, "ages": oldest(ages),
        "running": sentences.shown(lists.running, owners, viewer),
        "pending": sentences.lines(lists.pending, owners, viewer),
        "preempted": sentences.shown(lists.preempted, owners, viewer),
        "may_ask": access.can(request.user, "request.create", row.tenant),
        "crumbs": [{"label": str(row.tenant), "url": reverse("tenant", args=[row.tenant.slug])}],
    }  # fmt: skip
    jobs = [each.stamp for each in [*context["running"], *context["pending"]]]
    stamp = generation(shown.stamp, jobs, lists.totals, ages=oldest(ages))
    return page(request, "queues/queue.html", context, partial="now", seen=stamp)
