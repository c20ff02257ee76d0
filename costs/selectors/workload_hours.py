"""What each Workload of a tenant held within a time, from the phases that the observer noted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby, islice
from operator import itemgetter
from typing import Any, Final

from django.db.models import F, Q, Sum, Value

from costs.facts import Phase, Pool
from costs.selectors import job_use, owning
from costs.selectors.holdings import owners
from costs.steps import Dated
from costs.times import Span, instant, moment
from costs.used import Use
from kube.lifecycle_facts import is_device
from queues.models import Eviction, Interval, Lifetime
from queues.models.intervals import HOLDING

_CHUNK: Final = 2000
_COLUMNS: Final = ("lifetime_id", "queue", "phase", "starts", "ends", "held")


@dataclass(frozen=True, slots=True)
class Held:
    """One Workload in one pool: device-seconds while it held quota, by phase.

    ``borrowed`` are those above the quota by the rule of ``costs.owning``, ``use`` what its pods
    used of what was asked of the metrics; ``None`` where no pod is on record. ``spans`` are the
    times in which it was admitted, with its devices. ``lost`` are the seconds of work since its
    last checkpoint that evictions in this time have cost.
    """

    lifetime: Lifetime
    queue: str
    pool: Pool
    seconds: Counter[Phase]
    lost: int
    spans: list[tuple[Span, int]] = field(default_factory=list)
    borrowed: int = 0
    use: Use | None = None

    @property
    def held(self) -> int:
        """Return the device-seconds of all phases."""
        return self.seconds.total()

    @property
    def own(self) -> int:
        """Return those within the quota."""
        return self.held - self.borrowed


def held(cluster_id: int, tenant: str, span: Span) -> Iterator[Held]:
    """Yield what Workloads held for a tenant within a span, each pool apart, by their keys.

    A chunk of them is in memory, and the sums of all that borrowed.
    """
    queues = owners(cluster_id, span).queues
    mine = {queue: dated for queue, dated in queues.items() if tenant in dated.values}
    lost = _lost(cluster_id, span)
    above = owning.of_tenant(cluster_id, tenant, mine, span)
    asked = job_use.harvested(cluster_id, span)
    same = groupby(_phases(cluster_id, list(mine), span), key=itemgetter(0))
    # ``islice`` stops when nothing is left.
    while chunk := [(pk, list(rows)) for pk, rows in islice(same, _CHUNK)]:
        known = Lifetime.objects.in_bulk([pk for pk, _rows in chunk])
        uses = job_use.used_by(cluster_id, known.values(), asked) if asked else {}
        for pk, rows in chunk:
            found = list(_of_one(known[pk], rows, mine, tenant, span, lost.get(pk, 0)))
            same_kind = Counter(one.pool.resource for one in found)
            for one in found:
                # Pods say the resource and not the flavor, and nothing of a queue that moved.
                steady = {owner for _part, owner in mine[one.queue].within(span)} == {tenant}
                alone = steady and same_kind[one.pool.resource] == 1
                use = uses.get((pk, one.pool.resource)) if alone else None
                yield replace(one, borrowed=above[pk, one.queue, one.pool], use=use)


def _phases(cluster_id: int, queues: list[str], span: Span) -> Iterator[tuple[Any, ...]]:
    lo, hi = moment(span.starts), moment(span.ends)
    of = Q(cluster=cluster_id, phase__in=HOLDING, queue__in=queues, starts__lt=hi)
    over = Interval.objects.filter(of, ends__gt=lo)
    lasting = Lifetime.objects.filter(of).annotate(lifetime_id=F("pk"), ends=Value(hi))
    both = over.values_list(*_COLUMNS).union(lasting.values_list(*_COLUMNS), all=True)
    yield from both.order_by("lifetime_id", "starts").iterator(chunk_size=_CHUNK)


def _lost(cluster_id: int, span: Span) -> dict[int, int]:
    rows = Eviction.objects.filter(
        cluster=cluster_id,
        at__gte=moment(span.starts),
        at__lt=moment(span.ends),
        lost_seconds__gt=0,
    )
    return dict(rows.values_list("lifetime_id").annotate(Sum("lost_seconds")))


def _of_one(
    lifetime: Lifetime, rows: Iterable[tuple[Any, ...]], mine: Mapping[str, Dated[str]],
    tenant: str, span: Span, lost: int,
) -> Iterator[Held]:  # fmt: skip
    found: dict[tuple[str, Pool], Held] = {}
    for _pk, queue, phase, starts, ends, parts in rows:
        time = Span(instant(starts), instant(ends)).cut(span)
        if time is None:
            continue
        for part in parts:
            pool = Pool(part["flavor"], part["resource"])
            if not is_device(pool.resource):
                continue
            one = found.setdefault(
                (queue, pool), Held(lifetime, queue, pool, Counter(), lost if not found else 0)
            )
            for piece, owner in mine[queue].within(time):
                if owner == tenant:
                    one.seconds[Phase(phase)] += piece.seconds * part["amount"]
                    if phase == Phase.ADMITTED:
                        one.spans.append((piece, part["amount"]))
    yield from (one for one in found.values() if one.seconds)
