"""Who holds more than its own quota, and whose quota that is: a rule of the portal.

Kueue records neither lender nor borrower. Usage fills a queue's own quota first and then flows
up the tree of cohorts, so at every instant and from the bottom up, each cohort serves what its
queues borrow: first from quota of the cohort itself (the *pool*), then from what its queues have
unused and may lend, in proportion. What no quota covers is *overdraft*: a quota was lowered
below its use, or a queue has moved. Only the sums of an hour are rounded, so that how finely
the time is cut changes nothing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import gcd, lcm
from typing import Final, NamedTuple

from costs.rounding import settle

#: The cohorts above a queue, from the root down; empty for a queue without a cohort.
Path = tuple[str, ...]
#: Whose account something is booked on: a queue, and the tenant that owned it then.
Account = tuple[str, str]


class Quota(NamedTuple):
    """What a queue or a cohort has of one resource; ``lending_limit`` None is "not set"."""

    nominal: int
    lending_limit: int | None = None


class Member(NamedTuple):
    """A queue at an instant: where it is, what it has and what it holds."""

    account: Account
    path: Path
    quota: Quota
    held: int

    @property
    def above(self) -> int:
        """Return what it holds above its own quota."""
        return max(0, self.held - self.quota.nominal)

    @property
    def lendable(self) -> int:
        """Return what others may use of its quota; a limit of 0 is a limit."""
        limit = self.quota.lending_limit
        unused = max(0, self.quota.nominal - self.held)
        return unused if limit is None else min(limit, unused)


class Leaf(NamedTuple):
    """The queues of one cohort at an instant: who wants more, and who has something to lend."""

    borrowers: dict[Account, int]
    lenders: dict[Account, int]
    wanted: int
    lending: int


def leaf(members: Iterable[Member]) -> Leaf:
    """Return what the queues of a cohort want and have."""
    borrowers: dict[Account, int] = {}
    lenders: dict[Account, int] = {}
    for each in members:
        if above := each.above:
            borrowers[each.account] = above
        elif lendable := each.lendable:
            lenders[each.account] = lendable
    return Leaf(borrowers, lenders, sum(borrowers.values()), sum(lenders.values()))


class _Group(NamedTuple):
    """The lenders of a cohort, of whose room a part is left, the same of each of them."""

    numerator: int
    denominator: int
    lenders: dict[Account, int]

    def times(self, numerator: int, denominator: int) -> _Group:
        above, below = self.numerator * numerator, self.denominator * denominator
        common = gcd(above, below)
        return _Group(above // common, below // common, self.lenders)


@dataclass(slots=True)
class _Side:
    """What a subtree still wants and still has, in whole units."""

    wanted: int = 0
    pool: int = 0
    lending: int = 0
    groups: list[_Group] = field(default_factory=list)

    def join(self, other: _Side) -> None:
        self.wanted += other.wanted
        self.pool += other.pool
        self.lending += other.lending
        self.groups += other.groups

    def take(self, amount: int) -> list[_Group]:
        """Take an amount from all lenders in proportion; return what each group gives."""
        taken = [group.times(amount, self.lending) for group in self.groups]
        left = self.lending - amount
        self.groups = [group.times(left, self.lending) for group in self.groups] if left else []
        self.lending = left
        return taken


class Loans(NamedTuple):
    """The sums of one root cohort, in resource-seconds: whole, and equal on both sides."""

    borrowed: dict[Account, int]
    lent: dict[Account, int]
    overdraft: dict[Account, int]
    pool: int


class Loaned:
    """Adds up what is borrowed and lent in one root cohort over the instants of an hour."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.borrowed: Counter[Account] = Counter()
        self.pool = 0
        #: Parts of resource-seconds by their denominator.
        self.lent: dict[int, Counter[Account]] = defaultdict(Counter)
        self.over: dict[int, Counter[Account]] = defaultdict(Counter)
        self.lent_whole = self.over_whole = 0

    def add(self, leaves: Mapping[Path, Leaf], cohorts: Mapping[Path, Quota], seconds: int) -> None:
        """Add a time in which nothing changed; ``cohorts`` are those of this root alone."""
        if not any(found.wanted for found in leaves.values()):
            return
        for found in leaves.values():
            book(self.borrowed, found.borrowers, seconds)
        sides = {path: _side(found) for path, found in leaves.items()}
        for path in sorted(_with_parents([*leaves, *cohorts]), key=len, reverse=True):
            side = sides.setdefault(path, _Side())
            quota = cohorts.get(path, _NOTHING)
            self._serve(side, quota, seconds)
            if len(path) > 1:
                _limit(side, quota.lending_limit)
                sides.setdefault(path[:-1], _Side()).join(side)
            elif side.wanted:
                self._overdraw(leaves, side.wanted, seconds)

    def _serve(self, side: _Side, quota: Quota, seconds: int) -> None:
        side.pool += quota.nominal
        served = min(side.wanted, side.pool)
        side.pool -= served
        self.pool += served * seconds
        lent = min(side.wanted - served, side.lending)
        side.wanted -= served + lent
        if lent:
            self.lent_whole += lent * seconds
            for group in side.take(lent):
                book(self.lent[group.denominator], group.lenders, group.numerator * seconds)

    def _overdraw(self, leaves: Mapping[Path, Leaf], amount: int, seconds: int) -> None:
        whole = sum(found.wanted for found in leaves.values())
        self.over_whole += amount * seconds
        for found in leaves.values():
            book(self.over[whole], found.borrowers, amount * seconds)

    def sums(self) -> Loans:
        """Return the sums, rounded to whole resource-seconds so that both sides are equal."""
        return Loans(
            dict(self.borrowed),
            _settled(self.lent, self.lent_whole),
            _settled(self.over, self.over_whole),
            self.pool,
        )


_NOTHING: Final = Quota(0)


def book(to: Counter[Account], parts: Mapping[Account, int], seconds: int) -> None:
    """Add parts times seconds."""
    for key, part in parts.items():
        to[key] += part * seconds


def _side(found: Leaf) -> _Side:
    groups = [_Group(1, 1, found.lenders)] if found.lending else []
    return _Side(found.wanted, 0, found.lending, groups)


def _with_parents(paths: Iterable[Path]) -> set[Path]:
    return {path[:depth] for path in paths for depth in range(1, len(path) + 1)}


def _limit(side: _Side, limit: int | None) -> None:
    """Keep what a cohort does not lend to the rest of the tree."""
    if limit is None:
        return
    side.pool = min(side.pool, limit)
    most = limit - side.pool
    if side.lending > most:
        side.groups = side.take(most) if most else []
        side.lending = most


def _settled(parts: dict[int, Counter[Account]], whole: int) -> dict[Account, int]:
    """Bring parts of several denominators to one, and round them to whole units."""
    common = lcm(*parts) if parts else 1
    total: Counter[Account] = Counter()
    for of, found in parts.items():
        book(total, found, common // of)
    settled = settle(total, common, whole)
    return {key: part for key, part in sorted(settled.items()) if part}
