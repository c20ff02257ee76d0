"""The order in which Kueue takes the workloads that wait in one ClusterQueue. Pure.

Kueue sorts by: past use of the entry (only with admission fair sharing), then the workload for
which others are being stopped, then priority, then queue time, then uid. Times are whole
seconds, so equal ones are common and the uid decides. The list of Kueue's visibility API holds
what can be taken now, what was tried and did not fit, and what is still backing off; so does
the order here, with a mark for each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from math import inf
from typing import Any, Final

from kube.quantity import canonical
from kube.queue_settings import QueueSettings
from kube.workload_facts import NO_CONDITION, Condition, Object, read_conditions, read_time

#: (namespace, name) of a LocalQueue.
Entry = tuple[str, str]
Conditions = Mapping[str, Condition]

BOOST: Final = "kueue.x-k8s.io/priority-boost"
BY_USE: Final = "UsageBasedAdmissionFairSharing"
MAKES_ROOM: Final = ". Pending the preemption of "
_DEFAULTS: Final = QueueSettings()
_BEHIND_PREEMPTOR: Final = timedelta(milliseconds=1)


class Strategy(StrEnum):
    """Whether a job that does not fit holds up those behind it."""

    STRICT = "StrictFIFO"
    BEST_EFFORT = "BestEffortFIFO"


class Turn(StrEnum):
    """Where a pending workload stands with the scheduler; ``OUT`` is not in the queue at all."""

    OUT = ""
    READY = "ready"
    MAKES_ROOM = "makes_room"
    TRIED = "tried"
    BACK_OFF = "back_off"


@dataclass(frozen=True, slots=True)
class Stand:
    """What one Workload object says about its place; ``queued_at`` is ``None`` when it is out."""

    turn: Turn
    queued_at: datetime | None = None
    boost: int = 0


@dataclass(frozen=True, slots=True)
class Ticket:
    """What the order needs to know of one pending workload; ``priority`` includes a boost."""

    uid: str
    entry: Entry
    priority: int
    queued_at: datetime
    makes_room: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """A position in the queue and one among the workloads of the same entry, both from 1."""

    uid: str
    position: int
    entry_position: int


# --- one workload -------------------------------------------------------------------------------


def stand(
    workload: Object,
    local_queue: Object | None,
    cluster_queue: Object | None,
    settings: QueueSettings = _DEFAULTS,
    conditions: Conditions | None = None,
) -> Stand:
    """Say whether Kueue has a workload in its queue, since when it counts, and its turn.

    ``conditions`` are its own, where they were read before.
    """
    conditions = read_conditions(workload) if conditions is None else conditions
    if not _routed(local_queue, cluster_queue) or _out(workload, conditions, settings):
        return Stand(Turn.OUT)
    since = _queued_at(workload, conditions, settings)
    if since is None:
        return Stand(Turn.OUT)
    return Stand(_turn(workload, conditions), since, _boost(workload) if settings.boost else 0)


def _routed(local_queue: Object | None, cluster_queue: Object | None) -> bool:
    """A stopped entry takes its workloads out of the queue; a stopped queue keeps them."""
    if local_queue is None or cluster_queue is None:
        return False
    return str((local_queue.get("spec") or {}).get("stopPolicy") or "None") == "None"


def _out(workload: Object, conditions: Conditions, settings: QueueSettings) -> bool:
    reserved = conditions.get("QuotaReserved", NO_CONDITION)
    return (
        reserved.true
        or (reserved.false and reserved.reason in ("AdmissionGated", "OnHold"))
        or conditions.get("Finished", NO_CONDITION).true
        or (workload.get("spec") or {}).get("active") is False
        or bool(workload.get("metadata", {}).get("deletionTimestamp"))
        or (
            settings.replacements_wait
            and conditions.get("WaitingForReplacementPods", NO_CONDITION).true
        )
    )


def _turn(workload: Object, conditions: Conditions) -> Turn:
    requeue = (workload.get("status") or {}).get("requeueState") or {}
    if conditions.get("Requeued", NO_CONDITION).false or requeue.get("requeueAt"):
        return Turn.BACK_OFF
    said, evicted = conditions.get("QuotaReserved", NO_CONDITION), conditions.get("Evicted")
    if not said.false or said.reason == "PendingEvaluation":
        return Turn.READY
    if MAKES_ROOM in said.message:
        return Turn.MAKES_ROOM
    # After an eviction its text stands here until the next try.
    repeated = evicted is not None and evicted.true and evicted.message == said.message
    return Turn.READY if repeated else Turn.TRIED


def _queued_at(
    workload: Object, conditions: Conditions, settings: QueueSettings
) -> datetime | None:
    """Some evictions send a workload back behind its equals; a preempted one keeps its age."""
    evicted = conditions.get("Evicted", NO_CONDITION)
    back = {"AdmissionCheck"} | ({"PodsReadyTimeout"} if settings.eviction_time else set())
    if evicted.true and evicted.reason in back and evicted.since:
        return evicted.since
    preempted = conditions.get("Preempted", NO_CONDITION)
    if (
        not settings.cohort_priority
        and preempted.true
        and preempted.reason == "InCohortReclaimWhileBorrowing"
        and preempted.since
    ):
        return preempted.since + _BEHIND_PREEMPTOR
    return read_time(workload.get("metadata", {}).get("creationTimestamp"))


def _boost(workload: Object) -> int:
    text = str((workload.get("metadata", {}).get("annotations") or {}).get(BOOST) or "0")
    try:
        return int(text)
    except ValueError:
        return 0


# --- one queue ----------------------------------------------------------------------------------


def preemptor(
    tickets: Iterable[Ticket], strategy: str, *, before: str = "", keeps: bool = True
) -> str:
    """Return the uid of the workload that stays in front while others are stopped for it.

    ``before`` is who it was until now. Kueue below 0.18 (``keeps``) leaves it in front until it
    leaves the queue, also when its preemption came to nothing. StrictFIFO has none.
    """
    if strategy == Strategy.STRICT:
        return ""
    waiting = list(tickets)
    making = [ticket for ticket in waiting if ticket.makes_room]
    if any(ticket.uid == before for ticket in making):
        return before
    if making:
        return min(making, key=_base).uid
    return before if keeps and any(ticket.uid == before for ticket in waiting) else ""


def _base(ticket: Ticket) -> tuple[int, datetime, str]:
    return -ticket.priority, ticket.queued_at, ticket.uid


def in_order(
    tickets: Iterable[Ticket], *, front: str = "", use: Mapping[Entry, float] | None = None
) -> list[Ticket]:
    """Sort pending workloads as Kueue does; ``use`` only with admission fair sharing."""

    def key(ticket: Ticket) -> tuple[bool, int, datetime, str]:
        return ticket.uid != front, -ticket.priority, ticket.queued_at, ticket.uid

    if use is None:
        return sorted(tickets, key=key)
    return sorted(tickets, key=lambda each: (use.get(each.entry, 0.0), *key(each)))


def places(ordered: Iterable[Ticket]) -> list[Place]:
    """Number workloads that stand in order; entries of the same name in two namespaces differ."""
    found: list[Place] = []
    of_entry: Counter[Entry] = Counter()
    for position, ticket in enumerate(ordered, start=1):
        of_entry[ticket.entry] += 1
        found.append(Place(ticket.uid, position, of_entry[ticket.entry]))
    return found


# --- admission fair sharing -----------------------------------------------------------------------


def shares_by_use(cluster_queue: Object, settings: QueueSettings = _DEFAULTS) -> bool:
    """Return whether past use of the entries comes before everything else in this queue."""
    scope = (cluster_queue.get("spec") or {}).get("admissionScope") or {}
    return scope.get("admissionMode") == BY_USE and settings.fair_sharing is not False


def use_of(local_queue: Object, settings: QueueSettings = _DEFAULTS) -> float:
    """Return an entry's past use as its status tells it.

    An estimate: Kueue samples it every few minutes and adds a penalty for jobs just admitted
    that it does not show.
    """
    fair = (local_queue.get("status") or {}).get("fairSharing") or {}
    consumed = (fair.get("admissionFairSharingStatus") or {}).get("consumedResources") or {}
    total = sum(
        settings.weights.get(name, 1.0) * _number(consumed[name]) for name in sorted(consumed)
    )
    given = ((local_queue.get("spec") or {}).get("fairSharing") or {}).get("weight")
    weight = 1.0 if given is None else _number(given)
    return total / weight if weight > 0 else inf


def _number(text: Any) -> float:
    try:
        return float(canonical(text))
    except ValueError:
        return 0.0


# --- compared with Kueue's own list -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Difference:
    """Own order against the visibility API's; each number counts workloads."""

    moved: int = 0
    missing: int = 0
    unknown: int = 0

    def __bool__(self) -> bool:
        return bool(self.moved or self.missing or self.unknown)

    @property
    def workloads(self) -> int:
        """Return how many workloads stand elsewhere than was thought."""
        return self.moved + self.missing + self.unknown


def compare(own: Sequence[Entry], seen: Sequence[Entry], *, complete: bool = True) -> Difference:
    """Compare two orders of (namespace, name).

    ``missing``: thought to wait, not in Kueue's list. ``unknown``: in the list, not thought to
    wait. A list that is not ``complete`` is compared as far as it goes.
    """
    expected = own if complete else own[: len(seen)]
    here, there = set(expected), set(seen)
    one = [name for name in expected if name in there]
    other = [name for name in seen if name in here]
    moved = sum(mine != theirs for mine, theirs in zip(one, other, strict=True))
    return Difference(moved, len(here - there), len(there - here))
