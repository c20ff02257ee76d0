"""What the spec of a workload asks for. Most workloads of a cluster share theirs with others, so
it is worked out once for all of them by whoever knows that two specs are the same.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from kube.lenient import Object, amount, items, mapping
from kube.pod_requests import PodSet, pod_sets

_SHAPES: Final = ("nodeSelector", "affinity", "tolerations")
_BRIEF: Final = ("priority", "active")


@dataclass(frozen=True, slots=True)
class Asked:
    """What follows from a spec alone. ``brief`` is what of the spec a queue's order looks at.

    ``least`` is the same for specs whose pod sets ask for the same, at the least.
    """

    pod_sets: tuple[PodSet, ...]
    least: Hashable
    shape: str
    devices: int
    brief: Object

    @classmethod
    def read(cls, spec: Mapping[str, Any]) -> Asked:
        """Read a spec; raises for one of odd form, as :func:`devices_asked` does."""
        body = {"spec": spec}
        found = pod_sets(body)
        brief = {key: spec[key] for key in _BRIEF if key in spec}
        least = tuple((each.name, *sorted(each.least.items())) for each in found)
        return cls(found, least, shape(body, found), devices_asked(body), brief)


def shape(workload: Object, asked: tuple[PodSet, ...]) -> str:
    """Return what two workloads must share to count as equal, besides their priority."""
    parts = [
        (
            str(each.get("count")),
            each.get("topologyRequest"),
            [mapping(each, "template", "spec").get(key) for key in _SHAPES],
        )
        for each in items(workload, "spec", "podSets")
    ]
    requests = [sorted(pod_set.requests.items()) for pod_set in asked]
    return json.dumps([parts, requests], sort_keys=True, default=str)


def is_device(resource: str) -> bool:
    """Return whether a resource is an extended one, such as a GPU."""
    return "/" in resource and not resource.startswith("kubernetes.io/")


def devices_asked(workload: Mapping[str, Any]) -> int:
    """Return the devices that all pods of a Workload ask for together; raises for odd forms."""
    return sum(
        _devices_of_pod(pod_set.get("template", {}).get("spec", {})).total()
        * int(pod_set.get("count", 1))
        for pod_set in workload.get("spec", {}).get("podSets", [])
    )


def _devices_of_pod(spec: Mapping[str, Any]) -> Counter[str]:
    """Return what one pod needs at its peak: containers together, or one that prepares them.

    An init container that restarts for ever stays beside all that start after it.
    """
    peak: Counter[str] = Counter()
    beside: Counter[str] = Counter()
    for container in spec.get("initContainers") or ():
        own = _devices(container)
        peak |= beside + own
        if container.get("restartPolicy") == "Always":
            beside += own
    return peak | sum((_devices(each) for each in spec.get("containers") or ()), beside)


def _devices(container: Mapping[str, Any]) -> Counter[str]:
    """Return the devices that a container asks for; a limit counts where no request stands."""
    resources = container.get("resources") or {}
    asked = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
    return Counter({name: amount(name, text) for name, text in asked.items() if is_device(name)})
