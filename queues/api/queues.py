"""Queues: quota, what is held, borrowed and lent, and who waits in which place."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.db.models import QuerySet
from rest_framework.request import Request
from rest_framework.response import Response

from portal.web.api import ReadView
from portal.web.cursors import Asked, asked, window
from queues.access import Sight, sight
from queues.api import describe
from queues.api import queue_shapes as shapes
from queues.api.answers import age, ages_of, filtered, next_page
from queues.filters import QueueQuery
from queues.models import Workload
from queues.selectors import positions as select
from queues.selectors import pulse
from queues.selectors.freshness import QUEUES, oldest
from queues.selectors.tenants import queues_now
from queues.services.looked import look
from tenants import access
from tenants.models import Queue

ORDERS = {"name": ("cluster__slug", "name")}
PLACES = {"place": select.ORDER}


class Queues(ReadView):
    """The queues of the tenants that you see."""

    filters = tuple(QueueQuery.base_filters)
    paged = True

    @describe.listing("queues", shapes.Queues, QueueQuery, ORDERS)
    def get(self, request: Request) -> Response:
        """List queues by cluster and name."""
        wanted = asked(request.query_params, "queues", ORDERS)
        rows = access.queues(request.user).select_related("cluster")
        page = window(filtered(QueueQuery, rows, request), wanted)
        facts = {
            **ages_of((row.cluster for row in page.rows), QUEUES),
            "items": queues_now(page.rows),
            "next": next_page(request, page.after),
        }
        return self.answer(shapes.Queues, facts)


class OneQueue(ReadView):
    """One queue."""

    @describe.one("get_queue", "queues", shapes.QueueAnswer)
    def get(self, request: Request, cluster: str, name: str) -> Response:
        """Give quota, what is held of it, and how much runs and waits."""
        row, beat = _queue(request, cluster, name)
        heard = oldest(beat.ages)
        return self.answer_if_moved(
            shapes.QueueAnswer,
            lambda: {**age(heard), "queue": queues_now([row])[0]},
            moved=beat.quiet_stamp(access.rights(request.user)),
            observed_at=heard.at,
        )


class Positions(ReadView):
    """The waiting line of one queue."""

    paged = True

    @describe.pages_of("list_positions", "queues", shapes.Positions, PLACES)
    def get(self, request: Request, cluster: str, name: str) -> Response:
        """List who waits, in the order of the queue. Jobs of others are a number and a size."""
        row, beat = _queue(request, cluster, name)
        look([(row.cluster_id, row.name)])
        wanted = asked(request.query_params, f"positions {cluster}/{name}", PLACES)
        heard = oldest(beat.ages)
        return self.answer_if_moved(
            shapes.Positions,
            lambda: {**age(heard), **_line(request, row, wanted)},
            moved=beat.quiet_stamp(access.rights(request.user)),
            observed_at=heard.at,
        )


def _queue(request: Request, cluster: str, name: str) -> tuple[Queue, pulse.Pulse]:
    rows = pulse.of_queue(access.queues(request.user).select_related("cluster", "tenant"))
    row = access.fetch(request.user, rows, "queue.see", cluster__slug=cluster, name=name)
    return row, pulse.read(row)


def _line(request: Request, row: Queue, wanted: Asked) -> dict[str, Any]:
    line = select.waiting(row.cluster_id, row.name)
    page = window(line, _moved(line, wanted))
    whole, before = select.whole_and_before(line, page.rows[0] if page.rows else None)
    own = _own(sight(request.user), page.rows)
    return {
        "cluster": row.cluster.slug, "queue": row.name, "strategy": row.strategy, "waiting": whole,
        "items": select.folded(page.rows, own, before), "next": next_page(request, page.after),
    }  # fmt: skip


def _moved(line: QuerySet[Workload], wanted: Asked) -> Asked:
    """Begin behind the row with which the page before ended, wherever it stands by now."""
    return replace(wanted, place=select.moved(line, wanted.place)) if wanted.place else wanted


def _own(seen: Sight, jobs: list[Workload]) -> set[int]:
    """Give the keys of the jobs that the viewer may read by name."""
    keys = [job.pk for job in jobs]
    return set(
        keys if seen.sees_all else seen.jobs.filter(pk__in=keys).values_list("pk", flat=True)
    )
