"""Spread a catalog over its rows, in a number of statements that does not grow with it.

Rows are matched by name and updated in place, so that what points at them keeps its target.
Only quota lines of a queue may disappear; everything else stays (``commit_revision``
refuses a catalog that lacks something).
"""

from __future__ import annotations

from typing import Any

from kube import catalog_json
from kube.catalog import Catalog, CohortSpec, FlavorSpec, QueueSpec, TenantSpec
from tenants.models import (
    Cluster,
    Department,
    Entry,
    Pool,
    Priority,
    Queue,
    QuotaLine,
    Tenant,
)

BATCH = 2000


def spread(cluster: Cluster, catalog: Catalog) -> None:
    """Make the rows of ``cluster`` say what ``catalog`` says."""
    _pools(cluster, catalog.flavors)
    departments = _departments(cluster, catalog.cohorts)
    tenants = _tenants(catalog.tenants)
    queues = _queues(cluster, catalog, departments, tenants)
    _lines(cluster, catalog, queues)
    _entries(cluster, catalog, queues)
    _priorities(cluster, catalog)


def _upsert(model: Any, rows: list[Any], key: tuple[str, ...], fields: tuple[str, ...]) -> None:
    """Insert rows, or update those with the same key."""
    if rows:
        model.objects.bulk_create(
            rows,
            update_conflicts=True,
            unique_fields=list(key),
            update_fields=list(fields),
            batch_size=BATCH,
        )


def _pools(cluster: Cluster, flavors: tuple[FlavorSpec, ...]) -> None:
    rows = [
        Pool(
            cluster=cluster,
            flavor=flavor.name,
            resource=flavor.resource,
            spec=catalog_json.encode(flavor),
            capacity=flavor.capacity,
        )
        for flavor in flavors
    ]
    _upsert(Pool, rows, ("cluster", "flavor"), ("resource", "spec", "capacity"))


def _departments(cluster: Cluster, cohorts: tuple[CohortSpec, ...]) -> dict[str, int]:
    rows = [
        Department(
            cluster=cluster,
            name=cohort.name,
            display_name=cohort.display_name,
            spec=catalog_json.encode(cohort),
        )
        for cohort in cohorts
    ]
    _upsert(Department, rows, ("cluster", "name"), ("display_name", "spec"))
    found = {row.name: row for row in Department.objects.filter(cluster=cluster)}
    moved = []
    for cohort in cohorts:
        row = found[cohort.name]
        parent_id = found[cohort.parent].pk if cohort.parent else None
        if row.parent_id != parent_id:
            row.parent_id = parent_id
            moved.append(row)
    Department.objects.bulk_update(moved, ["parent"], batch_size=BATCH)
    return {name: row.pk for name, row in found.items()}


def _tenants(specs: tuple[TenantSpec, ...]) -> dict[str, int]:
    rows = [
        Tenant(slug=spec.slug, display_name=spec.display_name, cost_centre=spec.cost_centre)
        for spec in specs
    ]
    _upsert(Tenant, rows, ("slug",), ("display_name", "cost_centre"))
    slugs = [spec.slug for spec in specs]
    return dict(Tenant.objects.filter(slug__in=slugs).values_list("slug", "pk"))


def _queues(
    cluster: Cluster, catalog: Catalog, departments: dict[str, int], tenants: dict[str, int]
) -> dict[str, int]:
    rows = [
        Queue(
            cluster=cluster,
            tenant_id=tenants[tenant.slug],
            department_id=departments[queue.cohort] if queue.cohort else None,
            **_queue_fields(queue),
        )
        for tenant, queue in catalog.queues()
    ]
    fields = ("tenant", "department", "purpose", "strategy", "stop_policy", "spec")
    _upsert(Queue, rows, ("cluster", "name"), fields)
    return dict(Queue.objects.filter(cluster=cluster).values_list("name", "pk"))


def _queue_fields(queue: QueueSpec) -> dict[str, Any]:
    return {
        "name": queue.name,
        "purpose": queue.purpose.value,
        "strategy": queue.strategy.value,
        "stop_policy": queue.stop_policy.value,
        "spec": catalog_json.encode(queue),
    }


def _lines(cluster: Cluster, catalog: Catalog, queues: dict[str, int]) -> None:
    rows = [
        QuotaLine(
            queue_id=queues[queue.name],
            position=position,
            flavor=line.flavor,
            resource=line.resource,
            nominal=line.nominal,
            borrowing_limit=line.borrowing_limit,
            lending_limit=line.lending_limit,
        )
        for _tenant, queue in catalog.queues()
        for position, line in enumerate(queue.quotas)
    ]
    wanted = {(row.queue_id, row.flavor, row.resource) for row in rows}
    there = QuotaLine.objects.filter(queue__cluster=cluster)
    found = there.values_list("pk", "queue_id", "flavor", "resource")
    gone = [pk for pk, *key in found if tuple(key) not in wanted]
    if gone:
        QuotaLine.objects.filter(pk__in=gone).delete()
    fields = ("position", "nominal", "borrowing_limit", "lending_limit")
    _upsert(QuotaLine, rows, ("queue", "flavor", "resource"), fields)


def _entries(cluster: Cluster, catalog: Catalog, queues: dict[str, int]) -> None:
    rows = [
        Entry(
            cluster=cluster,
            queue_id=queues[queue.name],
            namespace=entry.namespace,
            name=entry.name,
        )
        for _tenant, queue in catalog.queues()
        for entry in queue.entries
    ]
    _upsert(Entry, rows, ("cluster", "namespace", "name"), ("queue",))


def _priorities(cluster: Cluster, catalog: Catalog) -> None:
    rows = [
        Priority(
            cluster=cluster,
            name=each.name,
            value=each.value,
            contract=each.contract,
            preemptions_per_day=each.preemptions_per_day,
            longest_wait_hours=each.longest_wait_hours,
        )
        for each in catalog.priorities
    ]
    bounds = ("preemptions_per_day", "longest_wait_hours")
    _upsert(Priority, rows, ("cluster", "name"), ("value", "contract", *bounds))
