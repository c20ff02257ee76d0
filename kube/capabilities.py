"""What one cluster can do, as far as it can be seen; nothing is assumed from a version alone."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import Any, Final

from kube import errors, visibility
from kube.answers import Object
from kube.client import ClusterClient
from kube.kinds import CONFIG_MAP, CRD, DEPLOYMENT, KUEUE_GROUP, KUEUE_KINDS, WORKLOAD
from kube.manifest import Ref
from kube.rbac import KUEUE_CONFIG, KUEUE_NAMESPACE

VERSION: Final = "v1beta2"
_MANAGER: Final = "kueue-controller-manager"
_TAG: Final = re.compile(r":v?(\d+\.\d+\.\d+[0-9A-Za-z.-]*)(?:@|$)")
_GATE: Final = re.compile(r"--feature-gates=(\S+)")

#: The kinds of job that Kueue can manage, by the name of their integration.
JOB_KINDS: Final = {
    "batch/job": ("batch", "jobs"),
    "jobset.x-k8s.io/jobset": ("jobset.x-k8s.io", "jobsets"),
    "kubeflow.org/pytorchjob": ("kubeflow.org", "pytorchjobs"),
    "kubeflow.org/tfjob": ("kubeflow.org", "tfjobs"),
    "kubeflow.org/mpijob": ("kubeflow.org", "mpijobs"),
    "trainer.kubeflow.org/trainjob": ("trainer.kubeflow.org", "trainjobs"),
    "ray.io/rayjob": ("ray.io", "rayjobs"),
    "ray.io/raycluster": ("ray.io", "rayclusters"),
    "leaderworkerset.x-k8s.io/leaderworkerset": (
        "leaderworkerset.x-k8s.io",
        "leaderworkersets",
    ),
}


@dataclass(frozen=True, slots=True)
class KindState:
    """How the cluster serves one of Kueue's kinds."""

    plural: str
    served: tuple[str, ...] = ()
    stored: tuple[str, ...] = ()

    @property
    def usable(self) -> bool:
        """Return whether the portal can read and write it."""
        return VERSION in self.served


@dataclass(frozen=True, slots=True)
class Capabilities:
    """Facts about a cluster; an empty value means "not seen", not "off"."""

    kubernetes: str
    kueue_version: str = ""
    kueue_kinds: tuple[KindState, ...] = ()
    visibility: bool = False
    job_kinds: tuple[str, ...] = ()
    feature_gates: str = ""
    configuration: str = ""
    warnings: tuple[str, ...] = ()

    @property
    def missing(self) -> tuple[str, ...]:
        """Return the kinds without which the portal cannot work."""
        return tuple(kind.plural for kind in self.kueue_kinds if not kind.usable)

    @property
    def served(self) -> bool:
        """Return whether every kind that the portal needs is served as it writes it."""
        return bool(self.kueue_kinds) and not self.missing

    def as_json(self) -> dict[str, Any]:
        """Return the facts as plain JSON."""
        return asdict(self) | {"missing": list(self.missing), "served": self.served}


def look(client: ClusterClient, *, kueue_namespace: str = KUEUE_NAMESPACE) -> Capabilities:
    """Ask a cluster what it can do, with a reader's rights."""
    version, groups = client.version().git, client.groups()
    kinds = tuple(_kind_state(client, kind.plural) for kind in (*KUEUE_KINDS, WORKLOAD))
    manager = _read(client, Ref(DEPLOYMENT.name, kueue_namespace, _MANAGER))
    configuration = _read(client, Ref(CONFIG_MAP.name, kueue_namespace, KUEUE_CONFIG))
    return Capabilities(
        kubernetes=version,
        kueue_version=image_version(manager),
        kueue_kinds=kinds,
        visibility=visibility.VERSION in groups.get(visibility.GROUP, []),
        job_kinds=tuple(_job_kinds(client, groups)),
        feature_gates=_gates(manager),
        configuration=_configuration(configuration),
        warnings=tuple(_warnings(kinds)),
    )


def _read(client: ClusterClient, ref: Ref) -> Object:
    """Return an object that helps but is not needed; absent and forbidden are the same."""
    try:
        return client.get(ref) or {}
    except (errors.Forbidden, errors.KindMissing):
        return {}


def _kind_state(client: ClusterClient, plural: str) -> KindState:
    found = client.get(Ref(CRD.name, "", f"{plural}.{KUEUE_GROUP}"))
    if found is None:
        return KindState(plural)
    versions = found.get("spec", {}).get("versions", [])
    served = tuple(str(each["name"]) for each in versions if each.get("served"))
    stored = found.get("status", {}).get("storedVersions", [])
    return KindState(plural, served, tuple(str(each) for each in stored))


def _warnings(kinds: tuple[KindState, ...]) -> list[str]:
    return [
        f"{kind.plural}: objects are still stored as {old}; rewrite them before Kueue drops it"
        for kind in kinds
        for old in kind.stored
        if old != VERSION and kind.served
    ]


def _job_kinds(client: ClusterClient, groups: dict[str, list[str]]) -> list[str]:
    served: dict[str, set[str]] = {}
    for group in {group for group, _plural in JOB_KINDS.values()} & set(groups):
        names: set[str] = set()
        for version in groups[group]:
            names |= {str(each.get("name")) for each in client.discovery(group, version)}
        served[group] = names
    return [
        integration
        for integration, (group, plural) in JOB_KINDS.items()
        if plural in served.get(group, ())
    ]


def _containers(manager: Object) -> list[Object]:
    template = manager.get("spec", {}).get("template", {})
    containers = template.get("spec", {}).get("containers", [])
    return [each for each in containers if isinstance(each, dict)]


def image_version(manager: Object) -> str:
    """Return the version in the manager's image tag; empty when the tag is no version."""
    for container in _containers(manager):
        found = _TAG.search(str(container.get("image", "")))
        if found:
            return found[1]
    return ""


def _gates(manager: Object) -> str:
    for container in _containers(manager):
        found = _GATE.search(" ".join(str(each) for each in container.get("args") or ()))
        if found:
            return found[1]
    return ""


def _configuration(found: Object) -> str:
    data = found.get("data")
    return str(data.get("controller_manager_config.yaml", "")) if isinstance(data, dict) else ""
