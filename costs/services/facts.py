"""Writes the facts of hours: all of a span anew, in one transaction, or nothing of it.

The hours of a closed period cannot be written; the database refuses them.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from django.db import transaction
from django.utils import timezone

from costs.digest import digest
from costs.facts import Fact, HourFacts, PoolFact
from costs.models import PoolHour, Run, TenantHour
from costs.services.rollups import roll
from costs.times import Span, moment
from tenants.models import Cluster, Tenant

_BATCH: Final = 2000
_COUNTED: Final = (
    "committed", "held", "own", "borrowed", "lent", "overdraft", "excess", "reserved", "admitted",
    "draining", "running", "terminating", "unmanaged", "held_least", "held_most", "coverage", "pods",
)  # fmt: skip


@transaction.atomic
def store(
    *, cluster: Cluster, span: Span, found: Iterable[HourFacts], at: datetime | None = None
) -> Run:
    """Replace the facts of a span by those that were counted; returns the run with their hash.

    The days and months of these hours are made anew with them. ``at``: the moment whose records
    they were counted from, else now.

    Tenants are named by their slugs. ``KeyError`` for one that does not exist: its time would be
    lost otherwise.
    """
    facts = list(found)
    run = Run.objects.create(
        cluster=cluster, starts=moment(span.starts), ends=moment(span.ends), result=digest(facts),
        at=at or timezone.now(),
    )  # fmt: skip
    for model in (TenantHour, PoolHour):
        model.objects.filter(cluster=cluster, hour__gte=run.starts, hour__lt=run.ends).delete()
    tenants = dict(Tenant.objects.values_list("slug", "pk"))
    TenantHour.objects.bulk_create(
        (_tenant(run, each, tenants) for hour in facts for each in hour.facts), batch_size=_BATCH
    )
    PoolHour.objects.bulk_create(
        (_pool(run, each) for hour in facts for each in hour.pools), batch_size=_BATCH
    )
    roll(cluster=cluster, span=span)
    return run


def _tenant(run: Run, fact: Fact, tenants: dict[str, int]) -> TenantHour:
    use = fact.use
    return TenantHour(
        cluster_id=run.cluster_id, hour=moment(fact.hour), run=run,
        tenant_id=tenants[fact.tenant] if fact.tenant else None,
        flavor=fact.pool.flavor, resource=fact.pool.resource, quality=fact.quality.value,
        used=use.used if use else None, seen=use.seen if use else None,
        expected=use.expected if use else None, fallback=use.fallback if use else None,
        **{name: getattr(fact, name) for name in _COUNTED},
    )  # fmt: skip


def _pool(run: Run, fact: PoolFact) -> PoolHour:
    use = fact.use
    return PoolHour(
        cluster_id=run.cluster_id, hour=moment(fact.hour), run=run, flavor=fact.pool.flavor,
        resource=fact.pool.resource, ready=fact.ready, cordoned=fact.cordoned, down=fact.down,
        nominal=fact.nominal, borrowed=fact.borrowed, overdraft=fact.overdraft,
        used=use.used if use else None, seen=use.seen if use else None,
        expected=use.expected if use else None, unattributed=fact.unattributed,
    )  # fmt: skip
