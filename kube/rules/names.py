"""Are all names and texts well formed, and is each used once?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from kube import names
from kube.catalog import Catalog, CohortSpec, FlavorSpec, TenantSpec
from kube.catalog_json import shown_key
from kube.problems import Problem, Refused, problem, shown
from kube.rules import fields

Rule = Callable[[str], str]
_Pair = tuple[str, str, Rule]


def well_formed(catalog: Catalog) -> Iterator[Problem]:
    """Check every name, label and text by its own rule."""
    for field, value, rule in _all_texts(catalog):
        try:
            rule(value)
        except Refused as error:
            yield error.at(field)


def used_once(catalog: Catalog) -> Iterator[Problem]:
    """Check that nothing is defined twice."""
    lists: tuple[tuple[str, Iterable[str]], ...] = (
        ("topologies", [each.name for each in catalog.topologies]),
        ("flavors", [each.name for each in catalog.flavors]),
        ("cohorts", [each.name for each in catalog.cohorts]),
        ("tenants", [each.slug for each in catalog.tenants]),
        ("priorities", [each.name for each in catalog.priorities]),
    )
    for group, used in lists:
        yield from _twice((fields.named(group, name), name) for name in used)
    yield from _twice((fields.queue_field(t, q), q.name) for t, q in catalog.queues())
    found = fields.entries(catalog)
    yield from _twice((field, f"{e.namespace}/{e.name}") for _t, _q, e, field in found)


def default_names(catalog: Catalog) -> Iterator[Problem]:
    """Warn of the name ``default``, which changes what happens to jobs that name nothing."""
    for _tenant, _queue, entry, field in fields.entries(catalog):
        if entry.name == "default":
            yield problem(f"{field}.name", "GP-2155", "warning", kind="entry")
    for priority in catalog.priorities:
        if priority.name == "default":
            where = fields.named("priorities", priority.name) + ".name"
            yield problem(where, "GP-2155", "warning", kind="priority")


def lookalikes(catalog: Catalog) -> Iterator[Problem]:
    """Warn of names for people that could be taken for those of somebody else."""
    shown_names = [(fields.tenant_field(each), each.display_name) for each in catalog.tenants]
    shown_names += [
        (fields.named("cohorts", each.name), each.display_name) for each in catalog.cohorts
    ]
    for field, name in shown_names:
        word = names.mixed_word(name)
        if word:
            yield problem(f"{field}.display_name", "GP-2145", "warning", value=shown(word))


def _twice(found: Iterable[tuple[str, str]]) -> Iterator[Problem]:
    seen: set[str] = set()
    for field, name in found:
        if name in seen:
            yield problem(field, "GP-2150", name=name)
        seen.add(name)


def _all_texts(catalog: Catalog) -> Iterator[_Pair]:
    for topology in catalog.topologies:
        where = fields.named("topologies", topology.name)
        yield f"{where}.name", topology.name, _subdomain
        for index, level in enumerate(topology.levels):
            yield f"{where}.levels[{index}]", level, names.label_key
    for flavor in catalog.flavors:
        yield from _flavor_texts(flavor)
    for cohort in catalog.cohorts:
        yield from _cohort_texts(cohort)
    for tenant in catalog.tenants:
        yield from _tenant_texts(tenant)
    for priority in catalog.priorities:
        where = fields.named("priorities", priority.name)
        yield f"{where}.name", priority.name, _priority_name
        yield f"{where}.contract", priority.contract, names.long_text
    for _tenant, _queue, entry, where in fields.entries(catalog):
        yield f"{where}.namespace", entry.namespace, names.namespace
        yield f"{where}.name", entry.name, _label
    for holder in fields.holders(catalog):
        for line in holder.quotas:
            yield holder.line(line, "resource"), line.resource, names.resource_name


def _flavor_texts(flavor: FlavorSpec) -> Iterator[_Pair]:
    where = fields.flavor_field(flavor)
    yield f"{where}.name", flavor.name, _subdomain
    yield f"{where}.capability", flavor.capability, _display_name
    for part in ("model", "mig_profile", "interconnect", "region", "zone", "rack", "power_domain"):
        yield f"{where}.{part}", getattr(flavor, part), names.display_text
    if flavor.resource:
        yield f"{where}.resource", flavor.resource, names.device_resource
    for key, value in flavor.node_labels:
        yield f"{where}.node_labels", key, names.label_key
        yield f"{where}.node_labels[{shown_key(key)}]", value, names.label_value
    for index, taint in enumerate(flavor.taints):
        yield f"{where}.taints[{index}].key", taint.key, names.label_key
        yield f"{where}.taints[{index}].value", taint.value, names.label_value
    for index, toleration in enumerate(flavor.tolerations):
        if toleration.key:
            yield f"{where}.tolerations[{index}].key", toleration.key, names.label_key
        yield f"{where}.tolerations[{index}].value", toleration.value, names.label_value


def _cohort_texts(cohort: CohortSpec) -> Iterator[_Pair]:
    where = fields.named("cohorts", cohort.name)
    yield f"{where}.name", cohort.name, _subdomain
    yield f"{where}.display_name", cohort.display_name, names.display_text


def _tenant_texts(tenant: TenantSpec) -> Iterator[_Pair]:
    where = fields.tenant_field(tenant)
    yield f"{where}.slug", tenant.slug, names.slug
    yield f"{where}.display_name", tenant.display_name, _display_name
    yield f"{where}.cost_centre", tenant.cost_centre, names.display_text
    for queue in tenant.queues:
        yield f"{fields.queue_field(tenant, queue)}.name", queue.name, _label


def _subdomain(text: str) -> str:
    return names.not_reserved_word(names.subdomain(text))


def _label(text: str) -> str:
    return names.not_reserved_word(names.label(text))


def _priority_name(text: str) -> str:
    return names.not_reserved_word(names.subdomain(text, names.MAX_LABEL))


def _display_name(text: str) -> str:
    if not text.strip():
        raise Refused(code="GP-2141")
    return names.display_text(text)
