"""Plans, applies and jobs as a viewer may see them: through the tenant that they belong to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, TypeVar
from uuid import UUID

from django.db.models import BooleanField, Case, Exists, Model, OuterRef, Q, QuerySet, Value, When
from django.db.models.expressions import RawSQL

from queues.compiled import Given, Once, number, text
from queues.models import Apply, Lifetime, Plan, Workload
from tenants import access
from tenants.models import Entry, Queue, Tenant, User

M = TypeVar("M", bound=Model)


def plan(user: User, pk: UUID | str, to: str = "plan.see") -> Plan:
    """Fetch a plan with its request, or raise a 404, or a 403 when ``to`` is not allowed."""
    rows = (
        Plan.objects.filter(request__in=access.requests(user))
        .select_related("request__author", "request__tenant", "cluster", "base", "decision__actor")
        .defer("base__catalog")
    )
    return access.fetch(user, rows, to, pk=pk)


def apply(user: User, pk: UUID | str, to: str = "apply.see") -> Apply:
    """Fetch an apply with its request and revision."""
    rows = (
        Apply.objects.filter(request__in=access.requests(user))
        .select_related("request__author", "request__tenant", "cluster", "revision", "plan")
        .defer("revision__catalog", "plan__proposed")
    )
    return access.fetch(user, rows, to, pk=pk)


def tenant_ids(user: access.Person) -> list[int] | None:
    """Return the tenants whose queues and requests exist for ``user``; None stands for all."""
    held = access.rights(user)
    return None if held.platform else held.tenant_ids()


def only(
    user: access.Person, kind: type[M], ask: Callable[[], Sequence[M]], to: str, *key: str
) -> M:
    """Return the first of the visible rows that ``ask`` gives for ``key``, or raise as ``access.fetch``."""
    shown = "/".join(key)
    rows = () if "\0" in shown else ask()  # NUL is no text for PostgreSQL
    if not rows:
        raise access.Hidden(kind._meta.model_name or "", shown)
    access.require(user, to, rows[0])
    return rows[0]


# --- jobs -----------------------------------------------------------------------------------------

#: Who reads the jobs of a tenant by name; finance sees sizes and sums.
READERS: Final = frozenset({access.USER, access.LEAD})
OVER: Final = ("finished", "gone")


@dataclass(frozen=True, slots=True)
class Sight:
    """What one viewer sees: jobs by name are those of the tenants ``own``, or everybody's.

    ``user`` is nobody for who sits at the machine itself and reads the database anyway.
    """

    user: access.Person | None
    own: tuple[int, ...] = ()
    sees_all: bool = False

    @property
    def tenants(self) -> QuerySet[Tenant]:
        """Give the tenants whose jobs the viewer reads by name."""
        every = Tenant.objects.all()
        return every if self.sees_all else every.filter(pk__in=self.own)

    @property
    def queues(self) -> QuerySet[Queue]:
        """Give the queues that exist for the viewer."""
        if self.sees_all or self.user is None:
            return Queue.objects.all()
        return access.queues(self.user)

    @property
    def jobs(self) -> QuerySet[Workload]:
        """Give the jobs that exist for the viewer: those in the namespaces of their tenants."""
        rows = Workload.objects.select_related("cluster")
        if self.sees_all:
            return rows
        entry = Entry.objects.filter(
            queue__tenant__in=self.own,
            cluster=OuterRef("cluster"),
            namespace=OuterRef("namespace"),
        )
        return rows.filter(Exists(entry))

    def may(self, action: str, obj: object) -> bool:
        """Answer whether the viewer may do something with what they see."""
        return self.user is not None and access.can(self.user, action, obj)


def sight(user: access.Person) -> Sight:
    """Say what ``user`` sees, by the roles of this moment."""
    held = access.rights(user)
    if held.platform:
        return Sight(user, sees_all=True)
    return own_sight(user)


def own_sight(user: access.Person) -> Sight:
    """Say what is ``user``'s own, also for somebody of the platform who may see more."""
    return Sight(user, tuple(access.rights(user).tenant_ids(READERS)))


def everything() -> Sight:
    """Say what is seen by who may read the database itself."""
    return Sight(None, sees_all=True)


Rows = QuerySet[Workload]


def job(
    seen: Sight, namespace: str, name: str, cluster: str, add: Callable[[Rows], Rows] | None = None
) -> Workload:
    """Fetch a job by the name of its Workload or by its own, or raise a 404.

    Several Workloads may stand for one job, one after the other: what is not over comes first,
    then the newest. ``add``, a function of a module, adds to the row what is read along with it.
    """
    key = {"cluster": cluster, "namespace": namespace, "name": name}
    found: list[Workload] = []
    if "\0" not in cluster + namespace + name:  # no text for PostgreSQL
        found = _first(add, everything=seen.sees_all)(own=list(seen.own), **key)
    if not found:
        raise access.Hidden("job", f"{cluster}/{namespace}/{name}")
    return found[0]


@cache
def _first(add: Callable[[Rows], Rows] | None, *, everything: bool) -> Once[Workload]:
    """Put the query of one job together once: an open page asks it again and again."""
    rows = Workload.objects.select_related("cluster")
    rows = rows if everything else rows.filter(_visible(number("own")))
    rows = _ranked(rows.filter(cluster__slug=text("cluster")), text("namespace"), text("name"))
    return Once(lambda: (add(rows) if add else rows)[:1])


def lifetime(seen: Sight, namespace: str, name: str, cluster: str) -> Lifetime:
    """Fetch what is kept of a job that the cluster does not hold any more, or raise a 404."""
    rows = Lifetime.objects.none()
    if "\0" not in cluster + namespace + name:
        rows = Lifetime.objects.filter(Q(name=name) | Q(job_name=name), namespace=namespace)
    if not seen.sees_all:
        entry = Entry.objects.filter(
            queue__tenant__in=seen.own,
            cluster=OuterRef("cluster"),
            namespace=OuterRef("namespace"),
        )
        rows = rows.filter(Exists(entry))
    exact = Case(When(name=name, then=Value(0)), default=Value(1))
    rows = rows.filter(cluster__slug=cluster).select_related("cluster")
    found = rows.order_by(exact, "-created_at", "pk").first()
    if found is None:
        raise access.Hidden("job", f"{cluster}/{namespace}/{name}")
    return found


# The jobs of ``Sight.jobs``, written out: an open page asks for its job again and again.
_VISIBLE: Final = """EXISTS (
    SELECT 1 FROM tenants_entry e JOIN tenants_queue q ON q.id = e.queue_id
    WHERE e.cluster_id = queues_workload.cluster_id
        AND e.namespace = queues_workload.namespace AND q.tenant_id = ANY(%s)
)"""


def named(seen: Sight, namespace: str, name: str) -> QuerySet[Workload]:
    """Give the Workloads that can be meant by a name, the likeliest first."""
    rows = Workload.objects.select_related("cluster")
    if not seen.sees_all:
        rows = rows.filter(_visible(list(seen.own)))
    if "\0" in namespace + name:  # no text for PostgreSQL
        return rows.none()
    return _ranked(rows, namespace, name)


def _visible(own: list[int] | Given) -> RawSQL:
    return RawSQL(_VISIBLE, [own], output_field=BooleanField())  # noqa: S611 - the ids are bound


def _ranked(rows: Rows, namespace: str | Given, name: str | Given) -> Rows:
    exact = When(name=name, then=Value(0))
    over = When(state__in=OVER, then=Value(2))
    return rows.filter(Q(name=name) | Q(job_name=name), namespace=namespace).order_by(
        Case(exact, over, default=Value(1)), "-created_at", "pk"
    )
