"""Keeps the observed rows of one cluster equal to what the cluster says.

One thread a kind follows its list and watch and puts events into a bounded inbox; this loop
takes what came within a short window, works out rows and writes them in one transaction. A
fresh list replaces everything known about its kind, so a deletion that nobody saw is not lost.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

import structlog
from django.db import InterfaceError, OperationalError, connection

from kube import kinds as kube_kinds
from kube.client import ClusterClient
from kube.diff import diff
from kube.render import render
from kube.watch import Begun, Changes, Event, Listed, Lost, follow
from kube.wire import Source
from queues.services import observed_rows as rows
from queues.services.observed import (
    KINDS,
    OBJECT_KINDS,
    Object,
    body_of,
    key_of,
    trim,
    version_of,
    workload_row,
)
from queues.services.positions import Positions
from queues.services.seen import mark_seen
from tenants.models import Cluster, Revision
from tenants.services.catalog import head

log = structlog.get_logger(__name__)

WINDOW = 0.1  # seconds: the longest time an event waits for company
INBOX = 2000  # events; a full inbox slows the reading threads down
HEARTBEAT = 5.0  # seconds between two signs of life in the database
SEEN_EVERY = 0.5  # seconds between two looks for applies that wait to be seen
KIND = {
    "ClusterQueue": kube_kinds.CLUSTER_QUEUE,
    "LocalQueue": kube_kinds.LOCAL_QUEUE,
    "Cohort": kube_kinds.COHORT,
    "ResourceFlavor": kube_kinds.RESOURCE_FLAVOR,
    "Node": kube_kinds.NODE,
    "Workload": kube_kinds.WORKLOAD,
}

Key = tuple[str, str]


class Known:
    """The objects of a cluster as last heard, and what changed since the last write."""

    def __init__(self) -> None:
        """Know nothing."""
        self.objects: dict[str, dict[Key, Object]] = {kind: {} for kind in KINDS}
        self.dirty: set[tuple[str, Key]] = set()
        self.gone: dict[tuple[str, Key], str] = {}
        self.fresh: dict[str, str] = {}
        self.seen: dict[str, set[Key]] = {}

    def absorb(self, event: Event) -> None:
        """Take one event in."""
        match event:
            case Begun():
                self.seen[event.kind.name] = set()
            case Changes():
                for change, item in event.items:
                    self._take(event.kind.name, change, item)
            case Listed():
                self._sweep(event.kind.name, event.resource_version)

    def _take(self, kind: str, change: str, item: Object) -> None:
        if change == "DELETED":
            self._forget(kind, key_of(item))
            return
        if kind in self.seen:
            self.seen[kind].add(key_of(item))
        self._learn(kind, trim(item))

    def _sweep(self, kind: str, version: str) -> None:
        """Forget what a complete list did not hold."""
        seen = self.seen.pop(kind, set())
        for key in [key for key in self.objects[kind] if key not in seen]:
            self._forget(kind, key)
        self.fresh[kind] = version

    def _learn(self, kind: str, item: Object) -> None:
        key = key_of(item)
        before = self.objects[kind].get(key)
        if before and before["metadata"]["uid"] != item["metadata"]["uid"]:
            self._forget(kind, key)
        self.objects[kind][key] = item
        self.dirty.add((kind, key))

    def _forget(self, kind: str, key: Key) -> None:
        item = self.objects[kind].pop(key, None)
        self.dirty.discard((kind, key))
        if item is not None:
            self.gone[kind, key] = item["metadata"]["uid"]

    def entry_of(self, workload: Object) -> Object | None:
        """Return the LocalQueue that a Workload names."""
        namespace, _ = key_of(workload)
        name = workload.get("spec", {}).get("queueName", "")
        return self.objects["LocalQueue"].get((namespace, name))

    def entries_beside(self, workload: Object) -> list[str]:
        """Return the names of all LocalQueues in the namespace of a Workload."""
        namespace, _ = key_of(workload)
        return [name for place, name in self.objects["LocalQueue"] if place == namespace]

    def queue_of(self, workload: Object) -> Object | None:
        """Return the ClusterQueue that holds a Workload or that its LocalQueue points to."""
        admission = workload.get("status", {}).get("admission") or {}
        entry = self.entry_of(workload) or {}
        name = admission.get("clusterQueue") or entry.get("spec", {}).get("clusterQueue", "")
        return self.objects["ClusterQueue"].get(("", name))

    def spread(self) -> None:
        """Mark the workloads whose reading depends on a queue that changed."""
        moved = {k for k in (*self.dirty, *self.gone) if k[0] in ("ClusterQueue", "LocalQueue")}
        if not moved:
            return
        namespaces = {key[0] for kind, key in moved if kind == "LocalQueue"}
        for key, workload in self.objects["Workload"].items():
            namespace, _ = key
            entry = ("LocalQueue", (namespace, workload.get("spec", {}).get("queueName", "")))
            held_by = self.queue_of(workload)
            queue_key = ("ClusterQueue", key_of(held_by)) if held_by else None
            astray = namespace in namespaces and self.entry_of(workload) is None
            if astray or entry in moved or queue_key in moved:
                self.dirty.add(("Workload", key))

    def cut(self) -> None:
        """Forget what changed, after it was written."""
        self.dirty.clear()
        self.gone.clear()
        self.fresh.clear()


class Wanted:
    """The manifests of the newest revision, to tell an object in sync from a drifted one."""

    def __init__(self, cluster: Cluster) -> None:
        """Know no revision yet."""
        self.cluster = cluster
        self.number = -1
        self.manifests: dict[tuple[str, str, str], Object] = {}

    def renew(self) -> bool:
        """Read the newest revision if it is another one; return whether it was."""
        newest = Revision.objects.filter(cluster=self.cluster).order_by("-number")
        number = newest.values_list("number", flat=True).first() or 0
        if number == self.number:
            return False
        self.number = number
        manifests = render(head(self.cluster))
        self.manifests = {(m.kind, m.namespace, m.name): dict(m.body) for m in manifests}
        return True

    def in_sync(self, kind: str, key: Key, live: Object) -> bool | None:
        """Return whether the owned fields are as wanted; ``None`` for what is not ours."""
        wanted = self.manifests.get((kind, *key))
        return None if wanted is None else not diff(live, wanted)


class Observer:
    """The loop of one cluster. ``run`` returns when ``stop`` is set."""

    def __init__(
        self, cluster: Cluster, client: ClusterClient, *, lease: Callable[[], bool]
    ) -> None:
        """Prepare the memory; ``lease`` takes the lock of this cluster on a new connection."""
        self.cluster = cluster
        self.client = client
        self.lease = lease
        self.stop = threading.Event()
        self.inbox: queue.Queue[Event] = queue.Queue(maxsize=INBOX)
        self.known = Known()
        self.wanted = Wanted(cluster)
        self.written = rows.Written(cluster)
        self.positions = Positions(cluster, client)
        self._open: set[str] = set()
        self._next_beat = 0.0
        self._next_seen = 0.0

    def run(self) -> None:
        """Follow every kind until told to stop."""
        self.written.load()
        rows.forget_unknown_kinds(self.cluster)
        threads = [
            threading.Thread(target=self._follow, args=(kind,), name=f"watch-{kind}", daemon=True)
            for kind in KINDS
        ]
        for thread in threads:
            thread.start()
        while not self.stop.is_set():
            self._turn()
        self.positions.close()

    def _follow(self, kind: str) -> None:
        for event in follow(self.client, Source(KIND[kind]), stop=self.stop):
            while not self.stop.is_set():
                try:
                    self.inbox.put(event, timeout=1.0)
                    break
                except queue.Full:
                    continue

    def _turn(self) -> None:
        batch = self._collect()
        for event in batch:
            self.known.absorb(event)
        try:
            for event in batch:
                self._note(event)
            self._write()
            self._beat()
            self.positions.mark(self.written.take_touched())
            self.positions.refresh()
        except (OperationalError, InterfaceError) as error:
            # The database went away. What is known stays dirty and is written when it is back.
            log.warning("observer_database_lost", error=type(error).__name__)
            self._wait_for_database()

    def _wait_for_database(self) -> None:
        """Come back only with the lease: it went with the connection, and another may have it."""
        while not self.stop.wait(1.0):
            connection.close()
            try:
                if self.lease():
                    self.written.load()
                    return
            except (OperationalError, InterfaceError):
                continue

    def _collect(self) -> list[Event]:
        batch: list[Event] = []
        deadline = time.monotonic() + WINDOW
        while len(batch) < INBOX and (left := deadline - time.monotonic()) > 0:
            try:
                batch.append(self.inbox.get(timeout=left))
            except queue.Empty:
                break
        return batch

    def _note(self, event: Event) -> None:
        kind = event.kind.name
        if isinstance(event, Lost):
            self._open.discard(kind)
            rows.lost(self.cluster, kind, event.error.message)
            return
        self._open.add(kind)

    def _write(self) -> None:
        if self.wanted.renew():
            self.known.dirty |= {
                (kind, key) for kind in OBJECT_KINDS for key in self.known.objects[kind]
            }
        known = self.known
        if not (known.dirty or known.gone or known.fresh):
            return
        known.spread()
        self.written.write(
            objects=dict(self._object_rows()),
            gone=[(kind, *key) for kind, key in known.gone if kind in OBJECT_KINDS],
            workloads=self._workload_rows(),
            gone_workloads=[uid for (kind, _), uid in known.gone.items() if kind == "Workload"],
        )
        self._sweep()
        for kind, version in known.fresh.items():
            rows.listed(self.cluster, kind, version)
        known.cut()

    def _object_rows(self) -> Iterable[tuple[rows.ObjectKey, rows.ObjectRow]]:
        for kind, key in self.known.dirty:
            if kind not in OBJECT_KINDS:
                continue
            item = self.known.objects[kind][key]
            sync = self.wanted.in_sync(kind, key, item)
            uid = item["metadata"]["uid"]
            yield (kind, *key), (uid, version_of(item), body_of(kind, item), sync)

    def _workload_rows(self) -> dict[str, dict[str, Any]]:
        result = {}
        for kind, key in self.known.dirty:
            if kind != "Workload":
                continue
            item = self.known.objects[kind][key]
            known = self.known
            entries = () if known.entry_of(item) else known.entries_beside(item)
            row = workload_row(
                item, known.entry_of(item), known.queue_of(item), entries, self.positions.settings
            )
            result[item["metadata"]["uid"]] = row
        return result

    def _sweep(self) -> None:
        """After a fresh list, delete rows of objects that the list no longer holds."""
        fresh = self.known.fresh
        for kind in set(fresh) & set(OBJECT_KINDS):
            here = {(kind, *key) for key in self.known.objects[kind]}
            stale = [key for key in self.written.objects if key[0] == kind and key not in here]
            self.written.write(objects={}, gone=stale, workloads={}, gone_workloads=[])
        if "Workload" in fresh:
            here_uids = {w["metadata"]["uid"] for w in self.known.objects["Workload"].values()}
            ended = [uid for uid in self.written.workloads if uid not in here_uids]
            self.written.write(objects={}, gone=[], workloads={}, gone_workloads=ended)

    def _beat(self) -> None:
        now = time.monotonic()
        if now >= self._next_seen:
            # Not only after a change: the object is often seen before its apply is recorded.
            self._next_seen = now + SEEN_EVERY
            mark_seen(self.cluster)
        if now >= self._next_beat:
            self._next_beat = now + HEARTBEAT
            rows.alive(self.cluster, sorted(self._open))
