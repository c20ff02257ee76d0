"""Evictions as a policy looks at them: what was lost of whom, within the quota, and to whom.

A queue counts for the tenant that it had then. Who took a place is told by the path that Kueue
names, or by the queue or the namespace of the job that took it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from django.db.models import Count, Max

from costs.comparing import Place
from costs.facts import NOBODY, Pool
from costs.lost import PREEMPTED, Loss
from costs.owning import at, by_workload
from costs.selectors.holdings import Owners, owners
from costs.selectors.owning import lines
from costs.steps import Step
from costs.times import HOUR, Span, hour_of, instant, moment
from kube.lifecycle_facts import is_device
from queues.models import Eviction, Interval, Lifetime, Phase
from tenants.models import Cluster

_OWN_QUEUE: Final = "preempted_in_queue"
_COLUMNS: Final = (
    "pk", "at", "queue", "cause", "lifetime", "attempt", "devices", "lost_seconds",
    "preemptor_uid", "preemptor_path",
)  # fmt: skip
_Row = dict[str, Any]
_Held = dict[tuple[int, int], list[tuple[int, dict[Pool, int]]]]
_Borrowed = Mapping[tuple[str, Pool], Mapping[int, list[Step]]]


class Found(NamedTuple):
    """One eviction in one pool; ``pk`` is its row."""

    pk: int
    loss: Loss


def by_hour(span: Span) -> dict[tuple[Place, int], list[Loss]]:
    """Return all that was lost within a span, by pool and hour; seven queries for each cluster."""
    found: dict[tuple[Place, int], list[Loss]] = defaultdict(list)
    for cluster in Cluster.objects.order_by("slug"):
        for _pk, loss in of_cluster(cluster.pk, span):
            found[Place(cluster.slug, loss.pool), loss.hour].append(loss)
    return found


def stamp(span: Span) -> list[int]:
    """Return what changes when an eviction of a span is noted later; rows are only added."""
    clusters = list(Cluster.objects.order_by("pk").values_list("pk", flat=True))
    rows = Eviction.objects.filter(
        cluster__in=clusters, at__gte=moment(span.starts), at__lt=moment(span.ends)
    )
    found = rows.aggregate(number=Count("pk"), newest=Max("pk"))
    return [found["number"], found["newest"] or 0]


def of_cluster(
    cluster_id: int, span: Span, tenant: str | None = None, *, within: bool = True
) -> list[Found]:
    """Return what was lost in a cluster, of one tenant or of all, in the order of time.

    Without ``within`` nobody asks what of it was borrowed, which saves four of the queries.
    """
    of = owners(cluster_id, span)
    rows = [
        row for row in _evicted(cluster_id, span) if tenant is None or _owner(of, row) == tenant
    ]
    if not rows:
        return []
    held, takers = _held(rows), _takers(cluster_id, rows, of)
    borrowed = _borrowed(cluster_id, rows, span) if within else None
    return [each for row in rows for each in _losses(row, _owner(of, row), held, takers, borrowed)]


def _evicted(cluster_id: int, span: Span) -> Iterator[_Row]:
    rows = Eviction.objects.filter(
        cluster=cluster_id, lost_seconds__gt=0, devices__gt=0,
        at__gte=moment(span.starts), at__lt=moment(span.ends),
    )  # fmt: skip
    yield from rows.order_by("at", "pk").values(*_COLUMNS).iterator(chunk_size=5000)


def _owner(of: Owners, row: _Row) -> str:
    dated = of.queues.get(row["queue"])
    return (dated.at(instant(row["at"])) if dated else None) or NOBODY


def _held(rows: Sequence[_Row]) -> _Held:
    """Return what each run held, by the start of its phases; one query."""
    phases = Interval.objects.filter(
        lifetime__in={row["lifetime"] for row in rows}, phase=Phase.ADMITTED
    )
    found: _Held = defaultdict(list)
    columns = phases.order_by("starts").values_list("lifetime", "attempt", "starts", "held")
    for lifetime, attempt, starts, held in columns:
        parts: dict[Pool, int] = defaultdict(int)
        for part in held:
            if is_device(part["resource"]):
                parts[Pool(part["flavor"], part["resource"])] += part["amount"]
        found[lifetime, attempt].append((instant(starts), parts))
    return found


def _takers(cluster_id: int, rows: Sequence[_Row], of: Owners) -> dict[int, str | None]:
    """Return the tenant that took each place, by eviction; one query."""
    uids = {row["preemptor_uid"] for row in rows if row["preemptor_uid"]}
    lives = Lifetime.objects.filter(cluster=cluster_id, uid__in=uids)
    known = {uid: names for uid, *names in lives.values_list("uid", "queue", "namespace")}
    found: dict[int, str | None] = {}
    for row in rows:
        if row["cause"] in PREEMPTED:
            found[row["pk"]] = _taker(row, of, known.get(row["preemptor_uid"], ()))
    return found


def _taker(row: _Row, of: Owners, known: Iterable[str]) -> str | None:
    when = instant(row["at"])
    if row["cause"] == _OWN_QUEUE:
        return _owner(of, row)
    queue, namespace = (*known, "", "")[:2]
    for name in (row["preemptor_path"].rpartition("/")[2], queue):
        if dated := of.queues.get(name):
            return dated.at(when) or NOBODY
    dated = of.namespaces.get(namespace)
    return dated.at(when) if dated else None


def _borrowed(cluster_id: int, rows: Sequence[_Row], span: Span) -> _Borrowed:
    queues = {row["queue"] for row in rows}
    # From before the span, for what was lost in its first second.
    found = lines(cluster_id, queues, Span(span.starts - HOUR, span.ends))
    return {(queue, pool): by_workload(above) for queue, pool, above in found}


def _losses(
    row: _Row, tenant: str, held: _Held, takers: Mapping[int, str | None],
    borrowed: _Borrowed | None,
) -> Iterator[Found]:  # fmt: skip
    when = instant(row["at"])
    parts = [parts for starts, parts in held[row["lifetime"], row["attempt"]] if starts < when]
    for pool, devices in sorted(parts[-1].items()) if parts else ():
        within = None
        if borrowed is not None:
            steps = borrowed.get((row["queue"], pool), {}).get(row["lifetime"], ())
            # As it stood in the second before: with the eviction the devices may be free.
            within = max(0, devices - at(steps, when - 1))
        yield Found(
            row["pk"],
            Loss(
                hour=hour_of(when), tenant=tenant, pool=pool, cause=row["cause"],
                seconds=row["lost_seconds"] // row["devices"], devices=devices, within=within,
                taker=takers.get(row["pk"]),
            ),
        )  # fmt: skip
