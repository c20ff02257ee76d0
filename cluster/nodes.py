"""Nodes with GPUs that exist only in the API; kwok plays their kubelet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cluster.api import Api, Manifest

GPU = "nvidia.com/gpu"
FLAVOR_LABEL = "gpuportal.io/flavor"
RACK_LABEL = "topology.gpuportal.io/rack"
PRODUCT_LABEL = "nvidia.com/gpu.product"
A100 = "NVIDIA-A100-SXM4-80GB"
KWOK_LABEL = "type"


@dataclass(frozen=True)
class NodeSpec:
    """One node: its size and the labels by which a flavor or a topology finds it."""

    name: str
    gpus: int = 8
    cpu: str = "96"
    memory: str = "1Ti"
    pods: int = 110
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: Sequence[Mapping[str, str]] = ()
    rack: str = ""
    resource: str = GPU

    def capacity(self) -> dict[str, str]:
        """Return the resources of the node."""
        found = {"cpu": self.cpu, "memory": self.memory, "pods": str(self.pods)}
        return found | ({self.resource: str(self.gpus)} if self.gpus else {})

    def all_labels(self) -> dict[str, str]:
        """Return the labels with the host name and the rack."""
        own = {
            "kubernetes.io/hostname": self.name,
            "kubernetes.io/os": "linux",
            "kubernetes.io/arch": "amd64",
            KWOK_LABEL: "kwok",
        }
        rack = {RACK_LABEL: self.rack} if self.rack else {}
        return own | rack | dict(self.labels)


def node_manifest(spec: NodeSpec) -> Manifest:
    """Return the Node object without its status."""
    wanted: Manifest = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": spec.name, "labels": spec.all_labels()},
    }
    if spec.taints:
        wanted["spec"] = {"taints": [dict(taint) for taint in spec.taints]}
    return wanted


def a100_labels() -> dict[str, str]:
    """Return the labels of a node with A100 cards."""
    return {FLAVOR_LABEL: "a100", PRODUCT_LABEL: A100}


def two_teams_nodes() -> list[NodeSpec]:
    """Return four nodes of eight A100 in two racks: 32 GPUs for two teams."""
    return make_nodes(count=4, gpus=8, racks=2, labels=a100_labels())


def make_nodes(
    count: int,
    gpus: int = 8,
    racks: int = 0,
    labels: Mapping[str, str] | None = None,
    prefix: str = "gpu",
    **sizes: Any,
) -> list[NodeSpec]:
    """Return equal nodes, spread over the racks in blocks of neighbours."""
    if count < 1 or racks < 0 or racks > count:
        msg = "at least one node, and no more racks than nodes"
        raise ValueError(msg)
    return [
        NodeSpec(
            name=f"{prefix}-{number + 1}",
            gpus=gpus,
            labels=dict(labels or {}),
            rack=f"rack-{number * racks // count + 1}" if racks else "",
            **sizes,
        )
        for number in range(count)
    ]


def apply_nodes(api: Api, specs: Iterable[NodeSpec]) -> None:
    """Create the nodes or bring them to what is asked for; the same again changes nothing."""
    for spec in specs:
        _apply_node(api, spec)


def _kept_taints(node: Manifest) -> list[dict[str, Any]]:
    """Return the taints that Kubernetes itself keeps on the node."""
    taints: list[dict[str, Any]] = node.get("spec", {}).get("taints") or []
    return [taint for taint in taints if taint["key"].startswith("node.kubernetes.io/")]


def _apply_node(api: Api, spec: NodeSpec) -> None:
    path = f"/api/v1/nodes/{spec.name}"
    capacity = {"capacity": spec.capacity(), "allocatable": spec.capacity()}
    found = api.find(path)
    if found is None:
        # With its capacity from the start: kwok would otherwise invent one.
        api.request("POST", "/api/v1/nodes", node_manifest(spec) | {"status": capacity})
        return
    stale = {RACK_LABEL: None} if not spec.rack else {}
    taints = [*_kept_taints(found), *(dict(taint) for taint in spec.taints)]
    body = {"metadata": {"labels": stale | spec.all_labels()}, "spec": {"taints": taints}}
    api.patch(path, body)
    gone = {
        name: None
        for name in found.get("status", {}).get("capacity", {})
        if name not in spec.capacity()
    }
    merged = {key: gone | values for key, values in capacity.items()}
    api.patch(f"{path}/status", {"status": merged})


def delete_node(api: Api, name: str) -> None:
    """Take a node away, as when a machine is removed."""
    api.request("DELETE", f"/api/v1/nodes/{name}")


def are_ready(api: Api, specs: Iterable[NodeSpec]) -> bool:
    """Return whether pods can be placed on all of these nodes."""
    names = {spec.name for spec in specs}
    nodes = [n for n in api.get("/api/v1/nodes")["items"] if n["metadata"]["name"] in names]
    ready = [n for n in nodes if _is_ready(n) and not _kept_taints(n)]
    return len(ready) == len(names)


def _is_ready(node: Manifest) -> bool:
    conditions = node.get("status", {}).get("conditions") or []
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)
