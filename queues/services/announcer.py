"""What an observer announces after it has written a window: which pages look different now."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Final

from queues import topics
from queues.services import announce
from tenants.models import Cluster, Department, Entry, Queue

#: Seconds after which the catalog is read again, and after which an unknown name makes it so.
STALE: Final = 15.0
SOON: Final = 2.0
#: Topics that are kept for a Redis that is away; pages ask by themselves meanwhile.
UNSAID: Final = 5_000

Place = tuple[str, str, str]  # uid, namespace, queue of a workload
ObjectKey = tuple[str, str, str]  # kind, namespace, name


class Catalog:
    """Whose queues and namespaces these are, and which queues share their quota."""

    def __init__(self, cluster: Cluster) -> None:
        """Know nothing yet."""
        self.cluster = cluster
        self.read_at = -STALE
        self.tenant_of_queue: dict[str, str] = {}
        self.tenants_of_namespace: dict[str, set[str]] = {}
        self.beside: dict[str, frozenset[str]] = {}
        self.below: dict[str, frozenset[str]] = {}

    def renew(self, names: Iterable[str]) -> None:
        """Read the catalog when it is old, or does not know one of these queues."""
        age = time.monotonic() - self.read_at
        unknown = any(name and name not in self.tenant_of_queue for name in names)
        if age < SOON or (age < STALE and not unknown):
            return
        self.read_at = time.monotonic()
        parents = dict(self._departments())
        queues = list(
            Queue.objects.filter(cluster=self.cluster).values_list(
                "name", "tenant__slug", "department__name"
            )
        )
        self.tenant_of_queue = {name: tenant for name, tenant, _ in queues}
        self._join({name: department or "" for name, _, department in queues}, parents)
        self.tenants_of_namespace = {}
        entries = Entry.objects.filter(cluster=self.cluster)
        for namespace, tenant in entries.values_list("namespace", "queue__tenant__slug"):
            self.tenants_of_namespace.setdefault(namespace, set()).add(tenant)

    def _departments(self) -> Iterable[tuple[str, str]]:
        rows = Department.objects.filter(cluster=self.cluster)
        return ((name, parent or "") for name, parent in rows.values_list("name", "parent__name"))

    def _join(self, departments: dict[str, str], parents: dict[str, str]) -> None:
        """Put queues together that lend to each other: those below one top department."""
        together: dict[str, set[str]] = {}
        for queue, department in departments.items():
            together.setdefault(_top(department, parents), set()).add(queue)
        self.below = {
            name: frozenset(together.get(_top(name, parents), ())) for name in parents
        }  # fmt: skip
        self.beside = {
            queue: self.below.get(department, frozenset({queue}))
            for queue, department in departments.items()
        }


def _top(department: str, parents: dict[str, str]) -> str:
    seen: set[str] = set()
    while parents.get(department) and department not in seen:
        seen.add(department)
        department = parents[department]
    return department


class Announcer:
    """Turns written rows into topics and announces them, one message a window."""

    def __init__(self, cluster: Cluster) -> None:
        """Have nothing to say yet."""
        self.cluster = cluster
        self.catalog = Catalog(cluster)
        self.unsaid: set[str] = set()

    def window(
        self,
        *,
        workloads: Iterable[Place] = (),
        objects: Iterable[ObjectKey] = (),
        queues: Iterable[str] = (),
        line: bool = False,
    ) -> bool:
        """Announce what a committed window has changed; False when Redis did not take it.

        ``workloads`` stand where they were and where they are now; ``queues`` are those whose
        places have moved; ``line`` says that a line to the cluster was lost or came back.
        """
        jobs, moved = list(workloads), set(queues)
        keys = list(objects)
        named = {name for kind, _, name in keys if kind == "ClusterQueue"}
        self.catalog.renew(moved | named | {queue for _, _, queue in jobs})
        self._note_jobs(jobs)
        for kind, namespace, name in keys:
            moved |= self._queues_of(kind, namespace, name)
        self._note_queues(moved)
        if keys or line:
            self.unsaid.add(topics.cluster(self.cluster.slug))
        return self._flush()

    def alive(self, *, whole: bool = True) -> bool:
        """Announce what could not be said before and, if no line is lost, a sign of life."""
        if whole:
            self.unsaid.add(topics.alive(self.cluster.slug))
        return self._flush()

    def _note_jobs(self, jobs: list[Place]) -> None:
        slug, catalog = self.cluster.slug, self.catalog
        for uid, namespace, _queue in jobs:
            self.unsaid.add(topics.job(slug, uid))
            self.unsaid |= {
                topics.tenant(each) for each in catalog.tenants_of_namespace.get(namespace, ())
            }
        if jobs:
            self.unsaid.add(topics.JOBS)
        self._note_queues({queue for _, _, queue in jobs})

    def _note_queues(self, names: set[str]) -> None:
        for name in names - {""}:
            self.unsaid.add(topics.queue(self.cluster.slug, name))
            if tenant := self.catalog.tenant_of_queue.get(name):
                self.unsaid.add(topics.tenant(tenant))

    def _queues_of(self, kind: str, namespace: str, name: str) -> set[str]:
        """Return the queues whose meters follow an object."""
        catalog = self.catalog
        if kind == "ClusterQueue":
            return {name} | catalog.beside.get(name, frozenset())
        if kind == "Cohort":
            return set(catalog.below.get(name, ()))
        if kind == "LocalQueue":
            owners = catalog.tenants_of_namespace.get(namespace, ())
            self.unsaid |= {topics.tenant(each) for each in owners}
        return set()

    def _flush(self) -> bool:
        if not announce.say(self.unsaid):
            if len(self.unsaid) > UNSAID:
                self.unsaid = {each for each in self.unsaid if not each.startswith("job:")}
            return False
        self.unsaid.clear()
        return True
