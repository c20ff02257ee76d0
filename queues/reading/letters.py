"""A message to those who could lend: a text to send, which the portal does not send itself."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from portal.web.wording import gpus, plain
from queues.reading.next_step import NextStep
from queues.reading.reasons import ReasonShown
from queues.selectors.room import Room
from queues.selectors.tenants import LineNow
from queues.selectors.why import Facts


def letter(facts: Facts, short: ReasonShown, line: LineNow | None) -> Iterator[NextStep]:
    """Offer a text where the department has what is missing and this queue does not get it.

    It names the job and the queue of the viewer, and of the others numbers only.
    """
    if line is None or line.room is None or facts.queue is None or not facts.queue.department_id:
        return
    kept = facts.kept.get((short.flavor, short.resource), 0)
    if line.room.lent:
        said = ngettext(
            "One GPU of your own quota of %(flavor)s is lent out. Ask for it back.",
            "%(n)s GPUs of your own quota of %(flavor)s are lent out. Ask for them back.",
            line.room.lent,
        )
    elif kept:
        said = ngettext(
            "One GPU of %(flavor)s in your department is idle and not lent. Ask for it.",
            "%(n)s GPUs of %(flavor)s in your department are idle and not lent. Ask for them.",
            kept,
        )
    else:
        return
    names = {"n": plain(line.room.lent or kept), "flavor": short.flavor}
    subject, body = _subject(facts, short), _body(facts, short, line.room, kept)
    url = f"mailto:?subject={quote(subject)}&body={quote(body)}"
    yield NextStep("tell_lender", said % names, url, _("Write a mail"), body)


def _subject(facts: Facts, short: ReasonShown) -> str:
    text = _("%(size)s of %(flavor)s for the queue %(queue)s")
    size = gpus(short.missing or facts.job.devices)
    return text % {"size": size, "flavor": short.flavor, "queue": facts.job.queue}


def _body(facts: Facts, short: ReasonShown, room: Room, kept: int) -> str:
    job, queue = facts.job, facts.queue
    if queue is None:
        return ""
    names = {
        "job": f"{job.namespace}/{job.job_name}", "size": gpus(job.devices),
        "flavor": short.flavor, "missing": gpus(short.missing or job.devices),
        "queue": queue.name, "cluster": queue.cluster, "department": queue.department,
        "held": plain(room.held), "nominal": plain(room.nominal), "lent": plain(room.lent),
        "kept": plain(kept),
    }  # fmt: skip
    back = _(
        "%(lent)s of our own quota are lent within the department %(department)s. Could those who "
        "use them give them back, or say until when they need them?"
    )
    lend = _(
        "%(kept)s are idle in the department %(department)s and are not lent. Could those who keep "
        "them lend them for a while?"
    )
    lines = [
        _("Our job %(job)s waits for %(size)s of %(flavor)s in the queue %(queue)s (%(cluster)s)."),
        _("The queue holds %(held)s of its %(nominal)s; %(missing)s more must become free."),
        back if room.lent else lend,
    ]  # fmt: skip
    return "\n\n".join(text % names for text in lines)
