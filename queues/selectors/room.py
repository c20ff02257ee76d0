"""Kueue's quota arithmetic over what was observed: what a queue holds, borrows and could borrow.

The rules are those of Kueue's resource tree: a node keeps for itself what its lending limit
withholds, hands the rest to its parent, and may take from the parent up to its borrowing limit.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import Case, OuterRef, QuerySet, Subquery, When
from django.db.models.functions import JSONObject

from kube import quantity
from kube.catalog import CPU
from queues.compiled import Part
from queues.models import ObservedObject
from tenants.models import Queue

Key = tuple[str, str]
NODES: Final = ("ClusterQueue", "Cohort")
# Departments nest this deep at most; a cluster may hold anything.
DEEPEST = 50
LARGEST = 2**63 - 1


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
        self._open_circles()
        for node in [*self.queues.values(), *self.departments.values()]:
            if node.parent:
                parent = self.departments.setdefault(node.parent, Node(node.parent))
                parent.children.append(node)
        self._subtrees: dict[tuple[int, Key], int] = {}
        self._usages: dict[tuple[int, Key], int] = {}
        self._sums: dict[tuple[int, Key], tuple[int, int]] = {}

    def _open_circles(self) -> None:
        """Cut what Kueue refuses to calculate with: circles, and chains without a sensible end."""
        for node in self.departments.values():
            seen, at = {node.name}, node
            while at.parent in self.departments:
                if at.parent in seen or len(seen) > DEEPEST:
                    node.parent = ""
                    break
                seen.add(at.parent)
                at = self.departments[at.parent]

    def room(self, queue: str, key: Key) -> Room | None:
        """Say what ``queue`` holds and could take; None when the cluster has no such line."""
        node = self.queues.get(queue)
        line = node.lines.get(key) if node else None
        if node is None or line is None:
            return None
        held = node.held.get(key, 0)
        own = max(0, line.nominal - held)
        lent = self._lent(node, key)
        reach = self._available(node, key)
        return Room(
            nominal=line.nominal,
            held=held,
            borrowed=max(0, held - line.nominal),
            lent=lent,
            borrowable=max(0, reach - max(0, own - lent)) if node.parent else 0,
            borrowing_limit=line.borrowing_limit,
            lending_limit=line.lending_limit,
        )

    def subtree(self, node: Node, key: Key) -> int:
        """Give what a node has itself, and what its children hand up."""
        known = self._subtrees.get((id(node), key))
        if known is None:
            own = node.lines[key].nominal if key in node.lines else 0
            handed = (
                max(0, self.subtree(child, key) - self.kept_back(child, key))
                for child in node.children
            )
            known = self._subtrees[id(node), key] = own + sum(handed)
        return known

    def kept_back(self, node: Node, key: Key) -> int:
        """Give what a node does not hand up."""
        line = node.lines.get(key)
        if line is None or line.lending_limit is None:
            return 0
        return max(0, self.subtree(node, key) - line.lending_limit)

    def usage(self, node: Node, key: Key) -> int:
        """Give what a node holds, and what its children hold beyond what they keep."""
        known = self._usages.get((id(node), key))
        if known is None:
            beyond = (
                max(0, self.usage(child, key) - self.kept_back(child, key))
                for child in node.children
            )
            known = self._usages[id(node), key] = node.held.get(key, 0) + sum(beyond)
        return known

    def _available(self, node: Node, key: Key) -> int:
        """Give what could still be taken at a node, the reach through its parents included."""
        subtree, usage = self.subtree(node, key), self.usage(node, key)
        parent = self.departments.get(node.parent)
        if parent is None:
            return subtree - usage
        kept = self.kept_back(node, key)
        above = self._available(parent, key)
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
        taken, spare = self._beside(parent, key)
        taken -= max(0, self.usage(node, key) - self.subtree(node, key))
        spare -= max(0, self.subtree(node, key) - self.usage(node, key))
        spare += parent.lines[key].nominal if key in parent.lines else 0
        line = node.lines[key]
        idle = max(0, line.nominal - node.held.get(key, 0))
        lendable = idle if line.lending_limit is None else min(idle, line.lending_limit)
        return min(lendable, max(0, taken - spare))

    def _beside(self, parent: Node, key: Key) -> tuple[int, int]:
        """Sum what the children of a department take beyond their own, and what they leave."""
        known = self._sums.get((id(parent), key))
        if known is None:
            balance = [self.usage(each, key) - self.subtree(each, key) for each in parent.children]
            taken, spare = (
                sum(max(0, each) for each in balance),
                sum(max(0, -each) for each in balance),
            )
            known = self._sums[id(parent), key] = (taken, spare)
        return known

    def kept(self, queue: str, key: Key) -> int:
        """Give what others of the same department have idle and keep for themselves."""
        node = self.queues.get(queue)
        if node is None:
            return 0
        above = [node]
        while above[-1].parent in self.departments:
            above.append(self.departments[above[-1].parent])
        idle = (
            max(0, self.kept_back(each, key) - self.usage(each, key))
            for each in _below(above[-1])
            if not any(each is reached for reached in above)
        )
        return sum(idle)


def _below(node: Node) -> Iterator[Node]:
    for child in node.children:
        yield child
        yield from _below(child)


def trees(cluster_ids: Iterable[int], limit: int) -> dict[int, Tree]:
    """Give the quota tree of each cluster in one query, of so many objects in all at most."""
    rows = ObservedObject.objects.filter(cluster_id__in=set(cluster_ids), kind__in=NODES).only(
        "cluster_id", "kind", "name", "body"
    )
    found: dict[int, list[ObservedObject]] = defaultdict(list)
    for row in rows.order_by("kind", "cluster_id", "name")[:limit]:
        found[row.cluster_id].append(row)
    return {cluster: Tree(each) for cluster, each in found.items()}


def with_trees(queues: QuerySet[Queue], limit: int) -> QuerySet[Queue]:
    """Add the quota tree of its cluster to the first queue of each cluster, and to no other.

    A tree may be large; one queue brings it along for all, so that it costs no query of its own.
    """
    first = queues.filter(cluster=OuterRef("cluster")).order_by("pk").values("pk")[:1]
    return queues.annotate(its_tree=Case(When(pk=Subquery(first), then=_nodes(limit)())))


@cache
def _nodes(limit: int) -> Part:
    """Give what makes a cluster's tree, up to so many queues and departments."""
    node = JSONObject(
        kind="kind", name="name", spec="body__spec",
        reserved="body__status__flavorsReservation",
    )  # fmt: skip
    rows = ObservedObject.objects.filter(kind__in=NODES, cluster=OuterRef("cluster"))
    nodes = rows.order_by("kind", "name").values(json=node)[:limit]
    return Part(Queue, lambda: ArraySubquery(nodes))


def trees_of(rows: Iterable[Any]) -> dict[int, Tree]:
    """Read what ``with_trees`` has added, by cluster."""
    return {
        row.cluster_id: Tree(_observed(each) for each in row.its_tree)
        for row in rows
        if row.its_tree is not None
    }


def _observed(node: Mapping[str, Any]) -> ObservedObject:
    body = {"spec": node["spec"], "status": {"flavorsReservation": node["reserved"]}}
    return ObservedObject(kind=node["kind"], name=node["name"], body=body)


def _node(row: ObservedObject) -> Node:
    spec = _mapping(row.body.get("spec"))
    names = ("cohortName", "cohort") if row.kind == "ClusterQueue" else ("parentName",)
    parent = next((str(spec[name]) for name in names if spec.get(name)), "")
    return Node(row.name, parent, promised(row.body), held(row.body))


def promised(body: Mapping[str, Any]) -> dict[Key, Line]:
    """Give the quota lines of a queue or department as the cluster has it."""
    groups = _rows(_mapping(body.get("spec")).get("resourceGroups"))
    return {key: _line(each) for group in groups for key, each in _cells(group.get("flavors"))}


def held(body: Mapping[str, Any]) -> dict[Key, int]:
    """Give what a queue holds now, by flavor and resource."""
    status = _mapping(body.get("status"))
    return {
        key: amount(key[1], each.get("total", 0))
        for key, each in _cells(status.get("flavorsReservation"))
    }


def _cells(flavors: object) -> Iterator[tuple[Key, Mapping[str, Any]]]:
    for flavor in _rows(flavors):
        for resource in _rows(flavor.get("resources")):
            yield (str(flavor.get("name", "")), str(resource.get("name", ""))), resource


def _rows(value: object) -> Iterator[Mapping[str, Any]]:
    return (
        (each for each in value if isinstance(each, Mapping))
        if isinstance(value, list)
        else iter(())
    )


def _line(resource: Mapping[str, Any]) -> Line:
    name = str(resource.get("name", ""))
    limits = [
        None if resource.get(each) is None else amount(name, resource[each])
        for each in ("borrowingLimit", "lendingLimit")
    ]
    return Line(amount(name, resource.get("nominalQuota", 0)), *limits)


def amount(resource: str, value: object) -> int:
    """Read a live quantity as the portal counts it: milli-CPU, bytes, whole devices."""
    if not isinstance(value, str | int | float):
        return 0
    try:
        number = quantity.canonical(value)
    except ValueError:
        return 0  # a cluster may hold any text; a page must not fail on it
    return min(int(number * 1000 if resource == CPU else number), LARGEST)


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
