"""The closed list of kinds that the portal reads or writes, with their addresses.

Kind, group, version and plural are never taken from data: whoever wants to talk about an
object names one of these constants.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from kube.errors import ProgrammingError
from kube.manifest import Ref

KUEUE_GROUP: Final = "kueue.x-k8s.io"
_NAME = re.compile(r"[a-z0-9]([a-z0-9.:-]{0,251}[a-z0-9])?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind: how its manifests name it and where it lives under the API server."""

    name: str
    group: str
    version: str
    plural: str
    namespaced: bool

    @property
    def api_version(self) -> str:
        """Return the ``apiVersion`` that manifests of this kind carry."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def root(self) -> str:
        """Return the path of the group and version."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    def path(self, name: str | None = None, namespace: str | None = None) -> str:
        """Return the path of one object, of one namespace's objects, or of all objects."""
        parts = [self.root]
        if namespace is not None:
            if not self.namespaced:
                msg = f"{self.name} has no namespace"
                raise ProgrammingError(msg)
            parts.append(f"namespaces/{safe_name(namespace)}")
        elif self.namespaced and name is not None:
            msg = f"{self.name} {name!r} needs a namespace"
            raise ProgrammingError(msg)
        parts.append(self.plural)
        if name is not None:
            parts.append(safe_name(name))
        return "/".join(parts)


def safe_name(name: str) -> str:
    """Return a name that may stand in a path, or refuse it."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        msg = f"not a name of an object: {str(name)[:80]!r}"
        raise ProgrammingError(msg)
    return quote(name, safe="")


def _kueue(name: str, plural: str, *, namespaced: bool = False) -> Kind:
    return Kind(name, KUEUE_GROUP, "v1beta2", plural, namespaced)


CLUSTER_QUEUE = _kueue("ClusterQueue", "clusterqueues")
COHORT = _kueue("Cohort", "cohorts")
LOCAL_QUEUE = _kueue("LocalQueue", "localqueues", namespaced=True)
WORKLOAD = _kueue("Workload", "workloads", namespaced=True)
RESOURCE_FLAVOR = _kueue("ResourceFlavor", "resourceflavors")
TOPOLOGY = _kueue("Topology", "topologies")
PRIORITY_CLASS = _kueue("WorkloadPriorityClass", "workloadpriorityclasses")
ADMISSION_CHECK = _kueue("AdmissionCheck", "admissionchecks")

NAMESPACE = Kind("Namespace", "", "v1", "namespaces", False)
NODE = Kind("Node", "", "v1", "nodes", False)
POD = Kind("Pod", "", "v1", "pods", True)
EVENT = Kind("Event", "", "v1", "events", True)
SERVICE_ACCOUNT = Kind("ServiceAccount", "", "v1", "serviceaccounts", True)
CONFIG_MAP = Kind("ConfigMap", "", "v1", "configmaps", True)
RESOURCE_QUOTA = Kind("ResourceQuota", "", "v1", "resourcequotas", True)
LIMIT_RANGE = Kind("LimitRange", "", "v1", "limitranges", True)
DEPLOYMENT = Kind("Deployment", "apps", "v1", "deployments", True)
JOB = Kind("Job", "batch", "v1", "jobs", True)
JOB_SET = Kind("JobSet", "jobset.x-k8s.io", "v1alpha2", "jobsets", True)
PYTORCH_JOB = Kind("PyTorchJob", "kubeflow.org", "v1", "pytorchjobs", True)
NETWORK_POLICY = Kind("NetworkPolicy", "networking.k8s.io", "v1", "networkpolicies", True)
_RBAC = "rbac.authorization.k8s.io"
ROLE = Kind("Role", _RBAC, "v1", "roles", True)
ROLE_BINDING = Kind("RoleBinding", _RBAC, "v1", "rolebindings", True)
CLUSTER_ROLE = Kind("ClusterRole", _RBAC, "v1", "clusterroles", False)
CLUSTER_ROLE_BINDING = Kind("ClusterRoleBinding", _RBAC, "v1", "clusterrolebindings", False)
_ADMISSION = "admissionregistration.k8s.io"
POLICY = Kind("ValidatingAdmissionPolicy", _ADMISSION, "v1", "validatingadmissionpolicies", False)
POLICY_BINDING = Kind(
    "ValidatingAdmissionPolicyBinding",
    _ADMISSION,
    "v1",
    "validatingadmissionpolicybindings",
    False,
)
CRD = Kind(
    "CustomResourceDefinition",
    "apiextensions.k8s.io",
    "v1",
    "customresourcedefinitions",
    False,
)
API_SERVICE = Kind("APIService", "apiregistration.k8s.io", "v1", "apiservices", False)

#: The kinds that the portal writes in Kueue's group.
KUEUE_KINDS: Final = (
    TOPOLOGY,
    RESOURCE_FLAVOR,
    COHORT,
    CLUSTER_QUEUE,
    LOCAL_QUEUE,
    PRIORITY_CLASS,
)
_ALL = (
    *KUEUE_KINDS,
    ADMISSION_CHECK,
    WORKLOAD,
    NAMESPACE,
    NODE,
    POD,
    EVENT,
    SERVICE_ACCOUNT,
    CONFIG_MAP,
    RESOURCE_QUOTA,
    LIMIT_RANGE,
    DEPLOYMENT,
    JOB,
    JOB_SET,
    PYTORCH_JOB,
    NETWORK_POLICY,
    ROLE,
    ROLE_BINDING,
    CLUSTER_ROLE,
    CLUSTER_ROLE_BINDING,
    POLICY,
    POLICY_BINDING,
    CRD,
    API_SERVICE,
)
KINDS: Final[dict[str, Kind]] = {kind.name: kind for kind in _ALL}


def kind_named(name: str) -> Kind:
    """Return the kind of that name, or refuse: the list is closed."""
    try:
        return KINDS[name]
    except KeyError:
        msg = f"not a kind that the portal knows: {name[:80]!r}"
        raise ProgrammingError(msg) from None


def path_of(ref: Ref) -> str:
    """Return an object's path under the API server."""
    return kind_named(ref.kind).path(ref.name, ref.namespace or None)
