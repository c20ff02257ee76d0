"""Flavors and topologies: what selects nodes, what fences them, and in which shape."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Final

from kube.catalog import Catalog, DeviceKind, FlavorSpec, Toleration
from kube.problems import Problem, problem
from kube.rules import fields

HOSTNAME: Final = "kubernetes.io/hostname"
MAX_PARTS: Final = 8
MAX_LEVELS: Final = 16
_MIG_PREFIX: Final = "nvidia.com/mig-"


def labels(catalog: Catalog) -> Iterator[Problem]:
    """Check which nodes each flavor selects."""
    for flavor in catalog.flavors:
        where = f"{fields.flavor_field(flavor)}.node_labels"
        keys = [key for key, _value in flavor.node_labels]
        for key in sorted({key for key in keys if keys.count(key) > 1}):
            yield problem(where, "GP-2150", name=key)
        if flavor.topology and not keys:
            yield problem(where, "GP-2180")
        elif flavor.resource and not keys:
            yield problem(where, "GP-2182", "warning")
    for one, other in combinations(catalog.flavors, 2):
        if _select_same_nodes(one, other):
            where = f"{fields.flavor_field(other)}.node_labels"
            same = one.resource == other.resource
            yield problem(where, "GP-2181", "error" if same else "warning", other=one.name)


def sizes(catalog: Catalog) -> Iterator[Problem]:
    """Check Kueue's upper limits on labels, taints and tolerations."""
    for flavor in catalog.flavors:
        for part in ("node_labels", "taints", "tolerations"):
            count = len(getattr(flavor, part))
            if count > MAX_PARTS:
                where = f"{fields.flavor_field(flavor)}.{part}"
                yield problem(where, "GP-2183", count=count, limit=MAX_PARTS)


def taints(catalog: Catalog) -> Iterator[Problem]:
    """Check taints for doubles and tolerations for parts that do not fit."""
    for flavor in catalog.flavors:
        seen: set[tuple[str, str]] = set()
        for index, taint in enumerate(flavor.taints):
            pair = (taint.key, taint.effect)
            if pair in seen:
                where = f"{fields.flavor_field(flavor)}.taints[{index}]"
                yield problem(where, "GP-2184", key=taint.key, effect=taint.effect)
            seen.add(pair)
        for index, toleration in enumerate(flavor.tolerations):
            where = f"{fields.flavor_field(flavor)}.tolerations[{index}]"
            yield from _toleration(where, toleration)


def devices(catalog: Catalog) -> Iterator[Problem]:
    """Check that what a flavor says about its devices fits its resource."""
    for flavor in catalog.flavors:
        where = fields.flavor_field(flavor)
        is_mig = flavor.device_kind is DeviceKind.MIG
        if is_mig != bool(flavor.mig_profile):
            yield problem(f"{where}.mig_profile", "GP-2191")
        expected = _MIG_PREFIX + flavor.mig_profile
        if flavor.mig_profile and flavor.resource.startswith("nvidia.com/"):
            yield from _profile(where, flavor, expected)
        for part in ("cpu_per_device", "memory_per_device", "capacity"):
            if getattr(flavor, part) is not None and not flavor.resource:
                yield problem(f"{where}.{part}", "GP-2193", field=part)


def topologies(catalog: Catalog) -> Iterator[Problem]:
    """Check the levels of the topologies."""
    for topology in catalog.topologies:
        where = f"{fields.named('topologies', topology.name)}.levels"
        levels = topology.levels
        if not 1 <= len(levels) <= MAX_LEVELS:
            yield problem(where, "GP-2190", count=len(levels), limit=MAX_LEVELS)
        for level in sorted({each for each in levels if levels.count(each) > 1}):
            yield problem(where, "GP-2189", level=level)
        if HOSTNAME in levels[:-1]:
            yield problem(where, "GP-2188")


def _select_same_nodes(one: FlavorSpec, other: FlavorSpec) -> bool:
    first, second = set(one.node_labels), set(other.node_labels)
    return first <= second or second <= first


def _toleration(field: str, spec: Toleration) -> Iterator[Problem]:
    if not spec.key and spec.operator != "Exists":
        yield problem(f"{field}.operator", "GP-2185")
    if spec.operator == "Exists" and spec.value:
        yield problem(f"{field}.value", "GP-2186")
    if spec.toleration_seconds is not None and spec.effect != "NoExecute":
        yield problem(f"{field}.toleration_seconds", "GP-2187")


def _profile(field: str, flavor: FlavorSpec, expected: str) -> Iterator[Problem]:
    if flavor.resource not in (expected, "nvidia.com/gpu"):
        yield problem(
            f"{field}.mig_profile",
            "GP-2192",
            profile=flavor.mig_profile,
            expected=expected,
            resource=flavor.resource,
        )
