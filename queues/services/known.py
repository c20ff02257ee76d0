"""The queues, flavors, nodes and namespaces of a cluster as last heard, and what moved."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

from kube.lenient import items, mapping, text
from kube.queue_facts import EntryFacts, QueueFacts
from kube.quota_tree import QuotaTree
from queues.services.observed import OBJECT_KINDS, Object, key_of, trim

Key = tuple[str, str]
Named = tuple[str, str, str]  # kind, namespace, name


class Known:
    """The objects of these kinds, the rows to write and what depends on what changed.

    ``dirty`` are to be written, ``gone`` to be deleted. ``moved`` are those whose change can
    change the reading of a workload: a queue's counters alone do not.
    """

    def __init__(self) -> None:
        """Know nothing."""
        self.objects: dict[str, dict[Key, Object]] = {kind: {} for kind in OBJECT_KINDS}
        self.dirty: set[Named] = set()
        self.gone: set[Named] = set()
        self.moved: set[Named] = set()
        self._seen: dict[str, set[Key]] = {}
        self._entries: dict[str, dict[str, EntryFacts]] = {}
        self._queues: dict[str, QueueFacts] = {}
        self._to_queue: dict[str, set[Key]] = {}

    # -- taking in -------------------------------------------------------------------------

    def begin(self, kind: str) -> None:
        """Note that a fresh list of a kind begins."""
        self._seen[kind] = set()

    def take(self, kind: str, change: str, item: Object) -> None:
        """Take one change in."""
        key = key_of(item)
        if change == "DELETED":
            self._forget(kind, key)
            return
        if kind in self._seen:
            self._seen[kind].add(key)
        before = self.objects[kind].get(key)
        self.objects[kind][key] = trim(item)
        self.dirty.add((kind, *key))
        self.gone.discard((kind, *key))
        if before is None or _bearing(kind, before) != _bearing(kind, item):
            self.moved.add((kind, *key))
        self._index(kind, key, item)

    def end(self, kind: str) -> None:
        """Forget what a complete list did not hold."""
        seen = self._seen.pop(kind, set())
        for key in [key for key in self.objects[kind] if key not in seen]:
            self._forget(kind, key)

    def _forget(self, kind: str, key: Key) -> None:
        if self.objects[kind].pop(key, None) is None:
            return
        self.dirty.discard((kind, *key))
        self.gone.add((kind, *key))
        self.moved.add((kind, *key))
        self._index(kind, key, None)

    def _index(self, kind: str, key: Key, item: Object | None) -> None:
        """Keep the parsed form of queues, which many workloads are read with."""
        namespace, name = key
        if kind == "ClusterQueue":
            self._queues.pop(name, None)
            if item is not None:
                self._queues[name] = QueueFacts(item)
        elif kind == "LocalQueue":
            before = self._entries.setdefault(namespace, {}).pop(name, None)
            if before is not None:
                self._to_queue.get(before.queue, set()).discard(key)
            if item is not None:
                facts = self._entries[namespace][name] = EntryFacts(item)
                self._to_queue.setdefault(facts.queue, set()).add(key)
        if kind in ("ClusterQueue", "Cohort"):
            self.__dict__.pop("tree", None)

    # -- asking ----------------------------------------------------------------------------

    def all(self) -> Iterator[tuple[Named, Object]]:
        """Yield every object with its name."""
        for kind, found in self.objects.items():
            for (namespace, name), item in found.items():
                yield (kind, namespace, name), item

    def entry(self, namespace: str, name: str) -> EntryFacts | None:
        """Return a LocalQueue."""
        return self._entries.get(namespace, {}).get(name)

    def entries_in(self, namespace: str) -> Iterable[str]:
        """Return the names of the LocalQueues of a namespace."""
        return self._entries.get(namespace, {})

    def entries_to(self, queue: str) -> Iterable[Key]:
        """Return the LocalQueues that lead to a ClusterQueue."""
        return self._to_queue.get(queue, ())

    def queue(self, name: str) -> QueueFacts | None:
        """Return a ClusterQueue."""
        return self._queues.get(name)

    @cached_property
    def tree(self) -> QuotaTree:
        """Return the quota of the whole cluster; made anew after any queue has changed."""
        return QuotaTree(self._queues.values(), self.objects["Cohort"].values(), complete=True)

    def namespaces_of(self, kind: str) -> dict[str, list[Object]]:
        """Return the objects of a kind by namespace."""
        found: dict[str, list[Object]] = {}
        for (namespace, _), item in self.objects[kind].items():
            found.setdefault(namespace, []).append(item)
        return found

    def find(self, kind: str, name: str, namespace: str = "") -> Object | None:
        """Return an object."""
        return self.objects[kind].get((namespace, name))

    # -- what depends on what moved --------------------------------------------------------

    def moved_places(self) -> tuple[set[Key], set[str], set[str]]:
        """Return entries, namespaces and queues whose workloads must be read again, once.

        An entry that comes or goes also touches its namespace: jobs may name one that is not
        there.
        """
        entries: set[Key] = set()
        namespaces: set[str] = set()
        queues: set[str] = set()
        for kind, namespace, name in self.moved:
            if kind == "LocalQueue":
                entries.add((namespace, name))
                namespaces.add(namespace)
            elif kind in ("Namespace", "LimitRange"):
                namespaces.add(namespace or name)
            else:
                queues.update(self._queues_beside(kind, name))
        self.moved.clear()
        for queue in queues:
            entries.update(self.entries_to(queue))
        return entries, namespaces, queues

    def _queues_beside(self, kind: str, name: str) -> Iterator[str]:
        if kind == "ClusterQueue":
            yield name
        elif kind == "Cohort":
            yield from (queue for queue, facts in self._queues.items() if facts.cohort)
        elif kind in ("ResourceFlavor", "AdmissionCheck"):
            yield from (
                queue for queue, facts in self._queues.items() if name in _names(facts.body)
            )


def _bearing(kind: str, item: Object) -> object:
    """Return the part of an object that explanations depend on."""
    meta = item["metadata"]
    if kind == "Namespace":
        return meta.get("labels")
    if kind in ("ResourceFlavor", "LimitRange"):
        return None
    conditions = items(item, "status", "conditions")
    active = [
        (text(each, "status"), text(each, "reason"), text(each, "message"))
        for each in conditions
        if text(each, "type") == "Active"
    ]
    return item.get("spec"), meta.get("deletionTimestamp"), active


def _names(queue: Mapping[str, Any]) -> set[str]:
    """Return the flavors and checks that a ClusterQueue names."""
    spec = mapping(queue, "spec")
    groups = items(spec, "resourceGroups")
    found = {text(each, "name") for group in groups for each in items(group, "flavors")}
    found |= {str(each) for each in spec.get("admissionChecks") or ()}
    strategy = items(spec, "admissionChecksStrategy", "admissionChecks")
    return found | {text(each, "name") for each in strategy}
