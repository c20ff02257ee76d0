"""Field paths of problems, and the two kinds of things that hold quota lines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kube.catalog import Catalog, EntrySpec, FlavorSpec, QueueSpec, QuotaSpec, TenantSpec
from kube.catalog_json import shown_key


@dataclass(frozen=True, slots=True)
class Holder:
    """A queue or a department: both hold quota lines under nearly the same rules."""

    field: str
    quotas: tuple[QuotaSpec, ...]
    above: str
    is_queue: bool

    def line(self, quota: QuotaSpec, part: str = "") -> str:
        """Return the field path of one quota line, or of a part of it."""
        key = f"{shown_key(quota.flavor)}/{shown_key(quota.resource)}"
        return f"{self.field}.quotas[{key}]" + (f".{part}" if part else "")


def holders(catalog: Catalog) -> Iterator[Holder]:
    """Yield every queue, then every department."""
    for tenant, queue in catalog.queues():
        yield Holder(queue_field(tenant, queue), queue.quotas, queue.cohort, is_queue=True)
    for cohort in catalog.cohorts:
        field = named("cohorts", cohort.name)
        yield Holder(field, cohort.quotas, cohort.parent, is_queue=False)


def entries(catalog: Catalog) -> Iterator[tuple[TenantSpec, QueueSpec, EntrySpec, str]]:
    """Yield every entry with its owners and its field path."""
    for tenant, queue in catalog.queues():
        for entry in queue.entries:
            key = f"{shown_key(entry.namespace)}/{shown_key(entry.name)}"
            yield tenant, queue, entry, f"{queue_field(tenant, queue)}.entries[{key}]"


def named(group: str, name: str) -> str:
    """Return the path of an element of a top-level list."""
    return f"{group}[{shown_key(name)}]"


def flavor_field(flavor: FlavorSpec) -> str:
    """Return the path of a flavor."""
    return named("flavors", flavor.name)


def tenant_field(tenant: TenantSpec) -> str:
    """Return the path of a tenant."""
    return named("tenants", tenant.slug)


def queue_field(tenant: TenantSpec, queue: QueueSpec) -> str:
    """Return the path of a queue."""
    return f"{tenant_field(tenant)}.{named('queues', queue.name)}"
