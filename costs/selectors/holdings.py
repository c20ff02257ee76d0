"""What Workloads held, from the intervals that the observer has written, and for whom.

The ledger counts devices alone. A bound that no condition gave comes with the earliest and the
latest time at which it can have been, so that a sum knows how far off it may be.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, Final, NamedTuple

from django.db.backends.postgresql.psycopg_any import DateTimeTZRange as Range
from django.db.models import Q, Subquery, Value
from django.db.models.functions import Coalesce

from costs.facts import Hold, Phase, Pool
from costs.steps import Dated
from costs.times import Span, instant, moment
from kube.lifecycle_facts import is_device
from queues.models import Interval, Lifetime
from queues.models.intervals import HOLDING, REACH
from tenants.models import Revision

_CHUNK: Final = 5000
_COLUMNS: Final = (
    "queue", "phase", "held", "starts", "starts_earliest", "starts_latest", "ends",
    "ends_earliest", "ends_latest",
)  # fmt: skip


def holds(cluster_id: int, span: Span) -> Iterator[Hold]:
    """Yield what was held of devices at any time of a span, in one query.

    The span is not in the future: what is still held counts to its end. One statement reads
    both tables, so that a phase which ends meanwhile is in exactly one of them.
    """
    lo, hi = moment(span.starts), moment(span.ends)
    # An interval that can have reached into the span, whatever its best guess is.
    reaching = Interval.objects.alias(reach=REACH).filter(reach__overlap=Range(lo, hi))
    over = reaching.filter(cluster=cluster_id, phase__in=HOLDING)
    begins = Q(starts__lt=hi) | Q(starts_earliest__lt=hi)
    lasting = Lifetime.objects.filter(begins, cluster=cluster_id, phase__in=HOLDING).annotate(
        ends=Value(hi), ends_earliest=Value(hi), ends_latest=Value(hi)
    )
    both = over.values_list(*_COLUMNS).union(lasting.values_list(*_COLUMNS), all=True)
    for row in both.iterator(chunk_size=_CHUNK):
        yield from _holds(dict(zip(_COLUMNS, row, strict=True)))


def _holds(row: dict[str, Any]) -> Iterator[Hold]:
    span = _span(row["starts"], row["ends"])
    surely = _span(row["starts_latest"] or row["starts"], row["ends_earliest"] or row["ends"])
    at_most = _span(row["starts_earliest"] or row["starts"], row["ends_latest"] or row["ends"])
    for part in row["held"]:
        pool = Pool(part["flavor"], part["resource"])
        if is_device(pool.resource):
            yield Hold(
                row["queue"], pool, Phase(row["phase"]), span, part["amount"], surely, at_most
            )


def _span(starts: datetime, ends: datetime) -> Span:
    first, last = instant(starts), instant(ends)
    # Bounds may cross: it can have been over before it had begun for certain.
    return Span(first, max(first, last))


class Owners(NamedTuple):
    """Which tenant each queue and each namespace belonged to, and since when."""

    queues: dict[str, Dated[str]]
    namespaces: dict[str, Dated[str]]


def owners(cluster_id: int, span: Span) -> Owners:
    """Return the owners of queues and namespaces over a span, as the catalog said then; one query.

    What was before the first revision was found as that one says. A namespace with entries to
    queues of several tenants belongs to none of them.
    """
    rows = Revision.objects.filter(cluster=cluster_id)
    before = rows.filter(committed_at__lte=moment(span.starts)).order_by("-number")
    since = Coalesce(Subquery(before.values("number")[:1]), Value(1))
    wanted = Q(number=1) | Q(number__gte=since, committed_at__lt=moment(span.ends))
    queues: _Steps = {}
    namespaces: _Steps = {}
    columns = ("number", "committed_at", "catalog__tenants")
    for number, committed_at, tenants in (
        rows.filter(wanted).order_by("number").values_list(*columns)
    ):
        at = 0 if number == 1 else instant(committed_at)
        of_queues, of_namespaces = _said(tenants or ())
        _stand(queues, at, of_queues)
        _stand(namespaces, at, of_namespaces)
    return Owners(_dated(queues), _dated(namespaces))


_Steps = dict[str, dict[int, str | None]]


def _said(tenants: Iterable[dict[str, Any]]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the tenants of queues and of namespaces by one catalog."""
    queues: dict[str, str] = {}
    namespaces: dict[str, set[str]] = defaultdict(set)
    for tenant in tenants:
        for queue in tenant.get("queues") or ():
            queues[queue["name"]] = tenant["slug"]
            for entry in queue.get("entries") or ():
                namespaces[entry["namespace"]].add(tenant["slug"])
    return queues, {name: found.pop() for name, found in namespaces.items() if len(found) == 1}


def _stand(steps: _Steps, at: int, now: dict[str, str]) -> None:
    for name in {*steps, *now}:
        steps.setdefault(name, {})[at] = now.get(name)


def _dated(steps: _Steps) -> dict[str, Dated[str]]:
    return {name: Dated(list(found.items())) for name, found in steps.items()}
