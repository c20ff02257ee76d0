"""What is said about one job beside its sentence: on its page and in plain text the same."""

from __future__ import annotations

from typing import Final, NamedTuple

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as _lazy
from django.utils.translation import ngettext

from portal.web.wording import exact, gpus, plain, quantity
from queues import position_texts, sentences
from queues.reading.reasons import ReasonShown
from queues.reading.steps import SHORT, TOO_LARGE
from queues.reading.why import DONE, NOW, Rung, Why

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


class Note(NamedTuple):
    """A remark under the sentence."""

    icon: str
    text: str


def hopeless(why: Why) -> bool:
    """Say whether the job will not start however long it waits."""
    return why.reasons[0].never and why.shown.state == "cannot_run"


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
    return [(key, label, _amount(value, first)) for key, label, value in rows]


def standing(why: Why, rung: Rung) -> str:
    """Say how a stage stands: passed, not reached, or what happens to the job there."""
    if rung.state == NOW:
        if hopeless(why):
            return _("stops here")
        return _("waits here") if why.job.state == "waiting" else _("now")
    return _("done") if rung.state == DONE else _("not reached")


def rung_note(why: Why, rung: Rung) -> str:
    """Say in a few words how a stage was passed, where that is known; else what it asks."""
    job, queue = why.job, why.facts.queue
    if rung.stage == "routing" and rung.state == "done" and job.entry and queue:
        return _("entry %(entry)s leads to the queue %(queue)s") % {
            "entry": job.entry, "queue": queue.name,
        }  # fmt: skip
    if rung.stage == "order" and rung.state == "done" and job.position and job.state == "waiting":
        return _("place %(n)s") % {"n": plain(job.position)}
    if rung.stage == "quota" and rung.state == "done" and job.held:
        return sentences.holds(job)
    return "" if rung.state == DONE else rung.asks


def evidence(reason: ReasonShown) -> list[str]:
    """Give the numbers of a reason, who ends it, and how far the text can be believed."""
    found = []
    if reason.pod_set:
        found.append(_("pod set %(name)s") % {"name": reason.pod_set})
    if reason.missing is not None:
        names = ("asked", "free", "missing")
        values = {name: _amount(getattr(reason, name), reason) for name in names}
        found.append(_("%(asked)s asked, %(free)s free, %(missing)s missing") % values)
    if reason.freed_by in ENDED_BY:
        found.append(str(ENDED_BY[reason.freed_by]))
    if reason.stale:
        found.append(_("the text is from before: it is no longer so"))
    if reason.oscillating:
        found.append(_("comes and goes between two looks of the scheduler"))
    return found


def _amount(value: int | None, reason: ReasonShown) -> str:
    if reason.unit == "pods" and value is not None:
        return ngettext("%(n)s pod", "%(n)s pods", value) % {"n": plain(value)}
    return quantity(value, reason.resource) if reason.resource else plain(value)


def in_line(why: Why) -> bool:
    """Say whether a place in the queue tells anything: not of a job that cannot start as it is."""
    return not hopeless(why) and why.job.stage not in ("routing", "request")


def told(why: Why) -> dict[str, str]:
    """Say what the place in the queue means."""
    line = why.facts.place if in_line(why) else None
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
    if not why.reasons[0].stale and (apart := _apart(why)):
        found.append(Note("hourglass", apart))
    if why.reasons[0].stale:
        found.append(Note("hourglass", _("The cluster has not looked at it since things changed; its text is from before.")))  # fmt: skip
    return found


def _apart(why: Why) -> str:
    """Say which number is from when, where Kueue's text and the queue tell different ones.

    Kueue writes what is missing when it looks at a job; the queue's numbers go on meanwhile.
    """
    short = next((x for x in why.reasons if x.code in SHORT and "/" in x.resource), None)
    line = why.facts.line(short.flavor, short.resource) if short else None
    seen = why.facts.now.seen.observed_at if why.facts.now else None
    if short is None or line is None or line.room is None or seen is None:
        return ""
    asked, missing = short.asked, short.missing
    # Where more is in use than there is, a text tells more than is asked for.
    if asked is None or missing is None or missing > asked or why.job.preempting:
        return ""
    now = max(0, asked - line.room.free)
    if now == missing:
        return ""
    names = {
        "then": exact(why.job.observed_at), "missing": gpus(missing), "flavor": short.flavor,
        "now": exact(seen), "free": gpus(line.room.free), "left": gpus(now),
    }  # fmt: skip
    text = _(
        "The text of the cluster is as of %(then)s: %(missing)s of %(flavor)s missing. The quota of "
        "the queue is as of %(now)s: %(free)s free, so %(left)s missing."
    )
    if not now:
        text = _(
            "The text of the cluster is as of %(then)s: %(missing)s of %(flavor)s missing. The quota "
            "of the queue is as of %(now)s: %(free)s free, which would be enough."
        )
    return text % names
