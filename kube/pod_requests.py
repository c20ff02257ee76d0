"""What the pods of a workload ask for, counted as Kubernetes and Kueue count it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from kube.lenient import Object, amounts, items, mapping, text, whole

Amounts = dict[str, int]


@dataclass(frozen=True, slots=True)
class PodSet:
    """One pod set: how many pods, how few would do, and what all of them ask for together."""

    name: str
    count: int
    requests: Amounts = field(default_factory=dict)
    least: Amounts = field(default_factory=dict)


def pod_sets(workload: Object) -> tuple[PodSet, ...]:
    """Return the pod sets in their order, in smallest units.

    What Kueue itself has counted (``status.resourceRequests``) goes before what the templates
    say: it holds transformations that a template does not show.
    """
    counted = {
        text(each, "name"): amounts(each, "resources")
        for each in items(workload, "status", "resourceRequests")
    }
    return tuple(_pod_set(each, counted) for each in items(workload, "spec", "podSets"))


def _pod_set(found: Object, counted: dict[str, Amounts]) -> PodSet:
    name = text(found, "name") or "main"
    count = max(0, whole(found.get("count"), 1))
    fewest = min(count, max(0, whole(found.get("minCount"), count)))
    requests = counted.get(name)
    if requests is None:
        requests = _times(pod_requests(mapping(found, "template", "spec")), count)
    least = {key: _share(value, fewest, count) for key, value in requests.items()}
    return PodSet(name, count, requests, least)


def _times(one: Counter[str], count: int) -> Amounts:
    return {name: value * count for name, value in one.items()}


def _share(value: int, part: int, whole_: int) -> int:
    return value * part // whole_ if whole_ else value


def pod_requests(spec: Object) -> Counter[str]:
    """Return what one pod needs at its peak: all containers, or one that prepares them.

    A limit counts where no request is written. An init container that restarts for ever stays
    beside everything that starts after it. The overhead of the runtime comes on top.
    """
    containers = items(spec, "containers")
    if len(containers) == 1 and not ({"initContainers", "overhead", "resources"} & spec.keys()):
        return _container(containers[0])
    peak: Counter[str] = Counter()
    beside: Counter[str] = Counter()
    for container in items(spec, "initContainers"):
        own = _container(container)
        peak |= beside + own
        if text(container, "restartPolicy") == "Always":
            beside += own
    together = _sum(_container(each) for each in containers) + beside
    return (peak | together | _container(spec)) + Counter(amounts(spec, "overhead"))


def _sum(counts: Iterable[Counter[str]]) -> Counter[str]:
    return sum(counts, Counter[str]())


def _container(container: Object) -> Counter[str]:
    asked = amounts(container, "resources", "limits") | amounts(container, "resources", "requests")
    return Counter(asked)
