"""What a page asks first: how old its data is, and whether anything it shows has moved.

Both come with the one row that a page fetches anyway, as annotations, so that a page which did
not move costs no further query.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import F, Func, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import JSONObject
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from queues.models import Apply, Credential, Generation, Link, Stream, Workload
from queues.selectors.freshness import INTERVAL, QUEUES, STEP, Freshness, of_streams
from tenants.models import Cluster, Entry, Queue, Request, Revision, Tenant

#: The kinds of objects from which meters are worked out.
METERED: Final = ("ClusterQueue", "Cohort")
LATE_STEP: Final = timedelta(minutes=1)
QUEUE, NAMESPACE, OBJECTS = (
    Generation.Kind.QUEUE,
    Generation.Kind.NAMESPACE,
    Generation.Kind.OBJECTS,
)


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


def of_queue(rows: QuerySet[Queue]) -> QuerySet[Queue]:
    """Add the pulse to queues: their jobs, and the quota of their cluster."""
    things = Q(kind=QUEUE, name=OuterRef("name")) | Q(kind=OBJECTS, name__in=METERED)
    return _add(rows, {"cluster": OuterRef("cluster")}, things)


def of_tenant(rows: QuerySet[Tenant]) -> QuerySet[Tenant]:
    """Add the pulse to tenants: the jobs of their queues and namespaces, the quota around them."""
    own = Queue.objects.filter(tenant=OuterRef(OuterRef("pk")))
    things = (
        Q(kind=QUEUE, name__in=own.values("name"))
        | Q(kind=NAMESPACE, name__in=own.values("entries__namespace"))
        | Q(kind=OBJECTS, name__in=METERED)
    )
    return _add(rows, {"cluster__in": own.values("cluster")}, things)


def of_cluster(rows: QuerySet[Cluster], kinds: Iterable[str] = ()) -> QuerySet[Cluster]:
    """Add the pulse to clusters: their queues, objects and the portal's way there.

    Their lines are those of all kinds, or of these ``kinds`` only.
    """
    of_it = {"cluster": OuterRef("pk")}
    link = JSONObject(at="checked_at", error="check_error", what="capabilities")
    token = JSONObject(expires_at="expires_at", problem="problem")
    tokens = Credential.objects.filter(link=OuterRef("pk")).order_by("purpose")
    with_way: QuerySet[Cluster] = rows.annotate(
        pulse_link=Subquery(Link.objects.filter(**of_it).values(json=link)[:1]),
        pulse_tokens=ArraySubquery(tokens.values(json=token)),
    )
    return _add(with_way, of_it, Q(kind__in=(QUEUE, OBJECTS)), kinds)


def of_job(rows: QuerySet[Workload]) -> QuerySet[Workload]:
    """Add the pulse to jobs: those around each, the quota, and the requests about it."""
    things = (
        Q(kind=QUEUE, name=OuterRef("queue"))
        | Q(kind=NAMESPACE, name=OuterRef("namespace"))
        | Q(kind=OBJECTS, name__in=METERED)
    )
    here = {"cluster": OuterRef("cluster")}
    asked = Request.objects.filter(**here).annotate(step=F("version") + 1)
    found: QuerySet[Workload] = _add(rows, here, things)
    return found.annotate(pulse_requests=_one("sum", "step", asked))


def of_jobs(tenants: QuerySet[Tenant] | None) -> QuerySet[Cluster]:
    """Give the clusters of the jobs of these tenants, or all, with the pulse of those jobs."""
    spaces, rows = Q(kind=NAMESPACE), Cluster.objects.order_by("slug")
    if tenants is not None:
        own = Entry.objects.filter(queue__tenant__in=tenants)
        spaces &= Q(name__in=own.filter(cluster=OuterRef("cluster")).values("namespace"))
        rows = rows.filter(pk__in=own.values("cluster"))
    return _add(rows, {"cluster": OuterRef("pk")}, spaces | Q(kind=OBJECTS, name="ClusterQueue"))


def _add(
    rows: QuerySet[Any], where: dict[str, Any], things: Q, kinds: Iterable[str] = QUEUES
) -> QuerySet[Any]:
    streams = Stream.objects.filter(**where).order_by("cluster", "kind")
    if kinds:
        streams = streams.filter(kind__in=list(kinds))
    line = JSONObject(
        cluster="cluster_id",
        name="cluster__slug",
        alive_at="alive_at",
        lost_since="lost_since",
        error="error",
    )
    found: QuerySet[Any] = rows.annotate(
        pulse_lines=ArraySubquery(streams.values(json=line)),
        # Numbers only rise, so their sum moves whenever one of them does.
        pulse_moves=_one("sum", "number", Generation.objects.filter(things, **where)),
        pulse_revision=_one("max", "number", Revision.objects.filter(**where)),
        pulse_applies=_one("sum", "version", Apply.objects.filter(**where)),
    )
    return found


def _one(function: str, column: str, rows: QuerySet[Any]) -> Subquery[Any]:
    """Sum rows up to one number; an aggregate of Django's own would want groups."""
    return Subquery(rows.order_by().annotate(one=Func(F(column), function=function)).values("one"))


def read(row: Any) -> Pulse:
    """Take the pulse from a row that was fetched with it."""
    lines: dict[int, list[Stream]] = {}
    names = {each["cluster"]: each["name"] for each in row.pulse_lines}
    for each in row.pulse_lines:
        stream = Stream(
            cluster_id=each["cluster"], error=each["error"],
            alive_at=_time(each["alive_at"]), lost_since=_time(each["lost_since"]),
        )  # fmt: skip
        lines.setdefault(each["cluster"], []).append(stream)
    way = (getattr(row, "pulse_link", None), getattr(row, "pulse_tokens", None))
    asked = getattr(row, "pulse_requests", None)
    moved = (row.pulse_moves, row.pulse_revision, row.pulse_applies, way, asked)
    return Pulse(moved, {pk: of_streams(streams) for pk, streams in lines.items()}, names)


def joined(rows: Iterable[Any]) -> Pulse:
    """Take the pulse of several rows as one."""
    found = [(row.pk, read(row)) for row in rows]
    ages = {cluster: age for _, each in found for cluster, age in each.ages.items()}
    names = {cluster: name for _, each in found for cluster, name in each.names.items()}
    return Pulse(tuple((pk, each.moved) for pk, each in found), ages, names)


def _time(text: str | None) -> Any:
    return parse_datetime(text) if text else None
