"""One queue: meters, who runs, who waits and in which order; and what happened to it."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from portal.web.pages import page_if_moved
from queues import access as own
from queues import sentences
from queues.reading.within import viewer_within
from queues.selectors import events, pulse
from queues.selectors.queues import asked, order_of, queue_now, readable, standing
from queues.selectors.tenants import QueueNow
from queues.services.looked import look
from queues.views import happened, linewords, meters
from queues.views.answers import oldest
from tenants import access
from tenants.models import Queue

EVENTS = "events"


@require_safe
@login_required
def queue(request: HttpRequest, cluster: str, name: str) -> HttpResponse:
    """Show one queue; jobs of tenants that the viewer does not see are counted, not named."""
    ask = partial(asked, cluster, name, own.tenant_ids(request.user))
    row = own.only(request.user, Queue, ask, "queue.see", cluster, name)
    look([(row.cluster_id, row.name)])
    beat = pulse.read(row)
    line = linewords.told(order_of(row), row.strategy)
    draw = partial(_draw, request, row, beat, line)
    moved = beat.quiet_stamp(access.rights(request.user), line)
    return page_if_moved(request, "queues/queue.html", draw, "now", moved=moved, alive=beat.alive)


def _draw(
    request: HttpRequest, row: Queue, beat: pulse.Pulse, line: list[linewords.Note]
) -> tuple[dict[str, Any], object]:
    sight = own.sight(request.user)
    now = queue_now(row.pk, None if sight.sees_all else sight.own)
    shown, tenant = meters.shown(now, beat.ages), now.queue.tenant
    parts = _happened if request.GET.get("show") == EVENTS else _jobs
    context, facts = parts(request, now, sight)
    context |= {
        "queue": now.queue, "shown": shown, "line": line, "ages": oldest(beat.ages), "alive": " ".join(beat.alive),
        "may_ask": access.can(request.user, "request.create", tenant),
        "crumbs": [{"label": str(tenant), "url": reverse("tenant", args=[tenant.slug])}],
    }  # fmt: skip
    return context, (shown.stamp, facts, line, beat.looks)


def _jobs(request: HttpRequest, now: QueueNow, sight: own.Sight) -> tuple[dict[str, Any], object]:
    """Give both lists in the words of the viewer."""
    lists = standing(now, request.GET, readable(now.queue, sees_all=sight.sees_all))
    viewer = viewer_within(sight, lists.named, [now])
    owners = {(now.queue.cluster_id, now.queue.name): now.queue}
    running = sentences.shown(lists.running, owners, viewer)
    pending = sentences.lines(lists.pending, owners, viewer)
    stamps = [each.stamp for each in [*running, *pending]]
    context = {"lists": lists, "running": running, "pending": pending}
    return context, (stamps, lists.totals, lists.running_others)


def _happened(
    request: HttpRequest, now: QueueNow, sight: own.Sight
) -> tuple[dict[str, Any], object]:
    """Give what happened to the queue, newest first."""
    found = events.of_queue(now.queue, request.GET)
    seen = readable(now.queue, sees_all=sight.sees_all)
    told = happened.told(found.events, now.queue, sight, seen)
    return {"events": told, "happened": found, "show": EVENTS}, told
