"""What would help a job that waits: each step with its numbers, only where it is certain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as _lazy
from django.utils.translation import ngettext

from kube.edits import SetQuota, load_edits
from portal.web.wording import gpus, plain
from queues.reading.letters import letter
from queues.reading.next_step import NextStep
from queues.reading.particulars import no_machine_at_all, particulars, too_large_for_all
from queues.reading.reasons import ReasonShown
from queues.selectors.tenants import LineNow, QueueNow
from queues.selectors.why import Facts
from tenants.models import Entry, Request

#: Quota is there and in use; quota that is too small for the job, whoever else runs.
SHORT: Final = frozenset({"quota_short"})
TOO_LARGE: Final = frozenset({"max_capacity", "max_borrowing", "max_cohort"})
#: In these states there is nothing left to help.
SETTLED: Final = frozenset({"running", "finished", "gone", "stopping"})
#: Nobody decides anything here: only time has to pass.
TRIED_AGAIN: Final = frozenset({"check_retry", "provisioning_failed"})
#: Nobody has to do anything: what ends a reason by itself.
BY_ITSELF: Final[Mapping[str, str | Promise]] = {
    "own_queue": _lazy("Wait: it starts by itself when enough jobs of its queue have ended."),
    "cohort": _lazy(
        "Wait: it starts by itself when enough jobs of the department have ended, or give back "
        "what they have borrowed."
    ),
    "nodes": _lazy("Wait: it starts by itself when machines have room for it."),
    "controller": _lazy("Wait for the decision: it goes on by itself after that."),
    "kueue": _lazy("Nothing to do: the cluster goes on by itself."),
}
#: The same, as the last of several ways.
OR_BY_ITSELF: Final[Mapping[str, str | Promise]] = {
    **BY_ITSELF,
    "own_queue": _lazy("Or wait: it starts by itself when enough jobs of its queue have ended."),
    "cohort": _lazy(
        "Or wait: it starts by itself when enough jobs of the department have ended, or give back "
        "what they have borrowed."
    ),
    "nodes": _lazy(
        "Or wait, if there are machines that large: it starts by itself when machines have room for "
        "it."
    ),
}
OR_ROOM: Final = _lazy("Or wait: it starts by itself when machines have room for it.")
ADMIN: Final = _lazy("Ask those who run the cluster: only they can change this.")


def steps(facts: Facts, reasons: tuple[ReasonShown, ...], *, may_ask: bool) -> list[NextStep]:
    """Give what would help, the nearest first."""
    if facts.job.state in SETTLED:
        return []
    found = [*_said(reasons[0], facts), *particulars(facts)]
    short = _short(reasons)
    line = facts.line(short.flavor, short.resource) if short else None
    if short is not None:
        found += [*_other_flavor(facts, reasons), *_other_queue(facts)]
        found += [*_smaller(facts, short, line)]
        found += [*_more_quota(facts, short, line, may_ask=may_ask), *letter(facts, short, line)]
    return [*found, *_also(reasons), *_by_itself(facts, reasons, found)]


def _said(reason: ReasonShown, facts: Facts) -> Iterator[NextStep]:
    """Give what always helps against the deciding reason, where no numbers say it better."""
    told = reason.code == "topology_too_small" and too_large_for_all(facts) is not None
    told = told or no_machine_at_all(facts)
    if reason.help and not told and reason.code not in SHORT | TOO_LARGE:
        yield NextStep(reason.code, reason.help)


def _also(reasons: tuple[ReasonShown, ...]) -> Iterator[NextStep]:
    """Give what would open another flavor, which is another way, not the only one."""
    ways = {
        (each.flavor, each.help): each.code
        for each in reversed(reasons[1:])
        if each.help and each.flavor and each.code not in SHORT | TOO_LARGE
    }
    for (flavor, text), code in reversed(ways.items()):
        yield NextStep(code, _("To use %(flavor)s: %(help)s") % {"flavor": flavor, "help": text})


def _by_itself(
    facts: Facts, reasons: tuple[ReasonShown, ...], found: list[NextStep]
) -> Iterator[NextStep]:
    """Say what happens if nobody does anything, by the deciding reason."""
    first = reasons[0]
    if first.never:
        if not found and first.freed_by == "admin":
            yield NextStep("ask_admin", str(ADMIN))
        return
    if facts.job.preempting:
        yield NextStep("wait", _("Nothing to do: room is being made for it."))
        return
    if first.code in TRIED_AGAIN:
        yield NextStep("wait", _("Nothing to do: it is tried again by itself."))
        return
    ways = OR_BY_ITSELF if found else BY_ITSELF
    if first.code == "topology_too_small" and (large := too_large_for_all(facts)) is not None:
        ways = {} if large else {"nodes": OR_ROOM}
    text = ADMIN if first.freed_by == "admin" else ways.get(first.freed_by)
    if text:
        yield NextStep("ask_admin" if first.freed_by == "admin" else "wait", str(text))


def _short(reasons: tuple[ReasonShown, ...]) -> ReasonShown | None:
    """Give the first reason that is a lack of devices."""
    codes = SHORT | TOO_LARGE
    lacks = (each for each in reasons if each.code in codes and "/" in each.resource)
    return next(lacks, None)


def _other_flavor(facts: Facts, reasons: tuple[ReasonShown, ...]) -> Iterator[NextStep]:
    tried = {each.flavor for each in reasons if each.code in SHORT | TOO_LARGE}
    for line in facts.lines:
        if line.is_device and line.line.flavor not in tried and _fits(facts, line):
            text = _("Use the flavor %(flavor)s: %(free)s are free there now.")
            yield NextStep("other_flavor", text % _told(line))


def _other_queue(facts: Facts) -> Iterator[NextStep]:
    """Name an entry of another queue of the tenant that could take the job now."""
    for now in facts.beside:
        line = next((each for each in now.devices if _fits(facts, each)), None)
        entry = _entry(facts, now)
        if line is None or entry is None:
            continue
        names = _told(line) | {"entry": entry.name, "namespace": entry.namespace}
        text = _("Send it to the entry %(entry)s: %(free)s of %(flavor)s are free there now.")
        if entry.namespace != facts.job.namespace:
            text = _(
                "Send it to the entry %(entry)s of the namespace %(namespace)s: %(free)s of "
                "%(flavor)s are free there now."
            )
        label = f"kueue.x-k8s.io/queue-name: {entry.name}"
        yield NextStep("other_queue", text % names, copy=label)


def _entry(facts: Facts, now: QueueNow) -> Entry | None:
    """Give an entry of a queue, best in the namespace of the job itself."""
    rows = sorted(now.entries, key=lambda each: each.namespace != facts.job.namespace)
    return rows[0] if rows else None


def _fits(facts: Facts, line: LineNow) -> bool:
    return line.room is not None and line.room.free >= facts.job.devices > 0


def _told(line: LineNow) -> dict[str, str]:
    return {"flavor": line.line.flavor, "free": gpus(line.room.free if line.room else 0)}


def _smaller(facts: Facts, short: ReasonShown, line: LineNow | None) -> Iterator[NextStep]:
    """Say what size would start now, or could start at all."""
    if short.code in TOO_LARGE and short.free:
        text = ngettext(
            "Make the job smaller: one GPU is the most that can ever start with today's quota.",
            "Make the job smaller: %(n)s GPUs are the most that can ever start with today's quota.",
            short.free,
        )
        yield NextStep("smaller", text % {"n": plain(short.free)})
    elif line is not None and line.room is not None and 0 < line.room.free < facts.job.devices:
        text = ngettext(
            "Make the job smaller: one GPU is free now.",
            "Make the job smaller: %(n)s GPUs are free now.",
            line.room.free,
        )
        yield NextStep("smaller", text % {"n": plain(line.room.free)})


# --- more quota -----------------------------------------------------------------------------------


def _more_quota(
    facts: Facts, short: ReasonShown, line: LineNow | None, *, may_ask: bool
) -> Iterator[NextStep]:
    field, wanted = _wanted(short, line)
    if line is None or facts.queue is None or not wanted:
        return
    open_ = _open(facts, short, field, wanted)
    if open_ is not None:
        yield open_
        return
    full = _full(facts, short, field, wanted, line)
    if full is not None:
        yield full
        return
    limit = field == "borrowing_limit"
    today = line.line.borrowing_limit if limit else line.line.nominal
    names = {"n": plain(wanted), "flavor": short.flavor, "now": plain(today)}
    if not may_ask:
        text = _(
            "Let a lead of your tenant ask for more quota: %(n)s GPUs of %(flavor)s instead of "
            "%(now)s."
        )
        if limit:
            text = _(
                "Let a lead of your tenant ask to borrow more: up to %(n)s GPUs of %(flavor)s "
                "instead of %(now)s."
            )
        yield NextStep("ask_lead", text % names)
        return
    text = _("Ask for more quota: %(n)s GPUs of %(flavor)s instead of %(now)s.")
    if limit:
        text = _("Ask to borrow more: up to %(n)s GPUs of %(flavor)s instead of %(now)s.")
    url = _form(facts, f"{facts.queue.name}/{short.flavor}/{field}", wanted, short)
    yield NextStep("ask_quota", text % names, url, _("Ask for it"))


def _full(
    facts: Facts, short: ReasonShown, field: str, wanted: int, line: LineNow
) -> NextStep | None:
    """Say that so much cannot be promised any more: nobody could approve a request for it.

    A limit on borrowing promises nothing, so it may be raised.
    """
    unpromised = facts.unpromised.get((short.flavor, short.resource))
    more = wanted - line.line.nominal
    if field != "nominal" or unpromised is None or unpromised >= more or facts.queue is None:
        return None
    names = {"flavor": short.flavor, "n": plain(more)}
    if unpromised > 0:
        text = ngettext(
            "More quota of %(flavor)s needs %(n)s GPUs, and one is not promised yet.",
            "More quota of %(flavor)s needs %(n)s GPUs, and %(left)s are not promised yet.",
            unpromised,
        )
        names["left"] = plain(unpromised)
    else:
        text = _("All GPUs of %(flavor)s are promised: there is no more quota of it to ask for.")
    who = _(
        "Talk to those who run the cluster: another queue must give some back, or machines come."
    )
    url = reverse("cluster", args=[facts.queue.cluster.slug])
    return NextStep("pool_full", f"{text % names} {who}", url, _("See what is promised"))


def _wanted(short: ReasonShown, line: LineNow | None) -> tuple[str, int]:
    """Give the field of the quota line to raise, and to how much; 0 where that is not known."""
    change = short.change
    if change is not None and change.kind == "ClusterQueue" and change.resource == short.resource:
        return change.field, change.after
    if line is None or not short.missing:
        return "nominal", 0
    return "nominal", line.line.nominal + short.missing


def _form(facts: Facts, field: str, wanted: int, short: ReasonShown) -> str:
    """Give the address of a request that is filled in, for a person to look at and to send."""
    job, queue = facts.job, facts.queue
    if queue is None:
        return ""
    reason = _("For the job %(job)s: it asks for %(size)s of %(flavor)s.") % {
        "job": f"{job.namespace}/{job.job_name}", "size": gpus(job.devices), "flavor": short.flavor,
    }  # fmt: skip
    query = {
        "cluster": queue.cluster.slug, field: wanted, "reason": reason,
        "job": f"{job.namespace}/{job.name}",
    }  # fmt: skip
    return f"{reverse('request-new', args=[queue.tenant.slug])}?{urlencode(query)}"


def _open(facts: Facts, short: ReasonShown, field: str, wanted: int) -> NextStep | None:
    """Give the open request about this very quota: there can only be one."""
    for request in facts.requests:
        asked = _asked(request, facts.job.queue, short, field, wanted)
        if asked is None:
            continue
        names = {"n": plain(asked), "flavor": short.flavor, "state": request.get_state_display()}
        text = _("A request for %(n)s GPUs of %(flavor)s is open: %(state)s. It would be enough.")
        if asked < wanted:
            text = _(
                "A request for %(n)s GPUs of %(flavor)s is open: %(state)s. It would not be enough."
            )
        url = reverse("request", args=[request.pk])
        return NextStep("open_request", text % names, url, _("See the request"))
    return None


def _asked(request: Request, queue: str, short: ReasonShown, field: str, wanted: int) -> int | None:
    """Give how much a request asks for of one line; None when it is about other lines.

    Without a limit there is as much as is wanted.
    """
    for edit in load_edits(request.edits):
        if not isinstance(edit, SetQuota) or (edit.queue, edit.flavor) != (queue, short.flavor):
            continue
        if edit.resource == short.resource:
            value = getattr(edit, field)
            return wanted if value is None else int(value)
    return None
