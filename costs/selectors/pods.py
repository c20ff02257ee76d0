"""What pods had of devices, from the times that the observer has written, and what decides whose.

Of a Workload it matters when it can have held quota, from the earliest beginning to the latest
end: a pod is not said to run without quota while that is possible.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from django.db.models import F, Q, Value

from costs.facts import NodeTime, PodTime, Pool
from costs.pods import Around, Quota, Seen, pod_times
from costs.selectors.holdings import Owners
from costs.times import Span, instant, moment
from queues.models import Interval, Lifetime, PodInterval, PodRun
from queues.models.intervals import HOLDING

_CHUNK: Final = 5000
_POD: Final = (
    "namespace", "workload", "node", "resource", "amount", "kind", "name", "starts", "ends",
)  # fmt: skip
_ASKED: Final = str(PodRun.Kind.TERMINATING)
_HOLD: Final = (
    "namespace", "workload", "queue", "attempt", "held", "starts", "starts_earliest", "ends",
    "ends_latest",
)  # fmt: skip


def pods(cluster_id: int, span: Span, owners: Owners, nodes: Sequence[NodeTime]) -> list[PodTime]:
    """Return the devices of pods within a span, by tenant; three queries."""
    found = list(seen(cluster_id, span))
    names = {(each.namespace, each.workload) for each in found if each.workload}
    around = Around(quotas(cluster_id, span, names), *owners, nodes)
    return list(pod_times(found, around))


def seen(cluster_id: int, span: Span) -> Iterator[Seen]:
    """Yield what pods had at any time of a span, up to its end; one query.

    One statement reads both tables, so that a time which ends meanwhile is in exactly one.
    """
    lo, hi = moment(span.starts), moment(span.ends)
    over = PodInterval.objects.filter(cluster=cluster_id, ends__gt=lo, starts__lt=hi)
    lasting = PodRun.objects.filter(cluster=cluster_id, starts__lt=hi).annotate(ends=Value(hi))
    both = over.values_list(*_POD).union(lasting.values_list(*_POD), all=True)
    for row in both.iterator(chunk_size=_CHUNK):
        space, workload, node, resource, amount, kind, name, starts, ends = row
        time = Span(instant(starts), min(instant(ends), span.ends))
        # Not cut to the span: what a pod was asked for before it decides whose it is.
        if time.cut(span):
            yield Seen(space, workload, node, resource, amount, time, kind == _ASKED, name)


def quotas(
    cluster_id: int, span: Span, names: Iterable[tuple[str, str]]
) -> dict[tuple[str, str], list[Quota]]:
    """Return when Workloads of these names held quota in a span, and when last before; two queries.

    A Workload that is made anew for the same job has the same name and another uid.
    """
    wanted = set(names)
    spaces, called = {space for space, _ in wanted}, {name for _, name in wanted}
    lo, hi = moment(span.starts), moment(span.ends)
    over = Interval.objects.filter(
        cluster=cluster_id, phase__in=HOLDING, starts__lt=hi,
        lifetime__namespace__in=spaces, lifetime__name__in=called,
    ).annotate(namespace=F("lifetime__namespace"), workload=F("lifetime__name"))  # fmt: skip
    lasting = Lifetime.objects.filter(
        cluster=cluster_id, phase__in=HOLDING, starts__lt=hi, namespace__in=spaces, name__in=called
    ).annotate(workload=F("name"), ends=Value(hi), ends_latest=Value(hi))
    before = over.filter(starts__lte=lo).order_by("lifetime", "-starts").distinct("lifetime")
    within = over.filter(Q(ends__gt=lo) | Q(ends_latest__gt=lo), starts__gt=lo)
    rows = [
        *lasting.values_list(*_HOLD).union(within.values_list(*_HOLD), all=True),
        *before.values_list(*_HOLD),
    ]
    found: dict[tuple[str, str], list[Quota]] = defaultdict(list)
    for row in rows:
        each = dict(zip(_HOLD, row, strict=True))
        if (key := (each["namespace"], each["workload"])) in wanted:
            found[key].append(_quota(each))
    return {key: sorted(each) for key, each in found.items()}


def _quota(row: dict[str, Any]) -> Quota:
    starts = instant(row["starts_earliest"] or row["starts"])
    ends = instant(row["ends_latest"] or row["ends"])
    pools = dict.fromkeys(Pool(each["flavor"], each["resource"]) for each in row["held"])
    return Quota(Span(starts, max(starts, ends)), row["queue"], tuple(pools), row["attempt"])
