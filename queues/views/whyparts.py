"""The answer about one job as its page draws it: rungs with evidence, place, meters, notes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from queues import sentences, topics
from queues.models import Lifetime, Workload
from queues.reading import Why
from queues.reading.next_step import NextStep
from queues.reading.reasons import ReasonShown
from queues.reading.said import (
    evidence,
    figures,
    hopeless,
    in_line,
    notes,
    rung_note,
    standing,
    told,
)
from queues.reading.why import Rung
from queues.views import meters


class Evidence(NamedTuple):
    """One reason on its rung, with its numbers and who ends it."""

    reason: ReasonShown
    parts: list[str]


@dataclass(frozen=True, slots=True)
class RungShown:
    """One stage of the way with what was found there."""

    label: str
    state: str
    here: str
    note: str
    reasons: list[Evidence]


def parts(why: Why) -> dict[str, Any]:
    """Give what the template of the page draws."""
    job = why.job
    lines = [(each, meters.meter(each, each.room)) for each in why.lines if each.room]
    rungs = [_rung(why, rung) for rung in why.ladder]
    return {
        "why": why, "job": job, "queue": why.facts.queue, "ages": why.facts.ages,
        "figures": figures(why), "steps": _steps(why), "never": hopeless(why),
        "notes": notes(why), "rungs": rungs, "passed": all(_is_passed(each) for each in rungs),
        "place": why.facts.place if in_line(why) else None, "in_line": in_line(why), "told": told(why), "holds": sentences.holds(job),
        "meters": [meter for each, meter in lines if each.is_device],
        "other_meters": [meter for each, meter in lines if not each.is_device],
        "topics": _topics(why), "words": list(dict.fromkeys(each.raw for each in why.reasons if each.raw)),
    }  # fmt: skip


def _is_passed(rung: RungShown) -> bool:
    """Say whether there is nothing to read at a stage."""
    return rung.state == "done" and not rung.reasons


def _topics(why: Why) -> str:
    """Give what the page listens to; a queue only if the viewer may see it."""
    slug, queue = why.job.cluster.slug, why.facts.queue
    own = [topics.job(slug, why.job.uid)]
    return " ".join([*own, topics.queue(slug, queue.name)] if queue else own)


def of_life(life: Lifetime) -> Workload:
    """Give a job that is gone as the row that it had; it is not saved."""
    return Workload(
        cluster=life.cluster, uid=life.uid, namespace=life.namespace, name=life.name,
        job_kind=life.job_kind, job_name=life.job_name or life.name, job_uid=life.job_uid,
        entry=life.entry, queue=life.queue, priority_class=life.priority_class,
        state="gone", created_at=life.created_at, observed_at=life.noted_at,
    )  # fmt: skip


def _steps(why: Why) -> list[tuple[NextStep, bool]]:
    """Give what would help; the first that the portal can do itself gets the eye."""
    main = next((each for each in why.steps if each.url.startswith("/")), None)
    return [(each, each is main) for each in why.steps]


# --- the way -------------------------------------------------------------------------------------


def _rung(why: Why, rung: Rung) -> RungShown:
    found = [each for each in why.reasons if each.stage == rung.stage] if rung.codes else []
    reasons = [Evidence(each, evidence(each)) for each in found]
    return RungShown(rung.label, rung.state, standing(why, rung), rung_note(why, rung), reasons)
