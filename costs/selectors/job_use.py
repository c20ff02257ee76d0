"""What the pods of single Workloads used: rows of the metrics, joined with the times of pods.

A pod belongs to the Workload whose uid its time names, or else to the one of that name. Hours
that were not asked of the metrics are expected and not seen, so they are never 0.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from fractions import Fraction
from typing import Any, Final, NamedTuple

from django.db.models import Max, Value

from costs.models import Harvest, UsedHour
from costs.selectors.hours import USED, within
from costs.times import HOUR, Span, hours, instant, moment
from costs.used import Use
from queues.models import Lifetime, PodInterval, PodRun

_CHUNK: Final = 5000
_POD: Final = (
    "namespace", "workload", "workload_uid", "name", "resource", "amount", "starts", "ends",
)  # fmt: skip
#: A Workload by its key, and the resource of its devices.
Key = tuple[int, str]
#: Hour, namespace and name of a pod.
_PodHour = tuple[int, str, str]
_NOTHING: Final = Use(0, 0, 0)


class _Part(NamedTuple):
    """Device-seconds that a pod had in an hour for a Workload."""

    key: Key
    seconds: int


def harvested(cluster_id: int, span: Span) -> Span | None:
    """Return a span up to the newest hour in it that was asked; ``None`` if there is none."""
    asked = Harvest.objects.filter(within(span), cluster=cluster_id, code="")
    newest = asked.aggregate(last=Max("hour"))["last"]
    return None if newest is None else Span(span.starts, min(span.ends, instant(newest) + HOUR))


def used_by(cluster_id: int, lives: Iterable[Lifetime], span: Span) -> dict[Key, Use]:
    """Return what Workloads used within a span, by their key and resource; two queries.

    A Workload of which no pod is on record is not among them.
    """
    parts = _parts(cluster_id, list(lives), span)
    names = {(space, pod) for _hour, space, pod in parts}
    seen: dict[_PodHour, Use] = defaultdict(lambda: _NOTHING)
    for key, use in _rows(cluster_id, names, span):
        seen[key] = seen[key].plus(use)
    found: dict[Key, Use] = defaultdict(lambda: _NOTHING)
    for pod_hour, of_pod in parts.items():
        whole = sum(part.seconds for part in of_pod)
        use = seen.get(pod_hour, _NOTHING).within(whole)
        for part in of_pod:
            found[part.key] = found[part.key].plus(_share(use, part.seconds, whole))
    return found


def ran(cluster_id: int, lives: Iterable[Lifetime], span: Span) -> int:
    """Return the device-seconds that pods of Workloads had within a span; one query."""
    parts = _parts(cluster_id, list(lives), span)
    return sum(part.seconds for of_pod in parts.values() for part in of_pod)


def _parts(cluster_id: int, lives: Collection[Lifetime], span: Span) -> dict[_PodHour, list[_Part]]:
    by_uid = {life.uid: life.pk for life in lives}
    by_name = {(life.namespace, life.name): life.pk for life in lives}
    found: dict[_PodHour, list[_Part]] = defaultdict(list)
    for row in _pods(cluster_id, by_name, span):
        space, workload, uid, pod, resource, amount, starts, ends = row
        pk = by_uid.get(uid) if uid else by_name.get((space, workload))
        time = Span(instant(starts), instant(ends)).cut(span)
        if pk is None or time is None:
            continue
        for hour in hours(time):
            part = time.cut(hour)
            seconds = amount * (part.seconds if part else 0)
            found[hour.starts, space, pod].append(_Part((pk, resource), seconds))
    return found


def _pods(
    cluster_id: int, names: Collection[tuple[str, str]], span: Span
) -> Iterator[tuple[Any, ...]]:
    lo, hi = moment(span.starts), moment(span.ends)
    of = {
        "cluster": cluster_id, "starts__lt": hi, "namespace__in": {space for space, _ in names},
        "workload__in": {name for _, name in names},
    }  # fmt: skip
    over = PodInterval.objects.filter(ends__gt=lo, **of)
    lasting = PodRun.objects.filter(**of).annotate(ends=Value(hi))
    both = over.values_list(*_POD).union(lasting.values_list(*_POD), all=True)
    yield from both.iterator(chunk_size=_CHUNK)


def _rows(
    cluster_id: int, names: Collection[tuple[str, str]], span: Span
) -> Iterator[tuple[_PodHour, Use]]:
    rows = UsedHour.objects.filter(
        within(span), cluster=cluster_id, namespace__in={space for space, _ in names},
        pod__in={pod for _, pod in names},
    )  # fmt: skip
    for hour, space, pod, *use in rows.values_list("hour", "namespace", "pod", *USED).iterator(
        chunk_size=_CHUNK
    ):
        if (space, pod) in names:
            yield (instant(hour), space, pod), Use(*use)


def _share(use: Use, seconds: int, whole: int) -> Use:
    """Return the part of a pod's use that one of several Workloads of its name has."""
    if seconds == whole:
        return use
    part = Fraction(seconds, whole)
    seen, worse = round(use.seen * part), round(use.fallback * part)
    return Use(round(use.used * part), seen, max(seen, seconds), worse)
