"""What of each Workload's devices was borrowed, by the rule of ``costs.owning``."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import Any, Final, NamedTuple

from django.db.models import F, Min, Q, Value

from costs.facts import Pool
from costs.owning import Above, Reserved, borrowed
from costs.selectors.standing import quotas
from costs.steps import Dated, Step, total
from costs.times import Span, instant, moment
from kube.lifecycle_facts import is_device
from queues.models import Interval, Lifetime
from queues.models.intervals import HOLDING

_CHUNK: Final = 5000
_COLUMNS: Final = ("queue", "lifetime_id", "attempt", "starts", "ends", "held")
_Rows = list[tuple[Any, ...]]
_Begun = dict[tuple[int, int], datetime]


class Line(NamedTuple):
    """A queue in one pool, and what its Workloads borrowed within a span."""

    queue: str
    pool: Pool
    above: list[Above]


def lines(cluster_id: int, queues: Collection[str], span: Span) -> Iterator[Line]:
    """Yield each pool of some queues in which something was borrowed; four queries.

    One queue at a time is in memory. The span is not in the future: what is held lasts to its end.
    """
    grants = quotas(cluster_id, span).grants
    can = sorted({queue for queue, _pool in grants} & set(queues))
    begun = _begun(cluster_id, can, span)
    for queue, rows in groupby(_phases(cluster_id, can, span), key=itemgetter(0)):
        for pool, found in _reserved(list(rows), begun).items():
            above = list(borrowed(found, grants.get((queue, pool)), span))
            if above:
                yield Line(queue, pool, above)


def _holding(cluster_id: int, queues: Collection[str], span: Span) -> Q:
    before = moment(span.ends)
    return Q(cluster=cluster_id, phase__in=HOLDING, queue__in=queues, starts__lt=before)


def _phases(cluster_id: int, queues: Collection[str], span: Span) -> Iterator[tuple[Any, ...]]:
    of = _holding(cluster_id, queues, span)
    over = Interval.objects.filter(of, ends__gt=moment(span.starts))
    lasting = Lifetime.objects.filter(of).annotate(
        lifetime_id=F("pk"), ends=Value(moment(span.ends))
    )
    both = over.values_list(*_COLUMNS).union(lasting.values_list(*_COLUMNS), all=True)
    yield from both.order_by("queue").iterator(chunk_size=_CHUNK)


def _begun(cluster_id: int, queues: Collection[str], span: Span) -> _Begun:
    """Return when reservations were made that reach into the span with a later phase; one query."""
    lo = moment(span.starts)
    of = _holding(cluster_id, queues, span)
    reaching = Interval.objects.filter(of, starts__lt=lo, ends__gt=lo).values("lifetime")
    lasting = Lifetime.objects.filter(of, starts__lt=lo).values("pk")
    rows = Interval.objects.filter(
        Q(lifetime__in=reaching) | Q(lifetime__in=lasting), phase__in=HOLDING, ends__lte=lo
    )
    found = rows.order_by().values_list("lifetime", "attempt").annotate(Min("starts"))
    return {(lifetime, attempt): starts for lifetime, attempt, starts in found}


def _reserved(rows: _Rows, begun: Mapping[tuple[int, int], datetime]) -> dict[Pool, list[Reserved]]:
    first = dict(begun)
    for _queue, lifetime, attempt, starts, _ends, _held in rows:
        key = (lifetime, attempt)
        first[key] = min(starts, first.get(key, starts))
    found: dict[Pool, list[Reserved]] = defaultdict(list)
    for _queue, lifetime, attempt, starts, ends, held in rows:
        turn = (instant(first[lifetime, attempt]), lifetime)
        for part in held:
            pool = Pool(part["flavor"], part["resource"])
            if is_device(pool.resource):
                time = Span(instant(starts), instant(ends))
                found[pool].append(Reserved(turn, time, part["amount"]))
    return found


def of_tenant(
    cluster_id: int, tenant: str, mine: Mapping[str, Dated[str]], span: Span
) -> Counter[tuple[int, str, Pool]]:
    """Return borrowed device-seconds by Workload, queue and pool, while a queue was a tenant's."""
    found: Counter[tuple[int, str, Pool]] = Counter()
    for queue, pool, above in lines(cluster_id, mine, span):
        times = [part for part, owner in mine[queue].within(span) if owner == tenant]
        for each in above:
            step = [Step(each.span, each.amount)]
            found[each.workload, queue, pool] += sum(total(step, time) for time in times)
    return found
