"""Jobs that ask Kueue for GPUs and last exactly as long as they are told to."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cluster.api import Api, ApiError, Manifest
from cluster.nodes import GPU

QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
PRIORITY_LABEL = "kueue.x-k8s.io/priority-class"
KINDS = ("job", "pytorchjob", "jobset")
IMAGE = "gpuportal.io/sleep"
_STAGE = "stage.kwok.x-k8s.io"


@dataclass(frozen=True)
class JobSpec:
    """One job: its queue, its size per pod and its time."""

    name: str
    namespace: str
    queue: str
    gpus: int = 8
    pods: int = 1
    seconds: float = 30
    priority: str = ""
    kind: str = "job"
    resource: str = GPU
    cpu: str = ""
    memory: str = ""
    cpu_per_gpu: int = 12
    memory_gib_per_gpu: int = 128
    start_seconds: float = 0.1
    grace_seconds: int = 1
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    tolerations: Sequence[Mapping[str, Any]] = ()
    node_selector: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse what the API server would refuse with a less clear text."""
        if self.kind not in KINDS:
            msg = f"kind {self.kind!r} is not one of {', '.join(KINDS)}"
            raise ValueError(msg)
        if self.pods < 1 or self.gpus < 0 or self.seconds < 0:
            msg = "a job needs at least one pod, and no number below zero"
            raise ValueError(msg)


def duration(seconds: float) -> str:
    """Return seconds as Go reads a duration."""
    return f"{round(seconds * 1000)}ms"


def pace(spec: JobSpec) -> dict[str, str]:
    """Return the annotations that tell kwok when the pod starts and ends.

    Each stage has two: without the second, its own upper bound of a few seconds would cut a
    longer time short.
    """
    half = spec.start_seconds / 2
    times = {"pod-create": half, "pod-ready": half, "pod-complete": spec.seconds}
    return {
        f"{stage}.{_STAGE}/{name}": duration(value)
        for stage, value in times.items()
        for name in ("delay", "jitter-delay")
    }


def requests(spec: JobSpec) -> dict[str, str]:
    """Return what one pod asks for; CPU and memory follow the number of GPUs."""
    cpu = spec.cpu or str(max(1, spec.gpus * spec.cpu_per_gpu))
    memory = spec.memory or f"{max(1, spec.gpus * spec.memory_gib_per_gpu)}Gi"
    return {"cpu": cpu, "memory": memory} | ({spec.resource: str(spec.gpus)} if spec.gpus else {})


def pod_template(spec: JobSpec, container: str = "main") -> Manifest:
    """Return the pod template of a job."""
    asked = requests(spec)
    limits = {spec.resource: asked[spec.resource]} if spec.gpus else {}
    pod: dict[str, Any] = {
        "containers": [
            {
                "name": container,
                "image": IMAGE,
                "resources": {"requests": asked, "limits": limits},
            }
        ],
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": spec.grace_seconds,
    }
    if spec.tolerations:
        pod["tolerations"] = [dict(toleration) for toleration in spec.tolerations]
    if spec.node_selector:
        pod["nodeSelector"] = dict(spec.node_selector)
    return {"metadata": {"annotations": pace(spec)}, "spec": pod}


def _metadata(spec: JobSpec) -> Manifest:
    labels = dict(spec.labels)
    if spec.queue:
        labels[QUEUE_LABEL] = spec.queue
    if spec.priority:
        labels[PRIORITY_LABEL] = spec.priority
    found: Manifest = {"name": spec.name, "namespace": spec.namespace, "labels": labels}
    return found | ({"annotations": dict(spec.annotations)} if spec.annotations else {})


def _batch_spec(spec: JobSpec) -> dict[str, Any]:
    return {
        "parallelism": spec.pods,
        "completions": spec.pods,
        "completionMode": "Indexed",
        "backoffLimit": 0,
        "template": pod_template(spec),
    }


def _batch_job(spec: JobSpec) -> Manifest:
    body = _batch_spec(spec) | ({"suspend": True} if spec.queue else {})
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": _metadata(spec),
        "spec": body,
    }


def _pytorch_job(spec: JobSpec) -> Manifest:
    template = pod_template(spec, "pytorch")
    roles = {"Master": 1} | ({"Worker": spec.pods - 1} if spec.pods > 1 else {})
    replicas = {
        role: {"replicas": count, "restartPolicy": "Never", "template": template}
        for role, count in roles.items()
    }
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": _metadata(spec),
        "spec": {"runPolicy": {"suspend": bool(spec.queue)}, "pytorchReplicaSpecs": replicas},
    }


def _jobset(spec: JobSpec) -> Manifest:
    group = {"name": "main", "replicas": 1, "template": {"spec": _batch_spec(spec)}}
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": _metadata(spec),
        "spec": {"suspend": bool(spec.queue), "replicatedJobs": [group]},
    }


def job_manifest(spec: JobSpec) -> Manifest:
    """Return the object to create for a job."""
    make = {"job": _batch_job, "pytorchjob": _pytorch_job, "jobset": _jobset}[spec.kind]
    return make(spec)


def collection(manifest: Manifest) -> str:
    """Return the URL path to which a job is posted."""
    version, kind = manifest["apiVersion"], manifest["kind"].lower() + "s"
    return f"/apis/{version}/namespaces/{manifest['metadata']['namespace']}/{kind}"


def submit(api: Api, namespace: str, manifest: Manifest) -> Manifest:
    """Create a job and, where it is missing, its namespace."""
    if api.find(f"/api/v1/namespaces/{namespace}") is None:
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
        try:
            api.request("POST", "/api/v1/namespaces", body)
        except ApiError as error:
            if error.status != 409:
                raise
    return api.request("POST", collection(manifest), manifest)


def parse_pairs(pairs: Sequence[str]) -> dict[str, str]:
    """Return 'key=value' arguments as a dictionary."""
    found = {}
    for pair in pairs:
        match = re.fullmatch(r"([^=\s]+)=([^=\s]*)", pair)
        if not match:
            msg = f"{pair!r} is not of the form key=value"
            raise ValueError(msg)
        found[match[1]] = match[2]
    return found
