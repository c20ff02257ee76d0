"""The last step of a change: the observer has seen it in the cluster."""

from __future__ import annotations

from django.utils import timezone

from queues.models import Apply, ObservedObject
from queues.services.observed import OBJECT_KINDS
from tenants.models import Cluster
from tenants.models.states import moved


def mark_seen(cluster: Cluster) -> int:
    """Stamp the applies whose observed objects are all as the catalog wants them."""
    waiting = Apply.objects.filter(
        cluster=cluster, state=Apply.State.SUCCEEDED, seen_at__isnull=True
    ).prefetch_related("plan__planned")
    count = 0
    for apply in waiting:
        if _all_seen(apply):
            first = Apply.objects.filter(pk=apply.pk, seen_at__isnull=True)
            count += first.update(seen_at=timezone.now())
            moved.send(Apply, row=apply)
    return count


def _all_seen(apply: Apply) -> bool:
    watched = {
        (o.kind, o.namespace, o.name) for o in apply.plan.planned.all() if o.kind in OBJECT_KINDS
    }
    in_sync = ObservedObject.objects.filter(
        cluster_id=apply.cluster_id, in_sync=True, name__in={name for _, _, name in watched}
    ).values_list("kind", "namespace", "name")
    return watched <= set(in_sync)
