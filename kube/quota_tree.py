"""How much a ClusterQueue can have: the quota tree of cohorts, with Kueue's own arithmetic.

``available`` is what could be given out now, ``potential`` what could be given out if nothing
were in use. Both per quota line (flavor, resource), in the smallest unit. Usage is what the
ClusterQueues' status says, which lags a second behind.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from kube.lenient import Object, mapping, text
from kube.queue_facts import Line, QueueFacts, Quota, read_queue, read_quotas

#: ("ClusterQueue" or "Cohort", name)
Key = tuple[str, str]
_QUEUE: Final = "ClusterQueue"
_COHORT: Final = "Cohort"
_NONE: Final = Quota()
#: Nobody builds departments that deep; what does is read as unknown.
MAX_DEPTH: Final = 50


class Bound(StrEnum):
    """What keeps a queue from having more of a quota line."""

    OWN_QUOTA = "own_quota"
    BORROWING_LIMIT = "borrowing_limit"
    COHORT_LIMIT = "cohort_limit"
    LENDING_LIMIT = "lending_limit"
    COHORT = "cohort"


@dataclass(frozen=True, slots=True)
class _Node:
    """A queue or a cohort: who is above it, its quota lines, what its jobs hold."""

    parent: str
    quotas: dict[Line, Quota]
    held: dict[Line, int]


class QuotaTree:
    """The ClusterQueues and cohorts of one cluster, as far as they are known."""

    def __init__(
        self,
        queues: Iterable[Object | QueueFacts],
        cohorts: Iterable[Object] = (),
        *,
        complete: bool = True,
    ) -> None:
        """Read queues and cohorts; a cohort that only a queue names has no quota of its own.

        ``complete``: these are all that the cluster has. Without that, nothing is said of a
        queue in a cohort of which only the queue itself is known.
        """
        self.complete = complete
        #: What others have worked out from this tree; it goes with the tree.
        self.answers: dict[Hashable, Any] = {}
        self.told: dict[Hashable, Any] = {}
        self.queues: dict[str, QueueFacts] = {}
        self._nodes: dict[Key, _Node] = {}
        for each in queues:
            queue = read_queue(each)
            if queue is not None and queue.name:
                self.queues[queue.name] = queue
                node = _Node(queue.cohort, dict(queue.quotas), dict(queue.held))
                self._nodes[_QUEUE, queue.name] = node
        for cohort in cohorts:
            parent = text(cohort, "spec", "parentName") or text(cohort, "spec", "parent")
            name = text(mapping(cohort), "metadata", "name")
            self._nodes[_COHORT, name] = _Node(parent, read_quotas(mapping(cohort)), {})
        for node in list(self._nodes.values()):
            self._nodes.setdefault((_COHORT, node.parent), _Node("", {}, {}))
        self._nodes.pop((_COHORT, ""), None)
        self._children: dict[str, list[Key]] = defaultdict(list)
        for key in sorted(self._nodes):
            if self._nodes[key].parent:
                self._children[self._nodes[key].parent].append(key)
        self._subtrees: dict[tuple[Key, Line], int] = {}
        self._uses: dict[tuple[Key, Line], int] = {}
        self._rooms: dict[tuple[Key, Line, bool], tuple[int, Bound]] = {}
        self._sums: dict[tuple[Key, Line], int] = {}
        self._roots: dict[str, Key | None] = {}
        self._known: dict[str, bool] = {}
        self._under_root: dict[Key, list[str]] = {}
        self._lenders: dict[tuple[Key, Line], int] = {}
        self._utmost: dict[tuple[str, Line], tuple[int, Bound] | None] = {}
        self._too_deep = any(len(list(self._above(key))) > MAX_DEPTH for key in self._nodes)

    def __contains__(self, queue: object) -> bool:
        return queue in self.queues

    # --- the shape --------------------------------------------------------------------------------

    def _above(self, key: Key) -> Iterator[Key]:
        """Yield the cohorts above a node, the nearest first; a circle ends where it closes."""
        seen: set[str] = set()
        parent = self._nodes[key].parent
        while parent and parent not in seen:
            seen.add(parent)
            yield (_COHORT, parent)
            parent = self._nodes[_COHORT, parent].parent

    def in_circle(self, queue: str) -> bool:
        """Return whether the cohorts above a queue form a circle: then it admits nothing."""
        return queue in self and self._root(queue) is None

    def _root(self, queue: str) -> Key | None:
        """Return the node at the top of a queue's tree, ``None`` under a circle."""
        if queue not in self._roots:
            above = list(self._above((_QUEUE, queue)))
            top = above[-1] if above else (_QUEUE, queue)
            closes = (_COHORT, self._nodes[top].parent) in above
            self._roots[queue] = None if closes else top
        return self._roots[queue]

    def beside(self, queue: str) -> list[QueueFacts]:
        """Return the other queues under the same root."""
        root = None if self._unusable(queue) else self._root(queue)
        if root is None:
            return []
        return [self.queues[name] for name in self._all_under(root) if name != queue]

    def _all_under(self, root: Key) -> list[str]:
        if root not in self._under_root:
            self._under_root[root] = list(self._queues_under(root))
        return self._under_root[root]

    def _queues_under(self, key: Key) -> Iterator[str]:
        for kind, name in self._under(key):
            if kind == _QUEUE:
                yield name
            else:
                yield from self._queues_under((kind, name))

    # --- the arithmetic ---------------------------------------------------------------------------

    def _quota(self, key: Key, line: Line) -> Quota:
        return self._nodes[key].quotas.get(line, _NONE)

    def _subtree(self, key: Key, line: Line) -> int:
        """Return the quota of a node with what those under it bring in."""
        if (key, line) not in self._subtrees:
            brought = (
                self._subtree(child, line) - self._kept(child, line) for child in self._under(key)
            )
            self._subtrees[key, line] = self._quota(key, line).nominal + sum(brought)
        return self._subtrees[key, line]

    def _kept(self, key: Key, line: Line) -> int:
        """Return what a node never lends."""
        lending = self._quota(key, line).lending
        return 0 if lending is None else max(0, self._subtree(key, line) - lending)

    def _use(self, key: Key, line: Line) -> int:
        if (key, line) not in self._uses:
            taken = (
                max(0, self._use(child, line) - self._kept(child, line))
                for child in self._under(key)
            )
            self._uses[key, line] = self._nodes[key].held.get(line, 0) + sum(taken)
        return self._uses[key, line]

    def _under(self, key: Key) -> list[Key]:
        return self._children[key[1]] if key[0] == _COHORT else []

    def _room(self, key: Key, line: Line, *, empty: bool) -> tuple[int, Bound]:
        """Return what a node can still have, and what bounds it; ``empty``: if nothing were used."""
        if (key, line, empty) not in self._rooms:
            self._rooms[key, line, empty] = self._make_room(key, line, empty=empty)
        return self._rooms[key, line, empty]

    def _make_room(self, key: Key, line: Line, *, empty: bool) -> tuple[int, Bound]:
        use = 0 if empty else self._use(key, line)
        quota, whole = self._quota(key, line), self._subtree(key, line)
        parent = self._nodes[key].parent
        if not parent:
            return whole - use, Bound.COHORT if key[0] == _COHORT else Bound.OWN_QUOTA
        kept = self._kept(key, line)
        above, bound = self._room((_COHORT, parent), line, empty=empty)
        if quota.borrowing is not None:
            limited = whole - kept - max(0, use - kept) + quota.borrowing
            if limited < above:
                above = limited
                bound = Bound.BORROWING_LIMIT if key[0] == _QUEUE else Bound.COHORT_LIMIT
        return max(0, kept - use) + above, bound

    def available(self, queue: str, line: Line) -> tuple[int, Bound] | None:
        """Return what a queue could get now (below 0: more is in use than it may have)."""
        if not self._knows(queue) or not self.queues[queue].known_use:
            return None
        return self._room((_QUEUE, queue), line, empty=False)

    def potential(self, queue: str, line: Line) -> tuple[int, Bound] | None:
        """Return what a queue could get if nothing were in use."""
        return self._room((_QUEUE, queue), line, empty=True) if self._knows(queue) else None

    def utmost(self, queue: str, line: Line) -> tuple[int, Bound] | None:
        """Return the same, and where others of the cohort keep some, that this is the bound."""
        if (queue, line) not in self._utmost:
            found = self.potential(queue, line)
            if found and found[1] is Bound.COHORT and self.lends_less(queue, line):
                found = found[0], Bound.LENDING_LIMIT
            self._utmost[queue, line] = found
        return self._utmost[queue, line]

    def without_own_limit(self, queue: str, line: Line) -> int | None:
        """Return what a queue could get if nothing were in use and it had no borrowing limit."""
        if not self._knows(queue):
            return None
        key = (_QUEUE, queue)
        if not self._nodes[key].parent:
            return self._subtree(key, line)
        above, _ = self._room((_COHORT, self._nodes[key].parent), line, empty=True)
        return self._kept(key, line) + above

    def _knows(self, queue: str) -> bool:
        if queue not in self._known:
            self._known[queue] = not self._unusable(queue) and (
                self.complete or not self.queues[queue].cohort or bool(self.beside(queue))
            )
        return self._known[queue]

    def _unusable(self, queue: str) -> bool:
        return self._too_deep or queue not in self or self.in_circle(queue)

    def lends_less(self, queue: str, line: Line) -> bool:
        """Return whether another queue under the same root keeps some for itself by a limit."""
        root = None if self._unusable(queue) else self._root(queue)
        if root is None:
            return False
        if (root, line) not in self._lenders:
            names = self._all_under(root)
            self._lenders[root, line] = sum(self._lends_part(name, line) for name in names)
        return self._lenders[root, line] > self._lends_part(queue, line)

    def _lends_part(self, queue: str, line: Line) -> bool:
        quota = self.queues[queue].quotas.get(line, _NONE)
        return quota.lending is not None and quota.lending < quota.nominal

    def held_by_others(self, queue: str, line: Line) -> int:
        """Return what the jobs of the other queues under the same root hold."""
        root = self._root(queue) if self._knows(queue) else None
        if root is None or root[0] == _QUEUE:
            return 0
        if (root, line) not in self._sums:
            held = (self.queues[name].held for name in self._all_under(root))
            self._sums[root, line] = sum(each.get(line, 0) for each in held)
        return self._sums[root, line] - self.queues[queue].held.get(line, 0)
