"""A workload as explain reads it: its conditions, its queues, its pods, and the result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final

from kube.pending_texts import Reason, Stage

Object = Mapping[str, Any]


class State(StrEnum):
    """What a workload does at the moment."""

    WAITING = "waiting"
    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"
    FINISHED = "finished"
    DEACTIVATED = "deactivated"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class Explanation:
    """The state of a workload and its first reason; ``raw`` is the cluster's own text.

    ``never``: as things are set up, waiting alone will not help. ``reasons`` holds all reasons,
    the deciding one first. ``raw`` may name other tenants' workloads and paths.
    """

    state: State
    stage: Stage | None
    code: str
    params: Mapping[str, str] = field(default_factory=dict)
    raw: str = ""
    since: datetime | None = None
    never: bool = False
    preempted: bool = False
    preempting: bool = False
    reasons: tuple[Reason, ...] = ()


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition of a status, as far as it is read."""

    status: str = ""
    reason: str = ""
    message: str = ""
    since: datetime | None = None

    @property
    def true(self) -> bool:
        """Return whether it holds now."""
        return self.status == "True"

    @property
    def false(self) -> bool:
        """Return whether it was said not to hold; a missing condition says nothing."""
        return self.status == "False"


NO_CONDITION: Final = Condition()


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything that the rules look at."""

    workload: Object
    local_queue: Object | None
    cluster_queue: Object | None
    pods: tuple[Object, ...] | None
    conditions: Mapping[str, Condition]

    def condition(self, name: str) -> Condition:
        """Return a condition of the workload, an empty one if it is not there."""
        return self.conditions.get(name, NO_CONDITION)

    @property
    def status(self) -> Object:
        """Return the workload's status."""
        found: Object = self.workload.get("status") or {}
        return found

    @property
    def reserved(self) -> bool:
        """Return whether the workload holds quota now."""
        return self.condition("QuotaReserved").true

    @property
    def deactivated(self) -> bool:
        """Return whether somebody, or Kueue, has switched the workload off."""
        return (self.workload.get("spec") or {}).get("active") is False


def read_conditions(item: Object) -> dict[str, Condition]:
    """Return an object's conditions by type; their order in the list means nothing."""
    status = item.get("status") or {}
    return {
        str(each.get("type")): Condition(
            status=str(each.get("status", "")),
            reason=str(each.get("reason", "")),
            message=str(each.get("message", "")),
            since=read_time(each.get("lastTransitionTime")),
        )
        for each in status.get("conditions") or ()
        if isinstance(each, Mapping)
    }


def read_time(text: object) -> datetime | None:
    """Return a Kubernetes time, or ``None`` for anything else."""
    try:
        return datetime.fromisoformat(str(text)).astimezone(UTC) if text else None
    except ValueError:
        return None


def created(facts: Facts) -> datetime | None:
    """Return when the workload came."""
    return read_time(facts.workload.get("metadata", {}).get("creationTimestamp"))


def requeue_at(facts: Facts) -> str:
    """Return until when Kueue will not look at the workload again, as text."""
    return str((facts.status.get("requeueState") or {}).get("requeueAt") or "")


def preempted(facts: Facts) -> bool:
    """Return whether the workload has lost its place to another and has not got it back."""
    evicted = facts.condition("Evicted")
    return facts.condition("Preempted").true or (evicted.true and evicted.reason == "Preempted")


def preempted_params(facts: Facts) -> dict[str, str]:
    """Return why the workload lost its place, as one word."""
    why = facts.condition("Preempted")
    return {"preempted_because": _WHY.get(why.reason, "unknown")} if why.true else {}


_WHY: Final = {
    "InClusterQueue": "priority",
    "InCohortReclamation": "reclaimed",
    "InCohortFairSharing": "fair_sharing",
    "InCohortReclaimWhileBorrowing": "reclaimed_while_borrowing",
}
