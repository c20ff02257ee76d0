"""What of a Workload matters for the history of its places: conditions, and what it holds.

Every Workload of a cluster passes here, tens of thousands at a start, so reading is direct:
no objects but those that are kept, and a time that many share is parsed once.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final, NamedTuple

from kube.catalog import CPU, MEMORY
from kube.lenient import amount, items, mapping, moment, text, whole
from kube.pod_requests import pod_sets

#: Flavor, resource, amount in the smallest unit.
Held = tuple[tuple[str, str, int], ...]
NOTHING: Final[dict[str, Any]] = {}
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Flip(NamedTuple):
    """A condition since its last flip. ``texts`` and ``told`` belong to the time line."""

    status: str = ""
    reason: str = ""
    message: str = ""
    since: datetime | None = None
    texts: tuple[int, ...] = ()
    told: bool = False

    @property
    def true(self) -> bool:
        """Return whether it holds now."""
        return self.status == "True"

    @property
    def false(self) -> bool:
        """Return whether it was said not to hold; a missing condition says nothing."""
        return self.status == "False"


NO_FLIP: Final = Flip()
Flips = Mapping[str, Flip]


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
    conditions: Flips
    counted: tuple[tuple[str, str, int], ...]
    past_seconds: int | None
    reclaimable: tuple[tuple[str, int], ...]
    body: Mapping[str, Any]

    def condition(self, name: str) -> Flip:
        """Return a condition, an empty one if it is not there."""
        return self.conditions.get(name, NO_FLIP)

    @property
    def evictions(self) -> int:
        """Return how often Kueue has counted an eviction."""
        return sum(number for _, _, number in self.counted)


def read_sight(workload: Mapping[str, Any]) -> Sight:
    """Read a Workload (v1beta2); what is missing or of another type reads as nothing."""
    meta, spec, status = (
        _part(workload, "metadata"), _part(workload, "spec"), _part(workload, "status")
    )  # fmt: skip
    owner = _owner(meta)
    name, admission = _text(meta, "name"), _part(status, "admission")
    done = _done(status) if "reclaimablePods" in status else ()
    # Kueue takes what is switched off out of its sums at once, long before its pods have stopped.
    active = spec.get("active") is not False
    return Sight(
        _text(meta, "uid"),
        _text(meta, "namespace"),
        name,
        _text(owner, "kind"),
        _text(owner, "name") or name,
        _text(owner, "uid"),
        _text(spec, "queueName"),
        _text(_part(spec, "priorityClassRef"), "name"),
        whole(spec.get("priority")),
        moment(meta.get("creationTimestamp")) or _EPOCH,
        moment(meta.get("deletionTimestamp")),
        _text(meta, "resourceVersion"),
        active,
        not owner,
        _text(admission, "clusterQueue"),
        held(admission, dict(done)) if admission and active else (),
        _flips(status.get("conditions")),
        _counted(status) if "schedulingStats" in status else (),
        _past(status.get("accumulatedPastExecutionTimeSeconds")),
        done,
        workload,
    )


def _part(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = value.get(key)
    return found if isinstance(found, dict) else NOTHING


def _text(value: Mapping[str, Any], key: str) -> str:
    found = value.get(key)
    return found if isinstance(found, str) else ""


def _flips(conditions: object) -> dict[str, Flip]:
    if not isinstance(conditions, list):
        return {}
    return {
        _text(each, "type")[:128]: Flip(
            _text(each, "status"),
            _text(each, "reason"),
            _text(each, "message"),
            moment(each.get("lastTransitionTime")),
        )
        for each in conditions
        if isinstance(each, dict)
    }


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
            number = _amount(resource, usage) if isinstance(usage, str) else amount(resource, usage)
            if left != count:
                number = number // count * left
            key = (text(flavors, resource), resource)
            total[key] = total.get(key, 0) + max(0, number)
    return tuple((*key, number) for key, number in sorted(total.items()) if number)


def full(sight: Sight) -> Held:
    """Return what the attempt held at first: before any pod was done, or it was switched off."""
    if sight.active and not sight.reclaimable:
        return sight.held
    return held(mapping(sight.body, "status", "admission"), {})


@lru_cache(maxsize=4096)
def _amount(resource: str, usage: str) -> int:
    return amount(resource, usage)


def asked(sight: Sight) -> Held:
    """Return what the pods ask for, with an unknown flavor: what an unseen run has held."""
    total: dict[str, int] = {}
    for pod_set in pod_sets(sight.body):
        for resource, number in pod_set.requests.items():
            if is_device(resource) or resource in (CPU, MEMORY):
                total[resource] = total.get(resource, 0) + number
    return tuple(("", resource, number) for resource, number in sorted(total.items()) if number)


def _owner(meta: Mapping[str, Any]) -> Mapping[str, Any]:
    owners = meta.get("ownerReferences")
    if not isinstance(owners, list) or not owners:
        return NOTHING
    found = [each for each in owners if isinstance(each, dict)]
    return next((each for each in found if each.get("controller")), found[0] if found else NOTHING)


def _done(status: Mapping[str, Any]) -> tuple[tuple[str, int], ...]:
    """Return how many pods of each set are done and count no longer."""
    found = ((text(x, "name"), whole(x.get("count"))) for x in items(status, "reclaimablePods"))
    return tuple(sorted((name, count) for name, count in found if count > 0))


def _past(value: object) -> int | None:
    return None if value is None else max(0, whole(value))


def _counted(status: Mapping[str, Any]) -> tuple[tuple[str, str, int], ...]:
    return tuple(
        (text(each, "reason"), text(each, "underlyingCause"), max(0, whole(each.get("count"))))
        for each in items(status, "schedulingStats", "evictions")
    )
