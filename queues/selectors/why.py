"""Why one job is where it is: everything that is known about it, as facts for one viewer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from django.db.models import QuerySet

from queues.models import Workload
from queues.selectors.ahead import InLine, in_line
from queues.selectors.freshness import JOBS, Freshness, freshness
from queues.selectors.positions import Ahead
from queues.selectors.room import Key, Tree, trees
from queues.selectors.tenants import TREE_LIMIT, LineNow, QueueNow, described, joined
from tenants.models import OpenTarget, Queue, Request, Tenant


@dataclass(frozen=True, slots=True)
class Facts:
    """One job with its queue (None: unknown, or not the viewer's), its numbers and its place.

    ``beside`` are the other queues of the same tenant in the cluster, ``requests`` the open ones
    about its queue. ``kept`` is what others of the department keep idle and do not lend, by
    flavor and resource.
    """

    job: Workload
    now: QueueNow | None
    beside: tuple[QueueNow, ...]
    requests: tuple[Request, ...]
    place: InLine | None
    ages: Freshness
    kept: Mapping[Key, int] = field(default_factory=dict)

    @property
    def queue(self) -> Queue | None:
        """Give the queue of the catalog."""
        return self.now.queue if self.now else None

    @property
    def ahead(self) -> Ahead | None:
        """Give what stands before the job; None while its place is not known."""
        return self.place.ahead if self.place else None

    @property
    def lines(self) -> tuple[LineNow, ...]:
        """Give the queue's lines, devices first, with the room that the cluster shows."""
        lines = self.now.lines if self.now else ()
        return tuple(sorted(lines, key=lambda each: not each.is_device))

    def line(self, flavor: str, resource: str) -> LineNow | None:
        """Give one quota line of the queue."""
        key = (flavor, resource)
        return next((x for x in self.lines if (x.line.flavor, x.line.resource) == key), None)


def facts(
    job: Workload,
    queues: QuerySet[Queue],
    tenants: QuerySet[Tenant],
    ages: Freshness | None = None,
) -> Facts:
    """Gather what there is about ``job``.

    ``queues`` are those that exist for the viewer, ``tenants`` those whose jobs they read by
    name. ``ages`` is the age of the cluster's data where that is known already.
    """
    here = queues.filter(cluster_id=job.cluster_id)
    tenant = here.filter(name=job.queue).values("tenant")
    rows = list(described(here.filter(tenant__in=tenant))) if job.queue else []
    tree = trees([job.cluster_id], TREE_LIMIT).get(job.cluster_id) if rows else None
    found = joined(rows, {job.cluster_id: tree} if tree else {})
    now = next((each for each in found if each.queue.name == job.queue), None)
    if ages is None:
        ages = freshness([job.cluster_id], JOBS).get(job.cluster_id, Freshness())
    return Facts(
        job=job,
        now=now,
        beside=tuple(each for each in found if each is not now),
        requests=_requests(now.queue) if now and job.state == "waiting" else (),
        place=in_line(job, tenants),
        ages=ages,
        kept=_kept(now, tree) if tree else {},
    )


def _kept(now: QueueNow | None, tree: Tree) -> dict[Key, int]:
    lines = [(each.line.flavor, each.line.resource) for each in now.devices] if now else []
    return {key: tree.kept(now.queue.name, key) for key in lines if now}


def _requests(queue: Queue) -> tuple[Request, ...]:
    """Give the open requests of a tenant about one of its queues."""
    rows = OpenTarget.objects.filter(
        cluster_id=queue.cluster_id,
        target__startswith=f"queue:{queue.name}/",
        request__tenant=queue.tenant_id,
    ).select_related("request")
    return tuple({row.request_id: row.request for row in rows}.values())
