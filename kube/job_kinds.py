"""The kinds of job that Kueue can manage: their addresses, and how many devices they ask for.

The list is closed, as all kinds of the portal are; which of them a cluster serves, and in which
version, is asked from the cluster.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from kube.client import ClusterClient
from kube.job_facts import QUEUE_LABEL, JobFacts
from kube.kinds import DEPLOYMENT, JOB, JOB_SET, PYTORCH_JOB, Kind
from kube.lenient import Object, items, mapping, text, whole
from kube.pod_requests import pod_requests

_KUBEFLOW: Final = "kubeflow.org"
_RAY: Final = "ray.io"


def _kind(name: str, group: str, version: str, plural: str) -> Kind:
    return Kind(name, group, version, plural, True)


STATEFUL_SET: Final = _kind("StatefulSet", "apps", "v1", "statefulsets")
#: A kind that is served in an older version as well names it second.
_VERSIONS: Final[tuple[tuple[Kind, tuple[str, ...]], ...]] = (
    (JOB, ("v1",)),
    (JOB_SET, ("v1alpha2",)),
    (PYTORCH_JOB, ("v1",)),
    (_kind("TFJob", _KUBEFLOW, "v1", "tfjobs"), ("v1",)),
    (_kind("XGBoostJob", _KUBEFLOW, "v1", "xgboostjobs"), ("v1",)),
    (_kind("PaddleJob", _KUBEFLOW, "v1", "paddlejobs"), ("v1",)),
    (_kind("JAXJob", _KUBEFLOW, "v1", "jaxjobs"), ("v1",)),
    (_kind("MPIJob", _KUBEFLOW, "v2beta1", "mpijobs"), ("v2beta1", "v1")),
    (_kind("TrainJob", "trainer.kubeflow.org", "v1alpha1", "trainjobs"), ("v1alpha1",)),
    (_kind("RayJob", _RAY, "v1", "rayjobs"), ("v1", "v1alpha1")),
    (_kind("RayCluster", _RAY, "v1", "rayclusters"), ("v1", "v1alpha1")),
    (_kind("RayService", _RAY, "v1", "rayservices"), ("v1", "v1alpha1")),
    (
        _kind("LeaderWorkerSet", "leaderworkerset.x-k8s.io", "v1", "leaderworkersets"),
        ("v1",),
    ),
    (DEPLOYMENT, ("v1",)),
    (STATEFUL_SET, ("v1",)),
)
JOB_KINDS: Final = tuple(kind for kind, _ in _VERSIONS)
#: Kueue looks at the pods of these, not at the object: no Workload belongs to it.
BY_PODS: Final = frozenset({"Deployment", "StatefulSet", "LeaderWorkerSet"})


def served(client: ClusterClient) -> tuple[Kind, ...]:
    """Return the kinds of job that the cluster serves, each in the newest known version."""
    groups = client.groups()
    plurals: dict[tuple[str, str], set[str]] = {}
    found = []
    for kind, versions in _VERSIONS:
        for version in versions:
            place = (kind.group, version)
            if version not in groups.get(kind.group, ()):
                continue
            if place not in plurals:
                plurals[place] = {str(each.get("name")) for each in client.discovery(*place)}
            if kind.plural in plurals[place]:
                found.append(replace(kind, version=version))
                break
    return tuple(found)


def is_followed(item: Object) -> bool:
    """Return whether a job matters: it has not ended, and names a queue or asks for devices."""
    facts = JobFacts(item)
    if facts.ended or text(item, "status", "terminalState"):
        return False
    return bool(facts.label(QUEUE_LABEL)) or devices_of(mapping(item, "spec")) > 0


def controller(item: Object) -> tuple[str, str, str] | None:
    """Return kind, name and uid of the object that controls this one."""
    owners = items(item, "metadata", "ownerReferences")
    found = next((each for each in owners if each.get("controller") is True), None)
    return None if found is None else (text(found, "kind"), text(found, "name"), text(found, "uid"))


# --- how many devices -----------------------------------------------------------------------------

#: How often what lies below is repeated; one of these in each object on the way counts.
_TIMES: Final = ("replicas", "parallelism", "numOfHosts")


def is_device(resource: str) -> bool:
    """Return whether a resource is an extended one, such as a GPU."""
    return "/" in resource and not resource.startswith("kubernetes.io/")


def devices_of_pod(spec: Object) -> int:
    """Return the devices that one pod needs at its peak."""
    found = pod_requests(spec)
    return sum(number for name, number in found.items() if is_device(name))


def devices_of(spec: Any) -> int:
    """Return the devices that all pods of a job ask for, wherever their templates lie.

    Every kind nests its templates in its own way, but all of them repeat a template by a number
    that stands beside it or above it.
    """
    return sum(times * devices_of_pod(found) for times, found in _pod_specs(spec, 1))


def _pod_specs(value: Any, times: int) -> Iterator[tuple[int, Object]]:
    if isinstance(value, list):
        for each in value:
            yield from _pod_specs(each, times)
        return
    if not isinstance(value, Mapping):
        return
    if isinstance(value.get("containers"), list):
        yield times, value
        return
    if isinstance(value.get("resourcesPerNode"), Mapping):
        nodes = max(0, whole(value.get("numNodes"), 1))
        yield times * nodes, {"containers": [{"resources": value["resourcesPerNode"]}]}
        return
    for name in _TIMES:
        times *= max(0, whole(value.get(name), 1))
    if "leaderWorkerTemplate" in value:
        yield from _leader_and_workers(mapping(value, "leaderWorkerTemplate"), times)
        return
    for each in value.values():
        if isinstance(each, Mapping | list):
            yield from _pod_specs(each, times)


def _leader_and_workers(found: Object, times: int) -> Iterator[tuple[int, Object]]:
    """Yield the templates of a group: the leader is one of ``size`` pods, and is like the workers where it has no template."""
    size = max(1, whole(found.get("size"), 1))
    worker = mapping(found, "workerTemplate")
    leader = mapping(found, "leaderTemplate") or worker
    yield from _pod_specs(leader, times)
    yield from _pod_specs(worker, times * (size - 1))
