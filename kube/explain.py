"""Why a workload is where it is: facts, no sentences. Pure.

``explain`` walks an ordered list of rules; the first that has an answer decides. The order is
the point: what a person switched off, a stopped queue or an eviction in progress explain a
workload better than its last message, which Kueue does not rewrite in those cases. Conditions
stay after their time; only their present status counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Final

from kube import pending_texts
from kube.explain_routing import entry_rule, queue_rule
from kube.pending_texts import Reason, Stage
from kube.pod_facts import pods_reason
from kube.workload_facts import (
    Condition,
    Explanation,
    Facts,
    Object,
    State,
    created,
    preempted,
    preempted_params,
    read_conditions,
    read_time,
    requeue_at,
)

__all__ = ["Explanation", "Reason", "Stage", "State", "explain"]

Rule = Callable[[Facts], Explanation | None]


def explain(
    workload: Object,
    *,
    local_queue: Object | None = None,
    cluster_queue: Object | None = None,
    pods: Iterable[Object] | None = None,
) -> Explanation:
    """Say what a workload does and why; ``None`` for a queue means that it is not known."""
    facts = Facts(
        workload=workload,
        local_queue=local_queue,
        cluster_queue=cluster_queue,
        pods=None if pods is None else tuple(pods),
        conditions=read_conditions(workload),
    )
    for rule in RULES:
        found = rule(facts)
        if found is not None:
            return found
    return _not_looked_at(facts)


# --- the end of a workload ------------------------------------------------------------------


def _finished(facts: Facts) -> Explanation | None:
    done = facts.condition("Finished")
    if not done.true:
        return None
    code = _FINISHED.get(done.reason, "ended")
    return Explanation(State.FINISHED, None, code, raw=done.message, since=done.since)


_FINISHED: Final = {
    "Succeeded": "succeeded",
    "Failed": "failed",
    "OutOfSync": "out_of_sync",
    "FailedToStart": "failed_to_start",
    "WorkloadSliceReplaced": "replaced",
    "OwnerNotFound": "owner_gone",
}


def _deleted(facts: Facts) -> Explanation | None:
    since = read_time(facts.workload.get("metadata", {}).get("deletionTimestamp"))
    if since is None:
        return None
    state = State.STOPPING if facts.reserved else State.GONE
    return Explanation(state, None, "deleted", since=since)


def _deactivated(facts: Facts) -> Explanation | None:
    target = facts.condition("DeactivationTarget")
    if not facts.deactivated and not (target.true and facts.reserved):
        return None
    evicted = facts.condition("Evicted")
    cause = evicted.reason.removeprefix("DeactivatedDueTo") if evicted.true else target.reason
    code = _DEACTIVATED.get(cause, "deactivated")
    params = _check_params(facts, ("Rejected",)) if code == "check_rejected" else {}
    said = evicted if evicted.true else target
    return Explanation(
        State.DEACTIVATED, None, code, params, said.message, said.since or created(facts)
    )


_DEACTIVATED: Final = {
    "AdmissionCheck": "check_rejected",
    "RequeuingLimitExceeded": "too_many_retries",
    "MaximumExecutionTimeExceeded": "time_limit",
}


def _being_stopped(facts: Facts) -> Explanation | None:
    evicted = facts.condition("Evicted")
    if not (evicted.true and facts.reserved):
        return None
    stage, code = _EVICTED.get(evicted.reason, (None, "evicted"))
    return Explanation(
        state=State.STOPPING,
        stage=stage,
        code=code,
        params=preempted_params(facts),
        raw=evicted.message,
        since=evicted.since,
        preempted=preempted(facts),
    )


_EVICTED: Final[Mapping[str, tuple[Stage | None, str]]] = {
    "Preempted": (Stage.QUOTA, "preempted"),
    "PodsReadyTimeout": (Stage.PODS, "pods_ready_timeout"),
    "AdmissionCheck": (Stage.CHECK, "check_retry"),
    "ClusterQueueStopped": (Stage.ROUTING, "queue_drained"),
    "LocalQueueStopped": (Stage.ROUTING, "entry_drained"),
    "NodeFailures": (Stage.PODS, "node_failed"),
    "FlavorMigration": (Stage.QUOTA, "flavor_migration"),
}


# --- admitted -------------------------------------------------------------------------------


def _admitted(facts: Facts) -> Explanation | None:
    admitted = facts.condition("Admitted")
    if not (facts.reserved and admitted.true):
        return None
    unhealthy = facts.status.get("unhealthyNodes") or ()
    if unhealthy:
        names = ", ".join(str(each.get("name", "")) for each in unhealthy)
        return Explanation(
            State.RUNNING, Stage.PODS, "node_unhealthy", {"nodes": names}, since=admitted.since
        )
    return _pods(facts, admitted) or _ready(facts, admitted)


def _pods(facts: Facts, admitted: Condition) -> Explanation | None:
    """Judge by the pods themselves when they are known."""
    if facts.pods is None or _orphaned(facts):
        return None
    reason, message = pods_reason(facts.pods)
    if reason is None:
        return None
    ready = facts.condition("PodsReady")
    since = ready.since if ready.false else admitted.since
    return Explanation(
        State.STARTING, Stage.PODS, reason.code, reason.params, message, since, reasons=(reason,)
    )


def _ready(facts: Facts, admitted: Condition) -> Explanation:
    ready = facts.condition("PodsReady")
    if ready.false:
        lost = ready.reason == "WaitForRecovery"
        return Explanation(
            State.RUNNING if lost else State.STARTING,
            Stage.PODS,
            "pods_recovering" if lost else "pods_starting",
            raw=ready.message,
            since=ready.since,
        )
    code = "orphaned" if _orphaned(facts) else "running"
    return Explanation(State.RUNNING, None, code, raw=admitted.message, since=admitted.since)


def _orphaned(facts: Facts) -> bool:
    """Return whether no job owns the workload: then nothing will ever end it."""
    return not facts.workload.get("metadata", {}).get("ownerReferences")


# --- quota reserved, not admitted ---------------------------------------------------------------


def _waits_for_check(facts: Facts) -> Explanation | None:
    if not facts.reserved:
        return None
    reserved, admitted = facts.condition("QuotaReserved"), facts.condition("Admitted")
    if admitted.reason == "PendingDelayedTopologyRequests":
        return Explanation(
            State.WAITING, Stage.TOPOLOGY, "topology_delayed", raw=admitted.message,
            since=admitted.since,
        )  # fmt: skip
    for state, code in (("Rejected", "check_rejected"), ("Retry", "check_retry")):
        params = _check_params(facts, (state,))
        if params:
            return _check(code, params, reserved.since)
    params = _check_params(facts, ("Pending", ""))
    return _check("check_pending", params, reserved.since) if params else _check(
        "admission_pending", {}, reserved.since
    )  # fmt: skip


def _check(code: str, params: dict[str, str], since: datetime | None) -> Explanation:
    return Explanation(State.WAITING, Stage.CHECK, code, params, params.get("message", ""), since)


def _check_params(facts: Facts, states: tuple[str, ...]) -> dict[str, str]:
    """Return the first admission check in one of these states, and how many there are."""
    checks = [each for each in facts.status.get("admissionChecks") or () if each]
    found = [each for each in checks if str(each.get("state", "")) in states]
    if not found:
        return {}
    params = {
        "check": str(found[0].get("name", "")),
        "message": str(found[0].get("message", "")),
        "open": str(sum(each.get("state") != "Ready" for each in checks)),
        "requeue_at": requeue_at(facts),
    }
    return {key: value for key, value in params.items() if value}


# --- no quota: turn, size and shape -----------------------------------------------------------------


def _backs_off(facts: Facts) -> Explanation | None:
    """A workload that may not be looked at yet, whatever its message says."""
    requeued, at = facts.condition("Requeued"), requeue_at(facts)
    if not requeued.false and not at:
        return None
    evicted = facts.condition("Evicted")
    cause = requeued.reason if requeued.false else evicted.reason
    stage, code = _EVICTED.get(cause, (Stage.ORDER, "back_off"))
    count = str((facts.status.get("requeueState") or {}).get("count", ""))
    params = {"requeue_at": at, "count": count}
    said = evicted if evicted.true else requeued
    return Explanation(
        state=State.WAITING,
        stage=stage,
        code=code,
        params={key: value for key, value in params.items() if value},
        raw=said.message or requeued.message,
        since=requeued.since or said.since,
        preempted=preempted(facts),
    )


def _message(facts: Facts) -> Explanation | None:
    """Read the scheduler's own words."""
    said = facts.condition("QuotaReserved")
    if not said.false:
        return None
    text = pending_texts.read(said.message)
    reasons = in_order(text.reasons, facts.cluster_queue)
    first = reasons[0]
    params = dict(first.params)
    if text.preempting:
        params["preempting"] = str(text.preempting)
    return Explanation(
        state=State.WAITING,
        stage=first.stage,
        code=first.code,
        params=params | preempted_params(facts),
        raw=said.message,
        since=said.since or created(facts),
        never=first.never and not text.preempting,
        preempted=preempted(facts),
        preempting=bool(text.preempting),
        reasons=reasons,
    )


def _not_looked_at(facts: Facts) -> Explanation:
    return Explanation(
        State.WAITING, Stage.ORDER, "not_looked_at", since=created(facts),
        preempted=preempted(facts),
    )  # fmt: skip


#: From mild to grave. Any flavor with a mild reason can still take the job.
_GRAVITY: Final = ("topology_too_small", "quota_short", "max_capacity")


def in_order(reasons: tuple[Reason, ...], cluster_queue: Object | None) -> tuple[Reason, ...]:
    """Put the deciding reason first.

    Flavors of one group are alternatives, so the mildest of them counts; pod sets and groups
    are all needed, so the gravest of those decides.
    """
    groups: dict[tuple[str, str], list[Reason]] = {}
    of_flavor = _flavor_groups(cluster_queue)
    for reason in reasons:
        flavor = reason.params.get("flavor", "")
        key = reason.params.get("pod_set", ""), of_flavor.get(flavor, "" if flavor else reason.code)
        groups.setdefault(key, []).append(reason)
    mildest = [min(group, key=_gravity) for group in groups.values()]
    first = max(mildest, key=_gravity)
    return (first, *(reason for reason in reasons if reason is not first))


def _gravity(reason: Reason) -> int:
    return _GRAVITY.index(reason.code) if reason.code in _GRAVITY else len(_GRAVITY)


def _flavor_groups(cluster_queue: Object | None) -> dict[str, str]:
    groups = ((cluster_queue or {}).get("spec") or {}).get("resourceGroups") or ()
    return {
        str(flavor.get("name")): str(number)
        for number, group in enumerate(groups)
        for flavor in group.get("flavors") or ()
    }


#: The order of judgement; the first rule that answers decides.
RULES: Final[tuple[Rule, ...]] = (
    _finished,
    _deleted,
    _deactivated,
    _being_stopped,
    _admitted,
    _waits_for_check,
    entry_rule,
    queue_rule,
    _backs_off,
    _message,
)
