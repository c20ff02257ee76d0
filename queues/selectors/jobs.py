"""Jobs as their people see them: where each one stands, why, and since when."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet
from django.db.models.functions import JSONObject

from queues.compiled import Among, Given, Once, number, text
from queues.models import ObservedObject, Workload
from queues.models.observed import nearness, urgency
from queues.selectors.room import held, promised
from queues.selectors.together import one_query, sorted_out, together
from tenants.models import Entry, Queue, Tenant

# The orders of every list of jobs, each with an index. What needs eyes first: what moves, then
# what waits, those in front first, then what runs, then the rest.
ORDERS = {
    "attention": ("-urgency", "-nearness", "-created_at"),
    "newest": ("-created_at",),
    "size": ("-devices", "-created_at"),
}


def of_tenants(tenants: QuerySet[Tenant]) -> QuerySet[Workload]:
    """Give the jobs in the namespaces of these tenants."""
    entry = Entry.objects.filter(
        queue__tenant__in=tenants, cluster=OuterRef("cluster"), namespace=OuterRef("namespace")
    )
    return Workload.objects.filter(Exists(entry)).select_related("cluster")


def ranked(jobs: QuerySet[Workload]) -> QuerySet[Workload]:
    """Give each job the numbers by which it is sorted."""
    return jobs.annotate(urgency=urgency(), nearness=nearness())


def counts(jobs: QuerySet[Workload]) -> dict[str, int]:
    """Count jobs by state in one query."""
    return _counted(together(counts=count_rows(jobs))["counts"])


def count_rows(jobs: QuerySet[Workload]) -> QuerySet[Any]:
    """Count jobs by state, as a part of a query."""
    rows = jobs.order_by().select_related(None).values("state").annotate(number=Count("pk"))
    return rows.values(json=JSONObject(state="state", number="number"))


def _counted(rows: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    return {each["state"]: each["number"] for each in rows}


@dataclass(frozen=True, slots=True)
class Beside:
    """What the sentences about some jobs need.

    ``owners`` are their queues, ``quotas`` (held, promised) of each line of those as the cluster
    has it, ``foreign`` the words that name something of others, ``counts`` jobs by state.
    """

    owners: dict[tuple[int, str], Queue]
    quotas: dict[tuple[int, str, str, str], tuple[int, int]]
    foreign: frozenset[str]
    counts: dict[str, int]


def beside(
    jobs: Iterable[Workload],
    queues: QuerySet[Queue],
    words: Iterable[str],
    tenants: QuerySet[Tenant],
    counted: QuerySet[Workload] | None = None,
) -> Beside:
    """Gather in one query what is said beside ``jobs`` to somebody who sees these ``queues``.

    ``words`` are those that may name something, ``tenants`` the viewer's own; ``counted`` are
    the jobs to count.
    """
    rows, asked = list(jobs), set(words)
    owner = JSONObject(id="pk", cluster_id="cluster_id", name="name", tenant_id="tenant_id")
    known = queues.filter(name__in={job.queue for job in rows if job.queue})
    found = together(
        owners=known.order_by().values(json=owner),
        quotas=_quota_rows(rows),
        counts=None if counted is None else count_rows(counted),
        **foreign_rows(asked, tenants),
    )
    owners = [Queue(**each) for each in found["owners"]]
    return Beside(
        owners={(each.cluster_id, each.name): each for each in owners},
        quotas=_quotas(found["quotas"]),
        foreign=named(asked, found),
        counts=_counted(found["counts"]),
    )


def waiting(jobs: QuerySet[Workload]) -> QuerySet[Workload]:
    """Give the waiting jobs, those in front first."""
    rows = jobs.filter(state__in=("waiting", "stopping"))
    return rows.order_by(F("position").asc(nulls_last=True), "created_at", "pk")


def _quota_rows(jobs: Iterable[Workload]) -> QuerySet[Any]:
    """Give what the cluster says of the jobs' queues."""
    named = {(job.cluster_id, job.queue) for job in jobs if job.queue}
    rows = ObservedObject.objects.filter(
        kind="ClusterQueue",
        cluster_id__in={cluster for cluster, _name in named},
        name__in={name for _cluster, name in named},
    )
    facts = JSONObject(
        cluster="cluster_id", name="name", spec="body__spec",
        reserved="body__status__flavorsReservation",
    )  # fmt: skip
    return rows.values(json=facts)


def _quotas(
    rows: Iterable[Mapping[str, Any]],
) -> dict[tuple[int, str, str, str], tuple[int, int]]:
    found: dict[tuple[int, str, str, str], tuple[int, int]] = {}
    for row in rows:
        taken = held({"status": {"flavorsReservation": row["reserved"]}})
        for key, line in promised({"spec": row["spec"]}).items():
            found[row["cluster"], row["name"], *key] = (taken.get(key, 0), line.nominal)
    return found


def quotas(jobs: Iterable[Workload]) -> dict[tuple[int, str, str, str], tuple[int, int]]:
    """Give (held, promised) of each line of the jobs' queues as the cluster has it; one query."""
    return _quotas(together(quotas=_quota_rows(jobs))["quotas"])


def foreign(words: Iterable[str], tenants: QuerySet[Tenant]) -> frozenset[str]:
    """Find which of these words name jobs, queues or namespaces of others; one query."""
    asked = set(words)
    return named(asked, together(**foreign_rows(asked, tenants))) if asked else frozenset()


def foreign_to(words: set[str], tenants: Collection[int]) -> frozenset[str]:
    """Find what ``foreign`` finds, for tenants given as ids."""
    if not words:
        return frozenset()
    return named(words, sorted_out(_foreign()(words=sorted(words), tenants=list(tenants))))


@cache
def _foreign() -> Once[Any]:
    own = Tenant.objects.filter(Among(F("pk"), number("tenants")))
    return Once(lambda: one_query(foreign_rows(text("words"), own)))


def foreign_rows(words: set[str] | Given, tenants: QuerySet[Tenant]) -> dict[str, QuerySet[Any]]:
    """Give the names of others among these words, as parts of a query; ``named`` reads them."""
    mine = Entry.objects.filter(queue__tenant__in=tenants)
    own = mine.filter(cluster=OuterRef("cluster"), namespace=OuterRef("namespace"))
    jobs = Workload.objects.filter(~Exists(own)).filter(_is("name", words) | _is("job_name", words))
    others = Queue.objects.exclude(tenant__in=tenants).order_by()
    queues = others.filter(_is("name", words) | _is("entries__namespace", words))
    return {
        "foreign_jobs": jobs.values(json=JSONObject(name="name", other="job_name")),
        "foreign_queues": queues.values(json=JSONObject(name="name", other="entries__namespace")),
    }


def _is(column: str, words: set[str] | Given) -> Q:
    if isinstance(words, Given):
        return Q(Among(F(column), words))
    return Q(**{f"{column}__in": words})


def named(words: set[str], found: Mapping[str, list[Any]]) -> frozenset[str]:
    """Read what the parts of ``foreign_rows`` found."""
    rows = [*found.get("foreign_jobs", ()), *found.get("foreign_queues", ())]
    return frozenset(words & {word for row in rows for word in row.values()})
