"""Comparing a month: hour by hour it is added up, at its end it says what does not fit.

Each finding is about one pool or one tenant in it, so that a person settles it once and not for
every hour. What nobody looked at is told apart from what differs: pods and use that were not
noted are no finding.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import groupby
from typing import NamedTuple

from costs.facts import NOBODY, Fact, Pool, PoolFact, Quality
from costs.states import DEFAULTS, Code, Finding, Kind, Tolerance
from costs.times import HOUR, Span, moment
from costs.used import Use

ZERO = Fraction(0)


class Place(NamedTuple):
    """A pool of a cluster, by the cluster's short name."""

    cluster: str
    pool: Pool

    def __str__(self) -> str:
        """Return it as addresses name it: lab/a100/nvidia.com/gpu."""
        return "/".join((self.cluster, *self.pool))


Tolerances = Mapping[tuple[Place, Kind], Tolerance]


@dataclass(slots=True)
class _Sums:
    """What a tenant had in a pool, as far as something can be wrong with it."""

    held: int = 0
    beyond: int = 0
    unsure: int = 0
    unmanaged: int = 0
    granted: int = 0
    running_over: int = 0
    not_running: int = 0
    running: int = 0
    use: Use = field(default_factory=lambda: Use(0, 0, 0))
    measured: bool = False


@dataclass(slots=True)
class _Pool:
    exists: int = 0
    held: int = 0
    nobody: int = 0
    crowded: int = 0
    crowded_hours: int = 0
    tenants: dict[str, _Sums] = field(default_factory=dict)


@dataclass(slots=True)
class Comparison:
    """The sums of a month. ``tolerances`` are those that were set for single pools."""

    tolerances: Tolerances
    pools: dict[Place, _Pool] = field(default_factory=dict)
    #: Seconds of each hour of a cluster in which somebody listened.
    heard: dict[str, dict[int, int]] = field(default_factory=dict)

    def add(self, cluster: str, pool: PoolFact, facts: Sequence[Fact]) -> None:
        """Add one hour of a pool with its tenants."""
        of_cluster = self.heard.setdefault(cluster, {})
        least = min((fact.coverage for fact in facts), default=HOUR)
        of_cluster[pool.hour] = min(of_cluster.get(pool.hour, HOUR), least)
        sums = self.pools.setdefault(Place(cluster, pool.pool), _Pool())
        held = sum(fact.held for fact in facts)
        taken = sum(fact.running + fact.terminating + fact.unmanaged for fact in facts)
        over = max(held, taken) - pool.provisioned
        sums.exists += pool.provisioned
        sums.held += held
        sums.crowded += max(0, over)
        sums.crowded_hours += over > 0
        for fact in facts:
            if fact.tenant == NOBODY:
                sums.nobody += fact.held + fact.terminating + fact.unmanaged
            _about(sums.tenants.setdefault(fact.tenant, _Sums()), fact)

    def findings(self, expected: Mapping[str, Span]) -> Iterator[Finding]:
        """Yield what does not fit; ``expected`` are the hours that each cluster should have."""
        for cluster, span in sorted(expected.items()):
            yield from _gaps(cluster, span, self.heard.get(cluster, {}))
        for place, sums in sorted(self.pools.items()):
            yield from self._of_pool(place, sums)
            for tenant, each in sorted(sums.tenants.items()):
                yield from self._of_tenant(place, tenant, each)

    def tolerance(self, place: Place, kind: Kind) -> Tolerance:
        """Return how exact a pool must be."""
        return self.tolerances.get((place, kind), DEFAULTS[kind])

    def _of_pool(self, place: Place, sums: _Pool) -> Iterator[Finding]:
        whole = Fraction(sums.exists)
        if sums.crowded:
            yield Finding(
                Code.OVER_CAPACITY, str(place), Fraction(sums.crowded), whole, ZERO,
                cluster=place.cluster, facts=_facts(place, hours=sums.crowded_hours),
            )  # fmt: skip
        if sums.nobody:
            allowed = self.tolerance(place, Kind.UNATTRIBUTED).most(whole)
            yield Finding(
                Code.UNATTRIBUTED, str(place), Fraction(sums.nobody), whole, allowed,
                cluster=place.cluster, facts=_facts(place),
            )  # fmt: skip

    def _of_tenant(self, place: Place, tenant: str, sums: _Sums) -> Iterator[Finding]:
        for code, difference, whole, kind in (
            (Code.STUCK_OPEN, sums.unsure, sums.held, Kind.GAUGE),
            (Code.OVERDRAFT, sums.beyond, sums.held, None),
            (Code.UNMANAGED, sums.unmanaged, sums.held, None),
            (Code.RUN_OVER_ADMIT, sums.running_over, sums.granted, Kind.RUNNING),
            (Code.ADMIT_NOT_RUNNING, sums.not_running, sums.granted, Kind.RUNNING),
            (Code.USED_UNKNOWN, _unseen(sums), sums.use.expected, None),
        ):
            allowed = self.tolerance(place, kind).most(whole) if kind else ZERO
            if difference > allowed:
                yield Finding(
                    code, f"{place} {tenant}".strip(), Fraction(difference), Fraction(whole),
                    allowed, cluster=place.cluster, facts=_facts(place, tenant=tenant),
                )  # fmt: skip


def _about(sums: _Sums, fact: Fact) -> None:
    sums.held += fact.held
    sums.beyond += fact.overdraft + fact.excess
    if fact.quality is Quality.ESTIMATED:
        sums.unsure += fact.held_most - fact.held_least
    sums.unmanaged += fact.unmanaged
    if fact.pods_known:
        sums.granted += fact.granted
        sums.running_over += max(0, fact.running - fact.granted)
        sums.not_running += max(0, fact.granted - fact.running)
    if fact.use is not None:
        sums.measured = True
        sums.use = sums.use.plus(fact.use)


def _unseen(sums: _Sums) -> int:
    """Return running time that was not looked at, where it is too much for a number."""
    if not sums.measured or sums.use.known or not sums.use.expected:
        return 0
    return sums.use.expected - sums.use.seen


def _facts(place: Place, **more: str | int) -> Mapping[str, str | int]:
    return {"flavor": place.pool.flavor, "resource": place.pool.resource} | more


def _gaps(cluster: str, span: Span, heard: Mapping[int, int]) -> Iterator[Finding]:
    """Yield the times without news of a cluster, hours that follow each other as one."""
    hours = range(span.starts, span.ends, HOUR)
    lacking = [hour for hour in hours if heard.get(hour, 0) < HOUR]
    by_run = groupby(enumerate(lacking), key=lambda each: each[1] - each[0] * HOUR)
    for _start, run in by_run:
        yield _gap(cluster, [hour for _n, hour in run], heard)


def _gap(cluster: str, run: Collection[int], heard: Mapping[int, int]) -> Finding:
    first, last = moment(min(run)), moment(max(run) + HOUR)
    lost = sum(HOUR - heard.get(hour, 0) for hour in run)
    never = sum(hour not in heard for hour in run)
    blind = sum(heard.get(hour) == 0 for hour in run)
    return Finding(
        Code.HARVEST_GAP, f"{cluster} {first:%FT%RZ}", Fraction(lost), Fraction(len(run) * HOUR),
        ZERO, cluster=cluster,
        facts={"from": f"{first:%FT%RZ}", "to": f"{last:%FT%RZ}", "hours": len(run), "never": never,
               "blind": blind},
    )  # fmt: skip
