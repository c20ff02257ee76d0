"""Why one job is where it is: everything that is known about it, as facts for one viewer."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import QuerySet

from queues.models import ObservedObject, Workload
from queues.selectors.freshness import JOBS, Freshness, freshness
from queues.selectors.positions import Ahead, ahead_of
from queues.selectors.room import Tree
from queues.selectors.tenants import TREE_LIMIT, LineNow
from tenants.models import Queue


@dataclass(frozen=True, slots=True)
class Facts:
    """One job with its queue (None: unknown, or not the viewer's), its numbers and its place."""

    job: Workload
    queue: Queue | None
    lines: tuple[LineNow, ...]
    ahead: Ahead | None
    ages: Freshness

    def line(self, flavor: str, resource: str) -> LineNow | None:
        """Give one quota line of the queue."""
        key = (flavor, resource)
        return next((x for x in self.lines if (x.line.flavor, x.line.resource) == key), None)


def facts(job: Workload, queues: QuerySet[Queue]) -> Facts:
    """Gather what there is about ``job``; ``queues`` are those that exist for the viewer."""
    queue = (
        queues.filter(cluster_id=job.cluster_id, name=job.queue)
        .select_related("tenant", "cluster", "department")
        .prefetch_related("lines")
        .first()
    )
    ages = freshness([job.cluster_id], JOBS).get(job.cluster_id, Freshness())
    return Facts(job, queue, _lines(queue), ahead_of(job), ages)


def _lines(queue: Queue | None) -> tuple[LineNow, ...]:
    """Give the queue's lines, devices first, with the room that the cluster shows."""
    if queue is None:
        return ()
    rows = ObservedObject.objects.filter(
        cluster_id=queue.cluster_id, kind__in=["ClusterQueue", "Cohort"]
    ).only("kind", "name", "body")
    tree = Tree(rows.order_by("kind", "name")[:TREE_LIMIT])
    found = [
        LineNow(line, "", tree.room(queue.name, (line.flavor, line.resource)))
        for line in queue.lines.all()
    ]
    return tuple(sorted(found, key=lambda each: not each.is_device))
