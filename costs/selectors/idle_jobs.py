"""Jobs that run and do nothing: those of a tenant whose devices were active for next to nothing.

In the last whole hours that were counted, as cases look at them. A job of which too little was
seen is not judged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db.models import F, Max, Q, Value

from costs.facts import Pool
from costs.models import TenantHour
from costs.selectors.holdings import owners
from costs.selectors.idle import HOURS, does_nothing
from costs.selectors.job_use import used_by
from costs.steps import Dated, Step, total
from costs.times import HOUR, Span, hour_of, instant, moment
from costs.used import Use
from kube.lifecycle_facts import is_device
from queues.models import Interval, Lifetime, Phase

_COLUMNS: Final = ("lifetime_id", "queue", "starts", "ends", "held")


@dataclass(frozen=True, slots=True)
class IdleJob:
    """A job, the device-seconds that it was admitted with in these hours, and what it used."""

    lifetime: Lifetime
    queue: str
    pool: Pool
    seconds: int
    use: Use


def last_hours(cluster_id: int, tenant_id: int, now: datetime) -> Span | None:
    """Return the hours that are looked at; ``None`` where none was counted lately; one query."""
    end = hour_of(instant(now))
    rows = TenantHour.objects.filter(
        cluster=cluster_id, tenant=tenant_id, hour__gte=moment(end - 2 * HOURS * HOUR),
        hour__lt=moment(end),
    )  # fmt: skip
    newest = rows.aggregate(last=Max("hour"))["last"]
    if newest is None:
        return None
    ends = instant(newest) + HOUR
    return Span(ends - HOURS * HOUR, ends)


def idle_jobs(cluster_id: int, tenant: str, span: Span) -> list[IdleJob]:
    """Return the idle jobs of a tenant, those with the most device-time first; five queries."""
    queues = owners(cluster_id, span).queues
    mine = {queue: dated for queue, dated in queues.items() if tenant in dated.values}
    held = _admitted(cluster_id, mine, tenant, span)
    lives = Lifetime.objects.select_related("cluster").in_bulk({pk for pk, _q, _p in held})
    uses = used_by(cluster_id, lives.values(), span) if lives else {}
    same_kind = Counter((pk, pool.resource) for pk, _queue, pool in held)
    found = [
        IdleJob(lives[pk], queue, pool, seconds, use)
        for (pk, queue, pool), seconds in held.items()
        if same_kind[pk, pool.resource] == 1
        and (use := uses.get((pk, pool.resource))) is not None
        and use.known
        and does_nothing([use])
    ]
    return sorted(found, key=lambda each: (-each.seconds, each.lifetime.pk))


def _admitted(
    cluster_id: int, mine: Mapping[str, Dated[str]], tenant: str, span: Span
) -> Counter[tuple[int, str, Pool]]:
    lo, hi = moment(span.starts), moment(span.ends)
    of = Q(cluster=cluster_id, phase=Phase.ADMITTED, queue__in=list(mine), starts__lt=hi)
    over = Interval.objects.filter(of, ends__gt=lo)
    lasting = Lifetime.objects.filter(of).annotate(lifetime_id=F("pk"), ends=Value(hi))
    found: Counter[tuple[int, str, Pool]] = Counter()
    rows: Any = over.values_list(*_COLUMNS).union(lasting.values_list(*_COLUMNS), all=True)
    for pk, queue, starts, ends, parts in rows:
        time = Span(instant(starts), instant(ends)).cut(span)
        if time is None:
            continue
        for part in parts:
            if is_device(part["resource"]):
                pool = Pool(part["flavor"], part["resource"])
                found[pk, queue, pool] += sum(
                    total([Step(time, part["amount"])], piece)
                    for piece, owner in mine[queue].within(time)
                    if owner == tenant
                )
    return Counter({key: seconds for key, seconds in found.items() if seconds})
