"""From a cluster's objects to the rows that pages read: pure functions, no database, no network."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any, Final

import msgspec
import orjson

from kube.asked import devices_asked, is_device
from kube.catalog import CPU, MEMORY
from kube.explain import Explanation, Related, explain
from kube.lenient import amount
from kube.queue_facts import EntryFacts, QueueFacts, read_entry, read_queue
from kube.queue_order import stand
from kube.queue_settings import QueueSettings
from kube.reasons import listed
from kube.workload_facts import WorkloadFacts

Object = dict[str, Any]

DEFAULT_SETTINGS = QueueSettings()
OBJECT_KINDS = (
    "ClusterQueue", "LocalQueue", "Cohort", "ResourceFlavor", "Topology", "AdmissionCheck",
    "WorkloadPriorityClass", "Node", "Namespace", "LimitRange",
)  # fmt: skip
JOB_UID = "kueue.x-k8s.io/job-uid"

# The fields of a Workload row that are compared before a write: equal rows are not written.
WORKLOAD_FIELDS = (
    "namespace", "name", "job_kind", "job_name", "entry", "queue", "priority_class", "priority",
    "devices", "held", "state", "stage", "code", "params", "reasons", "never",
    "preempted", "preempting", "raw", "since", "created_at", "resource_version",
    "queued_at", "turn", "boost", "job_uid", "kept", "pods", "stray",
)  # fmt: skip
# A version alone is no news: most writes of Kueue change nothing that a row says.
SILENT = frozenset({"resource_version"})


def key_of(item: Mapping[str, Any]) -> tuple[str, str]:
    """Return (namespace, name); the namespace is empty for a cluster-wide object."""
    meta = item["metadata"]
    return meta.get("namespace", ""), meta["name"]


def version_of(item: Mapping[str, Any]) -> str:
    """Return the resourceVersion."""
    return str(item["metadata"].get("resourceVersion", ""))


def trim(item: Object) -> Object:
    """Drop what no reader uses and what is large: managed fields and the last-applied copy."""
    meta = item.get("metadata", {})
    meta.pop("managedFields", None)
    annotations = meta.get("annotations")
    if annotations:
        annotations.pop("kubectl.kubernetes.io/last-applied-configuration", None)
    return item


def body_of(kind: str, item: Object) -> Object:
    """Return the part of an object that is kept as a row."""
    meta = item["metadata"]
    body: Object = {
        "labels": meta.get("labels", {}),
        "created_at": meta.get("creationTimestamp"),
        "deleting": "deletionTimestamp" in meta,
    }
    if kind == "Node":
        return body | _node(item)
    if kind == "Namespace":
        return body
    if kind == "WorkloadPriorityClass":
        return body | {"value": item.get("value"), "description": item.get("description", "")}
    return body | {"spec": item.get("spec", {}), "status": item.get("status", {})}


def _node(item: Object) -> Object:
    status = item.get("status", {})
    ready = [c for c in status.get("conditions", []) if c.get("type") == "Ready"]
    return {
        "allocatable": status.get("allocatable", {}),
        "taints": item.get("spec", {}).get("taints", []),
        "unschedulable": bool(item.get("spec", {}).get("unschedulable")),
        "ready": bool(ready) and ready[0].get("status") == "True",
    }


def parse_time(text: str | None) -> datetime | None:
    """Read a Kubernetes time; ``None`` and nonsense give ``None``."""
    try:
        return datetime.fromisoformat(text).astimezone(UTC) if text else None
    except ValueError:
        return None


def held(workload: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what a Workload holds, summed by flavor and resource, in a stable order."""
    admission = workload.get("status", {}).get("admission")
    if not admission:
        return []
    total: dict[tuple[str, str], int] = {}
    for pod_set in admission.get("podSetAssignments", []):
        for resource, text in pod_set.get("resourceUsage", {}).items():
            flavor = pod_set.get("flavors", {}).get(resource, "")
            total[flavor, resource] = total.get((flavor, resource), 0) + amount(resource, text)
    return [
        {"flavor": flavor, "resource": resource, "amount": value}
        for (flavor, resource), value in sorted(total.items())
        if value and (is_device(resource) or resource in (CPU, MEMORY))
    ]


def job_uids(workload: Mapping[str, Any]) -> list[str]:
    """Return the uids of the jobs that a Workload stands for, the leading one first."""
    meta = workload["metadata"]
    label = str((meta.get("labels") or {}).get(JOB_UID) or "")
    owners: list[Any] = meta.get("ownerReferences") or []
    if label and len(owners) == 1 and owners[0].get("uid") == label:
        return [label]  # as nearly all have it, and a list of thousands is long
    uids = (str(owner.get("uid") or "") for owner in owners)
    return [uid for uid in dict.fromkeys((label, *uids)) if uid]


def encoded(values: Iterable[Any]) -> list[Any]:
    """Return values as they are written to the database: objects and lists as JSON text."""
    return [
        orjson.dumps(value).decode() if isinstance(value, (dict, list)) else value
        for value in values
    ]


#: Which of the values of a Workload row are objects and lists.
_JSON: Final = tuple(
    WORKLOAD_FIELDS.index(name) for name in ("held", "params", "reasons", "kept", "pods")
)


def encoded_row(row: Mapping[str, Any]) -> list[Any]:
    """Return the values of a Workload row as :func:`encoded` does: where JSON stands is known."""
    values = list(row.values())
    for index in _JSON:
        values[index] = orjson.dumps(values[index]).decode()
    return values


_packed = msgspec.msgpack.Encoder().encode


def digest(values: Iterable[Any]) -> int:
    """Return 63 bits that change when one of these values does; never 0."""
    held = values if isinstance(values, list) else list(values)
    try:
        said = _packed(held)
    except (TypeError, ValueError, OverflowError):
        # Half a character, or a number without end: what no form of text but Python's own takes.
        said = repr(held).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(said, digest_size=8).digest(), "big") >> 1 or 1


def _job(workload: Mapping[str, Any]) -> tuple[str, str]:
    owners = workload["metadata"].get("ownerReferences", [])
    leading = [owner for owner in owners if owner.get("controller")] or owners
    return (leading[0].get("kind", ""), leading[0].get("name", "")) if leading else ("", "")


def _meant(code: str, entries: Iterable[str]) -> dict[str, str]:
    names = listed(sorted(entries)) if code == "entry_missing" else ""
    return {"entries": names} if names else {}


def reasons_of(reading: Explanation) -> list[dict[str, Any]]:
    """Return all reasons as they are stored; the text that the row holds is not said again."""
    rows = [reason.known() for reason in reading.reasons]
    for row in rows:
        if row.get("raw") == reading.raw:
            del row["raw"]
    return rows


def read_values(reading: Explanation) -> dict[str, Any]:
    """Return the columns of a row that an explanation fills."""
    return {
        "state": str(reading.state),
        "stage": str(reading.stage or ""),
        "code": reading.code or "",
        "params": dict(reading.params),
        "reasons": reasons_of(reading),
        "never": reading.never,
        "preempted": reading.preempted,
        "preempting": reading.preempting,
        "raw": reading.raw or "",
        "since": reading.since,
    }


def workload_row(
    workload: Object | WorkloadFacts,
    local_queue: Mapping[str, Any] | EntryFacts | None,
    cluster_queue: Mapping[str, Any] | QueueFacts | None,
    entries: Iterable[str] = (),
    settings: QueueSettings = DEFAULT_SETTINGS,
    related: Related | None = None,
) -> dict[str, Any]:
    """Return the columns of a Workload row (``WORKLOAD_FIELDS``), in their order.

    ``entries`` are the LocalQueues of its namespace: what a job may have meant that names none.
    ``settings`` are those of the cluster's Kueue that change the order of a queue.
    ``workload`` may have been read before, as a queue and an entry may.
    ``related`` is whatever else is known, see :class:`kube.explain.Related`.
    """
    facts = WorkloadFacts.read(workload)
    body = facts.body
    meta, spec = body["metadata"], body.get("spec", {})
    entry, queue = read_entry(local_queue), read_queue(cluster_queue)
    known: Related = {"local_queue": entry, "cluster_queue": queue, **(related or {})}
    reading = explain(facts, **known)
    admission = body.get("status", {}).get("admission") or {}
    place = stand(
        body, entry.body if entry else None, queue.body if queue else None, settings,
        facts.conditions,
    )  # fmt: skip
    kind, name = _job(body)
    read = read_values(reading)
    read["params"] |= _meant(reading.code, entries)
    return {
        "namespace": meta.get("namespace", ""),
        "name": meta["name"],
        "job_kind": kind,
        "job_name": name or meta["name"],
        "entry": spec.get("queueName", ""),
        "queue": admission.get("clusterQueue") or (entry.queue if entry else ""),
        "priority_class": (spec.get("priorityClassRef") or {}).get("name", ""),
        "priority": int(spec.get("priority") or 0),
        "devices": facts.asked.devices if facts.asked else devices_asked(body),
        "held": held(body),
        **read,
        "created_at": parse_time(meta.get("creationTimestamp")) or datetime.now(UTC),
        "resource_version": version_of(body),
        "queued_at": place.queued_at,
        "turn": str(place.turn),
        "boost": place.boost,
        "job_uid": next(iter(job_uids(body)), "")[:64],
        "kept": {},
        "pods": {},
        "stray": False,
    }
