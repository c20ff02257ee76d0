"""What the cluster refused, told at the field of the catalog that it belongs to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any, Final

from kube.catalog import Catalog
from kube.problems import Problem
from kube.rules import fields
from queues.services.plan_objects import Draft, Tried

_STEP: Final = re.compile(r"([A-Za-z]+)(?:\[(\d+)\])?")
#: The last part of a path in the API, and what the same thing is called in the catalog.
_PARTS: Final = {
    "nominalQuota": "nominal",
    "borrowingLimit": "borrowing_limit",
    "lendingLimit": "lending_limit",
    "cohortName": "cohort",
    "parentName": "parent",
    "stopPolicy": "stop_policy",
    "queueingStrategy": "strategy",
    "preemption": "preemption",
    "flavorFungibility": "fungibility",
    "fairSharing": "weight",
    "resourceGroups": "quotas",
    "nodeLabels": "node_labels",
    "nodeTaints": "taints",
    "tolerations": "tolerations",
    "topologyName": "topology",
    "levels": "levels",
    "value": "value",
    "description": "contract",
}


def stored(problems: Iterable[Problem]) -> list[dict[str, Any]]:
    """Return problems as JSON values."""
    return [asdict(each) | {"params": dict(each.params)} for each in problems]


def of_draft(draft: Draft, catalog: Catalog) -> list[dict[str, Any]]:
    """Return the cluster's complaints about one object, each at its field, in its own words."""
    if draft.tried != Tried.REFUSED:
        return []
    where = holder_field(
        draft.manifest.kind, draft.manifest.name, draft.manifest.namespace, catalog
    )
    told = draft.field_problems or [{"field": "", "text": draft.message}]
    found = [
        Problem(
            field=catalog_field(each["field"], draft.manifest.body, where),
            code=draft.code,
            message=each["text"],
            params=(("object", str(draft.manifest.ref)), ("path", each["field"])),
        )
        for each in told
    ]
    return stored(found)


def holder_field(kind: str, name: str, namespace: str, catalog: Catalog) -> str:
    """Return the catalog's path of what an object was rendered from."""
    groups = {
        "Cohort": "cohorts",
        "ResourceFlavor": "flavors",
        "Topology": "topologies",
        "WorkloadPriorityClass": "priorities",
    }
    if kind in groups:
        return fields.named(groups[kind], name)
    if kind == "ClusterQueue":
        for tenant, queue in catalog.queues():
            if queue.name == name:
                return fields.queue_field(tenant, queue)
    for _tenant, _queue, entry, path in fields.entries(catalog):
        if entry.namespace == (namespace or name) and (not namespace or entry.name == name):
            return path
    return ""


def catalog_field(path: str, body: Mapping[str, Any], where: str) -> str:
    """Turn ``spec.resourceGroups[0].flavors[0].resources[2].nominalQuota`` into a quota line."""
    steps = [(name, int(index) if index else "") for name, index in _STEP.findall(path)]
    names = [name for name, _index in steps]
    last = next((_PARTS[name] for name in reversed(names) if name in _PARTS), "")
    if "resourceGroups" in names:
        line = _line(steps, body)
        if line:
            last = "" if last == "quotas" else last
            return f"{where}.quotas[{line}]" + (f".{last}" if last else "")
    return f"{where}.{last}" if last else where


def _line(steps: list[tuple[str, Any]], body: Mapping[str, Any]) -> str:
    """Return ``flavor/resource`` of the quota line that a path leads to."""
    value: Any = body
    found: dict[str, str] = {}
    for name, index in steps:
        value = value.get(name) if isinstance(value, Mapping) else None
        if index != "" and isinstance(value, list) and index < len(value):
            value = value[index]
            if isinstance(value, Mapping) and name in ("flavors", "resources"):
                found[name] = str(value.get("name", ""))
    return "/".join(found[each] for each in ("flavors", "resources") if found.get(each))
