"""The devices of a node, of which flavor they are, and whether they can be used."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, NamedTuple

from kube import keys
from kube.lenient import NOTHING, Object, amounts, items, mapping, moment, text
from kube.lifecycle_facts import is_device

#: What stands for a flavor where the labels of a node are those of none, or of several.
NO_FLAVOR: Final = ""
_GKE_NUMBER: Final = "container.googleapis.com/instance_id"
_LONGEST_NAME: Final = 1024


class State(StrEnum):
    """Whether the devices of a node can be used."""

    READY = "ready"
    CORDONED = "cordoned"
    DOWN = "down"


class Flavor(NamedTuple):
    """What tells the nodes of a flavor; ``resource`` is its device where it says so itself."""

    name: str
    labels: Mapping[str, Any]
    resource: str


class Devices(NamedTuple):
    """So many devices of one flavor."""

    flavor: str
    resource: str
    amount: int


def read_flavor(item: Object) -> Flavor:
    """Return what tells the nodes of a ResourceFlavor."""
    said = mapping(item, "metadata", "labels").get(keys.RESOURCE)
    noted = mapping(item, "metadata", "annotations").get(keys.RESOURCE)
    name = text(item, "metadata", "name")
    return Flavor(name, mapping(item, "spec", "nodeLabels"), str(said or noted or ""))


def state(node: Object) -> State:
    """Return whether pods can be placed on a node; what is not ready counts as down."""
    if text(_ready(node), "status") != "True":
        return State.DOWN
    return State.CORDONED if mapping(node, "spec").get("unschedulable") is True else State.READY


def machines(node: Object) -> list[str]:
    """Return the names under which a bill may know a node: its provider id, and GKE's number."""
    numbered = mapping(node, "metadata", "annotations").get(_GKE_NUMBER)
    found = (text(node, "spec", "providerID"), numbered)
    return [str(each)[:_LONGEST_NAME] for each in found if each]


def flipped_at(node: Object) -> datetime | None:
    """Return when a node became ready, or ceased to be."""
    return moment(text(_ready(node), "lastTransitionTime"))


def _ready(node: Object) -> Object:
    conditions = items(node, "status", "conditions")
    return next((each for each in conditions if text(each, "type") == "Ready"), NOTHING)


def devices(node: Object, flavors: Iterable[Flavor]) -> tuple[Devices, ...]:
    """Return the devices that a node offers, by resource."""
    labels = mapping(node, "metadata", "labels")
    found = amounts(node, "status", "allocatable")
    offered = {name: number for name, number in found.items() if is_device(name) and number > 0}
    known = list(flavors) if offered else []
    return tuple(
        Devices(_flavor(labels, name, known), name, number)
        for name, number in sorted(offered.items())
    )


def _flavor(labels: Object, resource: str, flavors: list[Flavor]) -> str:
    """Return the one flavor that the labels are those of; one without labels fits any node."""
    fitting = [
        each for each in flavors
        if each.resource in ("", resource)
        and all(labels.get(key) == value for key, value in each.labels.items())
    ]  # fmt: skip
    narrow = [each.name for each in fitting if each.labels] or [each.name for each in fitting]
    return narrow[0] if len(narrow) == 1 else NO_FLAVOR
