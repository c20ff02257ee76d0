"""How old what we show is: the oldest sign of life among the streams a page reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from django.utils import timezone

from queues.models import Stream

JOBS = ("Workload",)
QUEUES = ("ClusterQueue", "LocalQueue", "Cohort", "Workload")

# The observer gives a sign of life at least this often.
INTERVAL = timedelta(seconds=15)
# A page's stamp follows the age of its data in steps of this many seconds.
STEP = 10

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


def is_late(age: Freshness) -> bool:
    """Say whether a cluster was not heard for longer than twice the interval."""
    if age.at is None or age.lost_since is not None:
        return True
    return timezone.now() - age.at > 2 * INTERVAL


def freshness(cluster_ids: Iterable[int], kinds: Iterable[str] = QUEUES) -> dict[int, Freshness]:
    """Give the freshness of each cluster in one query; a cluster without streams is left out."""
    ids = set(cluster_ids)
    rows = Stream.objects.filter(cluster_id__in=ids, kind__in=list(kinds)).order_by(
        "cluster_id", "kind"
    )
    found: dict[int, list[Stream]] = {}
    for row in rows:
        found.setdefault(row.cluster_id, []).append(row)
    return {cluster: of_streams(streams) for cluster, streams in found.items()}


class Heard(Protocol):
    """What is known of one line, as a row of ``Stream`` has it."""

    @property
    def alive_at(self) -> datetime | None:
        """Give when it was heard last."""

    @property
    def lost_since(self) -> datetime | None:
        """Give since when it is lost."""

    @property
    def error(self) -> str:
        """Give why it is lost."""


def of_streams(streams: Sequence[Heard]) -> Freshness:
    """Give the freshness of one cluster from its lines: that of the oldest."""
    times = [row.alive_at for row in streams]
    lost = [row.lost_since for row in streams if row.lost_since and is_lost(row.lost_since)]
    known = [at for at in times if at is not None]
    return Freshness(
        at=min(known) if len(known) == len(times) else None,
        lost_since=min(lost) if lost else None,
        error=next((row.error for row in streams if row.error), ""),
    )


def generation(*facts: object, ages: Freshness | None = None) -> tuple[object, ...]:
    """Give the stamp of a page: its facts, and the age of its data in coarse steps."""
    if ages is None:
        return facts
    return (*facts, _step(ages.at), ages.lost_since)


def _step(at: datetime | None) -> int:
    return int(at.timestamp()) // STEP if at else 0


def oldest(ages: Mapping[int, Freshness]) -> Freshness:
    """Give the age of a page that joins several clusters: that of its oldest part."""
    rows = list(ages.values())
    if not rows:
        return Freshness()
    lost = [row.lost_since for row in rows if row.lost_since]
    times = [row.at for row in rows]
    known = [at for at in times if at is not None]
    return Freshness(
        at=min(known) if known and None not in times else None,
        lost_since=min(lost) if lost else None,
        error=next((row.error for row in rows if row.error), ""),
    )
