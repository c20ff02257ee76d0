"""A place in a waiting line in words: what it means, and how sure it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from portal.web.wording import gpus
from queues.models import QueueOrder
from queues.selectors.ahead import Certainty, InLine, Sure

Trouble = QueueOrder.Trouble

WHY_NOT: Final[Mapping[str, Promise]] = {
    Trouble.ABSENT: gettext_lazy("this cluster does not publish Kueue's list"),
    Trouble.FORBIDDEN: gettext_lazy("the portal may not read Kueue's list here"),
    Trouble.THROTTLED: gettext_lazy("Kueue asked to be left alone for a while"),
    Trouble.SILENT: gettext_lazy("Kueue does not answer at the moment"),
    Trouble.UNKNOWN_QUEUE: gettext_lazy("Kueue does not know the queue yet"),
}


def place(line: InLine) -> str:
    """Say the place itself."""
    return _("Place %(place)s of %(all)s in this queue.") % {
        "place": line.position, "all": line.pending,
    }  # fmt: skip


def before(line: InLine) -> str:
    """Say what stands before the job: own jobs and those of others."""
    if not line.ahead.jobs:
        return _("Nobody is ahead.")
    text = ngettext(
        "%(n)s job is ahead and asks for %(size)s.",
        "%(n)s jobs are ahead and ask for %(size)s.",
        line.ahead.jobs,
    )
    said = text % {"n": line.ahead.jobs, "size": gpus(line.ahead.devices)}
    if not line.mine_jobs or not line.others_jobs:
        return said
    own = ngettext(
        "%(n)s of them is your team's.", "%(n)s of them are your team's.", line.mine_jobs
    )
    return f"{said} {own % {'n': line.mine_jobs}}"


def turn(line: InLine) -> str:
    """Say what the place means for the order in which jobs start."""
    if line.in_front:
        return _("Kueue keeps this job in front while others are stopped for it.")
    if line.backs_off:
        return _("Kueue passes over this job until its pause is over; it keeps its place.")
    if line.held_up:
        return _("This queue is strict: nobody starts before the first job has started.")
    if line.may_pass and line.position == line.pending:
        return _("A job that comes later may start first when it fits and this one does not.")
    if line.may_pass:
        return _("A job behind this one may start first when it fits and this one does not.")
    return _("This queue is strict: this job is the next to start.")


def certainty(sure: Certainty) -> str:
    """Say where the place comes from; its age is shown beside it."""
    if sure.sure == Sure.KUEUE:
        return _("As Kueue's own list has it.")
    if sure.by_use:
        return _(
            "Estimated: this queue puts those first who used least lately, and Kueue does not "
            "show that in full."
        )
    if sure.sure == Sure.ESTIMATE:
        return _("Estimated: Kueue's own list was another one when it was last compared.")
    why = WHY_NOT.get(sure.trouble)
    if why:
        return _("Worked out by Kueue's rules; not compared with its own list: %(why)s.") % {
            "why": why
        }
    return _("Worked out by Kueue's rules; not yet compared with its own list.")


def told(line: InLine) -> tuple[str, ...]:
    """Say everything about a place, the place first."""
    return place(line), before(line), turn(line), certainty(line.certainty)
