"""A cluster's queues as a tree of departments, and who borrows from whom, as a page draws it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from portal.web.wording import plain
from queues.selectors import lending
from queues.selectors.clusters import ClusterNow, DepartmentNow, PoolNow
from queues.selectors.room import Key, Node, Tree
from queues.views.meters import QueueShown

# The height of one side of a drawing of who lends, in pixels.
STEP: Final = 34
WIDTH: Final = 56
THIN, THICK = 2.0, 12.0


@dataclass(frozen=True, slots=True)
class Amount:
    """What is held of one flavor against what is promised, in devices."""

    label: str
    held: int
    nominal: int


@dataclass(frozen=True, slots=True)
class Branch:
    """One line of the tree: a department, a queue, or the queues that are not shown."""

    depth: int
    department: DepartmentNow | None = None
    amounts: tuple[Amount, ...] = ()
    queue: QueueShown | None = None
    hidden: int = 0

    @property
    def stamp(self) -> tuple[object, ...]:
        """Give what moves when the line looks different."""
        queue = self.queue.stamp if self.queue else None
        return (self.depth, self.department, self.amounts, queue, self.hidden)


def branches(
    now: ClusterNow, shown: Iterable[QueueShown], tree: Tree, *, cut: bool = False
) -> list[Branch]:
    """Lay out departments and queues line by line, each below what it belongs to.

    Where the list of queues is ``cut`` nobody can say how many others there are.
    """
    mine: dict[str, list[QueueShown]] = defaultdict(list)
    for each in shown:
        department = each.now.queue.department
        mine[department.name if department else ""].append(each)
    below: dict[str, list[DepartmentNow]] = defaultdict(list)
    known = {each.name for each in now.departments}
    for each_ in now.departments:
        below[each_.parent if each_.parent in known else ""].append(each_)
    lines = list(_below("", 0, below, mine, Sums(tree, now.pools)))
    without = now.row.queues - sum(each.queues for each in now.departments) - len(mine[""])
    if without > 0:
        lines.append(Branch(0, hidden=without))
    return [each for each in lines if not (cut and each.hidden)]


def _below(
    name: str,
    depth: int,
    below: Mapping[str, list[DepartmentNow]],
    mine: Mapping[str, list[QueueShown]],
    sums: Sums,
) -> Iterator[Branch]:
    for each in below.get(name, ()):
        yield Branch(depth, department=each, amounts=sums.of(each.name))
        yield from _below(each.name, depth + 1, below, mine, sums)
        hidden = each.queues - len(mine.get(each.name, ()))
        if hidden > 0:
            yield Branch(depth + 1, hidden=hidden)
    for queue in mine.get(name, ()):
        yield Branch(depth, queue=queue)


class Sums:
    """What departments hold and were promised, all that is below them together."""

    def __init__(self, tree: Tree, pools: Iterable[PoolNow]) -> None:
        """Remember the tree, and which flavors count."""
        self.tree = tree
        self.keys = [(each.pool.flavor, each.pool.resource) for each in pools]

    def of(self, department: str) -> tuple[Amount, ...]:
        """Sum up one department; a flavor that nobody below it has is left out."""
        node = self.tree.departments.get(department)
        if node is None:
            return ()
        amounts = (Amount(key[0], *self._sum(node, key)) for key in self.keys)
        return tuple(each for each in amounts if each.held or each.nominal)

    def _sum(self, node: Node, key: Key) -> tuple[int, int]:
        held, line = node.held.get(key, 0), node.lines.get(key)
        nominal = line.nominal if line else 0
        for child in node.children:
            more = self._sum(child, key)
            held, nominal = held + more[0], nominal + more[1]
        return held, nominal


# --- who lends to whom ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class End:
    """One end of the drawing: words, the amount, and the line that leads to the middle."""

    text: str
    kind: str
    amount: str
    path: str
    width: float
    certain: bool = True


@dataclass(frozen=True, slots=True)
class Flow:
    """One department and flavor in which something is borrowed."""

    department: str
    flavor: str
    borrowed: int
    lenders: list[End]
    borrowers: list[End]
    height: int
    width: int = WIDTH


def flows(now: ClusterNow, tree: Tree, named: Iterable[str] | None) -> list[Flow]:
    """Draw every department in which something is borrowed now; queues not named are a number."""
    labels = {each.name: each.label for each in now.departments}
    keys = [(each.pool.flavor, each.pool.resource) for each in now.pools]
    known = None if named is None else frozenset(named)
    rows = sorted(lending.pools(tree, keys, known), key=lambda each: _order(each, tree))
    return [_flow(pool, labels) for pool in rows]


def _order(pool: lending.Pool, tree: Tree) -> tuple[Key, int, str]:
    """Sort by flavor, then from the top of the tree down."""
    depth, node = 0, tree.departments[pool.department]
    while node.parent in tree.departments:
        depth, node = depth + 1, tree.departments[node.parent]
    return (pool.key, depth, pool.department)


def _flow(pool: lending.Pool, labels: Mapping[str, str]) -> Flow:
    height = STEP * max(len(pool.lenders), len(pool.borrowers))
    return Flow(
        department=labels.get(pool.department, pool.department),
        flavor=pool.key[0],
        borrowed=pool.borrowed,
        lenders=_ends(pool.lenders, pool, labels, height, left=True),
        borrowers=_ends(pool.borrowers, pool, labels, height, left=False),
        height=height,
    )


def _ends(
    sides: Iterable[lending.Side],
    pool: lending.Pool,
    labels: Mapping[str, str],
    height: int,
    *,
    left: bool,
) -> list[End]:
    rows = list(sides)
    top = (height - STEP * len(rows)) / 2
    return [
        End(
            text=_name(side, labels),
            kind=side.kind,
            amount=_amount(side),
            path=_path(top + STEP * (index + 0.5), height / 2, left=left),
            width=round(THIN + (THICK - THIN) * side.most / max(pool.borrowed, 1), 1),
            certain=side.least == side.most,
        )
        for index, side in enumerate(rows)
    ]


def _path(side: float, middle: float, *, left: bool) -> str:
    begin, end = (side, middle) if left else (middle, side)
    half = WIDTH / 2
    return f"M0 {begin:g}C{half:g} {begin:g} {half:g} {end:g} {WIDTH} {end:g}"


def _amount(side: lending.Side) -> str:
    if side.least == side.most:
        return plain(side.most)
    return _("%(least)s to %(most)s") % {"least": plain(side.least), "most": plain(side.most)}


def _name(side: lending.Side, labels: Mapping[str, str]) -> str:
    if side.kind == lending.HIDDEN:
        text = ngettext("%(n)s queue of others", "%(n)s queues of others", int(side.name))
        return text % {"n": plain(int(side.name))}
    if side.kind == lending.OWN:
        return _("the department's own quota")
    if side.kind == lending.ABOVE:
        above = labels.get(side.name, side.name)
        return _("from %(name)s above") % {"name": above} if above else _("more than there is")
    return labels.get(side.name, side.name) if side.kind == lending.DEPARTMENT else side.name


def strangers(tree: Tree, shown: Iterable[QueueShown]) -> int:
    """Count the queues of the cluster that are not among these."""
    return len(set(tree.queues) - {each.now.queue.name for each in shown})
