"""Jobs as their people see them: where each one stands, why, and since when."""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import (
    Case,
    Count,
    Exists,
    F,
    IntegerField,
    OuterRef,
    QuerySet,
    Value,
    When,
)
from django.db.models.functions import Coalesce

from queues.models import Workload
from tenants.models import Entry, Queue, Tenant

# What needs eyes first: what moves, then what waits, then what runs, then the rest.
RANK = ("stopping", "waiting", "starting", "running", "deactivated", "finished")
LAST = 2**31 - 1


def of_tenants(tenants: QuerySet[Tenant]) -> QuerySet[Workload]:
    """Give the jobs in the namespaces of these tenants."""
    entry = Entry.objects.filter(
        queue__tenant__in=tenants, cluster=OuterRef("cluster"), namespace=OuterRef("namespace")
    )
    return Workload.objects.filter(Exists(entry)).select_related("cluster")


def ranked(jobs: QuerySet[Workload]) -> QuerySet[Workload]:
    """Give each job the numbers by which it is sorted: its rank, and its place or the last."""
    whens = [When(state=state, then=Value(rank)) for rank, state in enumerate(RANK)]
    rank = Case(*whens, default=Value(len(RANK)), output_field=IntegerField())
    return jobs.annotate(
        rank=rank, place=Coalesce("position", Value(LAST), output_field=IntegerField())
    )


def counts(jobs: QuerySet[Workload]) -> dict[str, int]:
    """Count jobs by state in one query."""
    rows = jobs.order_by().select_related(None).values_list("state").annotate(number=Count("pk"))
    return dict(rows)


def owners(jobs: Iterable[Workload]) -> dict[tuple[int, str], Queue]:
    """Find each job's queue with its tenant in one query."""
    names = {job.queue for job in jobs if job.queue}
    rows = Queue.objects.filter(name__in=names).select_related("tenant", "cluster")
    return {(row.cluster_id, row.name): row for row in rows}


def waiting(jobs: QuerySet[Workload]) -> QuerySet[Workload]:
    """Give the waiting jobs, those in front first."""
    rows = jobs.filter(state__in=("waiting", "stopping"))
    return rows.order_by(F("position").asc(nulls_last=True), "created_at", "pk")
