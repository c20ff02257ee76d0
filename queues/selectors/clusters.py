"""Clusters: how fresh the data is, what the portal may do there, and what each flavor has left."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, QuerySet, Sum

from kube.catalog import CPU, MEMORY
from queues.models import Credential, Link, ObservedObject, Stream, Workload
from queues.selectors.freshness import is_lost
from queues.selectors.room import amount, held
from tenants.models import Cluster, Department, Pool, Queue, QuotaLine, Revision


@dataclass(frozen=True, slots=True)
class ClusterRow:
    """One line of the list."""

    cluster: Cluster
    link: Link | None
    streams: list[Stream]
    queues: int
    running: int
    waiting: int
    drifted: int

    @property
    def alive_at(self) -> Any:
        """Give the oldest sign of life, or nothing when one stream was never heard."""
        needed = [stream for stream in self.streams if stream.needed]
        times = [stream.alive_at for stream in needed if stream.alive_at is not None]
        return min(times) if times and len(times) == len(needed) else None

    @property
    def lost(self) -> bool:
        """Say whether a line to the cluster is down."""
        return any(is_lost(stream.lost_since) for stream in self.streams if stream.needed)


def cluster_rows(clusters: QuerySet[Cluster]) -> list[ClusterRow]:
    """Give every cluster with its counts, in a constant number of queries."""
    rows = list(clusters)
    ids = [row.pk for row in rows]
    links = Link.objects.in_bulk(ids)
    streams: dict[int, list[Stream]] = defaultdict(list)
    for stream in Stream.objects.filter(cluster_id__in=ids).order_by("kind"):
        streams[stream.cluster_id].append(stream)
    queues = _count(Queue.objects.filter(cluster_id__in=ids))
    jobs = Workload.objects.filter(cluster_id__in=ids)
    running, waiting = _count(jobs.filter(state="running")), _count(jobs.filter(state="waiting"))
    drifted = _count(ObservedObject.objects.filter(cluster_id__in=ids, in_sync=False))
    return [
        ClusterRow(
            cluster=row,
            link=links.get(row.pk),
            streams=streams[row.pk],
            queues=queues.get(row.pk, 0),
            running=running.get(row.pk, 0),
            waiting=waiting.get(row.pk, 0),
            drifted=drifted.get(row.pk, 0),
        )
        for row in rows
    ]


def _count(rows: QuerySet[Any]) -> dict[int, int]:
    return dict(rows.order_by().values_list("cluster_id").annotate(number=Count("pk")))


@dataclass(frozen=True, slots=True)
class PoolNow:
    """The devices of one flavor: what there is, what is promised, what is held."""

    pool: Pool
    nodes: int
    ready: int
    observed: int
    committed: int
    held: int

    @property
    def capacity(self) -> int:
        """Give the agreed capacity, else what the nodes offer."""
        return self.observed if self.pool.capacity is None else self.pool.capacity

    @property
    def uncommitted(self) -> int:
        """Give what may still be promised; below zero when too much is promised."""
        return self.capacity - self.committed


@dataclass(frozen=True, slots=True)
class ClusterNow:
    """The page of one cluster."""

    row: ClusterRow
    head: Revision | None
    pools: list[PoolNow]
    credentials: list[Credential]
    drifted: list[ObservedObject]


def cluster_now(cluster: Cluster) -> ClusterNow:
    """Give everything that the page of one cluster shows."""
    row = cluster_rows(Cluster.objects.filter(pk=cluster.pk))[0]
    return ClusterNow(
        row=row,
        head=Revision.objects.filter(cluster=cluster).order_by("-number").defer("catalog").first(),
        pools=pools_now(cluster),
        credentials=list(
            Credential.objects.filter(link_id=cluster.pk).defer("sealed").order_by("purpose")
        ),
        drifted=list(
            ObservedObject.objects.filter(cluster=cluster, in_sync=False)
            .defer("body")
            .order_by("kind", "namespace", "name")[:50]
        ),
    )


def pools_now(cluster: Cluster) -> list[PoolNow]:
    """Give capacity, promises and use of every flavor that has devices."""
    pools = [pool for pool in Pool.objects.filter(cluster=cluster) if pool.resource]
    nodes = list(ObservedObject.objects.filter(cluster=cluster, kind="Node").only("body"))
    promised = committed(cluster)
    taken = _held(cluster)
    return [_pool(pool, nodes, promised, taken) for pool in pools]


def _pool(
    pool: Pool,
    nodes: list[ObservedObject],
    promised: Mapping[tuple[str, str], int],
    taken: Mapping[tuple[str, str], int],
) -> PoolNow:
    key = (pool.flavor, pool.resource)
    labels = [
        (str(name), str(value)) for name, value in dict(pool.spec.get("node_labels") or {}).items()
    ]
    mine = [node for node in nodes if labels and _has(node, labels)]
    ready = [node for node in mine if node.body.get("ready") and not node.body.get("unschedulable")]
    return PoolNow(
        pool=pool,
        nodes=len(mine),
        ready=len(ready),
        observed=sum(
            amount(pool.resource, (node.body.get("allocatable") or {}).get(pool.resource, 0))
            for node in ready
        ),
        committed=promised.get(key, 0),
        held=taken.get(key, 0),
    )


def _has(node: ObservedObject, labels: Iterable[tuple[str, str]]) -> bool:
    own = node.body.get("labels") or {}
    return all(own.get(name) == value for name, value in labels)


def committed(cluster: Cluster) -> dict[tuple[str, str], int]:
    """Sum the nominal quota of all queues and departments by flavor and resource."""
    lines = (
        QuotaLine.objects.filter(queue__cluster=cluster)
        .exclude(resource__in=[CPU, MEMORY])
        .order_by()
        .values_list("flavor", "resource")
        .annotate(total=Sum("nominal"))
    )
    total = {(flavor, resource): int(number) for flavor, resource, number in lines}
    for spec in Department.objects.filter(cluster=cluster).values_list("spec", flat=True):
        for line in spec.get("quotas") or ():
            key = (str(line["flavor"]), str(line["resource"]))
            if key[1] not in (CPU, MEMORY):
                total[key] = total.get(key, 0) + int(line["nominal"])
    return total


def _held(cluster: Cluster) -> dict[tuple[str, str], int]:
    total: dict[tuple[str, str], int] = defaultdict(int)
    rows = ObservedObject.objects.filter(cluster=cluster, kind="ClusterQueue").only("body")
    for row in rows:
        for key, value in held(row.body).items():
            total[key] += value
    return total
