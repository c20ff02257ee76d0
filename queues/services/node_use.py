"""What pods take of each node's devices, whoever they belong to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container
from typing import Final

from kube.job_kinds import is_device
from kube.lenient import mapping, text
from kube.pod_requests import pod_requests
from queues.services.observed import Object

OVER: Final = frozenset({"Succeeded", "Failed"})
#: A node and what one pod takes of it, by resource.
Taken = tuple[str, dict[str, int]]


class NodeUse:
    """The devices taken on each node, as far as its pods are known."""

    def __init__(self) -> None:
        """Know no pod."""
        self._pods: dict[str, Taken] = {}
        self._used: dict[str, Counter[str]] = {}

    def take(self, change: str, item: Object) -> set[str]:
        """Take a change of a pod in; return the nodes on which another number is taken now."""
        uid = text(item, "metadata", "uid")
        before = self._pods.get(uid)
        after = None if change == "DELETED" else taken(item)
        if before == after:
            return set()
        self._move(uid, after)
        return {node for node, _ in filter(None, (before, after))}

    def keep(self, known: Container[str]) -> set[str]:
        """Forget the pods that are not ``known``; return the nodes on which they were."""
        gone = [uid for uid in self._pods if uid not in known]
        nodes = {self._pods[uid][0] for uid in gone}
        for uid in gone:
            self._move(uid, None)
        return nodes

    def of(self, node: str) -> dict[str, int]:
        """Return what is taken on a node, by resource."""
        found = self._used.get(node, Counter[str]())
        return {name: found[name] for name in sorted(found) if found[name]}

    def of_pod(self, uid: str) -> dict[str, int] | None:
        """Return what a pod takes, by resource; None if it takes nothing."""
        found = self._pods.get(uid)
        return found[1] if found else None

    def _move(self, uid: str, after: Taken | None) -> None:
        before = self._pods.pop(uid, None)
        if before is not None:
            left = self._used[before[0]]
            left.subtract(before[1])
            if not any(left.values()):
                del self._used[before[0]]
        if after is not None:
            self._pods[uid] = after
            self._used.setdefault(after[0], Counter()).update(after[1])


def taken(item: Object) -> Taken | None:
    """Return where a pod lies and what it takes there, None if it takes nothing.

    A pod that is being deleted takes its devices until it has ended.
    """
    node = text(item, "spec", "nodeName")
    if not node or text(item, "status", "phase") in OVER:
        return None
    asked = pod_requests(mapping(item, "spec"))
    devices = {name: number for name, number in asked.items() if is_device(name) and number}
    return (node, devices) if devices else None
