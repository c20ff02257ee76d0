"""Proposals as typed edits of a catalog, their JSON form, and their pure application.

An edit adds or replaces; none is there to remove. Taking a queue or a flavor away needs work
to end first and has its own way; here even :class:`Replace` refuses a catalog that lacks
something that exists. A :class:`PutQueue` may come without an entry that the queue has: whoever
commits the result compares it by :func:`missing`, so that no door is left behind unseen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol, TypeVar

from kube.catalog import (
    CPU,
    MEMORY,
    Catalog,
    CohortSpec,
    FlavorSpec,
    PrioritySpec,
    QueueSpec,
    QuotaSpec,
    StopPolicy,
    TenantSpec,
    TopologySpec,
)
from kube.catalog_json import decode, encode
from kube.problems import InvalidCatalog, Problem, problem, shown
from kube.rules import fields


@dataclass(frozen=True, slots=True, kw_only=True)
class SetQuota:
    """Set one quota line of a queue; the line is made if it is not there."""

    queue: str
    flavor: str
    resource: str
    nominal: int
    borrowing_limit: int | None = None
    lending_limit: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SetStopPolicy:
    """Open or stop a queue."""

    queue: str
    policy: StopPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class PutTopology:
    """Add a topology, or write one again unchanged."""

    topology: TopologySpec


@dataclass(frozen=True, slots=True, kw_only=True)
class PutFlavor:
    """Add or replace a flavor."""

    flavor: FlavorSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class PutCohort:
    """Add or replace a department."""

    cohort: CohortSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class PutTenant:
    """Add a tenant or change its names; the queues stay as they are."""

    slug: str
    display_name: str
    cost_centre: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PutQueue:
    """Add or replace a queue of a tenant."""

    tenant: str
    queue: QueueSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class PutPriority:
    """Add or replace a priority."""

    priority: PrioritySpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Replace:
    """Set the whole catalog, as an import does; nothing that exists may be missing in it."""

    catalog: Catalog


Edit = (
    SetQuota
    | SetStopPolicy
    | PutTopology
    | PutFlavor
    | PutCohort
    | PutTenant
    | PutQueue
    | PutPriority
    | Replace
)

#: The word that stands in the JSON form of each edit.
WORDS: Final[Mapping[str, type[Edit]]] = {
    "set_quota": SetQuota,
    "set_stop_policy": SetStopPolicy,
    "put_topology": PutTopology,
    "put_flavor": PutFlavor,
    "put_cohort": PutCohort,
    "put_tenant": PutTenant,
    "put_queue": PutQueue,
    "put_priority": PutPriority,
    "replace": Replace,
}
_WORD_OF: Final = {cls: word for word, cls in WORDS.items()}


def load_edits(data: Any, field: str = "edits") -> tuple[Edit, ...]:
    """Read a list of edits from parsed JSON, with all problems at once."""
    if not isinstance(data, Sequence) or isinstance(data, str | bytes):
        got = type(data).__name__
        raise InvalidCatalog([problem(field, "GP-2104", expected="a list", got=got)])
    problems: list[Problem] = []
    found: list[Edit] = []
    for index, each in enumerate(data):
        try:
            found.append(_load(each, f"{field}[{index}]"))
        except InvalidCatalog as error:
            problems.extend(error.problems)
    if problems:
        raise InvalidCatalog(problems)
    return tuple(found)


def dump_edits(edits: Iterable[Edit]) -> list[dict[str, Any]]:
    """Write edits as JSON values; each names itself under ``edit``."""
    return [{"edit": _WORD_OF[type(each)], **encode(each)} for each in edits]


def apply(catalog: Catalog, edits: Iterable[Edit]) -> Catalog:
    """Return the catalog after all edits, in their order; the given catalog is not changed.

    Raises :class:`InvalidCatalog` with the problems of the first edit that cannot be applied.
    Whether the result keeps all rules is a question for :func:`kube.rules.check`.
    """
    for edit in edits:
        after = _APPLIERS[type(edit)](catalog, edit)
        problems = frozen(catalog, after)
        if problems:
            raise InvalidCatalog(problems)
        catalog = after
    return catalog


def proportional(
    catalog: Catalog,
    queue: str,
    flavor: str,
    devices: int,
    *,
    borrowing_limit: int | None = None,
    lending_limit: int | None = None,
) -> tuple[SetQuota, ...]:
    """Return the edits for ``devices`` of a flavor with its CPU and memory in proportion."""
    spec = next((each for each in catalog.flavors if each.name == flavor), None)
    if spec is None or not spec.resource or None in (spec.cpu_per_device, spec.memory_per_device):
        raise InvalidCatalog([problem("flavor", "GP-2212", flavor=shown(flavor))])
    shares = ((CPU, spec.cpu_per_device), (MEMORY, spec.memory_per_device), (spec.resource, 1))
    return tuple(
        SetQuota(
            queue=queue,
            flavor=flavor,
            resource=resource,
            nominal=devices * (share or 0),
            borrowing_limit=None if borrowing_limit is None else borrowing_limit * (share or 0),
            lending_limit=None if lending_limit is None else lending_limit * (share or 0),
        )
        for resource, share in shares
    )


def missing(before: Catalog, after: Catalog) -> tuple[Problem, ...]:
    """Return one problem for each object of ``before`` that ``after`` lacks."""
    wanted = dict(_objects(after))
    return tuple(
        problem("catalog", "GP-2210", kind=kind, name=name)
        for kind, names in _objects(before)
        for name in sorted(set(names) - set(wanted[kind]))
    )


def frozen(before: Catalog, after: Catalog) -> tuple[Problem, ...]:
    """Return one problem for each thing that changed although Kueue never lets it change."""
    return (
        *_frozen_topologies(before, after),
        *_frozen_flavors(before, after),
        *_moved(before, after),
    )


def _load(data: Any, field: str) -> Edit:
    word = data.get("edit") if isinstance(data, Mapping) else None
    cls = WORDS.get(word) if isinstance(word, str) else None
    if cls is None:
        allowed = ", ".join(WORDS)
        where = f"{field}.edit"
        raise InvalidCatalog([problem(where, "GP-2106", value=shown(word), allowed=allowed)])
    return decode(cls, {key: value for key, value in data.items() if key != "edit"}, field)


def _objects(catalog: Catalog) -> tuple[tuple[str, list[str]], ...]:
    entries = [entry for _tenant, queue in catalog.queues() for entry in queue.entries]
    return (
        ("topology", [each.name for each in catalog.topologies]),
        ("flavor", [each.name for each in catalog.flavors]),
        ("department", [each.name for each in catalog.cohorts]),
        ("tenant", [each.slug for each in catalog.tenants]),
        ("queue", [queue.name for _tenant, queue in catalog.queues()]),
        ("entry", [f"{each.namespace}/{each.name}" for each in entries]),
        ("priority", [each.name for each in catalog.priorities]),
    )


class _Named(Protocol):
    @property
    def name(self) -> str: ...


N = TypeVar("N", bound=_Named)


def _put(items: tuple[N, ...], new: N) -> tuple[N, ...]:
    if any(each.name == new.name for each in items):
        return tuple(new if each.name == new.name else each for each in items)
    return (*items, new)


def _frozen_topologies(before: Catalog, after: Catalog) -> Iterator[Problem]:
    old = {each.name: each for each in before.topologies}
    for each in after.topologies:
        if old.get(each.name, each).levels != each.levels:
            yield problem(f"{fields.named('topologies', each.name)}.levels", "GP-2213")


def _frozen_flavors(before: Catalog, after: Catalog) -> Iterator[Problem]:
    old = {each.name: each for each in before.flavors}
    for each in after.flavors:
        was = old.get(each.name, each)
        if was.topology and _fixed(was) != _fixed(each):
            yield problem(fields.flavor_field(each), "GP-2214")


def _fixed(flavor: FlavorSpec) -> tuple[Any, ...]:
    return flavor.topology, sorted(flavor.node_labels), sorted(map(repr, flavor.tolerations))


def _moved(before: Catalog, after: Catalog) -> Iterator[Problem]:
    old = {entry: queue.name for _tenant, queue, entry, _field in fields.entries(before)}
    for _tenant, queue, entry, where in fields.entries(after):
        was = old.get(entry, queue.name)
        if was != queue.name:
            name = f"{entry.namespace}/{entry.name}"
            yield problem(where, "GP-2215", entry=name, queue=was)


def _put_topology(catalog: Catalog, edit: PutTopology) -> Catalog:
    return replace(catalog, topologies=_put(catalog.topologies, edit.topology))


def _put_flavor(catalog: Catalog, edit: PutFlavor) -> Catalog:
    return replace(catalog, flavors=_put(catalog.flavors, edit.flavor))


def _put_cohort(catalog: Catalog, edit: PutCohort) -> Catalog:
    return replace(catalog, cohorts=_put(catalog.cohorts, edit.cohort))


def _put_priority(catalog: Catalog, edit: PutPriority) -> Catalog:
    return replace(catalog, priorities=_put(catalog.priorities, edit.priority))


def _put_tenant(catalog: Catalog, edit: PutTenant) -> Catalog:
    tenants = catalog.tenants
    if all(each.slug != edit.slug for each in tenants):
        tenants = (*tenants, TenantSpec(slug=edit.slug, display_name=""))
    renamed = (
        replace(each, display_name=edit.display_name, cost_centre=edit.cost_centre)
        if each.slug == edit.slug
        else each
        for each in tenants
    )
    return replace(catalog, tenants=tuple(renamed))


def _put_queue(catalog: Catalog, edit: PutQueue) -> Catalog:
    _may_put(catalog, edit)
    tenants = tuple(
        replace(each, queues=_put(each.queues, edit.queue)) if each.slug == edit.tenant else each
        for each in catalog.tenants
    )
    return replace(catalog, tenants=tenants)


def _may_put(catalog: Catalog, edit: PutQueue) -> None:
    where = fields.named("tenants", edit.tenant)
    if all(each.slug != edit.tenant for each in catalog.tenants):
        name = shown(edit.tenant)
        raise InvalidCatalog([problem(where, "GP-2151", kind="tenant", name=name)])
    owner = next((t.slug for t, q in catalog.queues() if q.name == edit.queue.name), edit.tenant)
    if owner != edit.tenant:
        inside = f"{where}.{fields.named('queues', edit.queue.name)}"
        raise InvalidCatalog([problem(inside, "GP-2211", queue=edit.queue.name, tenant=owner)])


def _change_queue(catalog: Catalog, name: str, change: Callable[[QueueSpec], QueueSpec]) -> Catalog:
    if all(queue.name != name for _tenant, queue in catalog.queues()):
        where = fields.named("queues", name)
        raise InvalidCatalog([problem(where, "GP-2151", kind="queue", name=shown(name))])
    tenants = tuple(
        replace(
            each,
            queues=tuple(change(queue) if queue.name == name else queue for queue in each.queues),
        )
        for each in catalog.tenants
    )
    return replace(catalog, tenants=tenants)


def _set_stop_policy(catalog: Catalog, edit: SetStopPolicy) -> Catalog:
    return _change_queue(catalog, edit.queue, lambda queue: replace(queue, stop_policy=edit.policy))


def _set_quota(catalog: Catalog, edit: SetQuota) -> Catalog:
    line = QuotaSpec(
        flavor=edit.flavor,
        resource=edit.resource,
        nominal=edit.nominal,
        borrowing_limit=edit.borrowing_limit,
        lending_limit=edit.lending_limit,
    )
    return _change_queue(
        catalog, edit.queue, lambda queue: replace(queue, quotas=_put_line(queue.quotas, line))
    )


def _put_line(lines: tuple[QuotaSpec, ...], new: QuotaSpec) -> tuple[QuotaSpec, ...]:
    same = [(each.flavor, each.resource) == (new.flavor, new.resource) for each in lines]
    if not any(same):
        return (*lines, new)
    return tuple(new if is_it else each for each, is_it in zip(lines, same, strict=True))


def _replace(catalog: Catalog, edit: Replace) -> Catalog:
    problems = missing(catalog, edit.catalog)
    if problems:
        raise InvalidCatalog(problems)
    return edit.catalog


_APPLIERS: Final[Mapping[type, Callable[[Catalog, Any], Catalog]]] = {
    SetQuota: _set_quota,
    SetStopPolicy: _set_stop_policy,
    PutTopology: _put_topology,
    PutFlavor: _put_flavor,
    PutCohort: _put_cohort,
    PutTenant: _put_tenant,
    PutQueue: _put_queue,
    PutPriority: _put_priority,
    Replace: _replace,
}
