"""What stands behind a promise: the devices of each flavor, agreed or counted on its nodes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _

from kube.catalog import Catalog, FlavorSpec
from kube.impact import capacity
from portal.web.errors import Refused
from queues.models import ObservedObject
from queues.selectors.room import amount
from tenants.models import Cluster, Pool


class PoolExceeded(Refused):
    """More devices would be promised than there are."""

    code = "GP-4204"


@dataclass(frozen=True, slots=True)
class Size:
    """The devices of one flavor, and where the number comes from (``None``: nobody knows)."""

    devices: int | None
    source: str
    nodes: int = 0
    observed_at: datetime | None = None


def lock_pools(cluster: Cluster, flavors: Iterable[str]) -> None:
    """Lock the pools that a decision counts on, always in the same order."""
    rows = Pool.objects.filter(cluster=cluster, flavor__in=set(flavors)).order_by("pk")
    list(rows.select_for_update().values_list("pk", flat=True))


def sizes(cluster: Cluster, catalog: Catalog) -> dict[str, Size]:
    """Return the size of every flavor with devices: as agreed, else as the nodes say."""
    nodes = list(ObservedObject.objects.filter(cluster=cluster, kind="Node"))
    return {each.name: _size(each, nodes) for each in catalog.flavors if each.resource}


def _size(flavor: FlavorSpec, nodes: list[ObservedObject]) -> Size:
    if flavor.capacity is not None:
        return Size(flavor.capacity, "agreed")
    if not nodes or not flavor.node_labels:
        return Size(None, "unknown")
    ready = [node for node in nodes if _usable(node, flavor)]
    devices = sum(
        amount(flavor.resource, (node.body.get("allocatable") or {}).get(flavor.resource, 0))
        for node in ready
    )
    return Size(devices, "nodes", len(ready), min(node.observed_at for node in nodes))


def _usable(node: ObservedObject, flavor: FlavorSpec) -> bool:
    labels = node.body.get("labels") or {}
    matches = all(labels.get(key) == value for key, value in flavor.node_labels)
    return matches and bool(node.body.get("ready")) and not node.body.get("unschedulable")


def facts(cluster: Cluster, catalog: Catalog) -> list[dict[str, Any]]:
    """Return capacity, promises and what is left for each flavor, as JSON values."""
    found = sizes(cluster, catalog)
    rows = capacity(catalog, {name: size.devices for name, size in found.items()})
    return [
        asdict(row)
        | {
            "source": found[row.flavor].source,
            "nodes": found[row.flavor].nodes,
            "observed_at": _iso(found[row.flavor].observed_at),
        }
        for row in rows
    ]


def _iso(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None


def decide(cluster: Cluster, before: Catalog, after: Catalog) -> list[dict[str, Any]]:
    """Return the numbers of a decision, or refuse a promise that the pool cannot keep.

    A pool that is promised too much already may still be given less.
    """
    promised = {row.flavor: row.committed for row in capacity(before)}
    rows = facts(cluster, after)
    for row in rows:
        row["committed_before"] = promised.get(row["flavor"], 0)
        asked = row["committed"] - row["committed_before"]
        if row["capacity"] is not None and row["committed"] > row["capacity"] and asked > 0:
            raise _exceeded(row, asked)
    return rows


def _exceeded(row: dict[str, Any], asked: int) -> PoolExceeded:
    free = max(0, row["capacity"] - row["committed_before"])
    sentence = _(
        "%(flavor)s has %(capacity)d devices and %(promised)d are promised: "
        "%(free)d are free, %(asked)d more are asked for."
    )
    numbers = {
        "flavor": row["flavor"],
        "capacity": row["capacity"],
        "promised": row["committed_before"],
        "free": free,
        "asked": asked,
    }
    return PoolExceeded(sentence % numbers, field=f"flavors[{row['flavor']}]", details=numbers)
