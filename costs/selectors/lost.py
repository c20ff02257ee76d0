"""Work that a tenant's jobs have lost with their places in a month, by cause.

What was lost is counted from the last checkpoint that was known at that time, or from the start
of the run. A queue counts for the tenant that it had then. Who took a place has a name only if
it is the tenant's own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q

from costs.models import TenantHour
from costs.selectors.holdings import owners
from costs.selectors.hours import within
from costs.selectors.months import Month
from costs.times import instant, moment
from queues.models import Eviction, Interval, Lifetime, Phase
from queues.selectors.history import owned
from tenants.models import Cluster, Tenant

#: Evictions that a page names; a file has them all.
SHOWN = 50


@dataclass(frozen=True, slots=True)
class Lost:
    """One eviction. ``lost`` are device-seconds since ``saved_at``, or since ``ran_since``.

    ``by`` is the job that took the place, if it is the tenant's own; ``by_other`` says that
    there was one of somebody else.
    """

    at: datetime
    cluster: str
    queue: str
    namespace: str
    job: str
    workload: str
    cause: str
    devices: int
    flavor: str
    ran_since: datetime | None
    saved_at: datetime | None
    lost: int
    by: str
    by_other: bool


@dataclass(frozen=True, slots=True)
class ByCause:
    """What one cause has cost: evictions and lost device-seconds."""

    cause: str
    evictions: int
    lost: int


@dataclass(frozen=True, slots=True)
class LostMonth:
    """Causes, the costliest first; rows, the newest first and no more than were asked for."""

    causes: list[ByCause]
    rows: list[Lost]

    @property
    def lost(self) -> int:
        """Return the device-seconds of all causes."""
        return sum(each.lost for each in self.causes)

    @property
    def evictions(self) -> int:
        """Return the evictions of all causes."""
        return sum(each.evictions for each in self.causes)


def lost_month(tenant: Tenant, month: Month, most: int | None = SHOWN) -> LostMonth:
    """Return what a tenant lost in a month; three queries, and two for each of its clusters."""
    times: Counter[str] = Counter()
    seconds: Counter[str] = Counter()
    keys: list[int] = []
    for cluster_id in _clusters(tenant, month):
        for pk, cause, lost in _evicted(tenant, month, cluster_id):
            times[cause] += 1
            seconds[cause] += lost
            keys.append(pk)
    causes = [ByCause(cause, number, seconds[cause]) for cause, number in times.items()]
    newest = Eviction.objects.filter(pk__in=keys).select_related("lifetime", "cluster")
    found = newest.order_by("-at", "-pk")
    return LostMonth(
        sorted(causes, key=lambda each: (-each.lost, -each.evictions, each.cause)),
        _rows(tenant, list(found if most is None else found[:most])),
    )


def _clusters(tenant: Tenant, month: Month) -> list[int]:
    """Return the clusters in which a tenant has a queue, or had hours in a month; one query."""
    had = TenantHour.objects.filter(within(month.span), tenant=tenant).values("cluster")
    rows = Cluster.objects.filter(Q(pk__in=had) | Q(queues__tenant=tenant))
    return list(rows.order_by("pk").values_list("pk", flat=True).distinct())


def _evicted(tenant: Tenant, month: Month, cluster_id: int) -> list[tuple[int, str, int]]:
    """Return key, cause and loss of the evictions of queues that were the tenant's then."""
    of = owners(cluster_id, month.span).queues
    rows = Eviction.objects.filter(
        cluster=cluster_id, queue__in=of,
        at__gte=moment(month.span.starts), at__lt=moment(month.span.ends),
    )  # fmt: skip
    columns = rows.values_list("pk", "cause", "lost_seconds", "queue", "at")
    return [
        (pk, cause, lost)
        for pk, cause, lost, queue, at in columns.iterator(chunk_size=5000)
        if of[queue].at(instant(at)) == tenant.slug
    ]


def _rows(tenant: Tenant, found: Sequence[Eviction]) -> list[Lost]:
    """Return evictions with the flavor that was held and an own job that took it; two queries."""
    mine = Tenant.objects.filter(pk=tenant.pk)
    uids = {each.preemptor_uid for each in found if each.preemptor_uid}
    takers = owned(Lifetime.objects.filter(uid__in=uids), mine)
    names = {(row.cluster_id, row.uid): row.job_name or row.name for row in takers}
    held = Interval.objects.filter(
        lifetime__in={each.lifetime_id for each in found},
        phase__in=(Phase.ADMITTED, Phase.RESERVED),
    )
    flavors = {
        (lifetime, attempt): ", ".join(sorted({part["flavor"] for part in parts if part["flavor"]}))
        for lifetime, attempt, parts in held.values_list("lifetime", "attempt", "held")
    }
    return [
        Lost(
            at=each.at, cluster=each.cluster.slug, queue=each.queue,
            namespace=each.lifetime.namespace, job=each.lifetime.job_name or each.lifetime.name,
            workload=each.lifetime.name, cause=each.cause, devices=each.devices,
            flavor=flavors.get((each.lifetime_id, each.attempt), ""),
            ran_since=each.running_since, saved_at=each.checkpoint_at, lost=each.lost_seconds,
            by=(by := names.get((each.cluster_id, each.preemptor_uid), "")),
            by_other=bool(each.preemptor_uid) and not by,
        )
        for each in found
    ]  # fmt: skip
