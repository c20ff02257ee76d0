"""What a change of quota means in numbers: what a pool has left, and what a reduction hits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kube.catalog import Catalog, CohortSpec, QueueSpec, QuotaSpec
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
    """One quota line of a queue, or of a department's own quota, that goes down.

    ``over`` is what the queue holds above its new nominal: it runs on, counts as borrowed in a
    department, and can then be stopped by queues that take back what is theirs. ``borrowers``
    is how many other queues of the tree could borrow this line, and ``room_lost`` by how much
    less they can borrow together. A department holds nothing itself.
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
    """Return one row for each quota line that is lowered or gone, departments last."""
    new = _lines(after)
    roots = _roots(before)
    rows = []
    for line, (queue, old) in _lines(before).items():
        now = new[line][1] if line in new else None
        nominal = now.nominal if now else 0
        lost = _lent(queue, old) - (_lent(new[line][0], now) if now else 0)
        if nominal < old.nominal or lost > 0:
            rows.append(_row(line, old.nominal, nominal, usage, lost, _others(line, before, roots)))
    return (*rows, *_departments(before, after))


def _departments(before: Catalog, after: Catalog) -> Iterator[Reduction]:
    """Yield the lines of departments of which their tree gets less.

    All queues of the tree share the nominal; what is lent is only for those outside.
    """
    new = _department_lines(after)
    for line, (cohort, old) in _department_lines(before).items():
        now = new[line][1] if line in new else None
        nominal = now.nominal if now else 0
        unlent = _lent_up(cohort, old) - (_lent_up(new[line][0], now) if now else 0)
        everybody = nominal < old.nominal
        lost = old.nominal - nominal if everybody else unlent
        if lost > 0:
            number = _below(line, before, outside=not everybody)
            room = lost if number else 0
            yield Reduction(*line, old.nominal, nominal, 0, 0, number, room)


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


def _department_lines(catalog: Catalog) -> dict[_Line, tuple[CohortSpec, QuotaSpec]]:
    return {
        (cohort.name, line.flavor, line.resource): (cohort, line)
        for cohort in catalog.cohorts
        for line in cohort.quotas
    }


def _lent_up(cohort: CohortSpec, line: QuotaSpec) -> int:
    """Return what a department lends at most to the rest of its tree."""
    if not cohort.parent:
        return 0
    return line.nominal if line.lending_limit is None else min(line.lending_limit, line.nominal)


def _below(line: _Line, catalog: Catalog, *, outside: bool) -> int:
    """Count the queues of a department's tree that may borrow a line, or those outside of it."""
    name, flavor, resource = line
    parents = {each.name: each.parent for each in catalog.cohorts}
    root = _path(name, parents)[-1]
    paths = {q.name: _path(q.cohort, parents) for _tenant, q in catalog.queues() if q.cohort}
    mine = (paths[each] for each in _borrowers(flavor, resource, catalog) if each in paths)
    return sum(path[-1] == root and not (outside and name in path) for path in mine)


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
    others = (each for each in _borrowers(flavor, resource, catalog) if each != name)
    return sum(roots.get(each) == home for each in others)


def _borrowers(flavor: str, resource: str, catalog: Catalog) -> set[str]:
    """Return the queues that may borrow a flavor and resource at all."""
    return {
        queue.name
        for (_name, *what), (queue, quota) in _lines(catalog).items()
        if what == [flavor, resource] and quota.borrowing_limit != 0
    }


def _roots(catalog: Catalog) -> dict[str, str]:
    parents = {each.name: each.parent for each in catalog.cohorts}
    return {
        queue.name: _path(queue.cohort, parents)[-1]
        for _tenant, queue in catalog.queues()
        if queue.cohort
    }


def _path(name: str, parents: Mapping[str, str]) -> tuple[str, ...]:
    """Return a department and all above it, as far as there is no circle."""
    path = [name]
    while parents.get(path[-1]) and parents[path[-1]] not in path:
        path.append(parents[path[-1]])
    return tuple(path)
