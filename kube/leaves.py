"""An object as a flat table of fields, with equal meaning written in one way.

Paths read like ``spec.resourceGroups[nvidia.com/gpu].flavors[a100].resources[cpu].nominalQuota``.
Quantities become plain decimals (``10000m`` and ``10`` are the same), lists whose order means
nothing are keyed by what identifies an element, and lists whose order has a meaning stay whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeGuard

from kube import quantity
from kube.catalog import CPU, MEMORY
from kube.digest import canonical_json
from kube.problems import Refused

GROUPS: Final = "spec.resourceGroups"
_QUANTITIES: Final = frozenset({"nominalQuota", "borrowingLimit", "lendingLimit", "weight"})
_PLAIN_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_-]*", re.ASCII)
_NOT_FIELDS: Final = frozenset({"apiVersion", "kind", "status"})
_KEPT_METADATA: Final = ("labels", "annotations")


@dataclass(frozen=True, slots=True)
class Leaf:
    """One field: ``meaning`` is compared, ``written`` is what stands in the object."""

    meaning: Any
    written: Any


Leaves = dict[str, Leaf]


@dataclass(frozen=True, slots=True)
class GroupNames:
    """How the resource groups of a wanted object are called, so that a live one uses the same."""

    by_resource: Mapping[str, str]
    by_flavor: Mapping[str, str]

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> GroupNames:
        """Take the names from the wanted object: the devices of a group, else its resources."""
        by_resource: dict[str, str] = {}
        by_flavor: dict[str, str] = {}
        spec = body.get("spec")
        found = spec.get("resourceGroups") if isinstance(spec, Mapping) else None
        for group in found if well_shaped(found) else ():
            name = _own_name(group)
            by_resource.update(dict.fromkeys(group["coveredResources"], name))
            by_flavor.update({each["name"]: name for each in group["flavors"]})
        return cls(by_resource, by_flavor)

    def name(self, group: Mapping[str, Any]) -> str:
        """Name a group by the first device, flavor or resource that the wanted object knows."""
        covered = group["coveredResources"]
        flavors = [each["name"] for each in group["flavors"]]
        known = (
            *(self.by_resource.get(each) for each in covered if each not in (CPU, MEMORY)),
            *(self.by_flavor.get(each) for each in flavors),
            *(self.by_resource.get(each) for each in covered),
        )
        return next((each for each in known if each), _own_name(group))


def leaves(body: Mapping[str, Any], names: GroupNames) -> Leaves:
    """Flatten an object; what only names it, its status and server metadata are left out."""
    found: Leaves = {}
    metadata = body.get("metadata")
    if isinstance(metadata, Mapping):
        for part in _KEPT_METADATA:
            found.update(_walk(f"metadata.{part}", metadata.get(part), names))
    for key, value in body.items():
        if key not in _NOT_FIELDS and key != "metadata":
            found.update(_walk(step("", key), value, names))
    return found


def well_shaped(groups: Any) -> TypeGuard[list[Mapping[str, Any]]]:
    """Tell whether resource groups have the shape of the API; foreign input may have any other."""
    return bool(groups) and _is_list_of_objects(groups) and all(_is_group(each) for each in groups)


def step(path: str, key: str) -> str:
    """Go one key deeper; keys that are no plain words stand in brackets."""
    if not _PLAIN_KEY.fullmatch(key):
        return f"{path}[{key}]"
    return f"{path}.{key}" if path else key


def _walk(path: str, value: Any, names: GroupNames) -> Iterator[tuple[str, Leaf]]:
    if value is None:
        return
    if path == GROUPS and well_shaped(value):
        yield from _group_leaves(value, names)
    elif path == "spec.levels" and _is_list_of_objects(value):
        yield path, _same([each.get("nodeLabel") for each in value])
    elif path in _SETS and _is_list_of_objects(value):
        yield from _set_leaves(path, value)
    elif isinstance(value, Mapping) and value:
        for key, inner in value.items():
            deeper = f"{path}[{key}]" if path in _FREE_KEYS else step(path, str(key))
            yield from _walk(deeper, inner, names)
    else:
        yield path, _leaf(path.rpartition(".")[2], value)


#: Maps whose keys people choose: always in brackets, so that no dot can be misread.
_FREE_KEYS: Final = frozenset(
    {
        "metadata.labels",
        "metadata.annotations",
        "spec.nodeLabels",
        "spec.namespaceSelector.matchLabels",
    }
)
#: Lists of objects without an order, and the keys that name an element for people.
_SETS: Final = {
    "spec.nodeTaints": ("key", "effect"),
    "spec.tolerations": ("key", "operator", "value", "effect"),
}


def _set_leaves(path: str, items: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, Leaf]]:
    used: set[str] = set()
    for item in sorted(items, key=canonical_json):
        name = ":".join(str(item.get(key, "")) for key in _SETS[path])
        yield f"{path}[{_unused(name, used)}]", _same(dict(item))


def _group_leaves(
    groups: Sequence[Mapping[str, Any]], names: GroupNames
) -> Iterator[tuple[str, Leaf]]:
    used: set[str] = set()
    for group in groups:
        path = f"{GROUPS}[{_unused(names.name(group), used)}]"
        yield f"{path}.coveredResources", _same(sorted(group["coveredResources"]))
        yield f"{path}.flavors", _same([each["name"] for each in group["flavors"]])
        for flavor in group["flavors"]:
            for line in flavor["resources"]:
                inside = f"{path}.flavors[{flavor['name']}].resources[{line['name']}]"
                fields = ((key, line[key]) for key in line if key != "name")
                yield from (
                    (step(inside, key), _leaf(key, value))
                    for key, value in fields
                    if value is not None
                )


def _leaf(key: str, value: Any) -> Leaf:
    if key in _QUANTITIES and isinstance(value, str | int | float):
        try:
            return Leaf(quantity.exact(quantity.canonical(value)), value)
        except Refused:
            return Leaf(str(value), value)
    return _same(value)


def _same(value: Any) -> Leaf:
    return Leaf(value, value)


def _own_name(group: Mapping[str, Any]) -> str:
    covered = sorted(group["coveredResources"])
    devices = [each for each in covered if each not in (CPU, MEMORY)]
    return "+".join(devices or covered)


def _unused(name: str, used: set[str]) -> str:
    number = 1
    candidate = name
    while candidate in used:
        number += 1
        candidate = f"{name}#{number}"
    used.add(candidate)
    return candidate


def _is_group(group: Mapping[str, Any]) -> bool:
    covered, flavors = group.get("coveredResources"), group.get("flavors")
    if not isinstance(covered, list) or not all(isinstance(each, str) for each in covered):
        return False
    return _is_named(flavors) and all(_is_named(each.get("resources")) for each in flavors or ())


def _is_named(value: Any) -> bool:
    return _is_list_of_objects(value) and all(isinstance(each.get("name"), str) for each in value)


def _is_list_of_objects(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, Mapping) for each in value)
