"""The threads that follow a cluster's kinds, in the order in which they make sense.

Queues, flavors and nodes come first, then pods and events, then the workloads, which are read
with all of them, then jobs. A kind that is slow or refused holds up the next ones for a moment only.
"""

from __future__ import annotations

import queue
import threading
import time
from typing import Final

import structlog
from django.db import connection

from kube import errors, job_kinds, kinds, shapes
from kube.client import ClusterClient
from kube.kinds import Kind
from kube.watch import Changes, Event, Listed, Lost, follow
from kube.wire import Source
from queues.services import happened, workload_pods

log = structlog.get_logger(__name__)

#: Parts of lists and watches that wait to be taken in; a full inbox slows the reading down.
INBOX: Final = 6
#: Seconds that a phase waits for the one before it.
PATIENCE: Final = 20.0
#: Seconds between two looks at which kinds the cluster serves.
LOOK_EVERY: Final = 300.0
#: Without these the portal says nothing that is right.
NEEDED: Final = frozenset(
    {"ClusterQueue", "LocalQueue", "Cohort", "ResourceFlavor", "Node", "Workload"}
)

QUEUES: Final = (
    Source(kinds.CLUSTER_QUEUE),
    Source(kinds.LOCAL_QUEUE),
    Source(kinds.COHORT),
    Source(kinds.RESOURCE_FLAVOR),
    Source(kinds.TOPOLOGY),
    Source(kinds.ADMISSION_CHECK),
    Source(kinds.PRIORITY_CLASS),
    Source(kinds.NODE, shapes.Node),
    Source(kinds.NAMESPACE, shapes.Labelled),
    Source(kinds.LIMIT_RANGE),
)
WORKLOADS: Final = (Source(kinds.WORKLOAD, shapes.Workload),)
#: A field selector cannot name devices; it can leave out what is over.
PODS: Final = Source(
    kinds.POD,
    shapes.Pod,
    fields="status.phase!=Succeeded,status.phase!=Failed",
    keep=workload_pods.is_followed,
)
EVENTS: Final = Source(kinds.EVENT, shapes.Event, keep=happened.matters)


def job_source(kind: Kind) -> Source:
    """Return how a kind of job is followed."""
    return Source(kind, shapes.Job, keep=job_kinds.is_followed)


class Following:
    """Starts the followers of one cluster and hands their events on, bounded."""

    def __init__(self, client: ClusterClient, stop: threading.Event) -> None:
        """Start nothing yet."""
        self.client, self.stop = client, stop
        self.inbox: queue.Queue[Event] = queue.Queue(maxsize=INBOX)
        self.unserved: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.running: dict[str, threading.Thread] = {}
        self._heard: set[str] = set()
        self._phases: list[tuple[Source, ...]] = [QUEUES, (PODS, EVENTS), WORKLOADS]
        self._waiting_for: set[str] = set()
        self._phase_until = 0.0
        self._look_at = 0.0

    def advance(self) -> None:
        """Start what is due: call it often."""
        now = time.monotonic()
        while self._phases and (self._waiting_for <= self._heard or now >= self._phase_until):
            sources = self._phases.pop(0)
            self._waiting_for = {source.kind.name for source in sources}
            self._phase_until = now + PATIENCE
            for source in sources:
                self._start(source)
        if not self._phases and now >= self._look_at:
            self._look_at = now + LOOK_EVERY
            threading.Thread(target=self._look, name="look", daemon=True).start()

    def heard(self, event: Event) -> None:
        """Note how far a kind has come."""
        if isinstance(event, Listed | Lost):
            self._heard.add(event.kind.name)

    def _look(self) -> None:
        """Follow kinds of job, and others, that the cluster has learned to serve."""
        try:
            found = [job_source(kind) for kind in job_kinds.served(self.client)]
        except errors.ClusterError as error:
            log.warning("observer_kinds_unknown", code=error.code)
            return
        for source in (*found, *QUEUES):
            self._start(source)

    def _start(self, source: Source) -> None:
        name = source.kind.name
        if name in self.running and self.running[name].is_alive():
            return
        thread = threading.Thread(
            target=self._follow, args=(source,), name=f"watch-{name}", daemon=True
        )
        self.running[name] = thread
        thread.start()

    def _follow(self, source: Source) -> None:
        for event in follow(self.client, source, stop=self.stop):
            if isinstance(event, Lost):
                # A refused token was looked up anew: this thread needs no connection for longer.
                connection.close()
                if isinstance(event.error, errors.KindMissing):
                    self.unserved.put(source.kind.name)
                    return
            self._put(event)

    def _put(self, event: Event) -> None:
        while not self.stop.is_set():
            try:
                self.inbox.put(event, timeout=1.0)
                return
            except queue.Full:
                continue

    def collect(self, *, window: float, most: int, patience: float) -> list[Event]:
        """Return what came within a window that the first event opens; never waits for more.

        ``most`` bounds the objects of one window, ``patience`` how long an empty one lasts.
        """
        try:
            batch = [self.inbox.get(timeout=patience)]
        except queue.Empty:
            return []
        until, size = time.monotonic() + window, _size(batch[0])
        while size < most and (left := until - time.monotonic()) > 0:
            try:
                batch.append(self.inbox.get(timeout=left))
            except queue.Empty:
                break
            size += _size(batch[-1])
        for event in batch:
            self.heard(event)
        return batch


def _size(event: Event) -> int:
    return len(event.items) if isinstance(event, Changes) else 1
