"""Reads for the pages of this app: the catalog as a viewer may see it, people, the trail."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import Case, Prefetch, QuerySet, When

from kube.catalog import Catalog, CohortSpec, EntrySpec, QueueSpec, TenantSpec
from tenants import access
from tenants.models import AuditEvent, Membership, Revision, Tenant, User

REVISIONS_SHOWN = 20


# --- the catalog ----------------------------------------------------------------------------------


def seen(user: access.Person, catalog: Catalog) -> Catalog:
    """Return the catalog with only the tenants that exist for ``user``."""
    held = access.rights(user)
    if held.platform:
        return catalog
    slugs = set(access.tenants(user).values_list("slug", flat=True))
    kept = tuple(tenant for tenant in catalog.tenants if tenant.slug in slugs)
    return replace(catalog, tenants=kept)


@dataclass(frozen=True, slots=True)
class Branch:
    """A department in the tree, with how deep it lies and the queues that it holds."""

    cohort: CohortSpec
    depth: int
    queues: tuple[tuple[TenantSpec, QueueSpec], ...]
    others: int


def tree(shown: Catalog, whole: Catalog) -> list[Branch]:
    """Return departments parents first; queues that the viewer may not see are a number."""
    children: dict[str, list[CohortSpec]] = {}
    names = {cohort.name for cohort in whole.cohorts}
    for cohort in whole.cohorts:
        parent = cohort.parent if cohort.parent in names else ""
        children.setdefault(parent, []).append(cohort)
    return list(_branches(shown, whole, children, "", 0))


def _branches(
    shown: Catalog, whole: Catalog, children: dict[str, list[CohortSpec]], parent: str, depth: int
) -> Iterator[Branch]:
    for cohort in sorted(children.get(parent, []), key=lambda each: each.name):
        visible = tuple(pair for pair in shown.queues() if pair[1].cohort == cohort.name)
        every = sum(queue.cohort == cohort.name for _tenant, queue in whole.queues())
        yield Branch(cohort, depth, visible, every - len(visible))
        yield from _branches(shown, whole, children, cohort.name, depth + 1)


@dataclass(frozen=True, slots=True)
class Found:
    """One thing of a catalog: what it is called, itself, and the tenant that owns it."""

    name: str
    spec: Any
    tenant: str = ""


Items = Callable[[Catalog], Iterator[Found]]


def _named(part: str) -> Items:
    return lambda catalog: (Found(each.name, each) for each in getattr(catalog, part))


def _tenants(catalog: Catalog) -> Iterator[Found]:
    return (Found(each.slug, each, each.slug) for each in catalog.tenants)


def _queues(catalog: Catalog) -> Iterator[Found]:
    return (Found(queue.name, queue, tenant.slug) for tenant, queue in catalog.queues())


def _entries(catalog: Catalog) -> Iterator[Found]:
    for tenant, queue in catalog.queues():
        for entry in queue.entries:
            yield Found(_entry_name(entry), entry, tenant.slug)


def _entry_name(entry: EntrySpec) -> str:
    return f"{entry.namespace}/{entry.name}"


ITEMS: dict[str, Items] = {
    "flavors": _named("flavors"),
    "topologies": _named("topologies"),
    "departments": _named("cohorts"),
    "tenants": _tenants,
    "queues": _queues,
    "entries": _entries,
    "priorities": _named("priorities"),
}


def item(catalog: Catalog, kind: str, name: str) -> Found:
    """Return one thing of a catalog, or raise ``Hidden``."""
    found = next((each for each in ITEMS[kind](catalog) if each.name == name), None)
    if found is None:
        raise access.Hidden(kind, name)
    return found


def revisions(cluster: Any) -> QuerySet[Revision]:
    """Return the newest revisions without their catalogs."""
    rows = Revision.objects.filter(cluster=cluster).select_related("committed_by")
    return rows.defer("catalog").order_by("-number")[:REVISIONS_SHOWN]


# --- people and the trail ---------------------------------------------------------------------------


def members(tenant: Tenant) -> QuerySet[Membership]:
    """Return the people of a tenant, leads first."""
    rows = Membership.objects.filter(tenant=tenant, user__is_active=True).select_related("user")
    leads_first = Case(When(role=access.LEAD, then=0), default=1)
    return rows.order_by(leads_first, "role", "user__username")


def accounts(user: access.Person) -> QuerySet[User]:
    """Return the accounts with all their roles, in three queries however many there are."""
    memberships = Prefetch("memberships", Membership.objects.select_related("tenant"))
    return access.people(user).prefetch_related(memberships, "platform_roles")


def events(user: access.Person) -> QuerySet[AuditEvent]:
    """Return the part of the trail that ``user`` may read."""
    return access.audit_events(user)


def scopes(events: QuerySet[AuditEvent]) -> list[str]:
    """Return the chains that a viewer can choose from."""
    return list(events.order_by("scope").values_list("scope", flat=True).distinct())
