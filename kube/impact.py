"""What a change of quota means in numbers: what a pool has left, and what a reduction hits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kube.catalog import Catalog, QueueSpec, QuotaSpec
from kube.rules.capacity import committed, pool

#: (queue, flavor, resource) -> amount held now, in the smallest unit of the resource.
Usage = Mapping[tuple[str, str, str], int]
_Line = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class CapacityRow:
    """One flavor: devices behind it, devices promised, devices left; ``None`` is unknown."""

    flavor: str
    resource: str
    capacity: int | None
    committed: int
    free: int | None


@dataclass(frozen=True, slots=True)
class Reduction:
    """One quota line that goes down.

    ``over`` is what the queue holds above its new nominal: it runs on, counts as borrowed in a
    department, and can then be stopped by queues that take back what is theirs. ``borrowers``
    is how many other queues of the tree could borrow this line, and ``room_lost`` by how much
    less they can borrow together.
    """

    queue: str
    flavor: str
    resource: str
    before: int
    after: int
    held: int | None
    over: int | None
    borrowers: int
    room_lost: int


def capacity(
    catalog: Catalog, pools: Mapping[str, int | None] | None = None
) -> tuple[CapacityRow, ...]:
    """Return one row for each flavor with devices, in catalog order."""
    rows = []
    for flavor in catalog.flavors:
        if flavor.resource:
            size, promised = pool(flavor, pools or {}), committed(catalog, flavor)
            free = None if size is None else size - promised
            rows.append(CapacityRow(flavor.name, flavor.resource, size, promised, free))
    return tuple(rows)


def reductions(before: Catalog, after: Catalog, usage: Usage) -> tuple[Reduction, ...]:
    """Return one row for each quota line of a queue that is lowered or gone."""
    new = _lines(after)
    roots = _roots(before)
    rows = []
    for line, (queue, old) in _lines(before).items():
        now = new[line][1] if line in new else None
        nominal = now.nominal if now else 0
        lost = _lent(queue, old) - (_lent(new[line][0], now) if now else 0)
        if nominal < old.nominal or lost > 0:
            rows.append(_row(line, old.nominal, nominal, usage, lost, _others(line, before, roots)))
    return tuple(rows)


def _row(
    line: _Line, before: int, after: int, usage: Usage, lost: int, borrowers: int
) -> Reduction:
    held = usage.get(line)
    over = None if held is None else max(0, held - after)
    return Reduction(*line, before, after, held, over, borrowers, max(0, lost) if borrowers else 0)


def _lines(catalog: Catalog) -> dict[_Line, tuple[QueueSpec, QuotaSpec]]:
    return {
        (queue.name, line.flavor, line.resource): (queue, line)
        for _tenant, queue in catalog.queues()
        for line in queue.quotas
    }


def _lent(queue: QueueSpec, line: QuotaSpec) -> int:
    """Return what a queue lends at most: its limit, else its whole nominal."""
    if not queue.cohort:
        return 0
    return line.nominal if line.lending_limit is None else min(line.lending_limit, line.nominal)


def _others(line: _Line, catalog: Catalog, roots: Mapping[str, str]) -> int:
    """Count the other queues of the same tree that may borrow the same flavor and resource."""
    name, flavor, resource = line
    home = roots.get(name)
    if home is None:
        return 0
    return sum(
        1
        for (other, other_flavor, other_resource), (_queue, quota) in _lines(catalog).items()
        if (other_flavor, other_resource) == (flavor, resource)
        and other != name
        and roots.get(other) == home
        and quota.borrowing_limit != 0
    )


def _roots(catalog: Catalog) -> dict[str, str]:
    parents = {each.name: each.parent for each in catalog.cohorts}
    return {
        queue.name: _top(queue.cohort, parents)
        for _tenant, queue in catalog.queues()
        if queue.cohort
    }


def _top(name: str, parents: Mapping[str, str]) -> str:
    seen = {name}
    while parents.get(name) and parents[name] not in seen:
        name = parents[name]
        seen.add(name)
    return name
