"""A cluster's side of the observer, without a cluster: what the followers would have heard."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from kube import job_kinds, kinds
from kube.queue_settings import QueueSettings
from queues.models import Stream
from queues.services import observed_rows as rows
from queues.services.memory import Memory
from queues.services.window import Window, Written

Object = dict[str, Any]
KIND = {kind.name: kind for kind in (*kinds.KINDS.values(), *job_kinds.JOB_KINDS)}
AT = "2026-11-29T12:00:00Z"


def meta(name: str, namespace: str = "", **more: Any) -> Object:
    place = {"namespace": namespace} if namespace else {}
    known = {"uid": f"uid-{namespace}-{name}", "resourceVersion": "7", "creationTimestamp": AT}
    return {"name": name, **place, **known, **more}


def workload(name: str, namespace: str = "nlp", entry: str = "main", **more: Any) -> Object:
    spec = {"queueName": entry, "priority": 100, "podSets": [pod_set()], **more.pop("spec", {})}
    owner = {"kind": "Job", "name": name, "uid": f"job-{name}", "controller": True}
    own = {"ownerReferences": [owner]} | more.pop("metadata", {})
    return {"metadata": meta(name, namespace, **own), "spec": spec, "status": more}


def pod_set(devices: int = 8) -> Object:
    container = {"name": "c", "resources": {"requests": {"nvidia.com/gpu": str(devices)}}}
    return {"name": "main", "count": 1, "template": {"spec": {"containers": [container]}}}


def condition(kind: str, status: str, reason: str, message: str = "", at: str = AT) -> Object:
    return {
        "type": kind, "status": status, "reason": reason, "message": message,
        "lastTransitionTime": at,
    }  # fmt: skip


def short(missing: int = 4) -> Object:
    text = f"insufficient unused quota for nvidia.com/gpu in flavor a100, {missing} more needed"
    message = f"couldn't assign flavors to pod set main: {text}"
    return condition("QuotaReserved", "False", "Pending", message)


def admitted(queue: str = "nlp-train") -> Object:
    assignment = {
        "name": "main", "count": 1, "flavors": {"nvidia.com/gpu": "a100"},
        "resourceUsage": {"nvidia.com/gpu": "8"},
    }  # fmt: skip
    return {
        "admission": {"clusterQueue": queue, "podSetAssignments": [assignment]},
        "conditions": [
            condition("QuotaReserved", "True", "QuotaReserved"),
            condition("Admitted", "True", "Admitted"),
        ],
    }


def entry(name: str = "main", namespace: str = "nlp", queue: str = "nlp-train") -> Object:
    return {"metadata": meta(name, namespace), "spec": {"clusterQueue": queue}}


def queue(name: str = "nlp-train", active: bool = True, **spec: Any) -> Object:
    said = condition("Active", str(active), "Ready" if active else "Stopped")
    return {"metadata": meta(name), "spec": spec, "status": {"conditions": [said]}}


class Side:
    """Tells a memory what happened, and writes windows."""

    def __init__(self, cluster: Any) -> None:
        self.cluster = cluster
        self.memory = Memory(cluster, QueueSettings())
        self.window = Window(self.memory)
        self.memory.load()

    def tell(self, kind: str, *items: Object, change: str = "ADDED") -> None:
        self.memory.take(KIND[kind], [(change, item) for item in items])

    def list(self, kind: str, *items: Object, version: str = "9") -> None:
        """A whole fresh list."""
        self.begin(kind)
        self.tell(kind, *items)
        self.memory.end(KIND[kind], version)

    def begin(self, kind: str) -> None:
        self.memory.begin(KIND[kind], rows.begun(self.cluster, kind, needed=True))

    def write(self, *, strays: bool = False) -> Written:
        return self.window.write(again=1000, strays=strays)

    def listed(self, **items: Iterable[Object]) -> Written:
        """Fresh lists of several kinds, written at once."""
        for kind, found in items.items():
            self.list(kind, *found)
        return self.write()


def stream(cluster: Any, kind: str) -> Stream:
    return Stream.objects.get(cluster=cluster, kind=kind)


def now() -> datetime:
    return datetime.now(UTC)
