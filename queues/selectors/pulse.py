"""What a page asks first: how old its data is, and whether anything it shows has moved.

Both come with the one row that a page fetches anyway, as annotations, so that a page which did
not move costs no further query.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from django.db.models import JSONField, QuerySet
from django.db.models.expressions import RawSQL
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from queues.compiled import Once, number
from queues.models import Workload
from queues.selectors.freshness import INTERVAL, STEP, Freshness, of_streams
from tenants.models import Cluster, Queue, Tenant

LATE_STEP: Final = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Pulse:
    """``moved`` differs whenever something moved; ``ages`` is by cluster, ``names`` their slugs."""

    moved: tuple[object, ...] = ()
    ages: dict[int, Freshness] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)

    def stamp(self, *more: object) -> tuple[object, ...]:
        """Give what tells whether a page is still good.

        A lost line makes it look different, and so does the age that it shows, in coarse steps:
        a page that is only told "nothing moved" would count its age up and call it late.
        """
        ages = [
            (pk, age.lost_since, int(age.at.timestamp()) // STEP if age.at else None)
            for pk, age in sorted(self.ages.items())
        ]
        return (self.moved, ages, *more)

    def quiet_stamp(self, *more: object) -> tuple[object, ...]:
        """Give the stamp of a page whose every answer tells how fresh the data is."""
        return (self.moved, self.looks, *more)

    @property
    def looks(self) -> tuple[object, ...]:
        """Give how old the data looks: the same as long as it is fresh, however old in seconds."""
        return tuple((pk, _look(age)) for pk, age in sorted(self.ages.items()))

    @property
    def alive(self) -> dict[str, datetime]:
        """Give the last sign of life of each cluster, where there was one."""
        known = {self.names.get(pk, ""): age.at for pk, age in self.ages.items()}
        return {name: at for name, at in known.items() if name and at is not None}


def _look(age: Freshness) -> tuple[object, ...]:
    """What is late looks older with every minute; what is lost, since when."""
    if age.at is None or age.lost_since is not None:
        return (age.lost_since, age.never)
    late = timezone.now() - age.at
    return (late // LATE_STEP if late > 2 * INTERVAL else None,)


class _Line(NamedTuple):
    alive_at: datetime | None
    lost_since: datetime | None
    error: str


# Written out, as it is asked more often than anything else: a browser that shows the newest page
# already pays for this and for little more. Its outer row is the row that a page fetches.
_PULSE: Final = """jsonb_build_object(
    'lines', (
        SELECT jsonb_agg(jsonb_build_object(
            'cluster', s.cluster_id, 'name', c.slug, 'alive_at', s.alive_at,
            'lost_since', s.lost_since, 'error', s.error
        ) ORDER BY c.slug, s.kind)
        FROM queues_stream s JOIN tenants_cluster c ON c.id = s.cluster_id
        WHERE s.cluster_id {here} AND {lines}
    ),
    'moves', (
        SELECT sum(g.number) FROM queues_generation g WHERE g.cluster_id {here} AND ({things})
    ),
    'revision', (SELECT max(r.number) FROM tenants_revision r WHERE r.cluster_id {here}),
    'applies', (SELECT sum(a.version) FROM queues_apply a WHERE a.cluster_id {here}){more}
)"""
_READ: Final = "s.kind IN ('ClusterQueue', 'LocalQueue', 'Cohort', 'Workload')"
_METERED: Final = "g.kind = 'objects' AND g.name IN ('ClusterQueue', 'Cohort')"
_OF_TENANT: Final = "FROM tenants_queue q WHERE q.tenant_id = tenants_tenant.id"
_SPACES_OF_TENANT: Final = """
SELECT e.namespace FROM tenants_queue q JOIN tenants_entry e ON e.queue_id = q.id
WHERE q.tenant_id = tenants_tenant.id
"""
_WAY: Final = """,
    'link', (
        SELECT jsonb_build_array(l.checked_at, l.check_error, l.capabilities)
        FROM queues_link l WHERE l.cluster_id = tenants_cluster.id
    ),
    'tokens', (
        SELECT jsonb_agg(jsonb_build_array(t.expires_at, t.problem) ORDER BY t.purpose)
        FROM queues_credential t WHERE t.link_id = tenants_cluster.id
    )
"""
_ASKED: Final = """,
    'asked', (
        SELECT sum(r.version + 1) FROM tenants_request r
        WHERE r.cluster_id = queues_workload.cluster_id
    )
"""
_SPACES_OF_TENANTS: Final = """
SELECT e.{column} FROM tenants_entry e JOIN tenants_queue q ON q.id = e.queue_id
WHERE q.tenant_id = ANY(%s)
"""


def of_queue(rows: QuerySet[Queue]) -> QuerySet[Queue]:
    """Add the pulse to queues: their jobs, and the quota of their cluster."""
    things = f"g.kind = 'queue' AND g.name = tenants_queue.name OR {_METERED}"
    return _add(rows, "= tenants_queue.cluster_id", things)


def of_tenant(rows: QuerySet[Tenant]) -> QuerySet[Tenant]:
    """Add the pulse to tenants: the jobs of their queues and namespaces, the quota around them."""
    things = (
        f"g.kind = 'queue' AND g.name IN (SELECT q.name {_OF_TENANT})"
        f" OR g.kind = 'namespace' AND g.name IN ({_SPACES_OF_TENANT}) OR {_METERED}"
    )
    return _add(rows, f"IN (SELECT q.cluster_id {_OF_TENANT})", things)


def of_cluster(rows: QuerySet[Cluster], kinds: Iterable[str] = ()) -> QuerySet[Cluster]:
    """Add the pulse to clusters: their queues, objects and the portal's way there.

    Their lines are those of all kinds, or of these ``kinds`` only.
    """
    named = list(kinds)
    lines = "s.kind = ANY(%s)" if named else "TRUE"
    return _add(
        rows, "= tenants_cluster.id", "g.kind IN ('queue', 'objects')", _WAY,
        lines=lines, values=[named] if named else [],
    )  # fmt: skip


def of_job(rows: QuerySet[Workload]) -> QuerySet[Workload]:
    """Add the pulse to jobs: those around each, the quota, and the requests about it."""
    things = (
        "g.kind = 'queue' AND g.name = queues_workload.queue"
        f" OR g.kind = 'namespace' AND g.name = queues_workload.namespace OR {_METERED}"
    )
    return _add(rows, "= queues_workload.cluster_id", things, _ASKED)


def of_jobs(tenants: Collection[int] | None) -> list[Cluster]:
    """Give the clusters of the jobs of these tenants, or all, with the pulse of those jobs."""
    return _OF_ALL_JOBS() if tenants is None else _OF_JOBS(tenants=list(tenants))


def _of_jobs(*values: Any) -> QuerySet[Cluster]:
    spaces, rows = "g.kind = 'namespace'", Cluster.objects.order_by("slug")
    if values:
        clusters = _SPACES_OF_TENANTS.format(column="cluster_id")
        rows = rows.filter(pk__in=RawSQL(clusters, values))  # noqa: S611 - values are bound
        names = _SPACES_OF_TENANTS.format(column="namespace")
        spaces += f" AND g.name IN ({names} AND e.cluster_id = g.cluster_id)"
    things = f"{spaces} OR g.kind = 'objects' AND g.name = 'ClusterQueue'"
    return _add(rows, "= tenants_cluster.id", things, values=values)


_OF_ALL_JOBS: Final[Once[Cluster]] = Once(_of_jobs)
_OF_JOBS: Final[Once[Cluster]] = Once(lambda: _of_jobs(number("tenants")))


def _add(
    rows: QuerySet[Any], here: str, things: str, more: str = "", *,
    lines: str = _READ, values: Iterable[Any] = (),
) -> QuerySet[Any]:  # fmt: skip
    """Numbers only rise, so their sum moves whenever one of them does."""
    sql = _PULSE.format(here=here, things=things, lines=lines, more=more)
    pulse = RawSQL(sql, tuple(values), output_field=JSONField())  # noqa: S611 - values are bound
    found: QuerySet[Any] = rows.annotate(pulse=pulse)
    return found


def read(row: Any) -> Pulse:
    """Take the pulse from a row that was fetched with it."""
    lines: dict[int, list[_Line]] = {}
    names: dict[int, str] = {}
    for each in row.pulse["lines"] or ():
        line = _Line(_time(each["alive_at"]), _time(each["lost_since"]), each["error"])
        names[each["cluster"]] = each["name"]
        lines.setdefault(each["cluster"], []).append(line)
    ages = {pk: of_streams(streams) for pk, streams in lines.items()}
    moved = tuple(item for item in row.pulse.items() if item[0] != "lines")
    return Pulse(moved, ages, names)


def joined(rows: Iterable[Any]) -> Pulse:
    """Take the pulse of several rows as one."""
    found = [(row.pk, read(row)) for row in rows]
    ages = {cluster: age for _, each in found for cluster, age in each.ages.items()}
    names = {cluster: name for _, each in found for cluster, name in each.names.items()}
    return Pulse(tuple((pk, each.moved) for pk, each in found), ages, names)


def _time(text: str | None) -> datetime | None:
    return parse_datetime(text) if text else None
