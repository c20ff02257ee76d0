"""Which topics a person may listen to: the same rights as for the pages that show the thing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from queues import topics
from queues.models import Workload
from tenants import access
from tenants.models import Cluster, Entry, Queue, Request, Tenant


@dataclass(frozen=True, slots=True)
class Need:
    """What listening to a topic takes: one right, in one of these tenants or in the platform."""

    action: str
    tenants: tuple[int | None, ...] = (None,)

    def met(self, held: access.Rights) -> bool:
        """Tell whether these roles are enough."""
        return any(access.roles_allow(held, self.action, tenant) for tenant in self.tenants)


#: Nobody holds a role in no tenant, so these rights are the platform's alone.
FIXED: Final = {topics.REQUESTS: Need("request.see"), topics.JOBS: Need("tenant.jobs")}


def needs(names: Iterable[str]) -> dict[str, Need]:
    """Find what each topic takes, in one query for each kind; what does not exist is left out."""
    wanted: dict[str, dict[str, topics.Topic]] = {}
    found: dict[str, Need] = {}
    for name in set(names):
        topic = topics.read(name)
        if name in FIXED:
            found[name] = FIXED[name]
        elif topic is not None:
            wanted.setdefault(topic.kind, {})[name] = topic
    for kind, asked in wanted.items():
        found |= _FINDERS[kind](asked)
    return found


def _tenants(asked: Mapping[str, topics.Topic]) -> dict[str, Need]:
    rows = Tenant.objects.filter(slug__in={each.name for each in asked.values()})
    return {
        topics.tenant(slug): Need("tenant.see", (pk,))
        for slug, pk in rows.values_list("slug", "pk")
    }


def _clusters(asked: Mapping[str, topics.Topic]) -> dict[str, Need]:
    rows = Cluster.objects.filter(slug__in={each.name for each in asked.values()})
    there = set(rows.values_list("slug", flat=True))
    return {name: Need("cluster.see") for name, each in asked.items() if each.name in there}


def _requests(asked: Mapping[str, topics.Topic]) -> dict[str, Need]:
    keys = {name: key for name, each in asked.items() if (key := _uuid(each.name)) is not None}
    rows = Request.objects.filter(pk__in=set(keys.values()))
    there = dict(rows.values_list("pk", "tenant_id"))
    return {name: Need("request.see", (there[key],)) for name, key in keys.items() if key in there}


def _queues(asked: Mapping[str, topics.Topic]) -> dict[str, Need]:
    rows = Queue.objects.filter(
        cluster__slug__in={each.cluster for each in asked.values()},
        name__in={each.name for each in asked.values()},
    )
    found = {
        topics.queue(cluster, name): Need("queue.see", (tenant,))
        for cluster, name, tenant in rows.values_list("cluster__slug", "name", "tenant_id")
    }
    return {name: need for name, need in found.items() if name in asked}


def _jobs(asked: Mapping[str, topics.Topic]) -> dict[str, Need]:
    """A job belongs to the tenants with an entry in its namespace; to none: the platform's."""
    rows = Workload.objects.filter(
        cluster__slug__in={each.cluster for each in asked.values()},
        uid__in={each.name for each in asked.values()},
    ).values_list("cluster__slug", "uid", "cluster_id", "namespace")
    places = {topics.job(slug, uid): (cluster, space) for slug, uid, cluster, space in rows}
    entries = Entry.objects.filter(
        cluster__in={cluster for cluster, _ in places.values()},
        namespace__in={space for _, space in places.values()},
    ).values_list("cluster_id", "namespace", "queue__tenant_id")
    owners: dict[tuple[int, str], tuple[int, ...]] = {}
    for cluster, space, tenant in entries.distinct():
        owners[cluster, space] = (*owners.get((cluster, space), ()), tenant)
    return {
        name: Need("tenant.jobs", owners.get(place, (None,)))
        for name, place in places.items() if name in asked
    }  # fmt: skip


def _uuid(text: str) -> UUID | None:
    """Read an id in the one spelling that topics are announced in."""
    try:
        found = UUID(text)
    except ValueError:
        return None
    return found if str(found) == text else None


_FINDERS: Final = {
    "tenant": _tenants,
    "cluster": _clusters,
    "alive": _clusters,
    "request": _requests,
    "queue": _queues,
    "job": _jobs,
}
