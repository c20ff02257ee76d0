"""Is there a way to the queue? The queues themselves are looked at before any message."""

from __future__ import annotations

from typing import Final

from kube.pending_texts import Stage
from kube.workload_facts import (
    NO_CONDITION,
    Condition,
    Explanation,
    Facts,
    Object,
    State,
    created,
    preempted,
    read_conditions,
)


def entry_rule(facts: Facts) -> Explanation | None:
    """Look at the LocalQueue before any message: a held one explains everything."""
    entry = facts.local_queue
    if entry is None:
        return None
    params = {"entry": str(entry.get("metadata", {}).get("name", ""))}
    spec, active = entry.get("spec") or {}, read_conditions(entry).get("Active", NO_CONDITION)
    if entry.get("metadata", {}).get("deletionTimestamp"):
        return _routing(facts, "entry_terminating", params, active)
    if _stopped(spec):
        return _routing(facts, "entry_stopped", params, active)
    if not spec.get("clusterQueue"):
        return _routing(facts, "entry_without_queue", params, active, never=True)
    if active.false and active.reason == "ClusterQueueDoesNotExist":
        params["queue"] = str(spec["clusterQueue"])
        return _routing(facts, "queue_missing", params, active)
    return None


def queue_rule(facts: Facts) -> Explanation | None:
    """Look at the ClusterQueue: jobs that waited before it was held keep their old message."""
    queue = facts.cluster_queue
    if queue is None:
        return None
    params = {"queue": str(queue.get("metadata", {}).get("name", ""))}
    active = read_conditions(queue).get("Active", NO_CONDITION)
    if queue.get("metadata", {}).get("deletionTimestamp"):
        return _routing(facts, "queue_terminating", params, active)
    if _stopped(queue.get("spec") or {}):
        return _routing(facts, "queue_stopped", params, active)
    if active.false:
        params["problem"] = active.message
        return _routing(facts, _INACTIVE.get(active.reason, "queue_inactive"), params, active)
    return None


_INACTIVE: Final = {
    "Stopped": "queue_stopped",
    "Terminating": "queue_terminating",
    "FlavorNotFound": "queue_flavor_missing",
    "AdmissionCheckNotFound": "queue_check_missing",
    "AdmissionCheckInactive": "queue_check_inactive",
    "TopologyNotFound": "queue_topology_missing",
    "CohortCycle": "cohort_cycle",
}


def _stopped(spec: Object) -> bool:
    return spec.get("stopPolicy") in ("Hold", "HoldAndDrain")


def _routing(
    facts: Facts, code: str, params: dict[str, str], active: Condition, *, never: bool = False
) -> Explanation:
    said = facts.condition("QuotaReserved")
    raw = said.message if said.reason == "Inadmissible" else active.message or said.message
    return Explanation(
        state=State.WAITING,
        stage=Stage.ROUTING,
        code=code,
        params=params,
        raw=raw,
        since=active.since or said.since or created(facts),
        never=never,
        preempted=preempted(facts),
    )
