"""How old what we show is: the oldest sign of life among the streams a page reads."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils import timezone

from queues.models import Stream

JOBS = ("Workload",)
QUEUES = ("ClusterQueue", "LocalQueue", "Cohort", "Workload")

# A line that comes back within this time was never missed; the age of the data says enough.
GRACE = timedelta(seconds=30)


def is_lost(since: datetime | None) -> bool:
    """Say whether a line is lost for so long that people should know."""
    return since is not None and timezone.now() - since > GRACE


@dataclass(frozen=True, slots=True)
class Freshness:
    """When the observer last heard from a cluster, and since when it has lost it."""

    at: datetime | None = None
    lost_since: datetime | None = None
    error: str = ""

    @property
    def never(self) -> bool:
        """Say whether nothing was ever read."""
        return self.at is None


def freshness(cluster_ids: Iterable[int], kinds: Iterable[str] = QUEUES) -> dict[int, Freshness]:
    """Give the freshness of each cluster in one query; a cluster without streams is left out."""
    ids = set(cluster_ids)
    rows = Stream.objects.filter(cluster_id__in=ids, kind__in=list(kinds)).order_by(
        "cluster_id", "kind"
    )
    found: dict[int, list[Stream]] = {}
    for row in rows:
        found.setdefault(row.cluster_id, []).append(row)
    return {cluster: _oldest(streams) for cluster, streams in found.items()}


def _oldest(streams: list[Stream]) -> Freshness:
    times = [row.alive_at for row in streams]
    lost = [row.lost_since for row in streams if row.lost_since and is_lost(row.lost_since)]
    known = [at for at in times if at is not None]
    return Freshness(
        at=min(known) if len(known) == len(times) else None,
        lost_since=min(lost) if lost else None,
        error=next((row.error for row in streams if row.error), ""),
    )
