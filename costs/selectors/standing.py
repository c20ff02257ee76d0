"""What queues, departments and nodes had, from what the observer has noted when it changed.

Of each object the row before the span counts until its next one. The ledger counts devices alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime
from itertools import chain, pairwise
from typing import Any

from django.db.models import QuerySet

from costs.facts import Nodes, NodeTime, Pool
from costs.grants import Change, Quotas
from costs.grants import quotas as over_time
from costs.lending import Quota
from costs.times import Span, instant, moment
from kube.lifecycle_facts import is_device
from queues.models import NodeChange, QuotaChange

QUEUE = str(QuotaChange.Kind.QUEUE)


def quotas(cluster_id: int, span: Span) -> Quotas:
    """Return the quotas of devices within a span; two queries."""
    rows = QuotaChange.objects.filter(cluster=cluster_id)
    found: dict[bool, list[Change]] = {True: [], False: []}
    for row in standing(rows, ("kind", "name"), span, ("parent", "removed", "lines")):
        kind, name, since, parent, removed, lines = row
        change = Change(name, instant(since), parent, None if removed else _lines(lines))
        found[kind == QUEUE].append(change)
    return over_time(found[True], found[False])


def _lines(lines: list[dict[str, Any]]) -> dict[Pool, Quota]:
    return {
        Pool(each["flavor"], each["resource"]): Quota(each["nominal"], each["lending_limit"])
        for each in lines
        if is_device(each["resource"])
    }


def nodes(cluster_id: int, span: Span) -> list[NodeTime]:
    """Return the devices of nodes within a span; two queries."""
    steps: dict[str, list[tuple[datetime, str, list[dict[str, Any]]]]] = defaultdict(list)
    rows = NodeChange.objects.filter(cluster=cluster_id)
    for name, since, state, devices in standing(rows, ("name",), span, ("state", "devices")):
        steps[name].append((since, state, devices))
    end: list[Any] = [(moment(span.ends), "", [])]
    return [
        each
        for name, found in steps.items()
        for step, following in pairwise(found + end)
        for each in _node(name, step, instant(following[0]))
    ]


def _node(
    name: str, step: tuple[datetime, str, list[dict[str, Any]]], ends: int
) -> Iterator[NodeTime]:
    since, state, devices = step
    time = Span(instant(since), ends)
    if time.seconds > 0:
        for each in devices:
            pool = Pool(each["flavor"], each["resource"])
            yield NodeTime(name, pool, Nodes(state), time, each["amount"])


def standing(
    rows: QuerySet[Any], key: tuple[str, ...], span: Span, columns: tuple[str, ...]
) -> Iterator[tuple[Any, ...]]:
    """Yield key, ``since`` and columns: of each key the last row before the span, then all in it.

    Rows of one key come in their order.
    """
    lo, hi = moment(span.starts), moment(span.ends)
    before = rows.filter(since__lte=lo).order_by(*key, "-since", "-pk").distinct(*key)
    within = rows.filter(since__gt=lo, since__lt=hi).order_by("since", "pk")
    names = (*key, "since", *columns)
    yield from chain(before.values_list(*names), within.values_list(*names))
