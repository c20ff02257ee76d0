"""Two teams at work for two months, made up: the same jobs each time, without a cluster.

Jobs wait, borrow what the other team leaves, and lose it again when that one wants it back, by
the rules of the demo's catalog: what does not fit into the cohort waits. Everything here is
plain Python; :mod:`portal.demo.past_rows` writes it down.
"""

from __future__ import annotations

import heapq
import random
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Final, NamedTuple

from portal.demo.past_places import Machines, Part

SEED: Final = 20_260_401
DRAIN: Final = timedelta(seconds=30)
NLP, CV = "nlp", "cv"
#: GPUs that each team is promised; the language team has had fewer at first.
PROMISED: Final = {NLP: 16, CV: 8}
AT_FIRST: Final = {NLP: 12, CV: 8}


class Kind(NamedTuple):
    """One kind of job: how many on a working day, GPUs, minutes at least and at most."""

    team: str
    prefix: str
    a_day: int
    gpus: int
    least: int
    most: int


KINDS: Final = (
    Kind(NLP, "train-bert", 8, 8, 80, 380),
    Kind(NLP, "finetune", 5, 4, 25, 150),
    Kind(NLP, "evaluate", 6, 1, 15, 60),
    Kind(CV, "detect", 7, 4, 110, 330),
    Kind(CV, "segment", 6, 2, 30, 140),
)


@dataclass(slots=True)
class Job:
    """A job and what became of it. ``steps`` are its phases with the times at which they begin.

    ``places`` are the devices of each attempt.
    """

    number: int
    kind: Kind
    arrives: datetime
    left: timedelta
    steps: list[tuple[datetime, str]] = field(default_factory=list)
    evicted: list[tuple[datetime, datetime, str]] = field(default_factory=list)
    places: list[list[Part]] = field(default_factory=list)
    ends: datetime | None = None
    began: datetime | None = None

    @property
    def name(self) -> str:
        """Return the name of the job."""
        return f"{self.kind.prefix}-{self.number}"


def jobs(starts: datetime, until: datetime) -> list[Job]:
    """Return the jobs of a time in the order in which they come; half of them on free days."""
    chance = random.Random(SEED)  # noqa: S311 - a story, no secret
    found = []
    day = starts
    while day < until:
        for kind in KINDS:
            for _ in range(kind.a_day if day.weekday() < 5 else kind.a_day // 2):
                minute = round(chance.triangular(0, 1439, 660))
                lasts = chance.randint(kind.least * 60, kind.most * 60)
                at = day + timedelta(minutes=minute, seconds=chance.randrange(60))
                found.append((at, kind, timedelta(seconds=lasts)))
        day += timedelta(days=1)
    rows = sorted((each for each in found if each[0] < until), key=lambda each: each[0])
    return [Job(n, kind, at, lasts) for n, (at, kind, lasts) in enumerate(rows, 1)]


class Cohort:
    """The queues of both teams, with one clock that jumps from event to event."""

    def __init__(self, more_from: datetime, machines: Machines) -> None:
        """Take the time from which the language team has its whole quota, and the devices."""
        self.promised = dict(AT_FIRST)
        self.machines = machines
        self.waiting: dict[str, list[Job]] = {NLP: [], CV: []}
        self.running: list[Job] = []
        self.events: list[tuple[datetime, int, str, Job | None]] = [(more_from, 0, "quota", None)]
        self.free_from = more_from - timedelta(days=400)

    def play(self, found: list[Job], until: datetime) -> None:
        """Let all jobs come, run and end; what is not over by then is cut off there."""
        for each in found:
            heapq.heappush(self.events, (each.arrives, each.number, "arrives", each))
        while self.events and self.events[0][0] < until:
            at, _number, what, job = heapq.heappop(self.events)
            self._take(at, what, job)
            for team in (CV, NLP):
                self._admit(team, at)
        for each in found:
            if each.ends is None or each.ends > until:
                each.ends = until

    def _take(self, at: datetime, what: str, job: Job | None) -> None:
        if job is None:
            self.promised = dict(PROMISED)
        elif what == "arrives":
            job.steps.append((at, "queued"))
            self.waiting[job.kind.team].append(job)
        elif job in self.running and job.ends == at:
            self.running.remove(job)
            self.machines.give(job.places[-1])

    def _held(self, team: str = "") -> int:
        return sum(job.kind.gpus for job in self.running if team in ("", job.kind.team))

    def _admit(self, team: str, at: datetime) -> None:
        """Start what fits, in order; a job that does not fit holds up those behind it."""
        line = self.waiting[team]
        while line:
            job = line[0]
            if not self._fits(job) and not self._reclaim(job, at):
                return
            line.pop(0)
            self._start(job, max(at, self.free_from))

    def _fits(self, job: Job) -> bool:
        return self._held() + job.kind.gpus <= sum(self.promised.values())

    def _reclaim(self, job: Job, at: datetime) -> bool:
        """Take back what the other team has borrowed, the newest first, if that is enough."""
        team = job.kind.team
        if self._held(team) + job.kind.gpus > self.promised[team]:
            return False
        for victim in [each for each in reversed(self.running) if each.kind.team != team]:
            if self._fits(job) or self._held(victim.kind.team) <= self.promised[victim.kind.team]:
                break
            self._evict(victim, at, job)
        return self._fits(job)

    def _start(self, job: Job, at: datetime) -> None:
        job.steps.append((at, "admitted"))
        job.began, job.ends = at, at + job.left
        job.places.append(self.machines.take(job.kind.gpus, at))
        self.running.append(job)
        heapq.heappush(self.events, (job.ends, job.number, "ends", job))

    def _evict(self, job: Job, at: datetime, by: Job) -> None:
        """Stop a job; its pods run out, and it waits again with all of its work before it.

        One that has its place and has not begun goes on waiting instead.
        """
        began = job.began or at
        self.machines.give(job.places[-1])
        if began >= at:
            job.steps.pop()
            job.places.pop()
        else:
            job.evicted.append((began, at, f"made-{by.number}"))
            job.steps += [(at, "draining"), (at + DRAIN, "evicted")]
            self.free_from = max(self.free_from, at + DRAIN)
        job.began = job.ends = None
        self.running.remove(job)
        self.waiting[job.kind.team].insert(0, job)


class Phase(NamedTuple):
    """One phase of a job that is over."""

    phase: str
    attempt: int
    starts: datetime
    ends: datetime
    ended_by: str


def phases(job: Job) -> list[Phase]:
    """Return the phases of a job in their order; those without length are left out."""
    over = job.ends or job.arrives
    found: list[Phase] = []
    attempt = 0
    for (starts, phase), (ends, _) in pairwise([*job.steps, (over, "finished")]):
        attempt += phase == "admitted"
        if min(ends, over) > starts:
            found.append(Phase(phase, attempt, starts, min(ends, over), "finished"))
    following = [each.phase for each in found[1:]] + ["finished"]
    return [each._replace(ended_by=by) for each, by in zip(found, following, strict=True)]


class Times(NamedTuple):
    """The story: when it begins and ends, what changed on the way, and when nobody listened.

    ``idle``: the vision team computes nothing. ``blind``: nodes whose exporter does not answer.
    ``stray``: a device is busy, and no pod has it.
    """

    starts: datetime
    until: datetime
    more_quota: datetime
    price_change: datetime
    down: tuple[datetime, datetime]
    cordoned: tuple[datetime, datetime]
    gaps: tuple[tuple[datetime, datetime], ...]
    idle: tuple[datetime, datetime]
    blind: tuple[tuple[str, datetime, datetime], ...]
    stray: tuple[tuple[datetime, datetime], ...]


def times(now: datetime) -> Times:
    """Return the story up to a whole hour: the month before and this one, 60 days at least."""
    until = now.replace(minute=0, second=0, microsecond=0)
    first = (until.replace(day=1, hour=0) - timedelta(days=1)).replace(day=1)
    starts = min(first, until.replace(hour=0) - timedelta(days=60))

    def at(day: int, hour: int, minute: int = 0) -> datetime:
        return first + timedelta(days=day - 1, hours=hour, minutes=minute)

    lately = until - timedelta(days=3)
    return Times(
        starts=starts,
        until=until,
        more_quota=at(9, 10, 20),
        price_change=at(16, 0),
        down=(at(12, 3, 10), at(12, 12, 40)),
        cordoned=(at(22, 9), at(22, 14, 30)),
        gaps=(
            (at(18, 2, 20), at(18, 5, 40)),
            (lately.replace(hour=1), lately.replace(hour=7)),
        ),
        idle=(at(24, 0), at(27, 0)),
        blind=(
            ("gpu-1", at(20, 8), at(20, 13, 30)),
            ("gpu-2", lately.replace(hour=14), lately.replace(hour=18)),
        ),
        stray=(
            (at(10, 18), at(11, 9)),
            (lately.replace(hour=8), lately.replace(hour=8) + timedelta(hours=40)),
        ),
    )


def played(story: Times) -> list[Job]:
    """Return the jobs of the story with all that happened to them."""
    found = jobs(story.starts, story.until)
    machines = Machines({"gpu-3": [story.down], "gpu-2": [story.cordoned]})
    Cohort(story.more_quota, machines).play(found, story.until)
    return [job for job in found if job.steps]
