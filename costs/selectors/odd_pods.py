"""What holds or takes devices of a cluster and should not: as it is now, for a person to look at."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db.models import Exists, OuterRef, Sum

from queues.models import Lifetime, PodRun
from queues.models.intervals import HOLDING

#: More than these are counted and not listed.
MOST: Final = 50


@dataclass(frozen=True, slots=True)
class Odd:
    """One pod without quota, or one Workload without an owner; ``place`` is its node or its queue."""

    namespace: str
    name: str
    place: str
    devices: int
    since: datetime


@dataclass(frozen=True, slots=True)
class OddPods:
    """Pods on devices that no Workload stands for, and Workloads that hold devices for nobody.

    Each list names the largest ones; ``more`` are those that it leaves out.
    """

    pods: list[Odd]
    more_pods: int
    orphans: list[Odd]
    more_orphans: int


def odd_pods(cluster_id: int) -> OddPods:
    """Return what is odd in a cluster now; two queries."""
    pods, orphans = _unmanaged(cluster_id), _orphans(cluster_id)
    return OddPods(
        pods[:MOST], max(0, len(pods) - MOST), orphans[:MOST], max(0, len(orphans) - MOST)
    )


def _unmanaged(cluster_id: int) -> list[Odd]:
    """Return the pods whose Workload is not on record, whatever their annotations say."""
    known = Lifetime.objects.filter(
        cluster=cluster_id, namespace=OuterRef("namespace"), name=OuterRef("workload")
    )
    rows = PodRun.objects.filter(~Exists(known), cluster=cluster_id)
    found = rows.values_list("namespace", "name", "node", "starts").annotate(of=Sum("amount"))
    return [
        Odd(namespace, name, node, of, starts)
        for namespace, name, node, starts, of in found.order_by("-of", "namespace", "name")
    ]


def _orphans(cluster_id: int) -> list[Odd]:
    """Return Workloads that have lost their owner and hold quota without any pod.

    Kueue keeps their quota for ever: nobody is left to end them.
    """
    running = PodRun.objects.filter(
        cluster=cluster_id, namespace=OuterRef("namespace"), workload=OuterRef("name")
    )
    rows = Lifetime.objects.filter(
        ~Exists(running), cluster=cluster_id, orphaned=True, phase__in=HOLDING, devices__gt=0
    ).order_by("-devices", "namespace", "name")
    columns = ("namespace", "name", "queue", "devices", "starts")
    return [Odd(*row) for row in rows.values_list(*columns) if row[-1] is not None]
