"""The pods of the made-up jobs: one for each node on which an attempt had devices."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from portal.demo.past import Job, phases
from portal.demo.past_places import Part

#: Between admission and the first container that runs.
START_UP: Final = timedelta(seconds=40)


class Pod(NamedTuple):
    """A time of one pod: it runs, or it is asked to end."""

    name: str
    part: Part
    kind: str
    starts: datetime
    ends: datetime


def pods(job: Job) -> Iterator[Pod]:
    """Yield the times of the pods of a job, in their order."""
    for phase in phases(job):
        if phase.phase not in ("admitted", "draining"):
            continue
        runs = phase.phase == "admitted"
        starts = phase.starts + (START_UP if runs else timedelta(0))
        if starts >= phase.ends:
            continue
        parts = job.places[phase.attempt - 1]
        for n, part in enumerate(parts, 1):
            name = f"{job.name}-{phase.attempt}" + (f"-{n}" if len(parts) > 1 else "")
            yield Pod(name, part, "running" if runs else "terminating", starts, phase.ends)
