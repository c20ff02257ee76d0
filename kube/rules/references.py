"""Does everything that is named exist, and does the tree of departments have a top?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kube.catalog import Catalog
from kube.problems import Problem, problem
from kube.rules import fields


def exists(catalog: Catalog) -> Iterator[Problem]:
    """Check flavors, departments and topologies that are named by others."""
    flavors = {each.name for each in catalog.flavors}
    cohorts = {each.name for each in catalog.cohorts}
    topologies = {each.name for each in catalog.topologies}
    for flavor in catalog.flavors:
        if flavor.topology and flavor.topology not in topologies:
            where = f"{fields.flavor_field(flavor)}.topology"
            yield problem(where, "GP-2151", kind="topology", name=flavor.topology)
    for holder in fields.holders(catalog):
        for line in holder.quotas:
            if line.flavor not in flavors:
                where = holder.line(line, "flavor")
                yield problem(where, "GP-2151", kind="flavor", name=line.flavor)
        if holder.above and holder.above not in cohorts:
            where = f"{holder.field}.{'cohort' if holder.is_queue else 'parent'}"
            yield problem(where, "GP-2151", kind="department", name=holder.above)


def tree(catalog: Catalog) -> Iterator[Problem]:
    """Check that following the parents ends; Kueue would stop every queue of a circle."""
    parents = {each.name: each.parent for each in catalog.cohorts}
    for cohort in catalog.cohorts:
        where = f"{fields.named('cohorts', cohort.name)}.parent"
        if cohort.parent == cohort.name:
            yield problem(where, "GP-2154")
            continue
        circle = _circle(cohort.name, parents)
        if circle:
            yield problem(where, "GP-2153", path=" > ".join(circle))


def one_tenant_per_namespace(catalog: Catalog) -> Iterator[Problem]:
    """Check that a namespace belongs to one tenant: its label can name only one."""
    owners: dict[str, str] = {}
    for tenant, _queue, entry, field in fields.entries(catalog):
        owner = owners.setdefault(entry.namespace, tenant.slug)
        if owner != tenant.slug:
            where = f"{field}.namespace"
            two = f"{owner} and {tenant.slug}"
            yield problem(where, "GP-2152", namespace=entry.namespace, tenants=two)


def _circle(name: str, parents: Mapping[str, str]) -> list[str]:
    path = [name]
    above = parents[name]
    while above in parents and above not in path:
        path.append(above)
        above = parents[above]
    return [*path, name] if above == name else []
