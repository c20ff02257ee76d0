"""The pods of a cluster that hold devices or belong to a workload: a small record each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from kube.job_kinds import controller, devices_of_pod
from kube.lenient import items, mapping, text
from queues.services.observed import Object

WORKLOAD: Final = "kueue.x-k8s.io/workload"
GROUP: Final = "kueue.x-k8s.io/pod-group-name"
#: With one of these Kueue looks after the pod.
LABELS: Final = (
    "kueue.x-k8s.io/managed", "kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/podset",
)  # fmt: skip
NODES_NAMED: Final = 16
OVER: Final = ("Succeeded", "Failed")
NOTHING: Final[frozenset[str]] = frozenset()


class PodRecord(msgspec.Struct, gc=False):
    """One pod. ``place`` says whose it is: a workload's name, or the uid of a job or itself."""

    place: str
    packed: bytes
    mark: int


class WorkloadPods:
    """All pods by uid, and by the workload that they belong to."""

    def __init__(self) -> None:
        """Know nothing; ``complete`` as soon as a list was read."""
        self.by_uid: dict[str, PodRecord] = {}
        self.complete = False
        self.mark = 0
        self._of: dict[str, set[str]] = {}
        self._encode = msgspec.msgpack.Encoder().encode
        self._decode = msgspec.msgpack.Decoder().decode

    def take(self, change: str, item: Object) -> str:
        """Take one change in; return the place of the pod."""
        uid, place = str(item["metadata"]["uid"]), place_of(item)
        record = self.by_uid.get(uid)
        if change == "DELETED":
            self.forget(uid)
            return record.place if record else place
        packed = self._encode(_trimmed(item))
        if record is not None and record.place == place:
            record.packed, record.mark = packed, self.mark
            return place
        self.forget(uid)
        self.by_uid[uid] = PodRecord(place, packed, self.mark)
        self._of.setdefault(place, set()).add(uid)
        return place

    def forget(self, uid: str) -> str:
        """Drop a pod; return its place, or nothing when it was not known."""
        record = self.by_uid.pop(uid, None)
        if record is None:
            return ""
        here = self._of[record.place]
        here.discard(uid)
        if not here:
            del self._of[record.place]
        return record.place

    def end(self) -> list[str]:
        """Drop what a complete list did not hold; return the places of these pods."""
        self.complete = True
        gone = [uid for uid, record in self.by_uid.items() if record.mark < self.mark]
        return [self.forget(uid) for uid in gone]

    def uids(self, namespace: str, name: str, job_uid: str) -> Iterator[str]:
        """Yield the uids of a workload's pods."""
        yield from self._of.get(f"{namespace}/{name}", NOTHING)
        yield from self._of.get(job_uid, NOTHING) if job_uid else NOTHING

    def of(self, namespace: str, name: str, job_uid: str) -> list[Object]:
        """Return the pods of a workload, as far as explanations read them."""
        found = self.uids(namespace, name, job_uid)
        return [self._decode(self.by_uid[uid].packed) for uid in found]


def is_followed(item: Object) -> bool:
    """Return whether a pod matters: it asks for devices, or Kueue looks after it."""
    meta = mapping(item, "metadata")
    labels = mapping(meta, "labels")
    if any(each in labels for each in LABELS) or text(meta, "annotations", WORKLOAD):
        return True
    return devices_of_pod(mapping(item, "spec")) > 0


def place_of(item: Object) -> str:
    """Return whose a pod is: ``namespace/workload``, else the uid of its controller or its own."""
    meta = mapping(item, "metadata")
    name = text(meta, "annotations", WORKLOAD) or text(meta, "labels", GROUP)
    if name:
        return f"{text(meta, 'namespace')}/{name}"
    owner = controller(item)
    return owner[2] if owner else text(meta, "uid")


def summary(pods: Iterable[Object]) -> dict[str, Any]:
    """Return how the pods of a workload are, by number, and on which nodes they run."""
    pods = [each for each in pods if text(each, "status", "phase") not in OVER]
    if not pods:
        return {}
    phases = Counter(text(each, "status", "phase") or "Pending" for each in pods)
    nodes = sorted({text(each, "spec", "nodeName") for each in pods} - {""})
    found: dict[str, Any] = {
        "all": len(pods),
        **{key.lower(): phases[key] for key in sorted(phases)},
    }
    leaving = sum(bool(text(each, "metadata", "deletionTimestamp")) for each in pods)
    if leaving:
        found["leaving"] = leaving
    if nodes:
        found |= {"nodes": nodes[:NODES_NAMED], "node_count": len(nodes)}
    return found


def _trimmed(item: Object) -> dict[str, Any]:
    """Return what explanations read of a pod; of one that runs well there is little to say."""
    meta, spec, status = mapping(item, "metadata"), mapping(item, "spec"), mapping(item, "status")
    kept = {"name": text(meta, "name"), "deletionTimestamp": text(meta, "deletionTimestamp")}
    found: dict[str, Any] = {
        "metadata": {key: value for key, value in kept.items() if value},
        "spec": {"nodeName": text(spec, "nodeName")},
        "status": {"phase": text(status, "phase")},
    }
    if found["status"]["phase"] == "Running" and _well(status):
        return found
    found["spec"]["schedulingGates"] = spec.get("schedulingGates")
    found["status"] = dict(status)
    return found


def _well(status: Any) -> bool:
    conditions = {text(each, "type"): text(each, "status") for each in items(status, "conditions")}
    states = [
        mapping(each, "state")
        for key in ("initContainerStatuses", "containerStatuses")
        for each in items(status, key)
    ]
    odd = any(
        "waiting" in state or mapping(state, "terminated").get("exitCode") for state in states
    )
    return conditions.get("Ready", "True") == "True" and not odd
