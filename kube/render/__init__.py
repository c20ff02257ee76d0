"""From a catalog to the objects of a cluster: pure, complete and always in the same order."""

from __future__ import annotations

from collections.abc import Iterator

from kube.catalog import Catalog
from kube.manifest import Manifest, Ref
from kube.order import in_order
from kube.render.cluster_queue import cluster_queue
from kube.render.cohort import cohort
from kube.render.flavor import flavor
from kube.render.local_queue import local_queue
from kube.render.namespace import namespace
from kube.render.priority import priority
from kube.render.topology import topology

__all__ = ["Manifest", "Ref", "render"]


def render(catalog: Catalog, capabilities: object | None = None) -> tuple[Manifest, ...]:
    """Render every object of a catalog in the order in which it is applied.

    The result depends on the catalog alone: ``capabilities`` is taken so that callers do not
    change when a Kueue release needs another form, and today no supported release does. The
    catalog is expected to have passed :func:`kube.rules.check`.
    """
    del capabilities
    return in_order(_objects(catalog))


def _objects(catalog: Catalog) -> Iterator[Manifest]:
    yield from (topology(each) for each in catalog.topologies)
    yield from (flavor(each) for each in catalog.flavors)
    yield from (cohort(each) for each in catalog.cohorts)
    yield from (priority(each) for each in catalog.priorities)
    for tenant in catalog.tenants:
        names = {entry.namespace for queue in tenant.queues for entry in queue.entries}
        yield from (namespace(tenant, name) for name in names)
    for tenant, queue in catalog.queues():
        yield cluster_queue(tenant, queue)
        yield from (local_queue(tenant, queue, entry) for entry in queue.entries)
