"""Queues: quota, what is held, borrowed and lent, and who waits in which place."""

from __future__ import annotations

from dataclasses import replace

from django.db.models import QuerySet
from rest_framework.request import Request
from rest_framework.response import Response

from portal.web.api import ReadView
from portal.web.cursors import Asked, Window, asked, window
from queues.access import Sight, sight
from queues.api import describe
from queues.api import queue_shapes as shapes
from queues.api.answers import age_of, ages_of, filtered, next_page
from queues.filters import QueueQuery
from queues.models import Workload
from queues.selectors import positions as select
from queues.selectors.freshness import QUEUES
from queues.selectors.tenants import queues_now
from queues.services.looked import look
from tenants import access

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
        row = access.queue(request.user, cluster, name)
        facts = {**age_of(row.cluster, QUEUES), "queue": queues_now([row])[0]}
        return self.answer(shapes.QueueAnswer, facts)


class Positions(ReadView):
    """The waiting line of one queue."""

    paged = True

    @describe.pages_of("list_positions", "queues", shapes.Positions, PLACES)
    def get(self, request: Request, cluster: str, name: str) -> Response:
        """List who waits, in the order of the queue. Jobs of others are a number and a size."""
        row = access.queue(request.user, cluster, name)
        look([(row.cluster_id, row.name)])
        wanted = asked(request.query_params, f"positions {cluster}/{name}", PLACES)
        line = select.waiting(row.cluster_id, row.name)
        page = window(line, _moved(line, wanted))
        facts = {
            **age_of(row.cluster, QUEUES), "cluster": cluster, "queue": name,
            "strategy": row.strategy, "waiting": select.summed(line),
            "items": _places(sight(request.user), line, page),
            "next": next_page(request, page.after),
        }  # fmt: skip
        return self.answer(shapes.Positions, facts)


def _moved(line: QuerySet[Workload], wanted: Asked) -> Asked:
    """Begin behind the row with which the page before ended, wherever it stands by now."""
    return replace(wanted, place=select.moved(line, wanted.place)) if wanted.place else wanted


def _places(seen: Sight, line: QuerySet[Workload], page: Window[Workload]) -> list[select.Place]:
    keys = [job.pk for job in page.rows]
    own = set(keys if seen.sees_all else seen.jobs.filter(pk__in=keys).values_list("pk", flat=True))
    start = select.summed(select.before(line, page.rows[0])) if keys else select.Ahead()
    return select.folded(page.rows, own, start)
