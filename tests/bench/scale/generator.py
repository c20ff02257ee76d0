"""Queues and workloads of a large cluster, the same for the same seed.

One object of each form is made through the API server; the others are copies of what it has
stored, with names, sizes and texts of their own, written to etcd. So all of them are stored
exactly as the API server stores them, managed fields included.
"""

from __future__ import annotations

import json
import random
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.plane import ROOT, Plane

FORMAT = "3"
SIZES = (1, 1, 2, 4, 8, 8, 16, 32)
GPU = "nvidia.com/gpu"
FLAVORS = ("a100", "h100")
API = "kueue.x-k8s.io/v1beta2"
AT = "2026-11-29T12:00:00Z"

Object = dict[str, Any]


@dataclass(frozen=True)
class Shape:
    """How large the cluster is: by default as Kueue's own large test."""

    workloads: int = 50_000
    cohorts: int = 10
    queues: int = 1000
    nodes: int = 0
    seed: int = 7


def fill(plane: Plane, shape: Shape) -> None:
    """Write everything."""
    models = {name: _model(plane, body) for name, body in _models().items()}
    plane.stop("kube-apiserver")
    plane.put(_objects(shape, models))


def _model(plane: Plane, body: Object) -> Object:
    """Make one object through the API server and return what it has stored."""
    kind = body["kind"].lower()
    plural = f"{kind}s"
    place = (
        f"/namespaces/{body['metadata']['namespace']}" if "namespace" in body["metadata"] else ""
    )
    root = f"/apis/{API}{place}/{plural}"
    plane.api.request("POST", root, body)
    inside = "default/" if place else ""
    key = f"{ROOT}/{plural}/{inside}{body['metadata']['name']}"
    found = plane.stored(key)
    plane.drop(key)
    return found


# --- one of each form ---------------------------------------------------------------------------


def condition(kind: str, status: str, reason: str, message: str) -> Object:
    return {
        "type": kind, "status": status, "reason": reason, "message": message,
        "lastTransitionTime": AT, "observedGeneration": 1,
    }  # fmt: skip


WAITING = {
    "quota": "insufficient unused quota for nvidia.com/gpu in flavor a100, {size} more needed",
    "both": (
        "insufficient quota for nvidia.com/gpu in flavor a100, previously considered podsets "
        "requests (0) + current podset request ({size}) > maximum capacity (8), insufficient "
        "unused quota for nvidia.com/gpu in flavor h100, {size} more needed"
    ),
    "never": (
        "insufficient quota for nvidia.com/gpu in flavor a100, previously considered podsets "
        "requests (0) + current podset request ({size}) > maximum capacity (8)"
    ),
    "topology": (
        'topology "racks" allows to fit only {part} out of {size} pod(s). Total nodes: 120; '
        'excluded: nodeSelector: 40, resource "nvidia.com/gpu": 61, taint "spot": 19'
    ),
    "affinity": "flavor a100 doesn't match node affinity, flavor h100 doesn't match node affinity",
    "preempting": (
        "insufficient unused quota for nvidia.com/gpu in flavor a100, {size} more needed. "
        "Pending the preemption of {part} workload(s)"
    ),
}
#: How often each form comes, of a hundred.
MIX = {
    "quota": 44, "both": 10, "never": 6, "topology": 6, "affinity": 2, "preempting": 2,
    "unseen": 8, "check": 2, "running": 20,
}  # fmt: skip


def _models() -> dict[str, Object]:
    forms = {name: _workload(name, _waiting(text)) for name, text in WAITING.items()}
    forms["unseen"] = _workload("unseen", {})
    forms["check"] = _workload("check", _reserved([]) | {"admissionChecks": [_check()]})
    admitted = condition("Admitted", "True", "Admitted", "The workload is admitted")
    forms["running"] = _workload("running", _reserved([admitted]))
    forms["queue"] = {
        "apiVersion": API, "kind": "ClusterQueue", "metadata": {"name": "queue"},
        "spec": _queue_spec(), "status": _queue_status(),
    }  # fmt: skip
    forms["entry"] = {
        "apiVersion": API, "kind": "LocalQueue",
        "metadata": {"name": "entry", "namespace": "default"}, "spec": {"clusterQueue": "queue"},
    }  # fmt: skip
    forms["cohort"] = {"apiVersion": API, "kind": "Cohort", "metadata": {"name": "cohort"}}
    forms["flavor"] = {
        "apiVersion": API, "kind": "ResourceFlavor", "metadata": {"name": "flavor"},
        "spec": {"nodeLabels": {"gpu": "a100"}},
    }  # fmt: skip
    return forms


def _waiting(text: str) -> Object:
    message = f"couldn't assign flavors to pod set main: {text}"
    return {"conditions": [condition("QuotaReserved", "False", "Pending", message)]}


def _reserved(more: list[Object]) -> Object:
    said = condition("QuotaReserved", "True", "QuotaReserved", "Quota reserved in ClusterQueue q")
    assignment = {
        "name": "main", "count": 1, "flavors": dict.fromkeys(("cpu", "memory", GPU), "a100"),
        "resourceUsage": {"cpu": "96", "memory": "1Ti", GPU: "8"},
    }  # fmt: skip
    admission = {"clusterQueue": "queue", "podSetAssignments": [assignment]}
    return {"conditions": [said, *more], "admission": admission}


def _check() -> Object:
    message = "Provisioning Request wasn't provisioned. ETA: 2026-11-29T13:00:00Z"
    return {
        "name": "capacity", "state": "Pending", "message": message, "lastTransitionTime": AT
    }  # fmt: skip


def _workload(name: str, status: Object) -> Object:
    env = [{"name": f"SETTING_{n}", "value": f"/data/runs/{n}/config.yaml"} for n in range(8)]
    limits = {"cpu": "96", "memory": "1Ti", GPU: "8"}
    container = {
        "name": "main", "image": "registry.example/train:1.2.3", "env": env,
        "command": ["python", "-m", "train", "--config", "/data/config.yaml"],
        "resources": {"requests": limits, "limits": limits},
        "volumeMounts": [{"name": "data", "mountPath": "/data"}, {"name": "shm", "mountPath": "/x"}],
    }  # fmt: skip
    volumes = [
        {"name": "data", "persistentVolumeClaim": {"claimName": "data"}},
        {"name": "shm", "emptyDir": {"medium": "Memory"}},
    ]
    template = {"spec": {"containers": [container], "volumes": volumes, "restartPolicy": "Never"}}
    owner = {
        "apiVersion": "batch/v1", "kind": "Job", "name": "job", "uid": "owner", "controller": True,
        "blockOwnerDeletion": True,
    }  # fmt: skip
    return {
        "apiVersion": API, "kind": "Workload",
        "metadata": {
            "name": name, "namespace": "default", "ownerReferences": [owner],
            "labels": {"kueue.x-k8s.io/job-uid": "owner"},
            "finalizers": ["kueue.x-k8s.io/resource-in-use"],
        },
        "spec": {
            "active": True, "queueName": "entry", "priority": 0,
            "priorityClassRef": {
                "group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "normal",
            },
            "podSets": [{"name": "main", "count": 1, "template": template}],
        },
        "status": status,
    }  # fmt: skip


def _queue_spec() -> Object:
    resources = [{"name": name, "nominalQuota": "8"} for name in ("cpu", "memory", GPU)]
    flavors = [{"name": name, "resources": resources} for name in FLAVORS]
    covered = ["cpu", "memory", GPU]
    return {
        "cohortName": "cohort", "namespaceSelector": {}, "queueingStrategy": "BestEffortFIFO",
        "resourceGroups": [{"coveredResources": covered, "flavors": flavors}],
    }  # fmt: skip


def _queue_status() -> Object:
    resources = [{"name": name, "total": "8", "borrowed": "0"} for name in ("cpu", "memory", GPU)]
    used = [{"name": name, "resources": resources} for name in FLAVORS]
    active = condition("Active", "True", "Ready", "Can admit new workloads")
    return {
        "conditions": [active], "flavorsReservation": used, "flavorsUsage": used,
        "pendingWorkloads": 40, "reservingWorkloads": 10, "admittedWorkloads": 10,
    }  # fmt: skip


# --- all of them --------------------------------------------------------------------------------


def _objects(shape: Shape, models: dict[str, Object]) -> Iterator[tuple[str, bytes]]:
    source = random.Random(shape.seed)  # noqa: S311 - the same objects for the same seed
    for name in FLAVORS:
        yield _copy(models["flavor"], source, "resourceflavors", name)
    for number in range(shape.cohorts):
        yield _copy(models["cohort"], source, "cohorts", f"cohort-{number}")
    for number in range(shape.queues):
        cohort = f"cohort-{number % shape.cohorts}"
        spec = models["queue"]["spec"] | {"cohortName": cohort}
        yield _copy(models["queue"], source, "clusterqueues", f"queue-{number}", spec=spec)
        leads = {"spec": {"clusterQueue": f"queue-{number}", "stopPolicy": "None"}}
        yield _copy(models["entry"], source, "localqueues", "main", f"team-{number}", **leads)
    forms = [name for name, share in MIX.items() for _ in range(share)]
    for number in range(shape.workloads):
        form = source.choice(forms)
        yield _workload_copy(models[form], source, form, number, number % shape.queues)


def _workload_copy(
    model: Object, source: random.Random, form: str, number: int, team: int
) -> tuple[str, bytes]:
    size = source.choice(SIZES)
    text = json.dumps(model)
    text = text.replace("{size}", str(size)).replace("{part}", str(max(1, size // 2)))
    found: Object = json.loads(text)
    owner = str(uuid.UUID(int=source.getrandbits(128), version=4))
    meta = found["metadata"]
    meta["ownerReferences"][0] |= {"name": f"train-{number}", "uid": owner}
    meta["labels"]["kueue.x-k8s.io/job-uid"] = owner
    found["spec"] |= {"queueName": "main", "priority": source.choice((0, 100, 1000))}
    resources = found["spec"]["podSets"][0]["template"]["spec"]["containers"][0]["resources"]
    for part in resources.values():
        part[GPU] = str(size)
    if "admission" in found.get("status", {}):
        found["status"]["admission"]["clusterQueue"] = f"queue-{team}"
        usage = found["status"]["admission"]["podSetAssignments"][0]["resourceUsage"]
        usage[GPU] = str(size)
    return _copy(found, source, "workloads", f"job-train-{number}-{form[:3]}", f"team-{team}")


def _copy(
    model: Object, source: random.Random, plural: str, name: str, namespace: str = "", **more: Any
) -> tuple[str, bytes]:
    uid = str(uuid.UUID(int=source.getrandbits(128), version=4))
    meta = model["metadata"] | {"name": name, "uid": uid}
    if namespace:
        meta["namespace"] = namespace
    place = f"{namespace}/{name}" if namespace else name
    body = json.dumps(model | {"metadata": meta} | more, separators=(",", ":"))
    return f"{ROOT}/{plural}/{place}", body.encode() + b"\n"
