"""Keeps the times in which nobody listened, so that what is missing is never read as nothing."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from queues.models import Gap, Stream
from tenants.models import Cluster

#: Signs of life come every five seconds; three of them may fail to come without a meaning.
SILENT: Final = timedelta(seconds=15)

RESUMED: Final = str(Gap.Healed.RESUMED)
LISTED: Final = str(Gap.Healed.LISTED)


def is_over(line: Stream, now: datetime, healed: str) -> Gap | None:
    """Return the gap that ends now on a line as it was last written; ``None`` if there is none."""
    signs = [each for each in (line.alive_at, line.lost_since) if each is not None]
    if not signs or min(signs) >= now:
        return None
    if line.lost_since is None and now - min(signs) < SILENT:
        return None
    return Gap(
        cluster_id=line.cluster_id, kind=line.kind, starts=min(signs), ends=now,
        cause="lost" if line.lost_since is not None else "silent", healed=healed,
        error=line.error[:2000],
    )  # fmt: skip


def listed(line: Stream | None, now: datetime) -> None:
    """Note that a whole list has ended the gap of a line, if there was one."""
    _add([is_over(line, now, LISTED)] if line is not None else [])


def resumed(cluster: Cluster, kinds: Iterable[str], now: datetime) -> None:
    """Note that lines are heard again that were lost or silent, and went on where they were."""
    lines = Stream.objects.filter(cluster=cluster, kind__in=list(kinds))
    _add(is_over(line, now, RESUMED) for line in lines)


def _add(found: Iterable[Gap | None]) -> None:
    # Two observers that take turns may both see the end of one gap; the first has said it.
    Gap.objects.bulk_create([gap for gap in found if gap is not None], ignore_conflicts=True)
