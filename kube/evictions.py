"""Why a Workload lost its place, read from what Kueue says of it. Facts, no sentences.

The texts are those of Kueue 0.17 to 0.20. After the Workload has its place again the conditions
only say ``Previously: ...``: the reason is then read from the text, or from the counters.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final, NamedTuple

from kube.lifecycle_facts import NO_FLIP, Flip, Flips

PREVIOUSLY: Final = "Previously: "


class Cause(StrEnum):
    """Why a place was lost."""

    PREEMPTED_IN_QUEUE = "preempted_in_queue"
    PREEMPTED_RECLAIM = "preempted_reclaim"
    PREEMPTED_WHILE_BORROWING = "preempted_while_borrowing"
    PREEMPTED_FAIR_SHARING = "preempted_fair_sharing"
    PREEMPTED = "preempted"
    PODS_READY_TIMEOUT = "pods_ready_timeout"
    NODE_FAILURE = "node_failure"
    CHECK = "check"
    QUEUE_STOPPED = "queue_stopped"
    ENTRY_STOPPED = "entry_stopped"
    DEACTIVATED = "deactivated"
    DEACTIVATED_CHECK = "deactivated_check"
    DEACTIVATED_RETRIES = "deactivated_retries"
    DEACTIVATED_TIME_LIMIT = "deactivated_time_limit"
    MANAGER_CLUSTER = "manager_cluster"
    FLAVOR_MIGRATION = "flavor_migration"
    RESERVATION_LOST = "reservation_lost"
    OTHER = "other"
    UNKNOWN = "unknown"


PREEMPTIONS: Final = frozenset(
    {
        Cause.PREEMPTED_IN_QUEUE,
        Cause.PREEMPTED_RECLAIM,
        Cause.PREEMPTED_WHILE_BORROWING,
        Cause.PREEMPTED_FAIR_SHARING,
        Cause.PREEMPTED,
    }
)


class Evicted(NamedTuple):
    """One eviction as Kueue tells it. Paths and uids may belong to other tenants."""

    cause: Cause = Cause.UNKNOWN
    detail: str = ""
    preemptor_uid: str = ""
    preemptor_job_uid: str = ""
    preemptor_path: str = ""
    preemptee_path: str = ""
    message: str = ""


_REASONS: Final = {
    "Preempted": Cause.PREEMPTED,
    "PodsReadyTimeout": Cause.PODS_READY_TIMEOUT,
    "NodeFailures": Cause.NODE_FAILURE,
    "AdmissionCheck": Cause.CHECK,
    "ClusterQueueStopped": Cause.QUEUE_STOPPED,
    "LocalQueueStopped": Cause.ENTRY_STOPPED,
    "Deactivated": Cause.DEACTIVATED,
    "DeactivatedDueToAdmissionCheck": Cause.DEACTIVATED_CHECK,
    "DeactivatedDueToRequeuingLimitExceeded": Cause.DEACTIVATED_RETRIES,
    "DeactivatedDueToMaximumExecutionTimeExceeded": Cause.DEACTIVATED_TIME_LIMIT,
    "EvictedOnManagerCluster": Cause.MANAGER_CLUSTER,
    "FlavorMigration": Cause.FLAVOR_MIGRATION,
}
_PREEMPTED: Final = {
    "InClusterQueue": Cause.PREEMPTED_IN_QUEUE,
    "InCohortReclamation": Cause.PREEMPTED_RECLAIM,
    "InCohortReclaimWhileBorrowing": Cause.PREEMPTED_WHILE_BORROWING,
    "InCohortFairSharing": Cause.PREEMPTED_FAIR_SHARING,
}
_WHY: Final = {
    "prioritization in the ClusterQueue": Cause.PREEMPTED_IN_QUEUE,
    "reclamation within the cohort": Cause.PREEMPTED_RECLAIM,
    "reclamation within the cohort while borrowing": Cause.PREEMPTED_WHILE_BORROWING,
    "Fair Sharing within the cohort": Cause.PREEMPTED_FAIR_SHARING,
}
_PREEMPTOR: Final = re.compile(
    r"Preempted to accommodate a workload \(UID: (?P<uid>[^,)]*), JobUID: (?P<job>[^)]*)\)"
    r"(?: due to (?P<why>.*?))?"
    r"(?:; preemptor path: (?P<by>[^;]*); preemptee path: (?P<of>[^;]*))?",
    re.DOTALL,
)
_BEGINNINGS: Final = (
    ("Exceeded the PodsReady timeout", Cause.PODS_READY_TIMEOUT),
    ("At least one admission check is false", Cause.CHECK),
    ("Evicted due to AdmissionCheck", Cause.CHECK),
    ("The ClusterQueue is stopped", Cause.QUEUE_STOPPED),
    ("The LocalQueue is stopped", Cause.ENTRY_STOPPED),
    ("Workload was evicted as there was no replacement for", Cause.NODE_FAILURE),
    (
        "The workload is deactivated due to exceeding the maximum number of re-queuing retries",
        Cause.DEACTIVATED_RETRIES,
    ),
    (
        "The workload is deactivated due to exceeding the maximum execution time",
        Cause.DEACTIVATED_TIME_LIMIT,
    ),
    ("The workload is deactivated due to Admission", Cause.DEACTIVATED_CHECK),
    ("The workload is deactivated", Cause.DEACTIVATED),
)


def read_eviction(conditions: Flips, counted: tuple[tuple[str, str, int], ...] = ()) -> Evicted:
    """Read the eviction that the conditions tell of, the present or the last one.

    ``counted`` are Kueue's counters: reason, underlying cause, number.
    """
    evicted = conditions.get("Evicted", NO_FLIP)
    preempted = conditions.get("Preempted", NO_FLIP)
    message = evicted.message.removeprefix(PREVIOUSLY)
    cause = _cause(evicted, message, counted)
    detail = next((under for reason, under, _ in counted if _REASONS.get(reason) is cause), "")
    if cause not in PREEMPTIONS:
        return Evicted(cause, detail or _raw(cause, evicted), message=message)
    text = _PREEMPTOR.fullmatch(message) or _PREEMPTOR.fullmatch(
        preempted.message.removeprefix(PREVIOUSLY)
    )
    found = {key: value or "" for key, value in text.groupdict().items()} if text else {}
    exact = _PREEMPTED.get(preempted.reason) if preempted.true else None
    return Evicted(
        exact or _WHY.get(found.get("why", ""), cause),
        detail,
        _uid(found.get("uid", "")),
        _uid(found.get("job", "")),
        found.get("by", ""),
        found.get("of", ""),
        message,
    )


def _cause(evicted: Flip, message: str, counted: tuple[tuple[str, str, int], ...]) -> Cause:
    if evicted.true:
        return _REASONS.get(evicted.reason, Cause.OTHER)
    if message.startswith("Preempted to accommodate"):
        return Cause.PREEMPTED
    for beginning, cause in _BEGINNINGS:
        if message.startswith(beginning):
            return cause
    # One kind of eviction so far leaves no doubt which one it was.
    reasons = {reason for reason, _, number in counted if number}
    return _REASONS.get(reasons.pop(), Cause.OTHER) if len(reasons) == 1 else Cause.UNKNOWN


def _raw(cause: Cause, evicted: Flip) -> str:
    return evicted.reason if cause is Cause.OTHER else ""


def _uid(text: str) -> str:
    return "" if text.strip() == "UNKNOWN" else text.strip()[:64]
