"""Jobs that can reach no queue as they are written, in groups of the same mistake.

A group is what one correction mends: the jobs of one namespace that name the same entry and fail
for the same reason. A job that runs past every queue counts as well.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db.models import Count, Max, Min, Q, QuerySet, Sum

from queues.models import ObservedObject, Workload
from tenants.models import Cluster, Entry, Tenant

OUTSIDE: Final = "outside_queues"
#: Held queues are not here: their jobs are where they belong, and wait.
CODES: Final = (
    "no_queue_label", "framework_off", "namespace_excluded", "nesting_too_deep",
    "priority_class_missing", "priority_class_breaks_kueue", "prebuilt_missing",
    "pod_group_incomplete", "compose_failed", "workload_not_made", "entry_missing",
    "entry_terminating", "entry_without_queue", "queue_missing", "queue_terminating",
    "namespace_mismatch", "selector_invalid", OUTSIDE,
)  # fmt: skip
GROUPS_SHOWN: Final = 200
#: The condition of an index of their own: there are few of them among many jobs.
ASTRAY: Final = Q(stage="routing") | Q(code=OUTSIDE)
WRONG: Final = ASTRAY & Q(code__in=CODES)
KEY: Final = ("cluster_id", "namespace", "entry", "queue", "priority_class", "code")
#: Mistakes that another name of an entry mends.
BY_NAME: Final = frozenset({"entry_missing", "entry_terminating", "no_queue_label"})
NAMED: Final = frozenset({"priority_class_missing", "priority_class_breaks_kueue"})


@dataclass(frozen=True, slots=True)
class Group:
    """The jobs of one mistake; ``meant`` is the entry that the name is most like."""

    cluster: Cluster
    namespace: str
    entry: str
    queue: str
    priority_class: str
    code: str
    jobs: int
    devices: int
    sample: str
    oldest: datetime
    newest: datetime
    entries: tuple[str, ...] = ()
    meant: str = ""
    tenants: tuple[Tenant, ...] = ()


@dataclass(frozen=True, slots=True)
class Astray:
    """All groups, the largest first; ``cut`` when there are more than are shown."""

    groups: list[Group]
    jobs: int
    devices: int
    cut: bool


def astray(jobs: QuerySet[Workload]) -> QuerySet[Workload]:
    """Keep the jobs that can reach no queue as they are written."""
    return jobs.filter(WRONG)


def misrouted(jobs: QuerySet[Workload]) -> Astray:
    """Group ``jobs``, those that exist for the viewer, by what is wrong; four queries."""
    rows = astray(jobs).order_by().select_related(None)
    found = list(
        rows.values(*KEY)
        .annotate(
            jobs=Count("pk"), size=Sum("devices"), sample=Min("job_name"),
            oldest=Min("created_at"), newest=Max("created_at"),
        )
        .order_by("-jobs", *KEY)[: GROUPS_SHOWN + 1]
    )  # fmt: skip
    cut = len(found) > GROUPS_SHOWN
    sums = rows.aggregate(jobs=Count("pk"), size=Sum("devices")) if cut else _sum(found)
    groups = list(_groups(found[:GROUPS_SHOWN]))
    return Astray(groups, sums["jobs"], int(sums["size"] or 0), cut)


def _sum(found: Iterable[dict[str, Any]]) -> dict[str, int]:
    rows = list(found)
    return {
        "jobs": sum(row["jobs"] for row in rows),
        "size": sum(int(row["size"] or 0) for row in rows),
    }


def _groups(found: list[dict[str, Any]]) -> Iterable[Group]:
    spaces = {(row["cluster_id"], row["namespace"]) for row in found}
    clusters = Cluster.objects.in_bulk({pk for pk, _space in spaces})
    entries, owners = _entries(spaces)
    for row in found:
        where = (row["cluster_id"], row["namespace"])
        names = tuple(sorted(entries.get(where, ())))
        size, cluster = row.pop("size"), clusters[row.pop("cluster_id")]
        named = row.pop("priority_class")
        yield Group(
            cluster=cluster,
            devices=int(size or 0),
            entries=names,
            meant=_meant(row["code"], row["entry"], names),
            tenants=tuple(owners.get(where, ())),
            # Only where the class is the mistake does it say something.
            priority_class=named if row["code"] in NAMED else "",
            **row,
        )


Space = tuple[int, str]


def _entries(spaces: set[Space]) -> tuple[dict[Space, set[str]], dict[Space, list[Tenant]]]:
    """Find the entries of namespaces, agreed and observed, and whose namespaces they are."""
    where = Q(cluster_id__in={pk for pk, _ in spaces}, namespace__in={space for _, space in spaces})
    names: dict[Space, set[str]] = {}
    owners: dict[Space, list[Tenant]] = {}
    for entry in Entry.objects.filter(where).select_related("queue__tenant"):
        space = (entry.cluster_id, entry.namespace)
        names.setdefault(space, set()).add(entry.name)
        if entry.queue.tenant not in owners.setdefault(space, []):
            owners[space].append(entry.queue.tenant)
    rows = ObservedObject.objects.filter(where, kind="LocalQueue")
    for pk, namespace, name in rows.values_list("cluster_id", "namespace", "name"):
        names.setdefault((pk, namespace), set()).add(name)
    return names, owners


def _meant(code: str, entry: str, names: tuple[str, ...]) -> str:
    """Guess the entry that was meant; with one entry there is nothing to guess."""
    if code not in BY_NAME:
        return ""
    names = tuple(name for name in names if name != entry)
    if len(names) == 1:
        return names[0]
    return next(iter(difflib.get_close_matches(entry, names, n=1, cutoff=0.6)), "")
