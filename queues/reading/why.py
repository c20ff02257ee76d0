"""The answer to "why is my job not running", for one viewer: one assembly for every surface."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final, NamedTuple

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from queues import sentences
from queues.access import Sight
from queues.models import Workload
from queues.reading.next_step import NextStep
from queues.reading.reasons import ReasonShown, reasons
from queues.reading.steps import steps
from queues.selectors import jobs
from queues.selectors import why as select
from queues.selectors.freshness import Freshness
from queues.selectors.positions import Ahead
from queues.selectors.tenants import LineNow
from queues.sentences import JobShown, Viewer

DONE, NOW, TODO = "done", "now", "todo"


class Stage(NamedTuple):
    """A stage of the way: its name, and what is decided there."""

    label: str | Promise
    asks: str | Promise


#: In the order in which a job passes them.
LADDER: Final[dict[str, Stage]] = {
    "routing": Stage(_("Routing"), _("which queue the job goes to")),
    "request": Stage(_("Request"), _("whether it asks for something that this queue can give")),
    "order": Stage(_("Order"), _("whose turn it is in the queue")),
    "quota": Stage(_("Quota"), _("whether enough of the quota is free")),
    "check": Stage(_("Admission check"), _("whether other programs agree")),
    "topology": Stage(_("Topology"), _("whether there is room on machines close together")),
    "pods": Stage(_("Pods"), _("whether its pods start on their machines")),
}
#: In these states a job has passed every stage, whatever was said about it before.
PASSED: Final = frozenset({"running", "finished"})


@dataclass(frozen=True, slots=True)
class Rung:
    """One stage of the way: ``done``, ``now`` or ``todo``; ``codes`` are the reasons there.

    ``asks`` is what is decided there, in words.
    """

    stage: str
    label: str
    state: str
    codes: tuple[str, ...] = ()
    asks: str = ""


@dataclass(frozen=True, slots=True)
class Why:
    """Everything that can be said to one viewer about one job."""

    shown: JobShown
    facts: select.Facts
    reasons: tuple[ReasonShown, ...]
    ladder: tuple[Rung, ...]
    steps: tuple[NextStep, ...]

    @property
    def job(self) -> Workload:
        """Give the row."""
        return self.facts.job

    @property
    def ahead(self) -> Ahead | None:
        """Give what stands before the job; None while that is not known."""
        return self.facts.ahead

    @property
    def lines(self) -> tuple[LineNow, ...]:
        """Give the quota lines of the queue, as far as the viewer may see the queue."""
        return self.facts.lines

    @property
    def stamp(self) -> tuple[object, ...]:
        """Give what moves when anything here would read differently."""
        numbers = tuple((each.line.pk, each.line.nominal, each.room) for each in self.lines)
        return (self.shown.stamp, self.reasons, self.facts.place, numbers, self.steps)


def why(
    sight: Sight, job: Workload, ages: Freshness | None = None, words: Collection[str] = ()
) -> Why:
    """Put together what a viewer may read about ``job``, in a constant number of queries.

    ``words`` are further ones that may be names of others, for ``facts.foreign``.
    """
    names = set() if sight.sees_all else sentences.words_of([job]).union(words)
    facts = select.facts(job, sight.queues, sight.tenants, ages, names)
    viewer = _viewer(sight, facts)
    owners = {(job.cluster_id, job.queue): facts.queue} if facts.queue else {}
    shown = sentences.shown([job], owners, viewer)[0]
    told = reasons(job, viewer)
    may_ask = facts.queue is not None and sight.may("request.create", facts.queue.tenant)
    return Why(
        shown=shown,
        facts=facts,
        reasons=told,
        ladder=ladder(job, told),
        steps=tuple(steps(facts, told, may_ask=may_ask)),
    )


def _viewer(sight: Sight, facts: select.Facts) -> Viewer:
    """Read what the sentences need. Numbers of a queue that is not the viewer's stay away."""
    job, names = facts.job, facts.foreign
    if facts.queue is None:
        return Viewer(sight.sees_all, names, jobs.quotas([job]) if sight.sees_all else {})
    numbers = {
        (job.cluster_id, job.queue, each.line.flavor, each.line.resource): (
            each.room.held, each.room.nominal,
        )
        for each in facts.lines
        if each.room is not None
    }  # fmt: skip
    return Viewer(sight.sees_all, names, numbers)


def ladder(job: Workload, told: tuple[ReasonShown, ...]) -> tuple[Rung, ...]:
    """Give the seven stages; none for a job of which no stage is known."""
    stages = list(LADDER)
    if job.state in PASSED:
        at = len(stages)
    elif job.stage in LADDER:
        at = stages.index(job.stage)
    else:
        return ()
    return tuple(
        Rung(stage, str(each.label), _state(number, at), _codes(told, stage), str(each.asks))
        for number, (stage, each) in enumerate(LADDER.items())
    )


def _state(number: int, at: int) -> str:
    return DONE if number < at else NOW if number == at else TODO


def _codes(told: tuple[ReasonShown, ...], stage: str) -> tuple[str, ...]:
    """Give the codes of the reasons at one stage, each once."""
    return tuple(dict.fromkeys(reason.code for reason in told if reason.stage == stage))
