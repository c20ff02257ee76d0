"""A Workload as the rules read it: parsed once, typed, and never a surprise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple

from kube.asked import Asked, shape
from kube.lenient import Object, items, mapping, moment, text, whole
from kube.once import once
from kube.pod_requests import PodSet, pod_sets

#: On the second Workload of a job that grows: the one that it will replace.
REPLACES: Final = "kueue.x-k8s.io/workload-slice-replacement-for"


class Condition(NamedTuple):
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


class Check(NamedTuple):
    """One admission check of one workload."""

    name: str
    state: str
    message: str = ""
    since: datetime | None = None
    again_after: int = 0  # seconds
    retries: int = 0


@dataclass(frozen=True)
class WorkloadFacts:
    """What a Workload says about itself; conditions that no longer hold are history."""

    body: Object
    conditions: Mapping[str, Condition]
    asked: Asked | None = None

    @classmethod
    def read(cls, workload: Object | WorkloadFacts, asked: Asked | None = None) -> WorkloadFacts:
        """Read a Workload; anything that is no object reads as an empty one.

        One that was read before stays. ``asked`` is what follows from its spec, where that was
        worked out before for an equal one.
        """
        if isinstance(workload, WorkloadFacts):
            return workload
        body = mapping(workload)
        return cls(body, read_conditions(body), asked)

    def condition(self, name: str) -> Condition:
        """Return a condition, an empty one if it is not there."""
        return self.conditions.get(name, NO_CONDITION)

    @property
    def namespace(self) -> str:
        """Return the namespace of the Workload."""
        return text(self.body, "metadata", "namespace")

    @property
    def uid(self) -> str:
        """Return the uid of the Workload."""
        return text(self.body, "metadata", "uid")

    @property
    def queue_name(self) -> str:
        """Return the name of the LocalQueue that it names."""
        return text(self.body, "spec", "queueName")

    @property
    def created(self) -> datetime | None:
        """Return when it came."""
        return moment(text(self.body, "metadata", "creationTimestamp"))

    @property
    def deleted(self) -> datetime | None:
        """Return since when it is being deleted."""
        return moment(text(self.body, "metadata", "deletionTimestamp"))

    @property
    def deactivated(self) -> bool:
        """Return whether somebody, or Kueue, has switched it off."""
        return mapping(self.body, "spec").get("active") is False

    @property
    def reserved(self) -> bool:
        """Return whether it holds quota now."""
        return self.condition("QuotaReserved").true

    @property
    def orphaned(self) -> bool:
        """Return whether no job owns it: then nothing will ever end it."""
        return not items(self.body, "metadata", "ownerReferences")

    @property
    def grows_from(self) -> str:
        """Return the Workload that this one will replace when its job has grown."""
        return text(self.body, "metadata", "annotations", REPLACES)

    @property
    def unhealthy_nodes(self) -> tuple[str, ...]:
        """Return the machines under it that are not well."""
        found = items(self.body, "status", "unhealthyNodes")
        return tuple(sorted(text(each, "name") for each in found))

    @property
    def requeue_at(self) -> str:
        """Return until when Kueue will not look at it again, as text."""
        return text(self.body, "status", "requeueState", "requeueAt")

    @property
    def requeue_count(self) -> int:
        """Return how often it was put back after a failed try."""
        return whole(mapping(self.body, "status", "requeueState").get("count"))

    @property
    def delayed_topology(self) -> bool:
        """Return whether its machines are chosen only after its checks."""
        assignments = items(self.body, "status", "admission", "podSetAssignments")
        return any(text(each, "delayedTopologyRequest") == "Pending" for each in assignments)

    @once
    def checks(self) -> tuple[Check, ...]:
        """Return its admission checks, by name."""
        found = (_check(each) for each in items(self.body, "status", "admissionChecks"))
        return tuple(sorted(found, key=lambda check: (check.name, check.state)))

    @once
    def pod_sets(self) -> tuple[PodSet, ...]:
        """Return what it asks for, by pod set."""
        asked = self.as_written
        return pod_sets(self.body) if asked is None else asked.pod_sets

    @property
    def shape(self) -> str:
        """Return what two workloads must share to count as equal, besides their priority."""
        asked = self.as_written
        return shape(self.body, self.pod_sets) if asked is None else asked.shape

    @property
    def as_written(self) -> Asked | None:
        """Return what is known of its spec, unless Kueue itself has counted something else."""
        counted = mapping(self.body, "status").get("resourceRequests")
        return None if counted else self.asked

    @property
    def places(self) -> int | None:
        """Return how many pods were admitted, ``None`` without an admission."""
        assignments = items(self.body, "status", "admission", "podSetAssignments")
        return sum(whole(each.get("count"), 1) for each in assignments) if assignments else None

    @property
    def preempted(self) -> bool:
        """Return whether it lost its place to another and has not got one again."""
        evicted = self.condition("Evicted")
        return self.condition("Preempted").true or (evicted.true and evicted.reason == "Preempted")


def _check(found: Object) -> Check:
    return Check(
        name=text(found, "name"),
        state=text(found, "state"),
        message=text(found, "message"),
        since=moment(text(found, "lastTransitionTime")),
        again_after=whole(found.get("requeueAfterSeconds")),
        retries=whole(found.get("retryCount")),
    )


def read_conditions(item: Object) -> dict[str, Condition]:
    """Return an object's conditions by type; their order in the list means nothing."""
    found: dict[str, Condition] = {}
    for each in items(item, "status", "conditions"):
        # Written out: this is asked for each workload of a list of tens of thousands.
        get = each.get
        kind, status, why, said = get("type"), get("status"), get("reason"), get("message")
        found[kind if isinstance(kind, str) else ""] = Condition(
            status if isinstance(status, str) else "",
            why if isinstance(why, str) else "",
            said if isinstance(said, str) else "",
            moment(get("lastTransitionTime")),
        )
    return found


#: Read a Kubernetes time; anything else gives ``None``.
read_time = moment

__all__ = [
    "NO_CONDITION", "REPLACES", "Check", "Condition", "Object", "WorkloadFacts",
    "read_conditions", "read_time",
]  # fmt: skip
