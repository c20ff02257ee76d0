"""Workloads that are at their end, were switched off, or are being stopped."""

from __future__ import annotations

import re
from typing import Final

from kube import pending_texts
from kube.explain_checks import check_params
from kube.explain_facts import Facts, preempted_reason
from kube.pod_facts import still_stopping
from kube.reason_codes import reason
from kube.reasons import Explanation, Reason, State
from kube.workload_facts import Condition


def finished_rule(facts: Facts) -> Explanation | None:
    """A finished workload keeps its admission and its conditions: they are history."""
    done = facts.condition("Finished")
    if not done.true:
        return None
    code = _FINISHED.get(done.reason, "ended")
    return Explanation(State.FINISHED, (reason(code, raw=done.message, since=done.since),))


_FINISHED: Final = {
    "Succeeded": "succeeded",
    "Failed": "failed",
    "OutOfSync": "out_of_sync",
    "FailedToStart": "failed_to_start",
    "WorkloadSliceReplaced": "replaced",
    "OwnerNotFound": "owner_gone",
}


def deleted_rule(facts: Facts) -> Explanation | None:
    """A workload that is being deleted, whatever else it says."""
    since = facts.workload.deleted
    if since is None:
        return None
    state = State.STOPPING if facts.workload.reserved else State.GONE
    return Explanation(state, (reason("deleted", since=since),))


def deactivated_rule(facts: Facts) -> Explanation | None:
    """A workload that is switched off: its old message may still speak of quota."""
    target = facts.condition("DeactivationTarget")
    if not facts.workload.deactivated and not _is_target(facts, target):
        return None
    evicted = facts.condition("Evicted")
    cause = evicted.reason.removeprefix("DeactivatedDueTo") if evicted.true else target.reason
    code = _DEACTIVATED.get(cause, "deactivated")
    said = evicted if evicted.true else target
    found = reason(
        code,
        params=_refusal(facts, said) if code == "check_rejected" else {},
        never=True,
        raw=said.message,
        since=said.since or facts.workload.created,
    )
    return Explanation(State.DEACTIVATED, (found, *_left_behind(facts)))


_DEACTIVATED: Final = {
    "AdmissionCheck": "check_rejected",
    "RequeuingLimitExceeded": "too_many_retries",
    "MaximumExecutionTimeExceeded": "time_limit",
}


def _is_target(facts: Facts, target: Condition) -> bool:
    """The mark may stay for ever: one that is older than the present place is history."""
    if not (target.true and facts.workload.reserved):
        return False
    reserved = facts.condition("QuotaReserved").since
    return reserved is None or target.since is None or reserved <= target.since


_REFUSED: Final = (
    re.compile(r'in Rejected state: "(?P<check>[^"]*)"(?: \((?P<message>.*)\))?', re.DOTALL),
    re.compile(r"AdmissionCheck for (?P<check>\S+) was Rejected: (?P<message>.*)", re.DOTALL),
    re.compile(r"Admission check\(s\): (?P<check>[^\s,]+)"),
)


def _refusal(facts: Facts, said: Condition) -> dict[str, str]:
    """Return which check refused and its own words.

    They stand at the check for a fifth of a second only, then in an event, from 0.18 on in the
    text of the eviction too.
    """
    found = check_params(facts, ("Rejected",))
    notes = [said.message]
    notes += [each.note for each in facts.events if each.reason == "AdmissionCheckRejected"]
    for note in notes:
        for pattern in _REFUSED:
            told = pattern.search(note)
            if told:
                found = {key: value for key, value in told.groupdict().items() if value} | found
    kept = facts.kept.get(found.get("check", ""))
    return found | {"message": kept} if kept and "message" not in found else found


def stopping_rule(facts: Facts) -> Explanation | None:
    """A workload that was told to stop and still holds its quota."""
    evicted = facts.condition("Evicted")
    if not (evicted.true and facts.workload.reserved):
        return None
    found = evicted_reason(facts, evicted)
    return Explanation(State.STOPPING, (found,), preempted=facts.workload.preempted)


def evicted_reason(facts: Facts, evicted: Condition) -> Reason:
    """Say why a workload lost its place."""
    if evicted.reason == "Preempted":
        return preempted_reason(facts)
    code = EVICTED.get(evicted.reason, "evicted")
    texts = (each for each in pending_texts.read(evicted.message).reasons if each.code == code)
    params = dict(next((each.params for each in texts), {}))
    if code == "check_retry":
        params |= check_params(facts, ("Retry",))
    return reason(code, params=params, raw=evicted.message, since=evicted.since)


EVICTED: Final = {
    "PodsReadyTimeout": "pods_ready_timeout",
    "AdmissionCheck": "check_retry",
    "ClusterQueueStopped": "queue_drained",
    "LocalQueueStopped": "entry_drained",
    "NodeFailures": "node_failed",
    "FlavorMigration": "flavor_migration",
    "EvictedOnManagerCluster": "remote_evicted",
}


def _left_behind(facts: Facts) -> tuple[Reason, ...]:
    """Return that pods are still there although the quota was given back."""
    left = None if facts.pods is None else still_stopping(facts.pods)
    return (left,) if left else ()
