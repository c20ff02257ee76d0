"""Writes what the observer knows: one transaction a window, unchanged rows are not written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from queues.models import ObservedObject, Stream, Workload
from queues.services.observed import OBJECT_KINDS, WORKLOAD_FIELDS
from tenants.models import Cluster

ObjectKey = tuple[str, str, str]  # kind, namespace, name
ObjectRow = tuple[str, str, dict[str, Any], bool | None]  # uid, version, body, in_sync
QUEUE = WORKLOAD_FIELDS.index("queue")


class Written:
    """What the database holds, as far as this process knows; empty until ``load``."""

    def __init__(self, cluster: Cluster) -> None:
        """Remember whose rows these are."""
        self.cluster = cluster
        self.objects: dict[ObjectKey, tuple[str, str, bool | None]] = {}
        self.workloads: dict[str, tuple[Any, ...]] = {}
        self._touched: set[str] = set()

    def load(self) -> None:
        """Read the rows that an earlier observer left, so that equal ones are not written again."""
        found = ObservedObject.objects.filter(cluster=self.cluster).values_list(
            "kind", "namespace", "name", "uid", "resource_version", "in_sync"
        )
        self.objects = {(k, ns, name): (uid, rv, sync) for k, ns, name, uid, rv, sync in found}
        rows = Workload.objects.filter(cluster=self.cluster).values_list("uid", *WORKLOAD_FIELDS)
        self.workloads = {row[0]: tuple(row[1:]) for row in rows}

    def write(
        self,
        *,
        objects: Mapping[ObjectKey, ObjectRow],
        gone: Iterable[ObjectKey],
        workloads: Mapping[str, Mapping[str, Any]],
        gone_workloads: Iterable[str],
    ) -> int:
        """Write the differences in one transaction and return how many rows changed."""
        changed = {key: row for key, row in objects.items() if self._differs(key, row)}
        fresh = {
            uid: row for uid, row in workloads.items()
            if self.workloads.get(uid) != tuple(row.values())
        }  # fmt: skip
        lost = [key for key in gone if key in self.objects]
        ended = [uid for uid in gone_workloads if uid in self.workloads]
        if not (changed or fresh or lost or ended):
            return 0
        now = timezone.now()
        with transaction.atomic():
            self._delete(lost, ended)
            self._put_objects(changed, now)
            self._put_workloads(fresh, now)
        self._remember(changed, fresh, lost, ended)
        return len(changed) + len(fresh) + len(lost) + len(ended)

    def _differs(self, key: ObjectKey, row: ObjectRow) -> bool:
        uid, version, _, in_sync = row
        return self.objects.get(key) != (uid, version, in_sync)

    def _remember(
        self,
        changed: Mapping[ObjectKey, ObjectRow],
        fresh: Mapping[str, Mapping[str, Any]],
        lost: Iterable[ObjectKey],
        ended: Iterable[str],
    ) -> None:
        for key in lost:
            self.objects.pop(key, None)
        for uid in (*ended, *fresh):
            if (before := self.workloads.pop(uid, None)) is not None:
                self._touched.add(before[QUEUE])
        self._touched |= {row["queue"] for row in fresh.values()}
        for key, (uid, version, _, in_sync) in changed.items():
            self.objects[key] = (uid, version, in_sync)
        for uid, row in fresh.items():
            self.workloads[uid] = tuple(row.values())

    def take_touched(self) -> set[str]:
        """Return, once, the queues into which or out of which a workload changed or moved."""
        touched, self._touched = self._touched, set()
        return touched

    def _delete(self, lost: list[ObjectKey], ended: list[str]) -> None:
        if lost:
            match = Q()
            for kind, namespace, name in lost:
                match |= Q(kind=kind, namespace=namespace, name=name)
            ObservedObject.objects.filter(match, cluster=self.cluster).delete()
        if ended:
            Workload.objects.filter(cluster=self.cluster, uid__in=ended).delete()

    def _put_objects(self, changed: Mapping[ObjectKey, ObjectRow], now: datetime) -> None:
        rows = [
            ObservedObject(
                cluster=self.cluster, kind=kind, namespace=namespace, name=name, uid=uid,
                resource_version=version, body=body, in_sync=in_sync, observed_at=now,
                sync_since=now,
            )
            for (kind, namespace, name), (uid, version, body, in_sync) in changed.items()
        ]  # fmt: skip
        still = [row for row in rows if self._same_sync(row)]
        moved = [row for row in rows if not self._same_sync(row)]
        fields = ["uid", "resource_version", "body", "in_sync", "observed_at"]
        unique = ["cluster", "kind", "namespace", "name"]
        for batch, update in ((still, fields), (moved, [*fields, "sync_since"])):
            ObservedObject.objects.bulk_create(
                batch, update_conflicts=True, unique_fields=unique, update_fields=update,
                batch_size=500,
            )  # fmt: skip

    def _same_sync(self, row: ObservedObject) -> bool:
        known = self.objects.get((row.kind, row.namespace, row.name))
        return known is not None and known[2] == row.in_sync

    def _put_workloads(self, fresh: Mapping[str, Mapping[str, Any]], now: datetime) -> None:
        Workload.objects.bulk_create(
            [
                Workload(cluster=self.cluster, uid=uid, observed_at=now, **row)
                for uid, row in fresh.items()
            ],
            update_conflicts=True,
            unique_fields=["cluster", "uid"],
            update_fields=[*WORKLOAD_FIELDS, "observed_at"],
            batch_size=500,
        )


def listed(cluster: Cluster, kind: str, version: str) -> None:
    """Note that a whole list of a kind was read and written."""
    now = timezone.now()
    Stream.objects.update_or_create(
        cluster=cluster, kind=kind,
        defaults={
            "resource_version": version, "listed_at": now, "alive_at": now,
            "lost_since": None, "error": "",
        },
    )  # fmt: skip


def alive(cluster: Cluster, kinds: Iterable[str]) -> None:
    """Note that the lines to these kinds are open and quiet or busy, but not dead."""
    Stream.objects.filter(cluster=cluster, kind__in=list(kinds)).update(
        alive_at=timezone.now(), lost_since=None, error=""
    )


def lost(cluster: Cluster, kind: str, error: str) -> None:
    """Note that a line is lost; the first loss keeps its time until the line is back."""
    now = timezone.now()
    row, _ = Stream.objects.get_or_create(cluster=cluster, kind=kind)
    Stream.objects.filter(pk=row.pk).update(lost_since=row.lost_since or now, error=error[:2000])


def forget_unknown_kinds(cluster: Cluster) -> None:
    """Drop rows of kinds that are no longer watched."""
    ObservedObject.objects.filter(cluster=cluster).exclude(kind__in=OBJECT_KINDS).delete()
