"""LocalQueue: the door of a namespace into a queue."""

from __future__ import annotations

from kube import keys
from kube.catalog import EntrySpec, QueueSpec, StopPolicy, TenantSpec
from kube.manifest import Manifest
from kube.render.objects import build


def local_queue(tenant: TenantSpec, queue: QueueSpec, spec: EntrySpec) -> Manifest:
    """Render one entry; stopping is done at the queue, so the door itself stays open."""
    content = {"clusterQueue": queue.name, "stopPolicy": StopPolicy.NONE.value}
    return build(
        "LocalQueue",
        spec.name,
        {"spec": content},
        namespace=spec.namespace,
        labels={keys.TENANT: tenant.slug, keys.PURPOSE: queue.purpose.value},
        annotations={keys.DISPLAY_NAME: tenant.display_name},
    )
