"""The words of a job's history: causes, phases, who took a place, what was lost, alarms.

Another tenant's job is "a job of another team", whatever is known of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as _lazy
from django.utils.translation import ngettext

from kube.evictions import PREEMPTIONS, Cause
from portal.web.wording import duration, number, plain
from queues.models import Phase, Quality
from queues.selectors.history import JobHistory, Link, Loss, Stretch
from queues.selectors.losses import Recent, Starving, Thrash

Text = str | Promise

#: Why a place was lost, as the end of "Was stopped: ...".
CAUSES: Final[Mapping[str, Text]] = {
    Cause.PREEMPTED_IN_QUEUE: _lazy("a more urgent job of the same queue needed it"),
    Cause.PREEMPTED_RECLAIM: _lazy("a queue of the department took back what it had lent"),
    Cause.PREEMPTED_WHILE_BORROWING: _lazy(
        "a queue took back what it had lent, and borrows itself for a more urgent job"
    ),
    Cause.PREEMPTED_FAIR_SHARING: _lazy("another queue of the department had less than its share"),
    Cause.PREEMPTED: _lazy("another job needed it"),
    Cause.PODS_READY_TIMEOUT: _lazy("its pods were not ready in time"),
    Cause.NODE_FAILURE: _lazy("a machine failed and there was no other"),
    Cause.CHECK: _lazy("a check asked to try again"),
    Cause.QUEUE_STOPPED: _lazy("its queue was stopped"),
    Cause.ENTRY_STOPPED: _lazy("its entry was stopped"),
    Cause.DEACTIVATED: _lazy("it was switched off"),
    Cause.DEACTIVATED_CHECK: _lazy("a check refused it"),
    Cause.DEACTIVATED_RETRIES: _lazy("it was started again too often"),
    Cause.DEACTIVATED_TIME_LIMIT: _lazy("it ran for as long as it may"),
    Cause.MANAGER_CLUSTER: _lazy("the managing cluster moved it"),
    Cause.FLAVOR_MIGRATION: _lazy("it moved to another flavor"),
    Cause.RESERVATION_LOST: _lazy("its reservation was taken back before it started"),
    Cause.OTHER: _lazy("the cluster says so, in words that this page does not know"),
    Cause.UNKNOWN: _lazy("nobody saw why"),
}

PHASES: Final[Mapping[str, Text]] = {
    Phase.QUEUED: _lazy("waited in the queue"),
    Phase.RESERVED: _lazy("had its quota and waited for its checks"),
    Phase.ADMITTED: _lazy("was admitted"),
    Phase.DRAINING: _lazy("was being stopped and still held its quota"),
    Phase.EVICTED: _lazy("waited for another place"),
    Phase.DEACTIVATED: _lazy("was switched off"),
}

QUALITIES: Final[Mapping[str, Text]] = {
    Quality.EXACT: _lazy("to the second"),
    Quality.SEEN: _lazy("within two seconds"),
    Quality.BOUNDED: _lazy("between two observations"),
    Quality.UNKNOWN: _lazy("before the observation began"),
}


def cause(code: str) -> str:
    """Return why a place was lost."""
    return str(CAUSES.get(code, CAUSES[Cause.UNKNOWN]))


def phase(stretch: Stretch) -> str:
    """Return what a phase was, and how long."""
    words = str(PHASES.get(stretch.phase, stretch.phase))
    lasted = duration(stretch.seconds)
    if stretch.ends is None:
        return _("%(phase)s, for %(time)s until now") % {"phase": words, "time": lasted}
    return _("%(phase)s for %(time)s") % {"phase": words, "time": lasted}


def taker(name: str, *, of_other: bool) -> str:
    """Return who took a place; empty if nobody did."""
    if name:
        return _("the job “%(name)s”") % {"name": name}
    return _("a job of another team") if of_other else ""


def loss(found: Loss) -> str:
    """Return one lost place as a sentence: why, to whom, and what it cost."""
    values = {"cause": cause(found.cause), "by": taker(found.by, of_other=found.by_other)}
    sentence = (
        _("Was stopped for %(by)s: %(cause)s.")
        if found.cause in PREEMPTIONS and values["by"]
        else _("Was stopped: %(cause)s.")
    ) % values
    cost = lost(found)
    return f"{sentence} {cost}" if cost else sentence


def lost(found: Loss) -> str:
    """Return what of the work is gone; empty if nothing ran."""
    if found.running_since is None or not found.devices:
        return ""
    hours = gpu_hours(found.lost_seconds)
    if found.saved_at is None:
        return _(
            "%(hours)s GPU-hours of work are lost, all since its start: no checkpoint is known."
        ) % {"hours": hours}
    return _("%(hours)s GPU-hours of work are lost, all since its last checkpoint.") % {
        "hours": hours
    }


def gpu_hours(device_seconds: int) -> str:
    """Return device-seconds as hours, with two decimals below ten and none above a hundred."""
    hours = Decimal(device_seconds) / 3600
    return plain(round(hours, 2 if hours < 10 else 1 if hours < 100 else 0))


def _quoted(name: str) -> str:
    """Return a name that a sentence tells from its words: people call jobs "stays" and "eval"."""
    return _("“%(name)s”") % {"name": name}


def link(found: Link) -> str:
    """Return one step of the chain; names are the viewer's own, the rest is not named."""
    values = {
        "taker": _quoted(found.taker) if found.taker else _("a job of another team"),
        "victim": _quoted(found.victim) if found.victim else _("a job of another team"),
        "cause": cause(found.cause),
    }
    if not found.taker and not found.victim:
        return _("One job of another team took the place of another: %(cause)s.") % values
    return _("%(taker)s took the place of %(victim)s: %(cause)s.") % values


def took(history: JobHistory) -> str:
    """Return whose places the job itself has taken; empty if nobody's."""
    if not history.took_own and not history.took_others:
        return ""
    own = ", ".join(map(_quoted, history.took_own))
    others = ngettext(
        "%(count)s job of another team", "%(count)s jobs of other teams", history.took_others
    ) % {"count": number(history.took_others)}
    if not history.took_others:
        return _("Took the place of %(own)s.") % {"own": own}
    if not history.took_own:
        return _("Took the place of %(others)s.") % {"others": others}
    return _("Took the place of %(own)s and of %(others)s.") % {"own": own, "others": others}


def alarms(history: JobHistory) -> list[str]:
    """Return what needs a look: stopped too often in a day, or waiting for too long."""
    found = []
    if history.thrashes:
        found.append(
            _("Stopped %(times)s times by others within a day; from %(limit)s on it needs a look.")
            % {
                "times": number(history.preempted_today),
                "limit": number(history.contract.preemptions_per_day),
            }
        )
    if history.starves:
        found.append(_waits_long(history.waiting, history.contract.longest_wait.total_seconds()))
    return found


def thrash(found: Thrash) -> str:
    """Return the alarm of a job that others stop again and again."""
    return _("%(job)s was stopped %(times)s times by others within a day.") % {
        "job": found.job.job_name,
        "times": number(found.times),
    }


def starving(found: Starving) -> str:
    """Return the alarm of a job that waits for too long."""
    said = _waits_long(found.seconds, found.contract.longest_wait.total_seconds())
    return f"{found.job.job_name}: {said}"


def _waits_long(seconds: float, most: float) -> str:
    return _("Waits for %(time)s; its priority bears %(limit)s.") % {
        "time": duration(seconds),
        "limit": duration(most),
    }


def recent(found: Recent) -> str:
    """Return one lost place in a list of a tenant's jobs."""
    by = taker(found.by, of_other=found.by_other)
    values = {"job": found.job.job_name, "cause": cause(found.cause), "by": by}
    if found.cause in PREEMPTIONS and by:
        return _("%(job)s lost its place to %(by)s: %(cause)s.") % values
    return _("%(job)s lost its place: %(cause)s.") % values
