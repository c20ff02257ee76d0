"""Who lends to whom inside each department, as far as that can be said.

Kueue keeps no record of whose idle quota a job holds: lenders fill one pool and borrowers take
from it. So what a borrower takes is exact, and what a lender gives is a range: at least what
nobody else could have given, at most what it has idle and lends.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from queues.selectors.room import Key, Node, Tree

OWN: Final = "own"
QUEUE: Final = "queue"
DEPARTMENT: Final = "department"
ABOVE: Final = "above"
#: Queues that the viewer may not know: one side for all of them, its name is their number.
HIDDEN: Final = "hidden"


@dataclass(frozen=True, slots=True)
class Side:
    """One lender or borrower: between ``least`` and ``most``, equal when it is exact.

    ``kind`` is a queue, a department below, the department's ``own`` quota, or what it gets
    from ``above`` itself.
    """

    kind: str
    name: str
    least: int
    most: int


@dataclass(frozen=True, slots=True)
class Pool:
    """The borrowing of one flavor and resource inside one department at this moment."""

    department: str
    key: Key
    lenders: tuple[Side, ...]
    borrowers: tuple[Side, ...]

    @property
    def borrowed(self) -> int:
        """Give the sum that is borrowed."""
        return sum(each.least for each in self.borrowers)


def pools(tree: Tree, keys: Iterable[Key], named: Container[str] | None = None) -> list[Pool]:
    """Give every department in which something of these lines is borrowed now, by name.

    Queues that are not ``named`` (None: all are) become one side without a name.
    """
    wanted = sorted(set(keys))
    found = (
        _pool(tree, node, key, named)
        for _name, node in sorted(tree.departments.items())
        for key in wanted
    )
    return [pool for pool in found if pool is not None]


def _pool(tree: Tree, node: Node, key: Key, named: Container[str] | None) -> Pool | None:
    borrowers = _folded(_borrowers(tree, node, key), named)
    if not borrowers:
        return None
    need = sum(each.least for each in borrowers)
    above = max(0, tree.usage(node, key) - tree.subtree(node, key))
    within = max(0, need - above)
    spare = _folded(_spare(tree, node, key), named)
    total = sum(each.most for each in spare)
    lenders = [
        Side(each.kind, each.name, max(0, within - (total - each.most)), min(each.most, within))
        for each in spare
    ]
    if above:
        lenders.append(Side(ABOVE, node.parent, above, above))
    return Pool(node.name, key, tuple(each for each in lenders if each.most), borrowers)


def _folded(sides: Iterable[Side], named: Container[str] | None) -> tuple[Side, ...]:
    rows = [each for each in sides if each.most]
    hidden = [
        each for each in rows
        if each.kind == QUEUE and named is not None and each.name not in named
    ]  # fmt: skip
    if not hidden:
        return tuple(rows)
    least, most = sum(each.least for each in hidden), sum(each.most for each in hidden)
    shown = [each for each in rows if each not in hidden]
    return (*shown, Side(HIDDEN, str(len(hidden)), least, most))


def _borrowers(tree: Tree, node: Node, key: Key) -> Iterator[Side]:
    for child in sorted(node.children, key=lambda each: each.name):
        taken = max(0, tree.usage(child, key) - tree.subtree(child, key))
        if taken:
            yield Side(_kind(tree, child), child.name, taken, taken)


def _spare(tree: Tree, node: Node, key: Key) -> Iterator[Side]:
    """Give what each could lend: the department's own quota, and what its children leave."""
    own = node.lines[key].nominal if key in node.lines else 0
    yield Side(OWN, node.name, 0, own)
    for child in sorted(node.children, key=lambda each: each.name):
        handed = tree.subtree(child, key) - tree.kept_back(child, key)
        used = max(0, tree.usage(child, key) - tree.kept_back(child, key))
        yield Side(_kind(tree, child), child.name, 0, max(0, handed - used))


def _kind(tree: Tree, node: Node) -> str:
    return QUEUE if tree.queues.get(node.name) is node else DEPARTMENT
