"""Walks through an hour of one pool, from change to change, and adds up what is lent.

Borrowing is a matter of instants: a queue that holds too much for half an hour and too little for
the other half has borrowed, though its mean has not.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import pairwise
from typing import Any, Final, NamedTuple

from costs.facts import NOBODY, Grant, Hold, Pool, Records
from costs.lending import Account, Leaf, Loaned, Member, Path, Quota, leaf
from costs.steps import Dated
from costs.times import Span

_NO_GRANT: Final = Grant((), Quota(0))


class Borrowing(NamedTuple):
    """Resource-seconds of an hour by account; ``pool`` is what cohorts lent themselves."""

    borrowed: Counter[Account]
    lent: Counter[Account]
    overdraft: Counter[Account]
    excess: Counter[Account]
    pool: int


def borrowing(records: Records, pool: Pool, hour: Span, holds: Iterable[Hold]) -> Borrowing:
    """Return who borrowed and lent in an hour; ``holds`` are those of this pool."""
    walk = _Walk(records, pool, hour)
    for each in holds:
        walk.note(each)
    walk.run()
    return walk.sums()


class _Walk:
    def __init__(self, records: Records, pool: Pool, hour: Span) -> None:
        self.records, self.pool, self.hour = records, pool, hour
        self.grants = {q: dated for (q, of), dated in records.grants.items() if of == pool}
        self.cohorts = {p: dated for (p, of), dated in records.cohorts.items() if of == pool}
        self.changes: dict[int, Counter[str]] = defaultdict(Counter)
        self.held: Counter[str] = Counter(dict.fromkeys(self.grants, 0))
        self.roots: dict[str, Loaned] = defaultdict(Loaned)
        self.excess: Counter[Account] = Counter()
        #: How it stands between two changes: queues by cohort, cohorts by root.
        self.members: dict[Path, dict[str, Member]] = {}
        self.where: dict[str, Path] = {}
        self.leaves: dict[str, dict[Path, Leaf]] = {}
        self.quotas: dict[str, dict[Path, Quota]] = {}

    def note(self, hold: Hold) -> None:
        part = hold.span.cut(self.hour)
        if part:
            self.changes[part.starts][hold.queue] += hold.amount
            self.changes[part.ends][hold.queue] -= hold.amount
            self.held.setdefault(hold.queue, 0)

    def run(self) -> None:
        """Add up the hour from one change to the next."""
        rules = self._rule_changes()
        edges = sorted({*self.hour, *rules, *self.changes})
        for starts, ends in pairwise(edges):
            moved = self.changes.get(starts, Counter())
            for queue, difference in moved.items():
                self.held[queue] += difference
            if starts in rules:
                self._look(starts)
            else:
                self._move(moved)
            self._add(ends - starts)

    def _look(self, at: int) -> None:
        """Read anew where every queue is and what it has."""
        self.members = defaultdict(dict)
        for queue in self.held:
            member = self._member(queue, at)
            self.members[member.path][queue] = member
        self.where = {queue: path for path, found in self.members.items() for queue in found}
        self.leaves = defaultdict(dict)
        for path, found in self.members.items():
            if path:
                self.leaves[path[0]][path] = leaf(found.values())
        self.quotas = defaultdict(dict)
        for path, dated in self.cohorts.items():
            if quota := dated.at(at):
                self.quotas[path[0]][path] = quota

    def _move(self, moved: Iterable[str]) -> None:
        """Look at those cohorts again whose queues hold something else now."""
        touched: set[Path] = set()
        for queue in moved:
            path = self.where[queue]
            found = self.members[path]
            found[queue] = found[queue]._replace(held=self.held[queue])
            touched.add(path)
        for path in touched - {()}:
            self.leaves[path[0]][path] = leaf(self.members[path].values())

    def _add(self, seconds: int) -> None:
        for root, leaves in self.leaves.items():
            self.roots[root].add(leaves, self.quotas.get(root, {}), seconds)
        for each in self.members.get((), {}).values():
            if above := each.above:
                self.excess[each.account] += above * seconds

    def _member(self, queue: str, at: int) -> Member:
        dated = self.grants.get(queue)
        path, quota = (dated.at(at) if dated else None) or _NO_GRANT
        return Member((queue, owner(self.records, queue, at)), path, quota, self.held[queue])

    def _rule_changes(self) -> set[int]:
        owners = (d for queue, d in self.records.owners.items() if queue in self.held)
        dated: list[Dated[Any]] = [*self.grants.values(), *self.cohorts.values(), *owners]
        found = {at for each in dated for at in each.starts if at in range(*self.hour)}
        return {self.hour.starts, *found}

    def sums(self) -> Borrowing:
        result = Borrowing(Counter(), Counter(), Counter(), Counter(self.excess), 0)
        for loaned in self.roots.values():
            found = loaned.sums()
            result.borrowed.update(found.borrowed)
            result.lent.update(found.lent)
            result.overdraft.update(found.overdraft)
            result = result._replace(pool=result.pool + found.pool)
        return result


def owner(records: Records, queue: str, at: int) -> str:
    """Return the tenant that a queue belonged to, nobody if none is known."""
    dated = records.owners.get(queue)
    return (dated.at(at) if dated else None) or NOBODY
