"""Small objects for the tests against a real API server."""

from typing import Any

KUEUE = "kueue.x-k8s.io/v1beta2"
ALWAYS = {"key": "kubernetes.io/metadata.name", "operator": "Exists"}


def namespace(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def flavor(name: str) -> dict[str, Any]:
    return {"apiVersion": KUEUE, "kind": "ResourceFlavor", "metadata": {"name": name}, "spec": {}}


def cohort(name: str) -> dict[str, Any]:
    spec = {"fairSharing": {"weight": "1"}}
    return {"apiVersion": KUEUE, "kind": "Cohort", "metadata": {"name": name}, "spec": spec}


def cluster_queue(
    name: str, quota: str = "8", *, flavor: str = "f", cohort: str = "", **spec: Any
) -> dict[str, Any]:
    resources = [{"name": "cpu", "nominalQuota": quota}]
    body: dict[str, Any] = {
        "resourceGroups": [
            {"coveredResources": ["cpu"], "flavors": [{"name": flavor, "resources": resources}]}
        ],
        "namespaceSelector": {"matchExpressions": [ALWAYS]},
        "stopPolicy": "None",
        "queueingStrategy": "BestEffortFIFO",
    }
    if cohort:
        body["cohortName"] = cohort
    metadata = {"name": name}
    return {"apiVersion": KUEUE, "kind": "ClusterQueue", "metadata": metadata, "spec": body | spec}


def local_queue(name: str, namespace: str, queue: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace}
    spec = {"clusterQueue": queue, "stopPolicy": "None"}
    return {"apiVersion": KUEUE, "kind": "LocalQueue", "metadata": metadata, "spec": spec}


def job(name: str, namespace: str, entry: str, cpu: str) -> dict[str, Any]:
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": cpu}}}
    stay = "pod-complete.stage.kwok.x-k8s.io"
    template = {
        "metadata": {"annotations": {f"{stay}/delay": "600s", f"{stay}/jitter-delay": "600s"}},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }
    metadata = {
        "name": name,
        "namespace": namespace,
        "labels": {"kueue.x-k8s.io/queue-name": entry},
    }
    spec = {"suspend": True, "template": template}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}
