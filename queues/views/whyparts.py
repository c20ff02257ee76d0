"""The answer about one job as its page draws it: rungs with evidence, place, meters, notes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as _lazy

from portal.web.wording import plain, quantity
from queues import position_texts, sentences, topics
from queues.reading import Why
from queues.reading.next_step import NextStep
from queues.reading.reasons import ReasonShown
from queues.reading.steps import TOO_LARGE
from queues.reading.why import Rung
from queues.views import meters

#: Who or what ends a reason, after its text.
ENDED_BY: Final[dict[str, str | Promise]] = {
    "own_queue": _lazy("ends with jobs of its own queue"),
    "cohort": _lazy("ends with jobs of other queues of the department"),
    "nodes": _lazy("ends when machines have room"),
    "controller": _lazy("another controller decides"),
    "kueue": _lazy("ends by itself"),
    "owner": _lazy("the owner of the job can change it"),
    "admin": _lazy("those who run the cluster can change it"),
    "quota": _lazy("ends with another quota, or with a smaller job"),
}


class Evidence(NamedTuple):
    """One reason on its rung, with its numbers and who ends it."""

    reason: ReasonShown
    parts: list[str]


@dataclass(frozen=True, slots=True)
class RungShown:
    """One stage of the way with what was found there."""

    label: str
    state: str
    note: str
    reasons: list[Evidence]


class Note(NamedTuple):
    """A remark under the sentence."""

    icon: str
    text: str


def parts(why: Why) -> dict[str, Any]:
    """Give what the template of the page draws."""
    job, first = why.job, why.reasons[0]
    lines = [(each, meters.meter(each, each.room)) for each in why.lines if each.room]
    return {
        "why": why, "job": job, "figures": figures(why), "steps": _steps(why), "queue": why.facts.queue, "ages": why.facts.ages,
        "never": first.never and why.shown.state == "cannot_run",
        "notes": notes(why), "rungs": [_rung(why, rung) for rung in why.ladder],
        "place": why.facts.place, "told": _told(why), "holds": sentences.holds(job),
        "meters": [meter for each, meter in lines if each.is_device],
        "other_meters": [meter for each, meter in lines if not each.is_device],
        "words": list(dict.fromkeys(each.raw for each in why.reasons if each.raw)),
        "topics": _topics(why),
    }  # fmt: skip


def _topics(why: Why) -> str:
    slug, queue = why.job.cluster.slug, why.facts.queue
    own = [topics.job(slug, why.job.uid)]
    return " ".join([*own, topics.queue(slug, queue.name)] if queue else own)


def figures(why: Why) -> list[tuple[str, str, str]]:
    """Give asked, free and missing as (key, label, amount); nothing where nobody counts."""
    first = why.reasons[0]
    if first.missing is None:
        return []
    large = first.code in TOO_LARGE
    rows = [
        ("asked", _("Asked"), first.asked),
        ("free", _("At most") if large else _("Free"), first.free),
        ("alarm", _("Too many") if large else _("Missing"), first.missing),
    ]
    return [(key, label, _amount(value, first.resource)) for key, label, value in rows]


def _steps(why: Why) -> list[tuple[NextStep, bool]]:
    """Give what would help; the first that the portal can do itself gets the eye."""
    main = next((each for each in why.steps if each.url.startswith("/")), None)
    return [(each, each is main) for each in why.steps]


# --- the way -------------------------------------------------------------------------------------


def _rung(why: Why, rung: Rung) -> RungShown:
    found = [each for each in why.reasons if each.stage == rung.stage] if rung.codes else []
    evidence = [Evidence(each, _parts(each)) for each in found]
    return RungShown(rung.label, rung.state, _note(why, rung), evidence)


def _note(why: Why, rung: Rung) -> str:
    """Say in a few words how a stage was passed, where that is known."""
    job, queue = why.job, why.facts.queue
    if rung.stage == "routing" and rung.state == "done" and job.entry and queue:
        return _("entry %(entry)s leads to the queue %(queue)s") % {
            "entry": job.entry, "queue": queue.name,
        }  # fmt: skip
    if rung.stage == "order" and rung.state == "done" and job.position and job.state == "waiting":
        return _("place %(n)s") % {"n": plain(job.position)}
    if rung.stage == "quota" and rung.state == "done" and job.held:
        return sentences.holds(job)
    return ""


def _parts(reason: ReasonShown) -> list[str]:
    """Give the numbers of a reason, who ends it, and how far the text can be believed."""
    found = []
    if reason.pod_set:
        found.append(_("pod set %(name)s") % {"name": reason.pod_set})
    if reason.missing is not None:
        names = ("asked", "free", "missing")
        values = {name: _amount(getattr(reason, name), reason.resource) for name in names}
        found.append(_("%(asked)s asked, %(free)s free, %(missing)s missing") % values)
    if reason.freed_by in ENDED_BY:
        found.append(str(ENDED_BY[reason.freed_by]))
    if reason.stale:
        found.append(_("the text is from before: it is no longer so"))
    if reason.oscillating:
        found.append(_("comes and goes between two looks of the scheduler"))
    return found


def _amount(value: int | None, resource: str) -> str:
    return quantity(value, resource) if resource else plain(value)


# --- place and notes -------------------------------------------------------------------------------


def _told(why: Why) -> dict[str, str]:
    """Say what the place in the queue means."""
    line = why.facts.place
    if line is None:
        return {}
    return {
        "before": position_texts.before(line),
        "turn": position_texts.turn(line),
        "certainty": position_texts.certainty(line.certainty),
    }


def notes(why: Why) -> list[Note]:
    """Give what must be said beside the sentence, so that the numbers are not misread."""
    found = []
    state, codes = why.shown.state, {each.code for each in why.reasons}
    if state == "making_room":
        found.append(Note("apart", _("Their pods may still hold the GPUs for a while after their quota is free.")))  # fmt: skip
    if state == "being_stopped":
        found.append(Note("down", _("Its pods may still hold their GPUs until they have ended.")))
    if "pods_still_stopping" in codes and why.reasons[0].code != "pods_still_stopping":
        found.append(Note("down", _("Its old pods are still on their machines and hold GPUs.")))
    if why.reasons[0].stale:
        found.append(Note("hourglass", _("The cluster has not looked at it since things changed; its text is from before.")))  # fmt: skip
    return found
