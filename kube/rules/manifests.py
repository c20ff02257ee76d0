"""The last look at rendered or foreign objects, whatever they were made from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from kube.leaves import well_shaped
from kube.manifest import Manifest
from kube.problems import Problem, problem

_KUEUE = "kueue.x-k8s.io/v1beta2"
_VERSIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "Namespace": "v1",
        "Topology": _KUEUE,
        "ResourceFlavor": _KUEUE,
        "Cohort": _KUEUE,
        "ClusterQueue": _KUEUE,
        "LocalQueue": _KUEUE,
        "WorkloadPriorityClass": _KUEUE,
    }
)
_NAMESPACED: Final = frozenset({"LocalQueue"})
#: Policies that stay as another manager left them when an apply does not write them.
_POLICIES: Final = (
    "stopPolicy",
    "queueingStrategy",
    "preemption",
    "flavorFungibility",
    "namespaceSelector",
)


def check_manifest(manifest: Manifest) -> tuple[Problem, ...]:
    """Return what must not be applied in one object."""
    ref = str(manifest.ref)
    if _VERSIONS.get(manifest.kind) != manifest.api_version:
        kind, version = manifest.kind or "?", manifest.api_version or "?"
        return (problem(ref, "GP-2201", kind=kind, version=version),)
    checker = _CHECKERS.get(manifest.kind, _nothing)
    return (*_place(ref, manifest), *checker(ref, manifest.body))


def check_manifests(manifests: Iterable[Manifest]) -> tuple[Problem, ...]:
    """Check each object, and that none occurs twice."""
    seen = set()
    found: list[Problem] = []
    for manifest in manifests:
        if manifest.ref in seen:
            found.append(problem(str(manifest.ref), "GP-2205", name=str(manifest.ref)))
        seen.add(manifest.ref)
        found += check_manifest(manifest)
    return tuple(found)


def _place(ref: str, manifest: Manifest) -> Iterator[Problem]:
    """Check the names: without its namespace an object would land wherever the client stands."""
    if not manifest.name:
        yield problem(f"{ref}: metadata.name", "GP-2207", kind=manifest.kind, field="name")
    if manifest.kind in _NAMESPACED and not manifest.namespace:
        where = f"{ref}: metadata.namespace"
        yield problem(where, "GP-2207", kind=manifest.kind, field="namespace")
    if manifest.kind not in _NAMESPACED and manifest.namespace:
        yield problem(f"{ref}: metadata.namespace", "GP-2208", kind=manifest.kind)


def _nothing(_ref: str, _body: Mapping[str, Any]) -> Iterator[Problem]:
    return iter(())


def _cluster_queue(ref: str, body: Mapping[str, Any]) -> Iterator[Problem]:
    spec = _spec(body)
    for name in _POLICIES:
        if name not in spec:
            yield problem(f"{ref}: spec.{name}", "GP-2203", field=name)
    if "namespaceSelector" in spec and not _selects(spec["namespaceSelector"]):
        yield problem(f"{ref}: spec.namespaceSelector", "GP-2200")
    yield from _groups(ref, spec)


def _cohort(ref: str, body: Mapping[str, Any]) -> Iterator[Problem]:
    if not _spec(body):
        yield problem(f"{ref}: spec", "GP-2204")
    yield from _groups(ref, _spec(body))


def _local_queue(ref: str, body: Mapping[str, Any]) -> Iterator[Problem]:
    for name in ("clusterQueue", "stopPolicy"):
        if not _spec(body).get(name):
            yield problem(f"{ref}: spec.{name}", "GP-2203", field=name)


def _groups(ref: str, spec: Mapping[str, Any]) -> Iterator[Problem]:
    groups = spec.get("resourceGroups")
    if groups is None:
        return
    if not well_shaped(groups):
        yield problem(f"{ref}: spec.resourceGroups", "GP-2206")
        return
    for group in groups:
        for flavor in group["flavors"]:
            if [each["name"] for each in flavor["resources"]] != group["coveredResources"]:
                where = f"{ref}: spec.resourceGroups.flavors[{flavor['name']}]"
                yield problem(where, "GP-2202")


def _selects(selector: object) -> bool:
    if not isinstance(selector, Mapping):
        return False
    return bool(selector.get("matchLabels") or selector.get("matchExpressions"))


def _spec(body: Mapping[str, Any]) -> Mapping[str, Any]:
    spec = body.get("spec")
    return spec if isinstance(spec, Mapping) else {}


_Checker = Callable[[str, Mapping[str, Any]], Iterator[Problem]]
_CHECKERS: Final[Mapping[str, _Checker]] = MappingProxyType(
    {"ClusterQueue": _cluster_queue, "Cohort": _cohort, "LocalQueue": _local_queue}
)
