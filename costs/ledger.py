"""From records of a cluster to the facts of every hour, per tenant and pool.

``ledger(records, span)`` is a pure function: the same records give the same facts, in whatever
order they come and however finely they are cut.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final, NamedTuple, Protocol, TypeVar

from costs.facts import (
    NOBODY,
    DeviceTime,
    Fact,
    Hold,
    HourFacts,
    Nodes,
    NodeTime,
    PodTime,
    Pool,
    PoolFact,
    Quality,
    Records,
    UseTime,
)
from costs.sharing import Borrowing, borrowing
from costs.steps import Dated, Step, levels, total
from costs.times import HOUR, Span, hours
from costs.used import Use, together


class _Timed(Protocol):
    @property
    def reach(self) -> Span: ...


T = TypeVar("T", bound=_Timed)
Line = tuple[str, Pool]
_OWN_SUMS: Final = ("committed", "held", "reserved", "admitted", "draining")
_LENT_SUMS: Final = ("borrowed", "lent", "overdraft", "excess")
_POD_SUMS: Final = ("running", "terminating", "unmanaged")


def ledger(records: Records, span: Span) -> Iterator[HourFacts]:
    """Yield the facts of every hour of a span, which begins and ends on whole hours."""
    holds, pods = _bucket(records.holds, span), _bucket(records.pods, span)
    nodes = _bucket(records.nodes, span)
    uses: dict[int, list[UseTime]] = defaultdict(list)
    for each in records.uses:
        uses[each.hour].append(each)
    devices = {(each.hour, each.pool): each for each in records.devices}
    blind, no_pods = _once(records.gaps), _once(records.pod_gaps)
    for hour in hours(span):
        at = hour.starts
        found = _Hour(records, hour)
        found.take_holds(holds[at])
        found.take_pods(pods[at])
        heard = _Heard(HOUR - total(blind, hour), HOUR - total(no_pods, hour))
        facts = found.facts(nodes[at], uses[at], heard)
        yield facts._replace(pools=tuple(_measured(each, devices) for each in facts.pools))


def _measured(pool: PoolFact, devices: Mapping[tuple[int, Pool], DeviceTime]) -> PoolFact:
    """Add what the metrics say of a pool's devices."""
    found = devices.get((pool.hour, pool.pool))
    if found is None:
        return pool
    return replace(pool, use=found.use, unattributed=found.unattributed)


class _Heard(NamedTuple):
    """Observed seconds of an hour, and those in which somebody listened to pods."""

    coverage: int
    pods: int


def _once(gaps: Iterable[Span]) -> list[Step]:
    """Return each second once in which there was any of these gaps."""
    return [Step(step.span, 1) for step in levels(Step(gap, 1) for gap in gaps)]


def _bucket(rows: Iterable[T], span: Span) -> dict[int, list[T]]:
    """Sort rows into the hours that they touch."""
    found: dict[int, list[T]] = defaultdict(list)
    for row in rows:
        part = row.reach.cut(span)
        for hour in hours(part) if part else ():
            found[hour.starts].append(row)
    return found


class _Hour:
    """The sums of one hour, by tenant and pool."""

    def __init__(self, records: Records, hour: Span) -> None:
        self.records, self.hour = records, hour
        self.sums: dict[Line, Counter[str]] = defaultdict(Counter)
        self.loans: dict[Pool, Borrowing] = {}
        self.holds: dict[Pool, list[Hold]] = defaultdict(list)
        for (queue, pool), dated in records.grants.items():
            for part, grant in dated.within(hour):
                if grant is not None:
                    self.holds.setdefault(pool, [])
                    self._book(queue, pool, "committed", Step(part, grant.quota.nominal))

    def _book(self, queue: str, pool: Pool, name: str, step: Step) -> None:
        """Add what a queue had, to the tenants that it belonged to meanwhile."""
        part = step.span.cut(self.hour)
        if part is None:
            return
        owners = self.records.owners.get(queue) or _NO_OWNER
        for span, tenant in owners.within(part):
            self.sums[tenant or NOBODY, pool][name] += span.seconds * step.amount

    def take_holds(self, holds: Iterable[Hold]) -> None:
        """Add what Workloads held, and within which bounds."""
        for each in holds:
            self.holds[each.pool].append(each)
            for name, span in (
                (str(each.phase), each.span),
                ("held", each.span),
                ("least", each.least or each.span),
                ("most", each.most or each.span),
            ):
                self._book(each.queue, each.pool, name, Step(span, each.amount))
        for pool, found in self.holds.items():
            loans = borrowing(self.records, pool, self.hour, found)
            self.loans[pool] = loans
            for name in _LENT_SUMS:
                for (_, tenant), seconds in getattr(loans, name).items():
                    self.sums[tenant, pool][name] += seconds

    def take_pods(self, pods: Iterable[PodTime]) -> None:
        """Add the devices that pods had."""
        for each in pods:
            seconds = total([Step(each.span, each.amount)], self.hour)
            self.sums[each.tenant, each.pool][each.kind] += seconds

    def facts(self, nodes: Iterable[NodeTime], uses: Iterable[UseTime], heard: _Heard) -> HourFacts:
        """Return all that is known of the hour."""
        used: dict[Line, list[Use]] = defaultdict(list)
        for each in uses:
            used[each.tenant, each.pool].append(each.use)
        lines = sorted({*self.sums, *used})
        facts = tuple(self._fact(line, used.get(line), heard) for line in lines)
        return HourFacts(self.hour.starts, facts, self._pools(nodes))

    def _fact(self, line: Line, used: list[Use] | None, heard: _Heard) -> Fact:
        sums = self.sums[line]
        tenant, pool = line
        return Fact(
            hour=self.hour.starts,
            tenant=tenant,
            pool=pool,
            own=sums["held"] - sums["borrowed"],
            held_least=sums["least"],
            held_most=sums["most"],
            coverage=heard.coverage,
            pods=heard.pods,
            quality=_quality(sums, heard.coverage),
            use=None if used is None else together(used),
            **{name: sums[name] for name in (*_OWN_SUMS, *_LENT_SUMS, *_POD_SUMS)},
        )

    def _pools(self, nodes: Iterable[NodeTime]) -> tuple[PoolFact, ...]:
        exist: dict[Pool, Counter[str]] = defaultdict(Counter)
        for each in nodes:
            exist[each.pool][each.kind] += total([Step(each.span, each.amount)], self.hour)
        nominal: Counter[Pool] = Counter()
        for (_, pool), dated in self.records.cohorts.items():
            for span, quota in dated.within(self.hour):
                nominal[pool] += span.seconds * quota.nominal if quota else 0
        pools = sorted({*exist, *nominal, *(pool for _, pool in self.sums)})
        return tuple(self._pool(pool, exist[pool], nominal[pool]) for pool in pools)

    def _pool(self, pool: Pool, exist: Mapping[str, int], nominal: int) -> PoolFact:
        loans = self.loans.get(pool)
        return PoolFact(
            hour=self.hour.starts,
            pool=pool,
            ready=exist[Nodes.READY],
            cordoned=exist[Nodes.CORDONED],
            down=exist[Nodes.DOWN],
            nominal=nominal,
            borrowed=loans.pool if loans else 0,
            overdraft=sum(loans.overdraft.values()) if loans else 0,
        )


def _quality(sums: Mapping[str, int], coverage: int) -> Quality:
    if coverage == 0:
        return Quality.MISSING
    if coverage < HOUR:
        return Quality.PARTIAL
    if sums["least"] != sums["most"]:
        return Quality.ESTIMATED
    return Quality.OBSERVED


_NO_OWNER: Final[Dated[str]] = Dated([])
