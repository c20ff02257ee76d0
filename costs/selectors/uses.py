"""What was used in an hour, for whom and of which pool: from the rows of pods, and their times.

A pod whose times are noted was there that long, in that pool, for that tenant. Of another one the
row says node, profile and namespace: the pool is that of the node's devices, the tenant is whose
namespace it was then. What fits into no pool is in no fact.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, NamedTuple

from costs.facts import NOBODY, DeviceTime, NodeTime, PodTime, Pool, UseTime
from costs.models import Harvest, UsedHour
from costs.selectors.hours import USED, within
from costs.steps import Dated
from costs.times import HOUR, Span, hours, instant
from costs.used import Use, together

_MIG: Final = "mig-"
_CHUNK: Final = 5000
#: Hour, namespace, pod, pool.
_Key = tuple[int, str, str, Pool]
_COLUMNS: Final = ("hour", "namespace", "pod", "node", "profile", "shared", *USED)


class PodRow(NamedTuple):
    """One row of the metrics."""

    hour: int
    namespace: str
    pod: str
    node: str
    profile: str
    shared: int
    use: Use


@dataclass(frozen=True, slots=True)
class Measured:
    """Use by tenant and pool, and of all devices; ``unplaced`` are rows that no pool is known of."""

    uses: list[UseTime]
    devices: list[DeviceTime]
    unplaced: list[PodRow]


class Known(NamedTuple):
    """What is on record of the span beside the metrics."""

    nodes: Sequence[NodeTime] = ()
    namespaces: Mapping[str, Dated[str]] = {}
    pods: Sequence[PodTime] = ()


def measured(cluster_id: int, span: Span, known: Known) -> Measured:
    """Return what the metrics say of the hours of a span; two queries, one if none was asked.

    Of an hour that was not asked there is nothing, also of pods that ran in it.
    """
    asked = Harvest.objects.filter(within(span), cluster=cluster_id, code="")
    harvested = {instant(hour) for hour in asked.values_list("hour", flat=True)}
    if not harvested:
        return Measured([], [], [])
    rows = [row for row in _rows(cluster_id, span) if row.hour in harvested]
    return joined(rows, harvested, known)


def joined(rows: Iterable[PodRow], harvested: Collection[int], known: Known) -> Measured:
    """Return the use in the hours that were asked."""
    lives = Lives(known.pods, harvested)
    places = Places(known.nodes)
    placed = [(each, lives.pool(each) or places.pool(each)) for each in rows]
    found = [(each, pool) for each, pool in placed if pool is not None]
    return Measured(
        uses=by_life(found, known.namespaces, lives),
        devices=list(_devices(found)),
        unplaced=[each for each, pool in placed if pool is None],
    )


def _rows(cluster_id: int, span: Span) -> Iterator[PodRow]:
    rows = UsedHour.objects.filter(within(span), cluster=cluster_id).order_by("hour", "pk")
    for row in rows.values_list(*_COLUMNS).iterator(chunk_size=_CHUNK):
        hour, namespace, pod, node, profile, shared, *use = row
        yield PodRow(instant(hour), namespace, pod, node, profile, shared, Use(*use))


class Places:
    """Which pool the devices of a node are, by the hour."""

    def __init__(self, nodes: Iterable[NodeTime]) -> None:
        self._of: dict[tuple[int, str], set[Pool]] = defaultdict(set)
        self._all: dict[int, set[Pool]] = defaultdict(set)
        for each in nodes:
            for hour in hours(each.span):
                self._of[hour.starts, each.node].add(each.pool)
                self._all[hour.starts].add(each.pool)

    def pool(self, row: PodRow) -> Pool | None:
        """Return the one pool that fits; ``None`` for none or several.

        A row without a node fits where the cluster has one pool of its kind.
        """
        exist = self._of[row.hour, row.node] if row.node else self._all[row.hour]
        fitting = [pool for pool in sorted(exist) if fits(pool.resource, row.profile)]
        return fitting[0] if len(fitting) == 1 else None


def fits(resource: str, profile: str) -> bool:
    """Say whether a profile of MIG is this resource; without one it is a whole or shared GPU."""
    name = resource.rpartition("/")[2]
    if not profile:
        return not name.startswith(_MIG)
    # Kubernetes names hold no plus: 1g.10gb+me is mig-1g.10gb.me there.
    return name == _MIG + profile.replace("+", ".")


def by_tenant(
    rows: Iterable[tuple[PodRow, Pool]], owners: Mapping[str, Dated[str]]
) -> list[UseTime]:
    """Return the use of tenants whose namespaces these were."""
    found: dict[tuple[int, str, Pool], Use] = defaultdict(lambda: Use(0, 0, 0))
    for row, pool in rows:
        if row.pod:
            key = row.hour, owner(owners, row), pool
            found[key] = found[key].plus(row.use)
    return [UseTime(tenant, pool, hour, use) for (hour, tenant, pool), use in sorted(found.items())]


def owner(owners: Mapping[str, Dated[str]], row: PodRow) -> str:
    """Return the tenant of a namespace: the one that had it for most of the hour."""
    dated = owners.get(row.namespace)
    if dated is None:
        return NOBODY
    parts = dated.within(Span(row.hour, row.hour + HOUR))
    longest = max(parts, key=lambda part: part[0].seconds, default=(None, None))
    return longest[1] or NOBODY


class Lives:
    """How long pods had devices, by hour and pool, and for whom."""

    def __init__(self, pods: Iterable[PodTime], harvested: Collection[int]) -> None:
        self.expected: dict[_Key, int] = defaultdict(int)
        self.tenants: dict[_Key, str] = {}
        self._pools: dict[tuple[int, str, str], set[Pool]] = defaultdict(set)
        for each in pods:
            for hour in hours(each.span):
                part = each.span.cut(hour)
                if part and hour.starts in harvested:
                    key = hour.starts, each.namespace, each.pod, each.pool
                    self.expected[key] += part.seconds * each.amount
                    self.tenants[key] = each.tenant
                    self._pools[key[:3]].add(each.pool)

    def pool(self, row: PodRow) -> Pool | None:
        """Return the pool whose devices the pod had, as far as one fits what the row says."""
        had = self._pools.get((row.hour, row.namespace, row.pod), ())
        fitting = [pool for pool in sorted(had) if fits(pool.resource, row.profile)]
        return fitting[0] if len(fitting) == 1 else None


def by_life(
    rows: Iterable[tuple[PodRow, Pool]], owners: Mapping[str, Dated[str]], lives: Lives
) -> list[UseTime]:
    """Return the use of tenants: of pods as long as they were, and no longer.

    A pod that no metric names is expected and not seen; one whose times are not noted counts as it
    was measured.
    """
    seen: dict[_Key, Use] = defaultdict(lambda: Use(0, 0, 0))
    others: list[tuple[PodRow, Pool]] = []
    for row, pool in rows:
        key = row.hour, row.namespace, row.pod, pool
        if key in lives.expected:
            seen[key] = seen[key].plus(row.use)
        else:
            others.append((row, pool))
    found: dict[tuple[int, str, Pool], list[Use]] = defaultdict(list)
    for key, seconds in lives.expected.items():
        use = seen.get(key, Use(0, 0, 0)).within(seconds)
        found[key[0], lives.tenants[key], key[3]].append(use)
    for one in by_tenant(others, owners):
        found[one.hour, one.tenant, one.pool].append(one.use)
    return [
        UseTime(tenant, pool, hour, together(uses))
        for (hour, tenant, pool), uses in sorted(found.items())
    ]


def _devices(rows: Iterable[tuple[PodRow, Pool]]) -> Iterator[DeviceTime]:
    """Yield what all devices did; one that several pods share is seen once."""
    found: dict[tuple[int, Pool], list[Use]] = defaultdict(list)
    unattributed: dict[tuple[int, Pool], int] = defaultdict(int)
    for row, pool in rows:
        key = row.hour, pool
        found[key].append(_once(row))
        unattributed[key] += 0 if row.pod else row.use.used
    for (hour, pool), uses in sorted(found.items()):
        yield DeviceTime(pool, hour, together(uses), unattributed[hour, pool])


def _once(row: PodRow) -> Use:
    part = Fraction(1, row.shared)
    return row.use._replace(seen=round(row.use.seen * part), expected=round(row.use.expected * part))  # fmt: skip
