"""The tenant's home: what it was promised, what it holds, and what the cluster really says."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from kube.catalog import CPU, MEMORY
from queues.models import ObjectResult, ObservedObject
from queues.selectors.room import Room, Tree
from tenants.models import Pool, Queue, QuotaLine, Revision, Tenant

# More of the quota tree than this is not drawn with live room; the catalog's numbers still are.
TREE_LIMIT = 5000


@dataclass(frozen=True, slots=True)
class Seen:
    """What the cluster says about one object of the catalog."""

    present: bool
    in_sync: bool | None
    since: datetime | None
    observed_at: datetime | None
    revision: int | None
    status: str = ""


@dataclass(frozen=True, slots=True)
class LineNow:
    """One quota line: as agreed, and with the room that the cluster shows."""

    line: QuotaLine
    capability: str
    room: Room | None

    @property
    def is_device(self) -> bool:
        """Say whether this line is what people came for."""
        return self.line.resource not in (CPU, MEMORY)


@dataclass(slots=True)
class QueueNow:
    """A queue with its lines, and whether the cluster has it as agreed."""

    queue: Queue
    seen: Seen
    lines: list[LineNow] = field(default_factory=list)

    @property
    def devices(self) -> list[LineNow]:
        """Give the lines of devices."""
        return [line for line in self.lines if line.is_device]

    @property
    def others(self) -> list[LineNow]:
        """Give the lines of CPU and memory."""
        return [line for line in self.lines if not line.is_device]


def tenant_queues(tenant: Tenant) -> list[QueueNow]:
    """Give a tenant's queues with their numbers."""
    return queues_now(Queue.objects.filter(tenant=tenant))


def queues_now(queues: Iterable[Queue]) -> list[QueueNow]:
    """Give queues with agreed and live numbers, in the same number of queries for one or many."""
    rows = list(
        Queue.objects.filter(pk__in=[queue.pk for queue in queues])
        .select_related("tenant", "cluster", "department")
        .prefetch_related("lines", "entries")
        .order_by("cluster__slug", "name")
    )
    clusters = {row.cluster_id for row in rows}
    trees, live = _live(clusters)
    capability = {
        (pool.cluster_id, pool.flavor): str(pool.spec.get("capability", ""))
        for pool in Pool.objects.filter(cluster_id__in=clusters)
    }
    revisions = _revisions(rows, clusters)
    return [
        QueueNow(
            queue=row,
            seen=_seen(
                live.get((row.cluster_id, row.name)), revisions.get((row.cluster_id, row.name))
            ),
            lines=[
                LineNow(
                    line,
                    capability.get((row.cluster_id, line.flavor), ""),
                    trees[row.cluster_id].room(row.name, (line.flavor, line.resource)),
                )
                for line in row.lines.all()
            ],
        )
        for row in rows
    ]


def _live(clusters: set[int]) -> tuple[dict[int, Tree], dict[tuple[int, str], ObservedObject]]:
    found = ObservedObject.objects.filter(
        cluster_id__in=clusters, kind__in=["ClusterQueue", "Cohort"]
    ).order_by("kind", "name")[:TREE_LIMIT]
    by_cluster: dict[int, list[ObservedObject]] = defaultdict(list)
    queues: dict[tuple[int, str], ObservedObject] = {}
    for row in found:
        by_cluster[row.cluster_id].append(row)
        if row.kind == "ClusterQueue":
            queues[row.cluster_id, row.name] = row
    return {cluster: Tree(by_cluster[cluster]) for cluster in clusters}, queues


@dataclass(frozen=True, slots=True)
class _Applied:
    number: int
    at: datetime | None


def _revisions(queues: list[Queue], clusters: set[int]) -> dict[tuple[int, str], _Applied]:
    """Find the revision with which each queue was last written, else the cluster's newest one."""
    heads = dict(
        Revision.objects.filter(cluster_id__in=clusters)
        .order_by("cluster_id", "-number")
        .distinct("cluster_id")
        .values_list("cluster_id", "number")
    )
    results = (
        ObjectResult.objects.filter(
            apply__cluster_id__in=clusters,
            object__kind="ClusterQueue",
            object__name__in=[queue.name for queue in queues],
            state__in=[ObjectResult.State.APPLIED, ObjectResult.State.FOUND],
        )
        .order_by("apply__cluster_id", "object__name", "-at")
        .distinct("apply__cluster_id", "object__name")
        .values_list("apply__cluster_id", "object__name", "apply__revision__number", "at")
    )
    found = {(cluster, name): _Applied(number, at) for cluster, name, number, at in results}
    for queue in queues:
        if queue.cluster_id in heads:
            key = (queue.cluster_id, queue.name)
            found.setdefault(key, _Applied(heads[queue.cluster_id], None))
    return found


def _seen(row: ObservedObject | None, applied: _Applied | None) -> Seen:
    number = applied.number if applied else None
    if row is None:
        return Seen(False, None, None, None, number)
    times = [at for at in (row.sync_since, applied.at if applied else None) if at is not None]
    since = max(times) if times and row.in_sync else row.sync_since
    return Seen(True, row.in_sync, since, row.observed_at, number, _stopped(row))


def _stopped(row: ObservedObject) -> str:
    """Give the cluster's own words when the queue is not active."""
    status = row.body.get("status")
    for condition in (status.get("conditions") or ()) if isinstance(status, dict) else ():
        if condition.get("type") == "Active" and condition.get("status") != "True":
            return str(condition.get("message", ""))
    return ""
