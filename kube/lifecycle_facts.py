"""What of a Workload matters for the history of its places: conditions, and what it holds."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from kube.catalog import CPU, MEMORY
from kube.lenient import amount, items, mapping, moment, text, whole
from kube.pod_requests import pod_sets
from kube.workload_facts import NO_CONDITION, Condition, read_conditions

#: Flavor, resource, amount in the smallest unit.
Held = tuple[tuple[str, str, int], ...]
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Sight(NamedTuple):
    """One Workload at one moment. ``counted`` are Kueue's own counters of its evictions."""

    uid: str
    namespace: str
    name: str
    job_kind: str
    job_name: str
    job_uid: str
    entry: str
    priority_class: str
    priority: int
    created: datetime
    deleting: datetime | None
    version: str
    active: bool
    orphaned: bool
    queue: str
    held: Held
    conditions: Mapping[str, Condition]
    checks: tuple[tuple[str, str, str, datetime | None], ...]
    counted: tuple[tuple[str, str, int], ...]
    past_seconds: int | None
    requeue_at: str
    reclaimable: tuple[tuple[str, int], ...]
    body: Mapping[str, Any]

    def condition(self, name: str) -> Condition:
        """Return a condition, an empty one if it is not there."""
        return self.conditions.get(name, NO_CONDITION)

    @property
    def evictions(self) -> int:
        """Return how often Kueue has counted an eviction."""
        return sum(number for _, _, number in self.counted)


def read_sight(workload: Mapping[str, Any]) -> Sight:
    """Read a Workload (v1beta2); what is missing or of another type reads as nothing."""
    meta = mapping(workload, "metadata")
    spec = mapping(workload, "spec")
    status = mapping(workload, "status")
    owner = _owner(meta)
    counts = {
        text(each, "name"): max(0, whole(each.get("count")))
        for each in items(status, "reclaimablePods")
    }
    admission = mapping(status, "admission")
    return Sight(
        uid=text(meta, "uid"),
        namespace=text(meta, "namespace"),
        name=text(meta, "name"),
        job_kind=text(owner, "kind"),
        job_name=text(owner, "name") or text(meta, "name"),
        job_uid=text(owner, "uid"),
        entry=text(spec, "queueName"),
        priority_class=text(spec, "priorityClassRef", "name"),
        priority=whole(spec.get("priority")),
        created=moment(meta.get("creationTimestamp")) or _EPOCH,
        deleting=moment(meta.get("deletionTimestamp")),
        version=text(meta, "resourceVersion"),
        active=spec.get("active") is not False,
        orphaned=not owner,
        queue=text(admission, "clusterQueue"),
        held=held(admission, counts),
        conditions=read_conditions(workload),
        checks=_checks(status),
        counted=_counted(status),
        past_seconds=_past(status.get("accumulatedPastExecutionTimeSeconds")),
        requeue_at=text(status, "requeueState", "requeueAt"),
        reclaimable=tuple(sorted((name, count) for name, count in counts.items() if count)),
        body=workload,
    )


def is_device(resource: str) -> bool:
    """Return whether a resource is an extended one, such as a GPU."""
    return "/" in resource and not resource.startswith("kubernetes.io/")


def devices(held: Held) -> int:
    """Return the devices among what is held."""
    return sum(number for _, resource, number in held if is_device(resource))


def held(admission: Mapping[str, Any], reclaimable: Mapping[str, int]) -> Held:
    """Return what an admission holds, less the pods that are done, in a stable order.

    Kueue counts a pod set as its usage by the pods that are left; the admission itself is not
    changed when pods are done.
    """
    total: dict[tuple[str, str], int] = {}
    for each in items(admission, "podSetAssignments"):
        count = max(0, whole(each.get("count"), 1))
        left = max(0, count - reclaimable.get(text(each, "name"), 0))
        flavors = mapping(each, "flavors")
        for resource, usage in mapping(each, "resourceUsage").items():
            if not (is_device(resource) or resource in (CPU, MEMORY)):
                continue
            number = amount(resource, usage)
            if left != count:
                number = number // count * left
            key = (text(flavors, resource), resource)
            total[key] = total.get(key, 0) + max(0, number)
    return tuple((*key, number) for key, number in sorted(total.items()) if number)


def full(sight: Sight) -> Held:
    """Return what the attempt held at first, before any pod was done."""
    if not sight.reclaimable:
        return sight.held
    return held(mapping(sight.body, "status", "admission"), {})


def asked(sight: Sight) -> Held:
    """Return what the pods ask for, with an unknown flavor: what an unseen run has held."""
    total: dict[str, int] = {}
    for pod_set in pod_sets(sight.body):
        for resource, number in pod_set.requests.items():
            if is_device(resource) or resource in (CPU, MEMORY):
                total[resource] = total.get(resource, 0) + number
    return tuple(("", resource, number) for resource, number in sorted(total.items()) if number)


def _owner(meta: Mapping[str, Any]) -> Mapping[str, Any]:
    owners = items(meta, "ownerReferences")
    return next((each for each in owners if each.get("controller")), owners[0] if owners else {})


def _past(value: object) -> int | None:
    return None if value is None else max(0, whole(value))


def _checks(
    status: Mapping[str, Any],
) -> tuple[tuple[str, str, str, datetime | None], ...]:
    return tuple(
        (
            text(each, "name"),
            text(each, "state"),
            text(each, "message"),
            moment(each.get("lastTransitionTime")),
        )
        for each in items(status, "admissionChecks")
    )


def _counted(status: Mapping[str, Any]) -> tuple[tuple[str, str, int], ...]:
    return tuple(
        (text(each, "reason"), text(each, "underlyingCause"), max(0, whole(each.get("count"))))
        for each in items(status, "schedulingStats", "evictions")
    )
