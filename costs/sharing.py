"""Walks through an hour of one pool, from change to change, and adds up what is lent.

Borrowing is a matter of instants: a queue that holds too much for half an hour and too little for
the other half has borrowed, though its mean has not.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any, Final, NamedTuple

from costs.facts import NOBODY, Grant, Hold, Pool, Records
from costs.lending import Account, Loaned, Member, Path, Quota
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

    def note(self, hold: Hold) -> None:
        part = hold.span.cut(self.hour)
        if part:
            self.changes[part.starts][hold.queue] += hold.amount
            self.changes[part.ends][hold.queue] -= hold.amount
            self.held.setdefault(hold.queue, 0)

    def run(self) -> None:
        rules = self._rule_changes()
        edges = sorted({*self.hour, *rules, *self.changes})
        members: dict[str, dict[str, Member]] = {}
        quotas: dict[str, dict[Path, Quota]] = {}
        where: dict[str, str] = {}
        for starts, ends in pairwise(edges):
            moved = self.changes.get(starts, Counter())
            for queue, difference in moved.items():
                self.held[queue] += difference
            if starts in rules:
                members, quotas = self._members(starts), self._quotas(starts)
                where = {queue: root for root, found in members.items() for queue in found}
            else:
                for queue in moved:
                    found = members[where[queue]]
                    found[queue] = found[queue]._replace(held=self.held[queue])
            self._add(members, quotas, ends - starts)

    def _add(
        self,
        members: Mapping[str, Mapping[str, Member]],
        quotas: Mapping[str, Mapping[Path, Quota]],
        seconds: int,
    ) -> None:
        for root, found in members.items():
            if root:
                self.roots[root].add(found.values(), quotas.get(root, {}), seconds)
                continue
            for each in found.values():
                self.excess[each.account] += each.above * seconds

    def _rule_changes(self) -> set[int]:
        owners = (d for queue, d in self.records.owners.items() if queue in self.held)
        dated: list[Dated[Any]] = [*self.grants.values(), *self.cohorts.values(), *owners]
        found = {at for each in dated for at in each.starts if at in range(*self.hour)}
        return {self.hour.starts, *found}

    def _members(self, at: int) -> dict[str, dict[str, Member]]:
        """Return the queues by their root cohort, "" for those without one."""
        roots: dict[str, dict[str, Member]] = defaultdict(dict)
        for queue, held in self.held.items():
            dated = self.grants.get(queue)
            path, quota = (dated and dated.at(at)) or _NO_GRANT
            account = (queue, owner(self.records, queue, at))
            roots[path[0] if path else ""][queue] = Member(account, path, quota, held)
        return dict(roots)

    def _quotas(self, at: int) -> dict[str, dict[Path, Quota]]:
        roots: dict[str, dict[Path, Quota]] = defaultdict(dict)
        for path, dated in self.cohorts.items():
            if quota := dated.at(at):
                roots[path[0]][path] = quota
        return dict(roots)

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
