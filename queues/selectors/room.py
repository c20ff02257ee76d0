"""Kueue's quota arithmetic over what was observed: what a queue holds, borrows and could borrow.

The rules are those of Kueue's resource tree: a node keeps for itself what its lending limit
withholds, hands the rest to its parent, and may take from the parent up to its borrowing limit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kube import quantity
from kube.catalog import CPU
from queues.models import ObservedObject

Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Line:
    """Quota of one flavor and resource at one node, as the cluster has it."""

    nominal: int
    borrowing_limit: int | None = None
    lending_limit: int | None = None


@dataclass(slots=True)
class Node:
    """A queue or a department of one cluster."""

    name: str
    parent: str = ""
    lines: dict[Key, Line] = field(default_factory=dict)
    held: dict[Key, int] = field(default_factory=dict)
    children: list[Node] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Room:
    """The numbers of one line at one moment. ``lent`` is what is lent for certain."""

    nominal: int
    held: int
    borrowed: int
    lent: int
    borrowable: int
    borrowing_limit: int | None
    lending_limit: int | None

    @property
    def free(self) -> int:
        """Give what the queue could start now, the borrowable part included."""
        return max(0, self.nominal - self.held - self.lent) + self.borrowable


class Tree:
    """The quota tree of one cluster, built from observed rows."""

    def __init__(self, rows: Iterable[ObservedObject]) -> None:
        """Link queues and departments; a parent that was never seen becomes a plain node."""
        self.queues: dict[str, Node] = {}
        self.departments: dict[str, Node] = {}
        for row in rows:
            node = _node(row)
            (self.queues if row.kind == "ClusterQueue" else self.departments)[row.name] = node
        for node in [*self.queues.values(), *self.departments.values()]:
            if node.parent:
                parent = self.departments.setdefault(node.parent, Node(node.parent))
                parent.children.append(node)

    def room(self, queue: str, key: Key) -> Room | None:
        """Say what ``queue`` holds and could take; None when the cluster has no such line."""
        node = self.queues.get(queue)
        line = node.lines.get(key) if node else None
        if node is None or line is None:
            return None
        held = node.held.get(key, 0)
        own = max(0, line.nominal - held)
        lent = self._lent(node, key)
        reach = self._available(node, key, frozenset())
        return Room(
            nominal=line.nominal,
            held=held,
            borrowed=max(0, held - line.nominal),
            lent=lent,
            borrowable=max(0, reach - max(0, own - lent)) if node.parent else 0,
            borrowing_limit=line.borrowing_limit,
            lending_limit=line.lending_limit,
        )

    def _subtree(self, node: Node, key: Key, seen: frozenset[str]) -> int:
        own = node.lines[key].nominal if key in node.lines else 0
        if node.name in seen:
            return own
        inner = seen | {node.name} if node.children else seen
        return own + sum(
            max(0, self._subtree(child, key, inner) - self._kept(child, key, inner))
            for child in node.children
        )

    def _kept(self, node: Node, key: Key, seen: frozenset[str]) -> int:
        line = node.lines.get(key)
        if line is None or line.lending_limit is None:
            return 0
        return max(0, self._subtree(node, key, seen) - line.lending_limit)

    def _usage(self, node: Node, key: Key, seen: frozenset[str]) -> int:
        if node.name in seen:
            return 0
        inner = seen | {node.name} if node.children else seen
        return node.held.get(key, 0) + sum(
            max(0, self._usage(child, key, inner) - self._kept(child, key, inner))
            for child in node.children
        )

    def _available(self, node: Node, key: Key, seen: frozenset[str]) -> int:
        none: frozenset[str] = frozenset()
        subtree, usage = self._subtree(node, key, none), self._usage(node, key, none)
        parent = self.departments.get(node.parent)
        if parent is None or parent.name in seen:
            return subtree - usage
        kept = self._kept(node, key, none)
        above = self._available(parent, key, seen | {parent.name})
        line = node.lines.get(key)
        if line is not None and line.borrowing_limit is not None:
            stored, used = subtree - kept, max(0, usage - kept)
            above = min(above, stored - used + line.borrowing_limit)
        return max(0, kept - usage) + above

    def _lent(self, node: Node, key: Key) -> int:
        """Give what others certainly took of this queue's idle quota, if nobody else had any."""
        parent = self.departments.get(node.parent)
        if parent is None or key not in node.lines:
            return 0
        others = [each for each in parent.children if each is not node]
        taken = sum(max(0, _held(each, key, self) - _own(each, key, self)) for each in others)
        spare = sum(max(0, _own(each, key, self) - _held(each, key, self)) for each in others)
        spare += parent.lines[key].nominal if key in parent.lines else 0
        line = node.lines[key]
        idle = max(0, line.nominal - node.held.get(key, 0))
        lendable = idle if line.lending_limit is None else min(idle, line.lending_limit)
        return min(lendable, max(0, taken - spare))


def _own(node: Node, key: Key, tree: Tree) -> int:
    return tree._subtree(node, key, frozenset())


def _held(node: Node, key: Key, tree: Tree) -> int:
    return tree._usage(node, key, frozenset())


def _node(row: ObservedObject) -> Node:
    spec = _mapping(row.body.get("spec"))
    parent = (
        spec.get("cohortName") or spec.get("cohort")
        if row.kind == "ClusterQueue"
        else spec.get("parentName")
    )
    node = Node(row.name, str(parent or ""))
    for group in spec.get("resourceGroups") or ():
        for flavor in group.get("flavors") or ():
            for resource in flavor.get("resources") or ():
                key = (str(flavor["name"]), str(resource["name"]))
                node.lines[key] = _line(resource)
    status = _mapping(row.body.get("status"))
    for flavor in status.get("flavorsReservation") or ():
        for resource in flavor.get("resources") or ():
            key = (str(flavor["name"]), str(resource["name"]))
            node.held[key] = amount(key[1], resource.get("total", 0))
    return node


def _line(resource: Mapping[str, Any]) -> Line:
    name = str(resource["name"])
    limits = [
        None if resource.get(each) is None else amount(name, resource[each])
        for each in ("borrowingLimit", "lendingLimit")
    ]
    return Line(amount(name, resource.get("nominalQuota", 0)), *limits)


def amount(resource: str, value: str | float) -> int:
    """Read a live quantity as the portal counts it: milli-CPU, bytes, whole devices."""
    try:
        number = quantity.canonical(value)
    except ValueError:
        return 0  # a cluster may hold any text; a page must not fail on it
    return int(number * 1000 if resource == CPU else number)


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
