"""Clusters: how fresh the data is, what the portal may do there, and what each flavor has left."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import F, Func, OuterRef, QuerySet, Subquery, Sum
from django.db.models.functions import JSONObject
from django.utils.dateparse import parse_datetime

from kube.catalog import CPU, MEMORY
from queues.models import Credential, Link, ObservedObject, Stream, Workload
from queues.selectors.freshness import is_lost
from queues.selectors.room import Key, Tree, amount, trees
from queues.selectors.tenants import TREE_LIMIT
from tenants.models import Cluster, Department, Pool, Queue, QuotaLine, Revision

DRIFTED_SHOWN: Final = 50
# More machines than this are counted, and not looked at one by one.
MACHINES: Final = 10_000


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
        """Give the oldest sign of life of what is needed, or nothing when a part was never heard."""
        needed = [stream for stream in self.streams if stream.needed]
        times = [stream.alive_at for stream in needed if stream.alive_at is not None]
        return min(times) if times and len(times) == len(needed) else None

    @property
    def lost(self) -> bool:
        """Say whether a line to the cluster is down."""
        return any(is_lost(stream.lost_since) for stream in self.streams if stream.needed)


def cluster_rows(clusters: QuerySet[Cluster]) -> list[ClusterRow]:
    """Give every cluster with its counts, in one query."""
    return [row_of(each) for each in with_health(clusters)]


def with_health(clusters: QuerySet[Cluster]) -> QuerySet[Cluster]:
    """Add a cluster's link, lines and counts."""
    of_it = {"cluster": OuterRef("pk")}
    link = Link.objects.filter(**of_it).values(
        json=JSONObject(
            server="server", capabilities="capabilities", preflight="preflight",
            checked_at="checked_at", check_error="check_error",
            clock_skew_seconds="clock_skew_seconds",
        )
    )  # fmt: skip
    line = JSONObject(
        kind="kind", listed_at="listed_at", alive_at="alive_at", lost_since="lost_since",
        error="error", needed="needed",
    )  # fmt: skip
    jobs = Workload.objects.filter(**of_it)
    found: QuerySet[Cluster] = clusters.annotate(
        its_link=Subquery(link[:1]),
        its_streams=ArraySubquery(
            Stream.objects.filter(**of_it).order_by("kind").values(json=line)
        ),
        its_queues=_count(Queue.objects.filter(**of_it)),
        its_running=_count(jobs.filter(state="running")),
        its_waiting=_count(jobs.filter(state="waiting")),
        its_drifted=_count(ObservedObject.objects.filter(in_sync=False, **of_it)),
    )
    return found


def _count(rows: QuerySet[Any]) -> Subquery[Any]:
    """Count rows of a cluster; an aggregate of Django's own would want groups."""
    return Subquery(rows.order_by().annotate(one=Func(F("pk"), function="count")).values("one"))


def row_of(row: Any) -> ClusterRow:
    """Read what ``with_health`` has added to a cluster."""
    link = row.its_link
    return ClusterRow(
        cluster=row,
        link=Link(cluster=row, **link | _times(link, "checked_at")) if link else None,
        streams=[
            Stream(cluster=row, **each | _times(each, "listed_at", "alive_at", "lost_since"))
            for each in row.its_streams
        ],
        queues=row.its_queues,
        running=row.its_running,
        waiting=row.its_waiting,
        drifted=row.its_drifted,
    )


def _times(row: Mapping[str, Any], *names: str) -> dict[str, datetime | None]:
    return {name: parse_datetime(row[name]) if row[name] else None for name in names}


# --- one cluster ----------------------------------------------------------------------------------


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
class Head:
    """The newest revision of the catalog."""

    number: int
    committed_at: datetime | None


@dataclass(frozen=True, slots=True)
class Drifted:
    """An object that differs from the catalog."""

    kind: str
    namespace: str
    name: str
    sync_since: datetime | None


@dataclass(frozen=True, slots=True)
class DepartmentNow:
    """A department: its name, what people call it, the one above it, and how many queues it has."""

    name: str
    label: str
    parent: str
    queues: int


@dataclass(frozen=True, slots=True)
class ClusterNow:
    """The page of one cluster."""

    row: ClusterRow
    head: Head | None
    pools: list[PoolNow]
    credentials: list[Credential]
    drifted: list[Drifted]
    departments: list[DepartmentNow]
    machines: list[ObservedObject]
    #: Name of a topology -> its levels, the outermost first.
    topologies: dict[str, list[str]]


def cluster_now(cluster: Cluster, tree: Tree | None = None) -> ClusterNow:
    """Give everything that the page of one cluster shows, in two queries.

    ``tree`` is its quota tree, which says what is held of each flavor; without it that is read.
    """
    if tree is None:
        tree = trees([cluster.pk], TREE_LIMIT).get(cluster.pk, Tree(()))
    row: Any = _described(with_health(Cluster.objects.filter(pk=cluster.pk))).get()
    machines = list(
        ObservedObject.objects.filter(cluster=cluster, kind="Node")
        .only("name", "body")
        .order_by("name")[:MACHINES]
    )
    return ClusterNow(
        row=row_of(row),
        head=Head(**row.its_head | _times(row.its_head, "committed_at")) if row.its_head else None,
        pools=pools_of(row, machines, tree),
        credentials=[
            Credential(link_id=cluster.pk, **each | _times(each, "expires_at", "renewed_at"))
            for each in row.its_credentials
        ],
        drifted=[Drifted(**each | _times(each, "sync_since")) for each in row.its_differing],
        departments=[
            DepartmentNow(
                each["name"], each["label"] or each["name"], each["parent"] or "", each["queues"]
            )
            for each in row.its_departments
        ],
        machines=machines,
        topologies={
            str(each.get("name")): list(map(str, each.get("levels") or ()))
            for each in row.its_topologies or ()
        },
    )


def _described(clusters: QuerySet[Cluster]) -> QuerySet[Cluster]:
    of_it = {"cluster": OuterRef("pk")}
    newest = Revision.objects.filter(**of_it).order_by("-number")
    credential = JSONObject(
        purpose="purpose", key_id="key_id", expires_at="expires_at", renewed_at="renewed_at",
        problem="problem",
    )  # fmt: skip
    credentials = Credential.objects.filter(link=OuterRef("pk")).order_by("purpose")
    pool = JSONObject(flavor="flavor", resource="resource", spec="spec", capacity="capacity")
    differing = ObservedObject.objects.filter(in_sync=False, **of_it)
    differs = JSONObject(kind="kind", namespace="namespace", name="name", sync_since="sync_since")
    its_queues = Queue.objects.filter(department=OuterRef("pk"))
    department = JSONObject(
        name="name", label="display_name", parent="parent__name", quotas="spec__quotas",
        queues=_count(its_queues),
    )  # fmt: skip
    departments = Department.objects.filter(**of_it).order_by("name")
    found: QuerySet[Cluster] = clusters.annotate(
        its_head=Subquery(
            newest.values(json=JSONObject(number="number", committed_at="committed_at"))[:1]
        ),
        its_topologies=Subquery(newest.values("catalog__topologies")[:1]),
        its_credentials=ArraySubquery(credentials.values(json=credential)),
        its_pools=ArraySubquery(Pool.objects.filter(**of_it).order_by("flavor").values(json=pool)),
        its_promises=ArraySubquery(_promises()),
        its_departments=ArraySubquery(departments.values(json=department)),
        its_differing=ArraySubquery(
            differing.order_by("kind", "namespace", "name").values(json=differs)[:DRIFTED_SHOWN]
        ),
    )
    return found


def _promises() -> QuerySet[Any]:
    """Sum what queues are promised, by flavor and resource."""
    lines = QuotaLine.objects.filter(queue__cluster=OuterRef("pk")).exclude(
        resource__in=[CPU, MEMORY]
    )
    sums = lines.order_by().values("flavor", "resource").annotate(total=Sum("nominal"))
    return sums.values(json=JSONObject(flavor="flavor", resource="resource", total="total"))


def pools_of(row: Any, machines: Iterable[ObservedObject], tree: Tree) -> list[PoolNow]:
    """Give capacity, promises and use of every flavor that has devices."""
    promised = _committed(row)
    taken: dict[Key, int] = defaultdict(int)
    for node in tree.queues.values():
        for key, value in node.held.items():
            taken[key] += value
    known = list(machines)
    return [
        _pool(Pool(cluster=row, **each), known, promised, taken)
        for each in row.its_pools
        if each["resource"]
    ]


def _committed(row: Any) -> dict[Key, int]:
    """Sum the promises of queues and departments."""
    total = {(each["flavor"], each["resource"]): int(each["total"]) for each in row.its_promises}
    for department in row.its_departments:
        for line in department["quotas"] or ():
            key = (str(line["flavor"]), str(line["resource"]))
            if key[1] not in (CPU, MEMORY):
                total[key] = total.get(key, 0) + int(line["nominal"])
    return total


def _pool(
    pool: Pool,
    machines: list[ObservedObject],
    promised: Mapping[Key, int],
    taken: Mapping[Key, int],
) -> PoolNow:
    key = (pool.flavor, pool.resource)
    mine = machines_of(pool, machines)
    ready = [each for each in mine if takes_pods(each)]
    return PoolNow(
        pool=pool,
        nodes=len(mine),
        ready=len(ready),
        observed=sum(devices_of(each, pool.resource) for each in ready),
        committed=promised.get(key, 0),
        held=taken.get(key, 0),
    )


def machines_of(pool: Pool, machines: Iterable[ObservedObject]) -> list[ObservedObject]:
    """Give the machines that carry the labels of a flavor; one without labels has none."""
    wanted = dict(pool.spec.get("node_labels") or {}).items()
    return [each for each in machines if wanted and wanted <= _labels(each).items()]


def _labels(machine: ObservedObject) -> dict[str, str]:
    found: dict[str, str] = machine.body.get("labels") or {}
    return found


def takes_pods(machine: ObservedObject) -> bool:
    """Say whether a machine is ready and takes new pods."""
    return bool(machine.body.get("ready")) and not machine.body.get("unschedulable")


def devices_of(machine: ObservedObject, resource: str) -> int:
    """Give the devices that a machine offers."""
    return amount(resource, (machine.body.get("allocatable") or {}).get(resource, 0))
