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


@dataclass(slots=True)
class _Side:
    """What a subtree still wants and still has; lenders in parts of ``over``."""

    wanted: int = 0
    pool: int = 0
    lenders: dict[Account, int] = field(default_factory=dict)
    over: int = 1

    def join(self, other: _Side) -> None:
        over = lcm(self.over, other.over)
        self.lenders = self._in(over) | other._in(over)
        self.over = over
        self.wanted += other.wanted
        self.pool += other.pool

    def _in(self, over: int) -> dict[Account, int]:
        factor = over // self.over
        return {key: part * factor for key, part in self.lenders.items()}

    def take(self, amount: int) -> tuple[dict[Account, int], int]:
        """Take an amount from the lenders in proportion; return their parts and of what."""
        whole = sum(self.lenders.values())
        taken = amount * self.over
        common = gcd(whole, taken)
        numerator, denominator = taken // common, whole // common
        parts = {key: part * numerator for key, part in self.lenders.items()}
        rest = denominator - numerator
        self.lenders = {key: part * rest for key, part in self.lenders.items()} if rest else {}
        of = self.over * denominator
        self.over = of if rest else 1
        return parts, of

    @property
    def lending(self) -> int:
        """Return what the lenders have together, in whole units."""
        return sum(self.lenders.values()) // self.over


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

    def add(self, members: Iterable[Member], cohorts: Mapping[Path, Quota], seconds: int) -> None:
        """Add a time in which nothing changed; ``cohorts`` are those of this root alone."""
        found = list(members)
        borrowers = {each.account: each.above for each in found if each.above}
        for account, amount in borrowers.items():
            self.borrowed[account] += amount * seconds
        if not borrowers:
            return
        sides = _sides(found)
        for path in sorted(_with_parents([*sides, *cohorts]), key=len, reverse=True):
            side = sides.setdefault(path, _Side())
            self._serve(side, cohorts.get(path, _NOTHING), seconds)
            if len(path) > 1:
                _limit(side, cohorts.get(path, _NOTHING).lending_limit)
                sides.setdefault(path[:-1], _Side()).join(side)
            else:
                self._overdraw(borrowers, side.wanted, seconds)

    def _serve(self, side: _Side, quota: Quota, seconds: int) -> None:
        side.pool += quota.nominal
        served = min(side.wanted, side.pool)
        side.pool -= served
        self.pool += served * seconds
        lent = min(side.wanted - served, side.lending)
        side.wanted -= served + lent
        if lent:
            parts, of = side.take(lent)
            self.lent_whole += lent * seconds
            book(self.lent[of], parts, seconds)

    def _overdraw(self, borrowers: dict[Account, int], amount: int, seconds: int) -> None:
        if amount:
            parts = {key: part * amount for key, part in borrowers.items()}
            self.over_whole += amount * seconds
            book(self.over[sum(borrowers.values())], parts, seconds)

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


def _sides(members: list[Member]) -> dict[Path, _Side]:
    """Return what the queues of each cohort want and have."""
    sides: dict[Path, _Side] = defaultdict(_Side)
    for each in members:
        side = sides[each.path]
        side.wanted += each.above
        if lendable := each.lendable:
            side.lenders[each.account] = side.lenders.get(each.account, 0) + lendable
    return dict(sides)


def _with_parents(paths: Iterable[Path]) -> set[Path]:
    return {path[:depth] for path in paths for depth in range(1, len(path) + 1)}


def _limit(side: _Side, limit: int | None) -> None:
    """Keep what a cohort does not lend to the rest of the tree."""
    if limit is None:
        return
    side.pool = min(side.pool, limit)
    most = limit - side.pool
    if side.lending > most:
        side.lenders, side.over = side.take(most) if most else ({}, 1)


def _settled(parts: dict[int, Counter[Account]], whole: int) -> dict[Account, int]:
    """Bring parts of several denominators to one, and round them to whole units."""
    common = lcm(*parts) if parts else 1
    total: Counter[Account] = Counter()
    for of, found in parts.items():
        book(total, found, common // of)
    settled = settle(total, common, whole)
    return {key: part for key, part in sorted(settled.items()) if part}
