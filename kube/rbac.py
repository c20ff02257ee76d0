"""The portal's own identities in a cluster and exactly what each may do.

``deploy/rbac/*.yaml`` are these manifests as text; a test holds them equal. Nothing here is a
secret: tokens are asked for when they are needed and live for a day at most.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from kube.answers import Object, Token
from kube.client import ClusterClient
from kube.kinds import ADMISSION_CHECK, KUEUE_GROUP, KUEUE_KINDS, WORKLOAD

NAMESPACE: Final = "gpuportal-system"
KUEUE_NAMESPACE: Final = "kueue-system"
KUEUE_CONFIG: Final = "kueue-manager-config"
SETUP_MANAGER: Final = "gpuportal-setup"
MAX_TOKEN_SECONDS: Final = 24 * 3600

_RBAC: Final = "rbac.authorization.k8s.io"
_LABELS: Final = {"app.kubernetes.io/part-of": "gpuportal"}

READ: Final = ("get", "list", "watch")
WRITE: Final = ("create", "patch")


class Identity(StrEnum):
    """The two service accounts of the portal."""

    READER = "gpuportal-reader"
    APPLIER = "gpuportal-applier"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One RBAC rule. ``namespace`` is ``None`` for rights that hold in the whole cluster."""

    verbs: tuple[str, ...]
    group: str = ""
    resources: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    namespace: str | None = None

    def manifest(self) -> Object:
        """Return the rule as Kubernetes writes it."""
        if self.paths:
            return {"nonResourceURLs": list(self.paths), "verbs": list(self.verbs)}
        rule: Object = {
            "apiGroups": [self.group],
            "resources": list(self.resources),
            "verbs": list(self.verbs),
        }
        if self.names:
            rule["resourceNames"] = list(self.names)
        return rule


def _read(group: str, *resources: str) -> Rule:
    return Rule(verbs=READ, group=group, resources=resources)


_REVIEWS: Final = (
    Rule(
        verbs=("create",),
        group="authorization.k8s.io",
        resources=("selfsubjectaccessreviews", "selfsubjectrulesreviews"),
    ),
    Rule(verbs=("create",), group="authentication.k8s.io", resources=("selfsubjectreviews",)),
)

_WRITTEN: Final = tuple(kind.plural for kind in KUEUE_KINDS)

_READER: Final = (
    _read(KUEUE_GROUP, *_WRITTEN, ADMISSION_CHECK.plural, WORKLOAD.plural),
    Rule(
        verbs=("get",),
        group="visibility.kueue.x-k8s.io",
        resources=("clusterqueues/pendingworkloads",),
    ),
    _read("", "events", "limitranges", "namespaces", "nodes", "pods", "resourcequotas"),
    _read("events.k8s.io", "events"),
    _read("batch", "jobs"),
    _read("apps", "deployments", "replicasets", "statefulsets"),
    _read("jobset.x-k8s.io", "jobsets"),
    _read("leaderworkerset.x-k8s.io", "leaderworkersets"),
    _read(
        "kubeflow.org", "jaxjobs", "mpijobs", "paddlejobs", "pytorchjobs", "tfjobs", "xgboostjobs"
    ),
    _read("trainer.kubeflow.org", "trainjobs"),
    _read("ray.io", "rayclusters", "rayjobs", "rayservices"),
    _read("networking.k8s.io", "networkpolicies"),
    _read(_RBAC, "rolebindings"),
    _read(
        "admissionregistration.k8s.io",
        "validatingadmissionpolicies",
        "validatingadmissionpolicybindings",
    ),
    _read("apiextensions.k8s.io", "customresourcedefinitions"),
    _read("apiregistration.k8s.io", "apiservices"),
    Rule(verbs=("get",), paths=("/metrics",)),
    *_REVIEWS,
)

_APPLIER: Final = (
    Rule(verbs=READ + WRITE, group=KUEUE_GROUP, resources=_WRITTEN),
    Rule(verbs=READ + WRITE, group="", resources=("namespaces",)),
    *_REVIEWS,
)


def rules(identity: Identity, *, kueue_namespace: str = KUEUE_NAMESPACE) -> tuple[Rule, ...]:
    """Return everything that an identity may do, and needs."""
    own = Rule(
        verbs=("create",),
        resources=("serviceaccounts/token",),
        names=(identity.value,),
        namespace=NAMESPACE,
    )
    if identity is Identity.APPLIER:
        return (*_APPLIER, own)
    configuration = Rule(
        verbs=("get",),
        resources=("configmaps",),
        names=(KUEUE_CONFIG,),
        namespace=kueue_namespace,
    )
    return (*_READER, own, configuration)


def manifests(*, kueue_namespace: str = KUEUE_NAMESPACE) -> list[Object]:
    """Return every object that gives the portal its identities, in the order to apply them."""
    return [
        *namespace_manifests(),
        *identity_manifests(Identity.READER, kueue_namespace=kueue_namespace),
        *identity_manifests(Identity.APPLIER, kueue_namespace=kueue_namespace),
    ]


def namespace_manifests() -> list[Object]:
    """Return the namespace that holds the service accounts; no pod has to run there."""
    labels = _LABELS | {"pod-security.kubernetes.io/enforce": "restricted"}
    return [
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": NAMESPACE, "labels": labels},
        }
    ]


def identity_manifests(
    identity: Identity, *, kueue_namespace: str = KUEUE_NAMESPACE
) -> list[Object]:
    """Return a service account with its roles and bindings."""
    account: Object = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": _metadata(identity, NAMESPACE),
        "automountServiceAccountToken": False,
    }
    return [account, *_roles(identity, rules(identity, kueue_namespace=kueue_namespace))]


def _roles(identity: Identity, wanted: Iterable[Rule]) -> Iterator[Object]:
    scopes: dict[str | None, list[Rule]] = {}
    for rule in wanted:
        scopes.setdefault(rule.namespace, []).append(rule)
    for namespace, found in scopes.items():
        prefix = "Cluster" if namespace is None else ""
        yield {
            "apiVersion": f"{_RBAC}/v1",
            "kind": f"{prefix}Role",
            "metadata": _metadata(identity, namespace),
            "rules": [rule.manifest() for rule in found],
        }
        yield {
            "apiVersion": f"{_RBAC}/v1",
            "kind": f"{prefix}RoleBinding",
            "metadata": _metadata(identity, namespace),
            "roleRef": {"apiGroup": _RBAC, "kind": f"{prefix}Role", "name": identity.value},
            "subjects": [
                {"kind": "ServiceAccount", "name": identity.value, "namespace": NAMESPACE}
            ],
        }


def _metadata(identity: Identity, namespace: str | None) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": identity.value, "labels": dict(_LABELS)}
    if namespace is not None:
        metadata["namespace"] = namespace
    return metadata


def issue_token(admin: ClusterClient, identity: Identity, seconds: int) -> Token:
    """Return a bound token of an identity; asked for with rights over its account."""
    return admin.create_token(NAMESPACE, identity.value, min(seconds, MAX_TOKEN_SECONDS))


def install(admin: ClusterClient, *, kueue_namespace: str = KUEUE_NAMESPACE) -> None:
    """Apply the manifests with an administrator's client (demo and tests)."""
    for manifest in manifests(kueue_namespace=kueue_namespace):
        admin.apply(manifest, manager=SETUP_MANAGER)
