"""The tables that the observer writes, and what it says about its lines to the cluster."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from django.db.models import F, QuerySet
from django.utils import timezone

from queues.models import ObservedEvent, ObservedObject, Stream, Workload
from queues.services import gaps, happened
from queues.services.merge import Table
from queues.services.observed import OBJECT_KINDS, WORKLOAD_FIELDS
from tenants.models import Cluster

_OWN: Final = ("observed_at", "digest", "epoch")
WORKLOADS: Final = Table(
    Workload, ("cluster_id", "uid"), ("cluster_id", "uid", *WORKLOAD_FIELDS, *_OWN)
)
OBJECTS: Final = Table(
    ObservedObject,
    ("cluster_id", "kind", "namespace", "name"),
    (
        "cluster_id", "kind", "namespace", "name", "uid", "resource_version", "body", "in_sync",
        "sync_since", *_OWN,
    ),
    steady={"sync_since": "in_sync"},
)  # fmt: skip
EVENTS: Final = Table(ObservedEvent, ("cluster_id", "uid"), (*happened.COLUMNS, "digest", "epoch"))


def digests(rows: QuerySet[Any], *key: str) -> dict[Any, int]:
    """Return what rows say, as one number each, by a key of one column or more."""
    found = rows.values_list(*key, "digest").iterator(chunk_size=5000)
    return {(row[0] if len(key) == 1 else row[:-1]): row[-1] for row in found}


# --- the lines to the cluster ---------------------------------------------------------------------


def begun(cluster: Cluster, kind: str, *, needed: bool) -> int:
    """Note that a list of a kind begins; return its number, which only rises."""
    row, _ = Stream.objects.get_or_create(cluster=cluster, kind=kind, defaults={"needed": needed})
    Stream.objects.filter(pk=row.pk).update(epoch=F("epoch") + 1, needed=needed)
    row.refresh_from_db(fields=["epoch"])
    return row.epoch


def listed(cluster: Cluster, kind: str, version: str) -> bool:
    """Note that a whole list of a kind was read and written.

    Returns whether the cluster's versions went back, which only a restored backup does.
    """
    now = timezone.now()
    before = Stream.objects.filter(cluster=cluster, kind=kind).first()
    back = before is not None and _is_older(version, before.resource_version)
    gaps.listed(before, now)
    Stream.objects.update_or_create(
        cluster=cluster, kind=kind,
        defaults={
            "resource_version": version[:32], "listed_at": now, "alive_at": now,
            "lost_since": None, "error": "", **({"went_back_at": now} if back else {}),
        },
    )  # fmt: skip
    return back


def _is_older(version: str, before: str) -> bool:
    return version.isdecimal() and before.isdecimal() and int(version) < int(before)


def noted(cluster: Cluster, epoch: int) -> None:
    """Note that the history has everything of this list of Workloads."""
    Stream.objects.filter(cluster=cluster, kind="Workload").update(noted_epoch=epoch)


def alive(cluster: Cluster, kinds: Iterable[str]) -> None:
    """Note that the lines to these kinds are open and quiet or busy, but not dead."""
    now, open_kinds = timezone.now(), list(kinds)
    gaps.resumed(cluster, open_kinds, now)
    Stream.objects.filter(cluster=cluster, kind__in=open_kinds).update(
        alive_at=now, lost_since=None, error=""
    )


def lost(cluster: Cluster, kind: str, error: str, *, needed: bool = True) -> None:
    """Note that a line is lost; the first loss keeps its time until the line is back."""
    now = timezone.now()
    row, _ = Stream.objects.get_or_create(cluster=cluster, kind=kind, defaults={"needed": needed})
    Stream.objects.filter(pk=row.pk).update(lost_since=row.lost_since or now, error=error[:2000])


def unserved(cluster: Cluster, kind: str) -> None:
    """Forget a kind that the cluster does not serve, or no longer."""
    Stream.objects.filter(cluster=cluster, kind=kind).delete()
    ObservedObject.objects.filter(cluster=cluster, kind=kind).delete()
    Workload.objects.filter(cluster=cluster, stray=True, job_kind=kind).delete()


def forget_unknown_kinds(cluster: Cluster) -> None:
    """Drop rows of kinds that are no longer watched."""
    ObservedObject.objects.filter(cluster=cluster).exclude(kind__in=OBJECT_KINDS).delete()
