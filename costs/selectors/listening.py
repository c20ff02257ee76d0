"""When nobody listened to a cluster, and up to when everything has been heard."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from django.db.models import Min

from costs.times import Span, instant, moment
from queues.models import Gap, QuotaChange, Stream

#: What the ledger counts with comes over these lines.
KINDS: Final = ("Workload", "ClusterQueue", "Cohort")
#: Without these lines nothing is known; a cluster may do without cohorts.
NEEDED: Final = frozenset({"Workload", "ClusterQueue"})
#: Signs of life come every five seconds; three of them may fail to come without a meaning.
SILENT: Final = timedelta(seconds=15)
#: A gap after which every change was delivered late hides nothing.
_BLIND: Final = str(Gap.Healed.LISTED)


def gaps(cluster_id: int, span: Span) -> list[Span]:
    """Return the times of a span whose changes may be unknown, in whole seconds; one query."""
    rows = Gap.objects.filter(
        cluster=cluster_id, kind__in=KINDS, healed=_BLIND,
        starts__lt=moment(span.ends), ends__gt=moment(span.starts),
    )  # fmt: skip
    times = rows.order_by("starts", "ends", "pk").values_list("starts", "ends")
    return [Span(instant(starts), instant(ends) + 1) for starts, ends in times]


def unheard(cluster_id: int, span: Span, now: datetime) -> list[Span]:
    """Return the parts of a span before the first look, and after the last sign of life.

    Two queries. A line that is lost becomes a gap only when it is back; without a line nothing
    can be said of any time.
    """
    first = begun(cluster_id)
    until = instant(first) + 1 if first else span.ends
    lines = list(Stream.objects.filter(cluster=cluster_id, kind__in=KINDS))
    if not {line.kind for line in lines} >= NEEDED:
        # Kueue has been removed, and with it the line and what it has said last.
        return [span]
    signs = (
        min(each for each in (line.alive_at, line.lost_since, now) if each is not None)
        for line in lines
        if line.lost_since is not None or line.alive_at is None or now - line.alive_at >= SILENT
    )
    since = min((instant(each) for each in signs), default=span.ends)
    parts = (Span(span.starts, until).cut(span), Span(since, span.ends).cut(span))
    return [each for each in parts if each is not None]


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
