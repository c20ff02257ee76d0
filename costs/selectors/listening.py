"""When nobody listened to a cluster, and up to when everything has been heard."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from django.db.models import Min

from costs.times import Span, instant, moment
from queues.models import Gap, QuotaChange, Stream

#: What the ledger counts with comes over these lines.
KINDS: Final = ("Workload", "ClusterQueue", "Cohort")
#: What pods had comes over this line; without it everything else is known.
POD: Final = "Pod"
#: Without these lines nothing is known; a cluster may do without cohorts.
NEEDED: Final = frozenset({"Workload", "ClusterQueue"})
#: Signs of life come every five seconds; three of them may fail to come without a meaning.
SILENT: Final = timedelta(seconds=15)
#: A gap after which every change was delivered late hides nothing.
_BLIND: Final = str(Gap.Healed.LISTED)


class Blind(NamedTuple):
    """Times that say nothing: of queues and Workloads, and of pods alone."""

    all: list[Span]
    pods: list[Span]


def blind(cluster_id: int, span: Span, now: datetime) -> Blind:
    """Return the times of a span of which not everything is known; three queries."""
    lines = {line.kind: line for line in Stream.objects.filter(cluster=cluster_id)}
    missed = gaps(cluster_id, span)
    pods = lines.get(POD)
    return Blind(
        all=[*missed[False], *_unheard(cluster_id, lines, span, now)],
        pods=[*missed[True], *_without(pods, pods.history_since if pods else None, span, now)],
    )


def gaps(cluster_id: int, span: Span) -> dict[bool, list[Span]]:
    """Return the times of a span whose changes may be unknown, in whole seconds; one query.

    Those of pods stand under ``True``, all others under ``False``.
    """
    rows = Gap.objects.filter(
        cluster=cluster_id, kind__in=(*KINDS, POD), healed=_BLIND,
        starts__lt=moment(span.ends), ends__gt=moment(span.starts),
    )  # fmt: skip
    found: dict[bool, list[Span]] = {True: [], False: []}
    times = rows.order_by("starts", "ends", "pk").values_list("kind", "starts", "ends")
    for kind, starts, ends in times:
        found[kind == POD].append(Span(instant(starts), instant(ends) + 1))
    return found


def _unheard(cluster_id: int, lines: Mapping[str, Stream], span: Span, now: datetime) -> list[Span]:
    """Return the parts of a span before the first look, and after the last sign of life.

    A line that is lost becomes a gap only when it is back; without a line nothing can be said of
    any time.
    """
    first = begun(cluster_id)
    needed = [line for kind, line in lines.items() if kind in KINDS]
    if not lines.keys() >= NEEDED:
        # Kueue has been removed, and with it the line and what it has said last.
        return [span]
    return [each for line in needed for each in _without(line, first, span, now)]


def _without(
    line: Stream | None, first: datetime | None, span: Span, now: datetime
) -> Iterator[Span]:
    """Yield the parts of a span before a first look, and after a line's last sign of life."""
    if line is None or first is None:
        yield span
        return
    until, since = instant(first) + 1, span.ends
    signs = [each for each in (line.alive_at, line.lost_since, now) if each is not None]
    if line.lost_since is not None or line.alive_at is None or now - line.alive_at >= SILENT:
        since = instant(min(signs))
    for part in (Span(span.starts, until).cut(span), Span(since, span.ends).cut(span)):
        if part is not None:
            yield part


def begun(cluster_id: int) -> datetime | None:
    """Return when a cluster was looked at for the first time; ``None`` if it never was."""
    rows = QuotaChange.objects.filter(cluster=cluster_id)
    found: datetime | None = rows.aggregate(first=Min("observed_at"))["first"]
    return found


def heard_until(cluster_id: int) -> datetime | None:
    """Return up to when everything is on record; ``None`` while that cannot be said.

    It cannot while a line has never been read, or the newest list of Workloads is not noted to
    its end.
    """
    lines = Stream.objects.filter(cluster=cluster_id, kind__in=KINDS)
    rows = list(lines.values_list("kind", "alive_at", "lost_since", "epoch", "noted_epoch"))
    behind = [kind for kind, _, _, epoch, noted in rows if kind == "Workload" and noted < epoch]
    read = {kind for kind, alive, *_ in rows if alive is not None}
    if behind or len(read) < len(rows) or not read >= NEEDED:
        return None
    return min(each for _, alive, lost, _, _ in rows for each in (alive, lost) if each is not None)
