"""Keeps the observed rows of one cluster equal to what the cluster says.

Followers put what they hear into a bounded inbox; this loop takes what came within a short
window, works out rows and writes them in one transaction. A fresh list is compared with the
rows, and what it did not hold is deleted, so a deletion that nobody saw is not lost.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

import structlog
from django.db import InterfaceError, OperationalError, connection
from django.utils import timezone

from kube.client import ClusterClient
from kube.watch import Begun, Bookmark, Changes, Event, Listed, Lost
from queues.services import happened
from queues.services import observed_rows as rows
from queues.services.announcer import Announcer
from queues.services.following import NEEDED, Following
from queues.services.memory import Memory
from queues.services.positions import Positions
from queues.services.pulse import Pulse
from queues.services.seen import mark_seen
from queues.services.window import Window
from tenants.models import Cluster

log = structlog.get_logger(__name__)

WINDOW: Final = 0.05  # seconds that an event waits for company; writing comes on top
#: The same while a list comes: nobody waits for one of many thousand rows, and what a window
#: costs the database besides its rows is paid a tenth as often.
LISTING: Final = 0.5
MOST: Final = 500  # objects of one window
AGAIN: Final = 1000  # workloads of one window that are read again because a queue changed
IDLE: Final = 0.1  # seconds of an empty window
HEARTBEAT: Final = 5.0  # seconds between two signs of life in the database
SEEN_EVERY: Final = 0.5  # seconds between two looks for applies that wait to be seen
#: Objects until the next look for circles, which hardly anything here makes: a list of fifty
#: thousand workloads spends a quarter of its time on looking otherwise.
GARBAGE: Final = (200_000, 20, 50)
M_ARENA_MAX: Final = -8  # as malloc.h has it
CLEAN_EVERY: Final = 3600.0  # seconds between two clean-ups of old rows


def _share_heaps() -> None:
    """Let the threads that read share two heaps: each of glibc's keeps what it has once had."""
    with contextlib.suppress(AttributeError, OSError):  # another C library has no such knob
        ctypes.CDLL(None).mallopt(M_ARENA_MAX, 2)


class Observer:
    """The loop of one cluster. ``run`` returns when ``stop`` is set."""

    def __init__(
        self,
        cluster: Cluster,
        client: ClusterClient,
        *,
        lease: Callable[[], bool],
        moved: Callable[[], bool] = lambda: False,
    ) -> None:
        """Prepare the memory; ``lease`` takes the lock of this cluster on a new connection.

        ``moved`` says that the cluster has another address now, or none: then this loop ends.
        """
        self.cluster = cluster
        self.lease = lease
        self.moved = moved
        self.stop = threading.Event()
        self.following = Following(client, self.stop)
        self.pulse = Pulse(client, self.stop)
        self.positions = Positions(cluster, client)
        self.memory = Memory(cluster, self.positions.settings)
        self.window = Window(self.memory)
        self.announcer = Announcer(cluster)
        self._open: set[str] = set()
        self._lost: set[str] = set()
        self._moved: set[str] = set()
        self._line_moved = self._silent = False
        self._batch: list[Event] = []
        self._next: dict[str, float] = {}

    def run(self) -> None:
        """Follow every kind until told to stop."""
        self.memory.load()
        rows.forget_unknown_kinds(self.cluster)
        # What was imported stays for ever: looking through it again and again is half of the
        # cost of many small objects.
        gc.collect()
        gc.freeze()
        gc.set_threshold(*GARBAGE)
        _share_heaps()
        self.pulse.start()
        while not self.stop.is_set():
            self.following.advance()
            self._turn()
        self.positions.close()

    def _turn(self) -> None:
        """Take in what came and write it. What could not be written stays and is tried again."""
        if not self._batch:
            window = LISTING if "Workload" in self.memory.listing else WINDOW
            self._batch = self.following.collect(window=window, most=MOST, patience=IDLE)
        try:
            self._take(self._batch)
            self._batch = []
            self._write()
            self._beat()
            self.positions.refresh()
            self._tell_places()
        except (OperationalError, InterfaceError) as error:
            log.warning("observer_database_lost", error=type(error).__name__)
            self._wait_for_database()

    def _wait_for_database(self) -> None:
        """Come back only with the lease: it went with the connection, and another may have it."""
        while not self.stop.wait(1.0):
            connection.close()
            try:
                if self.lease():
                    self.memory.load()
                    return
            except (OperationalError, InterfaceError):
                continue

    # -- taking in -------------------------------------------------------------------------

    def _take(self, batch: list[Event]) -> None:
        """Take events in, in their order; those that were taken leave the batch."""
        while batch:
            self._one(batch[0])
            batch.pop(0)
        while not self.following.unserved.empty():
            kind = self.following.unserved.get()
            rows.unserved(self.cluster, kind)
            self.memory.unserved(kind)
            self._open.discard(kind)

    def _one(self, event: Event) -> None:
        kind = event.kind.name
        match event:
            case Begun():
                epoch = rows.begun(self.cluster, kind, needed=kind in NEEDED)
                self.memory.begin(event.kind, epoch)
            case Changes():
                self.memory.take(event.kind, event.items)
            case Listed():
                self.memory.end(event.kind, event.resource_version)
            case Lost():
                self._line_moved |= kind in self._open
                self._open.discard(kind)
                self._lost |= {kind} & NEEDED
                self.memory.lost(kind, datetime.fromtimestamp(event.since, UTC))
                rows.lost(self.cluster, kind, event.error.message, needed=kind in NEEDED)
        if isinstance(event, Changes | Listed | Bookmark):
            self._line_moved |= kind not in self._open
            self._open.add(kind)
            self._lost.discard(kind)
            self.memory.back(kind)

    # -- writing ---------------------------------------------------------------------------

    def _write(self) -> None:
        done = self.window.write(again=AGAIN, strays=self._due("strays", SEEN_EVERY))
        self._moved |= done.moved
        if not self.memory.list_comes:
            # While a list comes, every window would put every queue in order once more.
            self.positions.mark(self._moved)
            self._moved = set()
        if done.rows or self._line_moved:
            self.announcer.window(
                workloads=done.workloads, objects=done.objects, line=self._line_moved
            )
            self._line_moved = False

    def _tell_places(self) -> None:
        moved, self.positions.moved = self.positions.moved, set()
        if moved:
            self.announcer.window(queues=moved)

    def _beat(self) -> None:
        # Not only after a change: the object is often seen before its apply is recorded.
        if self._due("seen", SEEN_EVERY):
            mark_seen(self.cluster)
        if self._due("beat", HEARTBEAT):
            self._say_how_it_is()
            if self.moved():
                log.info("observer_cluster_moved", cluster=self.cluster.slug)
                self.stop.set()
        if self._due("clean", CLEAN_EVERY):
            happened.forget_old(self.cluster, timezone.now())
            self.memory.look_at_manager()

    def _say_how_it_is(self) -> None:
        """Write a sign of life, or that the cluster does not answer although lines are open."""
        silent, self._silent = self._silent, not self.pulse.beats
        if not self._silent:
            # A list that is still coming says nothing yet; its end does.
            rows.alive(self.cluster, sorted(self._open - self.memory.listing))
            self.announcer.alive(whole=not self._lost)
        elif not silent:
            log.warning("observer_cluster_silent", error=self.pulse.error)
            for kind in sorted(self._open):
                rows.lost(self.cluster, kind, self.pulse.error, needed=kind in NEEDED)
        if self._silent != silent:
            self._line_moved = True

    def _due(self, what: str, every: float) -> bool:
        now = time.monotonic()
        if now < self._next.get(what, 0.0):
            return False
        self._next[what] = now + every
        return True
