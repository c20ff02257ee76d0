"""Positions of pending workloads: own order for all of them, checked against Kueue's own list.

The own order is worked out for every queue that changed. Kueue itself is asked only about
queues that somebody looks at. Where its list differs twice in a row without a change between,
Kueue is right: its order is written, the difference counted and logged, and from then on its
list is waited for (a little) before the own order is written again. A list that is older than
the last change of the queue says nothing and is dropped. What is written and when is in
``docs/how/observation.md``.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

import structlog
from django.db import transaction
from django.utils import timezone

from kube.client import ClusterClient
from kube.queue_order import Difference, compare
from kube.queue_settings import QueueSettings
from kube.visibility import PAGE, Pending
from queues.models import Link, QueueOrder, Workload
from queues.services.kueue_lists import DEPTH, Answer, KueueLists
from queues.services.looked import looked_at
from queues.services.placing import Line, Placed, own_order, place, read, strangers, uids_of
from tenants.models import Cluster

log = structlog.get_logger(__name__)

PLACE_EVERY: Final = 0.2  # seconds between two orders of one queue, at least
PLACE_SHARE: Final = 4.0  # a queue rests this many times as long as its order took
FAR_EVERY: Final = 20.0  # seconds for which places far behind may be those of before
ASK_EVERY: Final = 2.0  # seconds between two questions about one queue, for each page of its list
AGAIN: Final = 3.0  # seconds until a first difference is looked at again
FRESH: Final = 30.0  # seconds for which a comparison stands while nothing changes
SLOW: Final = 2.0  # seconds that Kueue's list is waited for where it is known to differ
LOOK_EVERY: Final = 1.0  # seconds between two looks at who looks
SWEEP_EVERY: Final = 60.0  # seconds between two orders of all queues, whatever was marked
BEYOND: Final = 50  # workloads asked for beyond those that are known


@dataclass(slots=True)
class Watched:
    """What is remembered about one queue; times are of the monotonic clock."""

    changes: int = 0
    changed_at: float = 0.0
    place_after: float = 0.0
    far_after: float = 0.0
    ask_after: float = 0.0
    asked_of: int = -1
    checked_of: int = -1
    checked_at: float = 0.0
    pending: int = 0
    doubted: bool = False
    differs: bool = False
    told: Difference = field(default_factory=Difference)


def settings_of(cluster: Cluster) -> QueueSettings:
    """Return how the cluster's Kueue is set up, as the last look at it has seen."""
    link = Link.objects.filter(cluster=cluster).only("capabilities").first()
    seen = link.capabilities if link else {}
    return QueueSettings.read(
        version=str(seen.get("kueue_version") or ""),
        gates=str(seen.get("feature_gates") or ""),
        configuration=str(seen.get("configuration") or ""),
    )


class Positions:
    """Keeps the positions of one cluster. ``mark`` what changed, ``refresh`` often."""

    def __init__(self, cluster: Cluster, client: ClusterClient) -> None:
        """Start with nothing to do; the settings of Kueue are read now and kept."""
        self.cluster = cluster
        self.settings = settings_of(cluster)
        self.lists = KueueLists(client, long_lists=self.settings.long_lists)
        self.dirty: set[str] = set()
        self.distant: set[str] = set()
        self.looked: frozenset[str] = frozenset()
        #: Queues whose places were written or compared since somebody took this set.
        self.moved: set[str] = set()
        self._watched: dict[str, Watched] = {}
        self._look_after = self._sweep_after = 0.0

    def mark(self, queues: set[str]) -> None:
        """Note queues whose order may have changed."""
        now = time.monotonic()
        for queue in queues - {""}:
            watched = self._watch(queue)
            watched.changes += 1
            if queue not in self.dirty:
                watched.changed_at = now
                self.dirty.add(queue)

    def refresh(self) -> None:
        """Put what is due in order, take Kueue's answers and ask anew. Waits for no cluster."""
        now = time.monotonic()
        if now >= self._sweep_after:
            self._sweep_after = now + SWEEP_EVERY
            self._sweep()
        self.dirty |= {
            q for q in self.distant if now >= self._watch(q).far_after
        } - self._followed()
        for answer in self.lists.answers(now):
            self._take(answer, now)
        self._place(now)
        if now >= self._look_after:
            self._look_after = now + LOOK_EVERY
            self.looked = looked_at(self.cluster.pk)
        self._ask(now)

    def close(self) -> None:
        """Stop asking."""
        self.lists.close()

    def _watch(self, queue: str) -> Watched:
        return self._watched.setdefault(queue, Watched())

    # -- own order -------------------------------------------------------------------------

    def _sweep(self) -> None:
        """Look at every queue with pending workloads: a missed mark must not last."""
        waiting = Workload.objects.filter(cluster=self.cluster, state="waiting", turn__gt="")
        here = set(waiting.order_by().values_list("queue", flat=True).distinct())
        orders = QueueOrder.objects.filter(cluster=self.cluster, pending__gt=0)
        here |= set(orders.values_list("queue", flat=True))
        self.dirty |= here - self._followed() - {""}

    def _followed(self) -> set[str]:
        """Return the queues where Kueue's list is followed: the own order is no correction."""
        return {queue for queue in self.looked if self._watch(queue).differs}

    def _place(self, now: float) -> None:
        due = [queue for queue in self.dirty if self._due(queue, now)]
        if not due:
            return
        began = time.monotonic()
        far = [queue for queue in due if now >= self._watch(queue).far_after]
        with transaction.atomic():
            lines = read(self.cluster, due, self.settings)
            for line in lines.values():
                line.order.source = QueueOrder.Source.OWN
            placed = place(self.cluster, lines, timezone.now(), far=far)
        self.dirty.difference_update(due)
        self._rest(lines, began)
        self.moved |= {queue for queue, done in placed.items() if done.moved}
        for queue, done in placed.items():
            self._follow_up(queue, done, far=queue in far)

    def _follow_up(self, queue: str, done: Placed, *, far: bool) -> None:
        """Come back for what a statement left: near places at once, far ones after a while."""
        watched = self._watch(queue)
        if done.near or (far and done.far):
            self.dirty.add(queue)
        elif done.far:
            self.distant.add(queue)
        elif far:
            watched.far_after = time.monotonic() + FAR_EVERY
            self.distant.discard(queue)

    def _due(self, queue: str, now: float) -> bool:
        watched = self._watch(queue)
        if now < watched.place_after:
            return False
        if watched.differs and queue in self.looked and now >= self.lists.quiet_until:
            return now - watched.changed_at >= SLOW
        return True

    def _rest(self, lines: Mapping[str, Line], began: float) -> None:
        """Leave each queue alone for longer the more its order cost."""
        now = time.monotonic()
        workloads = sum(line.order.pending for line in lines.values()) or 1
        for queue, line in lines.items():
            watched = self._watch(queue)
            watched.pending = line.order.pending
            cost = (now - began) * watched.pending / workloads
            watched.place_after = now + max(PLACE_EVERY, PLACE_SHARE * cost)

    # -- Kueue's own list ------------------------------------------------------------------

    def _ask(self, now: float) -> None:
        for queue in sorted(self.looked):
            watched = self._watch(queue)
            settled = watched.checked_of == watched.changes and not watched.doubted
            if now < watched.ask_after or (settled and now - watched.checked_at < FRESH):
                continue
            if self.lists.ask(queue, max(PAGE, watched.pending + BEYOND), now):
                watched.asked_of = watched.changes
                pages = 1 + min(watched.pending, DEPTH) // self.lists.page_size
                watched.ask_after = now + ASK_EVERY * pages

    def _take(self, answer: Answer, now: float) -> None:
        watched = self._watch(answer.queue)
        orders = QueueOrder.objects.filter(cluster=self.cluster, queue=answer.queue)
        if answer.found is None:
            orders.exclude(trouble=answer.trouble).update(trouble=answer.trouble)
            if answer.trouble == QueueOrder.Trouble.UNKNOWN_QUEUE:
                watched.ask_after = now + FRESH
            return
        with transaction.atomic():
            line = read(self.cluster, [answer.queue], self.settings)[answer.queue]
            self._compare(line, answer.found, watched, now)

    def _compare(self, line: Line, found: Pending, watched: Watched, now: float) -> None:
        own = own_order(line, DEPTH + BEYOND if found.complete else len(found.items))
        difference = compare(list(own), found.names, complete=found.complete)
        if difference.unknown and strangers(self.cluster, set(found.names) - set(own)):
            # Kueue has heard of workloads that the watch has not brought yet.
            return
        if difference and not watched.differs:
            if watched.asked_of != watched.changes:
                return
            if not watched.doubted:
                watched.doubted, watched.ask_after = True, now + AGAIN
                return
        watched.differs, watched.doubted = bool(difference), False
        watched.checked_of, watched.checked_at = watched.asked_of, now
        self._settle(line, found, difference)
        if difference != watched.told:
            _tell(line, difference)
        watched.told = difference
        if watched.asked_of == watched.changes:
            self.dirty.discard(line.order.queue)

    def _settle(self, line: Line, found: Pending, difference: Difference) -> None:
        """Write the order that holds now: the own one where both agree, else Kueue's."""
        at = timezone.now()
        self.moved.add(line.order.queue)
        _count(line.order, difference, at)
        lines = {line.order.queue: line}
        if not difference:
            line.order.source = QueueOrder.Source.OWN
            place(self.cluster, lines, at, far=lines)
            return
        line.order.source = QueueOrder.Source.KUEUE
        # What a complete list leaves out does not wait, whatever its object says.
        place(
            self.cluster, lines, at, far=lines,
            listed=uids_of(line, found.names), only_listed=found.complete,
        )  # fmt: skip


def _count(order: QueueOrder, difference: Difference, at: datetime) -> None:
    order.trouble = ""
    order.checked_at = at
    order.differing = difference.workloads
    order.checks += 1
    order.differed += bool(difference)


def _tell(line: Line, difference: Difference) -> None:
    say = log.warning if difference else log.info
    say(
        "positions_differ" if difference else "positions_agree", queue=line.order.queue, pending=line.order.pending,
        moved=difference.moved, missing=difference.missing, unknown=difference.unknown,
        by_use=line.order.by_use,
    )  # fmt: skip
