"""The tenant's home: what it was promised, what it holds, and what the cluster really says."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import Count, OuterRef, QuerySet, Subquery, Sum
from django.db.models.functions import JSONObject
from django.utils.dateparse import parse_datetime

from kube.catalog import CPU, MEMORY
from queues.compiled import Part
from queues.models import ObjectResult, ObservedObject, Workload
from queues.selectors import misrouted
from queues.selectors.room import Room, Tree, trees_of, with_trees
from tenants.models import Entry, Pool, Queue, QuotaLine, Revision, Tenant

# More of the quota tree than this is not drawn with live room; the catalog's numbers still are.
TREE_LIMIT = 5000
WAITING = ("waiting",)
RUNNING = ("running", "starting", "stopping")


@dataclass(frozen=True, slots=True)
class Seen:
    """What the cluster says about one object of the catalog.

    ``written``: the portal has written it once. ``deleting``: somebody has asked to remove it.
    """

    present: bool
    in_sync: bool | None
    since: datetime | None
    observed_at: datetime | None
    revision: int | None
    status: str = ""
    stop_policy: str = "None"
    written: bool = False
    deleting: bool = False


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


@dataclass(frozen=True, slots=True)
class Sums:
    """Jobs of one kind together: how many, and how many devices."""

    jobs: int = 0
    devices: int = 0


@dataclass(slots=True)
class QueueNow:
    """A queue with its lines, and whether the cluster has it as agreed."""

    queue: Queue
    seen: Seen
    lines: list[LineNow] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    #: (state, namespace) -> its jobs.
    jobs: dict[tuple[str, str], Sums] = field(default_factory=dict)

    @property
    def devices(self) -> list[LineNow]:
        """Give the lines of devices."""
        return [line for line in self.lines if line.is_device]

    @property
    def others(self) -> list[LineNow]:
        """Give the lines of CPU and memory."""
        return [line for line in self.lines if not line.is_device]

    @property
    def waiting(self) -> Sums:
        """Sum up what waits."""
        return self.summed(WAITING)

    @property
    def running(self) -> Sums:
        """Sum up what has its place, also what is starting or being stopped."""
        return self.summed(RUNNING)

    def summed(self, states: Container[str], namespaces: Container[str] | None = None) -> Sums:
        """Sum up the jobs in these states, of all namespaces or of these."""
        rows = [
            sums
            for (state, namespace), sums in self.jobs.items()
            if state in states and (namespaces is None or namespace in namespaces)
        ]
        return Sums(sum(row.jobs for row in rows), sum(row.devices for row in rows))


#: What other parts show on a tenant's home: annotations of its row, by name. They come with the
#: row that the page reads anyway, as each way to the database counts on a page that stays open.
BESIDE: Final[dict[str, Part]] = {}


def with_beside(tenants: QuerySet[Tenant]) -> QuerySet[Tenant]:
    """Add what other parts show on a tenant's home."""
    return tenants.annotate(**{name: part() for name, part in BESIDE.items()})


def tenant_queues(tenant: Tenant) -> list[QueueNow]:
    """Give a tenant's queues with their numbers."""
    return queues_now(Queue.objects.filter(tenant=tenant))


def queues_now(queues: Iterable[Queue] | QuerySet[Queue]) -> list[QueueNow]:
    """Give queues with agreed and live numbers, in one query for one or many."""
    if not isinstance(queues, QuerySet):
        queues = Queue.objects.filter(pk__in=[queue.pk for queue in queues])
    rows = list(with_trees(described(queues), TREE_LIMIT).order_by("cluster__slug", "name"))
    return joined(rows, trees_of(rows))


def joined(rows: Iterable[Queue], found: Mapping[int, Tree]) -> list[QueueNow]:
    """Join rows of ``described`` with the quota trees of their clusters."""
    nothing = Tree(())
    return [_now(row, found.get(row.cluster_id, nothing)) for row in rows]


def number_rows(jobs: QuerySet[Workload]) -> QuerySet[Any]:
    """Count jobs by state as a part of a query; ``summed_up`` reads it."""
    rows = jobs.order_by().select_related(None).values("state")
    counts = rows.annotate(jobs=Count("pk"), astray=Count("pk", filter=misrouted.WRONG))
    return counts.values(json=JSONObject(state="state", jobs="jobs", astray="astray"))


def summed_up(rows: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Read what ``number_rows`` counted."""
    counts = [(each["state"], each["jobs"], each["astray"]) for each in rows]
    found = {state: jobs - astray for state, jobs, astray in counts}
    return found | {"astray": sum(astray for _state, _jobs, astray in counts)}


def quotas(queues: Iterable[QueueNow]) -> dict[tuple[int, str, str, str], tuple[int, int]]:
    """Give (held, promised) of each line as the cluster has it, by cluster, queue and line."""
    return {
        (now.queue.cluster_id, now.queue.name, each.line.flavor, each.line.resource): (
            each.room.held, each.room.nominal,
        )
        for now in queues
        for each in now.lines
        if each.room is not None
    }  # fmt: skip


# --- one query for everything that is written about a queue ---------------------------------------


def described(queues: QuerySet[Queue]) -> QuerySet[Queue]:
    """Add a queue's lines, entries, jobs and what the cluster says about it, as JSON."""
    return queues.select_related("tenant", "cluster", "department").annotate(
        **{name: part() for name, part in _PARTS.items()}
    )


def _lines() -> ArraySubquery:
    pool = Pool.objects.filter(
        cluster=OuterRef("queue__cluster"), flavor=OuterRef("flavor")
    ).values("spec__capability")[:1]
    line = JSONObject(
        flavor="flavor", resource="resource", position="position", nominal="nominal",
        borrowing_limit="borrowing_limit", lending_limit="lending_limit",
        capability=Subquery(pool),
    )  # fmt: skip
    rows = QuotaLine.objects.filter(queue=OuterRef("pk")).order_by("position")
    return ArraySubquery(rows.values(json=line))


def _entries() -> ArraySubquery:
    rows = Entry.objects.filter(queue=OuterRef("pk")).order_by("namespace", "name")
    return ArraySubquery(rows.values(json=JSONObject(namespace="namespace", name="name")))


def _jobs() -> ArraySubquery:
    """Sum jobs up in the database: a queue may hold tens of thousands."""
    rows = Workload.objects.filter(
        cluster=OuterRef("cluster"), queue=OuterRef("name"), state__in=[*WAITING, *RUNNING]
    )
    groups = rows.order_by().values("state", "namespace")
    sums = groups.annotate(jobs=Count("pk"), size=Sum("devices"))
    return ArraySubquery(
        sums.values(
            json=JSONObject(state="state", namespace="namespace", jobs="jobs", devices="size")
        )
    )


def _observed() -> Subquery[Any]:
    row = ObservedObject.objects.filter(
        cluster=OuterRef("cluster"), kind="ClusterQueue", namespace="", name=OuterRef("name")
    )
    facts = JSONObject(
        in_sync="in_sync", sync_since="sync_since", observed_at="observed_at",
        conditions="body__status__conditions", stop_policy="body__spec__stopPolicy",
        deleting="body__deleting",
    )  # fmt: skip
    return Subquery(row.values(json=facts)[:1])


def _written() -> Subquery[Any]:
    """Find the revision with which the queue was last written or found as wanted."""
    rows = ObjectResult.objects.filter(
        apply__cluster=OuterRef("cluster"),
        object__kind="ClusterQueue",
        object__name=OuterRef("name"),
        state__in=[ObjectResult.State.APPLIED, ObjectResult.State.FOUND],
    ).order_by("-at")
    return Subquery(rows.values(json=JSONObject(number="apply__revision__number", at="at"))[:1])


def _newest() -> Subquery[Any]:
    rows = Revision.objects.filter(cluster=OuterRef("cluster")).order_by("-number")
    return Subquery(rows.values("number")[:1])


_PARTS: Final = {
    "its_lines": Part(Queue, _lines),
    "its_entries": Part(Queue, _entries),
    "its_jobs": Part(Queue, _jobs),
    "its_object": Part(Queue, _observed),
    "its_write": Part(Queue, _written),
    "its_head": Part(Queue, _newest),
}


# --- from those rows to what a page shows -----------------------------------------------------------


def _now(row: Any, tree: Tree) -> QueueNow:
    return QueueNow(
        queue=row,
        seen=_seen(row),
        lines=[_line(row, each, tree) for each in row.its_lines],
        entries=[Entry(cluster_id=row.cluster_id, **each) for each in row.its_entries],
        jobs={
            (each["state"], each["namespace"]): Sums(each["jobs"], int(each["devices"] or 0))
            for each in row.its_jobs
        },
    )


def _line(row: Queue, facts: dict[str, Any], tree: Tree) -> LineNow:
    capability = facts.pop("capability") or ""
    line = QuotaLine(queue=row, **facts)
    return LineNow(line, str(capability), tree.room(row.name, (line.flavor, line.resource)))


def _seen(row: Any) -> Seen:
    written = row.its_write or {}
    number = written.get("number", row.its_head)
    found = row.its_object
    if found is None:
        return Seen(False, None, None, None, number, written=bool(row.its_write))
    since, at = _time(found["sync_since"]), _time(written.get("at"))
    times = [each for each in (since, at) if each is not None]
    return Seen(
        present=True,
        in_sync=found["in_sync"],
        since=max(times) if times and found["in_sync"] else since,
        observed_at=_time(found["observed_at"]),
        revision=number,
        status=_stopped(found["conditions"]),
        stop_policy=str(found["stop_policy"] or "None"),
        written=bool(row.its_write),
        deleting=bool(found["deleting"]),
    )


def _time(text: str | None) -> datetime | None:
    return parse_datetime(text) if text else None


def _stopped(conditions: object) -> str:
    """Give the cluster's own words when the queue is not active."""
    for condition in conditions if isinstance(conditions, list) else ():
        if isinstance(condition, dict) and condition.get("type") == "Active":
            return "" if condition.get("status") == "True" else str(condition.get("message", ""))
    return ""
