"""Why one job is where it is: everything that is known about it, as facts for one viewer."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db.models import QuerySet
from django.db.models.functions import JSONObject

from queues.models import Workload
from queues.selectors.ahead import InLine, line_rows, placed
from queues.selectors.freshness import JOBS, Freshness, freshness
from queues.selectors.hints import Hints, hint_rows, hints
from queues.selectors.jobs import foreign_rows, named
from queues.selectors.pools import left, pool_rows
from queues.selectors.positions import Ahead
from queues.selectors.room import Key, Tree, trees_of, with_trees
from queues.selectors.tenants import TREE_LIMIT, LineNow, QueueNow, described, joined
from queues.selectors.together import together
from tenants.models import OpenTarget, Queue, Request, Tenant


@dataclass(frozen=True, slots=True)
class Facts:
    """One job with its queue (None: unknown, or not the viewer's), its numbers and its place.

    ``beside`` are the other queues of the same tenant in the cluster, ``requests`` the open ones
    about its queue. ``kept`` is what others of the department keep idle and do not lend, by
    flavor and resource, ``foreign`` the names of others in its texts. ``unpromised`` is what may
    still be promised of the cluster's devices, where that is known, ``hints`` what else is known
    about what stops the job.
    """

    job: Workload
    now: QueueNow | None
    beside: tuple[QueueNow, ...]
    requests: tuple[Request, ...]
    place: InLine | None
    ages: Freshness
    kept: Mapping[Key, int] = field(default_factory=dict)
    foreign: frozenset[str] = frozenset()
    unpromised: Mapping[Key, int] = field(default_factory=dict)
    hints: Hints = field(default_factory=Hints)

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
    words: Collection[str] = (),
) -> Facts:
    """Gather what there is about ``job``, in two queries.

    ``queues`` are those that exist for the viewer, ``tenants`` those whose jobs they read by
    name. ``ages`` is the age of the cluster's data where that is known already, which saves a
    query. ``words`` are those of its texts that may be names of others.
    """
    here = queues.filter(cluster_id=job.cluster_id)
    # A job that reaches no queue belongs to the tenant of its namespace.
    own = {"name": job.queue} if job.queue else {"entries__namespace": job.namespace}
    tenant = here.filter(**own).values("tenant")
    rows = list(with_trees(described(here.filter(tenant__in=tenant)), TREE_LIMIT))
    trees = trees_of(rows)
    found = joined(rows, trees)
    now = next((each for each in found if each.queue.name == job.queue), None)
    asked, waits = set(words), now is not None and job.state == "waiting"
    beside = together(
        requests=_requests(job, tenant) if waits else None,
        pools=pool_rows(job.cluster_id) if waits else None,
        **line_rows(job, tenants),
        **hint_rows(job, [each.line.flavor for each in now.lines] if now else ()),
        **(foreign_rows(asked, tenants) if asked else {}),
    )
    if ages is None:
        ages = freshness([job.cluster_id], JOBS).get(job.cluster_id, Freshness())
    return Facts(
        job=job,
        now=now,
        beside=tuple(each for each in found if each is not now),
        requests=tuple(Request(**each) for each in beside["requests"]),
        place=placed(job, beside),
        ages=ages,
        kept=_kept(now, trees[job.cluster_id]) if job.cluster_id in trees else {},
        foreign=named(asked, beside),
        unpromised=left(beside["pools"]),
        hints=hints(job, beside),
    )


def _kept(now: QueueNow | None, tree: Tree) -> dict[Key, int]:
    lines = [(each.line.flavor, each.line.resource) for each in now.devices] if now else []
    return {key: tree.kept(now.queue.name, key) for key in lines if now}


def _requests(job: Workload, tenant: QuerySet[Any]) -> QuerySet[Any]:
    """Give the open requests of a tenant about the queue of a job, as a part of a query."""
    about = OpenTarget.objects.filter(
        cluster_id=job.cluster_id, target__startswith=f"queue:{job.queue}/"
    )
    rows = Request.objects.filter(pk__in=about.values("request"), tenant__in=tenant)
    return rows.order_by().values(json=JSONObject(id="pk", state="state", edits="edits"))
