"""Jobs as their people see them: where each one stands, why, and since when."""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet

from queues.models import ObservedObject, Workload
from queues.models.observed import nearness, urgency
from queues.selectors.room import held, promised
from tenants.models import Entry, Queue, Tenant

# The orders of every list of jobs, each with an index. What needs eyes first: what moves, then
# what waits, those in front first, then what runs, then the rest.
ORDERS = {
    "attention": ("-urgency", "-nearness", "-created_at"),
    "newest": ("-created_at",),
    "size": ("-devices", "-created_at"),
}


def of_tenants(tenants: QuerySet[Tenant]) -> QuerySet[Workload]:
    """Give the jobs in the namespaces of these tenants."""
    entry = Entry.objects.filter(
        queue__tenant__in=tenants, cluster=OuterRef("cluster"), namespace=OuterRef("namespace")
    )
    return Workload.objects.filter(Exists(entry)).select_related("cluster")


def ranked(jobs: QuerySet[Workload]) -> QuerySet[Workload]:
    """Give each job the numbers by which it is sorted."""
    return jobs.annotate(urgency=urgency(), nearness=nearness())


def counts(jobs: QuerySet[Workload]) -> dict[str, int]:
    """Count jobs by state in one query."""
    rows = jobs.order_by().select_related(None).values_list("state").annotate(number=Count("pk"))
    return dict(rows)


def owners(
    jobs: Iterable[Workload], queues: QuerySet[Queue] | None = None
) -> dict[tuple[int, str], Queue]:
    """Find each job's queue with its tenant in one query; only ``queues`` if they are given."""
    names = {job.queue for job in jobs if job.queue}
    known = Queue.objects.all() if queues is None else queues
    rows = known.filter(name__in=names).select_related("tenant", "cluster")
    return {(row.cluster_id, row.name): row for row in rows}


def waiting(jobs: QuerySet[Workload]) -> QuerySet[Workload]:
    """Give the waiting jobs, those in front first."""
    rows = jobs.filter(state__in=("waiting", "stopping"))
    return rows.order_by(F("position").asc(nulls_last=True), "created_at", "pk")


def quotas(jobs: Iterable[Workload]) -> dict[tuple[int, str, str, str], tuple[int, int]]:
    """Give (held, promised) of each line of the jobs' queues as the cluster has it; one query."""
    named = {(job.cluster_id, job.queue) for job in jobs if job.queue}
    rows = ObservedObject.objects.filter(
        kind="ClusterQueue",
        cluster_id__in={cluster for cluster, _name in named},
        name__in={name for _cluster, name in named},
    )
    found: dict[tuple[int, str, str, str], tuple[int, int]] = {}
    for row in rows.only("cluster_id", "name", "body"):
        taken = held(row.body)
        for key, line in promised(row.body).items():
            found[row.cluster_id, row.name, *key] = (taken.get(key, 0), line.nominal)
    return found


def foreign(words: Iterable[str], tenants: QuerySet[Tenant]) -> frozenset[str]:
    """Find which of these words name jobs, queues or namespaces of others; one query."""
    asked = set(words)
    mine = Entry.objects.filter(queue__tenant__in=tenants)
    own = mine.filter(cluster=OuterRef("cluster"), namespace=OuterRef("namespace"))
    jobs = Workload.objects.filter(~Exists(own)).filter(Q(name__in=asked) | Q(job_name__in=asked))
    others = Queue.objects.exclude(tenant__in=tenants)
    queues = others.filter(Q(name__in=asked) | Q(entries__namespace__in=asked))
    rows = jobs.values_list("name", "job_name").union(
        queues.values_list("name", "entries__namespace"), all=True
    )
    return frozenset(asked & {word for pair in rows for word in pair})
