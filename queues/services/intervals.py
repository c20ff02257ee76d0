"""Notes what happened to Workloads, in the transaction that writes how they stand now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from tenants.models import Cluster


@dataclass(frozen=True, slots=True)
class Change:
    """A Workload that came, changed or went.

    ``workload`` is the object as it is now, or its last state when it went; ``None`` when it
    ended unseen, which is what a fresh list tells that no longer holds it. ``queue`` is the
    ClusterQueue that holds it or that its LocalQueue points to, ``cohort`` that queue's cohort.
    ``annotations`` are those of its job, where the job is known.
    """

    uid: str
    workload: Mapping[str, Any] | None
    gone: bool = False
    queue: str = ""
    cohort: str = ""
    annotations: Mapping[str, Any] = field(default_factory=dict)


def note(
    cluster: Cluster, changes: Iterable[Change], now: datetime, *, since: datetime | None = None
) -> int:
    """Bring the lifetimes of these Workloads up to date; return how many rows were written.

    Call it inside the transaction of the observed rows, with all changes of a window at once. A
    few statements serve any number of changes; what is noted already writes nothing, so the
    same list may come twice. ``since`` is the last moment before which everything had been
    delivered: give it after a gap; without it the line counts as live (two seconds).
    """
    return 0
