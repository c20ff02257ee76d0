"""Jobs, and why each one is where it is."""

from __future__ import annotations

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from portal.web.api import ReadView
from portal.web.cursors import Asked, asked, window
from queues import access, reading
from queues.access import Sight
from queues.api import describe, shapes
from queues.api.answers import age, ages, filtered, next_page
from queues.filters import JobQuery
from queues.reading import Why
from queues.selectors import jobs as select
from queues.selectors import pulse
from queues.selectors.freshness import oldest
from queues.services.looked import look
from tenants.access import rights

# A program wants each job once: an order that does not change comes first.
ORDERS = {
    "newest": select.ORDERS["newest"],
    "oldest": ("created_at",),
    "attention": select.ORDERS["attention"],
    "size": select.ORDERS["size"],
}


class Jobs(ReadView):
    """The jobs of your tenants; the platform's roles see every job."""

    filters = tuple(JobQuery.base_filters)
    paged = True

    @describe.listing("jobs", shapes.Jobs, JobQuery, ORDERS)
    def get(self, request: Request) -> Response:
        """List jobs, newest first."""
        wanted = asked(request.query_params, "jobs", ORDERS)
        sight = access.sight(request.user)
        beat = pulse.joined(pulse.of_jobs(None if sight.sees_all else sight.own))
        return self.answer_if_moved(
            shapes.Jobs,
            lambda: _page(request, sight, wanted, beat),
            moved=beat.quiet_stamp(rights(request.user)),
            observed_at=oldest(beat.ages).at,
        )


def _page(request: Request, sight: Sight, wanted: Asked, beat: pulse.Pulse) -> dict[str, Any]:
    request._request.visible_tenants = sight.tenants  # type: ignore[attr-defined]
    rows = filtered(JobQuery, sight.jobs, request)
    page = window(select.ranked(rows), wanted)
    look((job.cluster_id, job.queue) for job in page.rows if job.state == "waiting")
    return {
        **ages(beat.ages, (job.cluster for job in page.rows)),
        "items": reading.shown(sight, page.rows),
        "next": next_page(request, page.after),
    }


class Job(ReadView):
    """One job, by the name of its Workload or by its own."""

    @describe.one("get_job", "jobs", shapes.JobAnswer)
    def get(self, request: Request, cluster: str, namespace: str, name: str) -> Response:
        """Give one job with all its reasons."""
        found = _why(request, cluster, namespace, name)
        return self.answer(shapes.JobAnswer, _said(found))


class JobWhy(ReadView):
    """Why one job is where it is."""

    aging = ("text",)

    @describe.one("explain_job", "jobs", shapes.Why)
    def get(self, request: Request, cluster: str, namespace: str, name: str) -> Response:
        """Give the sentence, the stage, the numbers, what is ahead and what would help."""
        found = _why(request, cluster, namespace, name)
        return self.answer(shapes.Why, _said(found))


def _why(request: Request, cluster: str, namespace: str, name: str) -> Why:
    sight = access.sight(request.user)
    row = access.job(sight, namespace, name, cluster)
    look([(row.cluster_id, row.queue)])
    return reading.why(sight, row)


def _said(found: Why) -> dict[str, Any]:
    return {
        **age(found.facts.ages),
        "job": found.shown,
        "sentence": found.shown.reason,
        "reasons": found.reasons,
        "ladder": found.ladder,
        "quota": found.lines,
        "place": found.facts.place,
        "next_steps": found.steps,
        "raw": found.shown.raw,
        "text": reading.text_of(found),
    }
