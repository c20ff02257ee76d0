"""The answer about one job as plain text, for a terminal and for a program."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from portal.web.states import look
from portal.web.wording import exact, gpus, plain, quantity, spell
from queues.reading.reasons import ReasonShown
from queues.reading.why import DONE, NOW, Rung, Why
from queues.selectors.positions import Ahead
from queues.selectors.tenants import LineNow

_TAG = re.compile(r"<[^>]*>")


def bare(text: SafeString | str) -> str:
    """Give a sentence without its markup; what was escaped for a page reads as it was."""
    return html.unescape(_TAG.sub("", text))


def text_of(why: Why) -> str:
    """Give everything that the page says, line by line."""
    parts = [_head(why), [bare(why.shown.reason)], _ladder(why), _reasons(why), _quota(why)]
    parts += [_ahead(why), _help(why), _raw(why), _seen(why)]
    return "\n\n".join("\n".join(lines) for lines in parts if lines) + "\n"


def _head(why: Why) -> list[str]:
    job = why.job
    kind = f"{job.job_kind} " if job.job_kind else ""
    where = _("%(job)s in %(namespace)s, cluster %(cluster)s") % {
        "job": f"{kind}{job.job_name or job.name}",
        "namespace": job.namespace,
        "cluster": job.cluster.slug,
    }
    facts = [str(look(why.shown.state).word), gpus(job.devices)]
    if job.since is not None:
        facts[0] += f" ({spell((timezone.now() - job.since).total_seconds())})"
    if job.position is not None and job.state == "waiting":
        facts.append(_("place %(n)s") % {"n": job.position})
    if why.facts.queue is not None:
        facts.append(_("queue %(name)s") % {"name": why.facts.queue.name})
    if job.priority_class:
        facts.append(_("priority %(name)s") % {"name": job.priority_class})
    return [where, ", ".join(facts)]


def _ladder(why: Why) -> list[str]:
    if not why.ladder:
        return []
    words = {DONE: _("done"), NOW: _("now")}
    width = max(len(rung.label) for rung in why.ladder)
    return [_("How far it got"), *(_rung(rung, words, width) for rung in why.ladder)]


def _rung(rung: Rung, words: dict[str, str], width: int) -> str:
    mark = ">" if rung.state == NOW else " "
    said = words.get(rung.state, _("not reached"))
    return f"{mark} {rung.label:{width}}  {said}"


def _reasons(why: Why) -> list[str]:
    """Give every reason when there are several; a single one was the sentence above."""
    rows = [_reason(each) for each in why.reasons]
    amounts = [line for each in why.reasons[:1] for line in _amounts(each)]
    if len(rows) < 2:
        return amounts
    return [
        *amounts,
        _("All reasons"),
        *(f"  {number}. {row}" for number, row in enumerate(rows, 1)),
    ]


def _reason(reason: ReasonShown) -> str:
    never = _("waiting will not help") if reason.never else ""
    about = ", ".join(filter(None, [reason.stage, reason.pod_set, never]))
    return f"{bare(reason.text)} ({about})" if about else bare(reason.text)


def _amounts(reason: ReasonShown) -> Iterator[str]:
    known = [
        (_("asked"), reason.asked),
        (_("free"), reason.free),
        (_("missing"), reason.missing),
    ]
    said = [
        f"{name} {quantity(value, reason.resource)}" for name, value in known if value is not None
    ]
    if said:
        yield ", ".join(said)


def _quota(why: Why) -> list[str]:
    rows = [_line(each) for each in why.lines if each.is_device]
    return [_("Quota of its queue"), *rows] if rows else []


def _line(now: LineNow) -> str:
    name, room = now.line.flavor, now.room
    if room is None:
        return "  " + _("%(name)s: %(n)s agreed, not yet seen in the cluster") % {
            "name": name, "n": plain(now.line.nominal),
        }  # fmt: skip
    facts = {"name": name, "nominal": plain(room.nominal), "held": plain(room.held)}
    said = _("%(name)s: %(held)s of %(nominal)s held") % facts
    more = [
        (_("%(n)s borrowed"), room.borrowed),
        (_("%(n)s lent"), room.lent),
        (_("%(n)s could be borrowed now"), room.borrowable),
    ]
    return "  " + ", ".join([said, *(text % {"n": plain(n)} for text, n in more if n)])


def _ahead(why: Why) -> list[str]:
    if why.ahead is None:
        return []
    if not why.ahead.jobs:
        return [_("Nothing is ahead of it.")]
    groups = [
        "  "
        + _("priority %(name)s: %(size)s")
        % {"name": each.name or each.value, "size": _size(each.jobs, each.devices)}
        for each in why.ahead.by_priority
    ]
    return [_("Ahead of it: %(size)s") % {"size": _sum(why.ahead)}, *groups]


def _sum(ahead: Ahead) -> str:
    return _size(ahead.jobs, ahead.devices)


def _size(jobs: int, devices: int) -> str:
    number = ngettext("%(n)s job", "%(n)s jobs", jobs) % {"n": plain(jobs)}
    return f"{number}, {gpus(devices)}"


def _help(why: Why) -> list[str]:
    rows = [f"  - {step.text}" + (f" {step.url}" if step.url else "") for step in why.steps]
    return [_("What would help"), *rows] if rows else []


def _raw(why: Why) -> list[str]:
    said = why.shown.raw
    return [_("The cluster says: %(text)s") % {"text": said}] if said else []


def _seen(why: Why) -> list[str]:
    ages = why.facts.ages
    if ages.at is None:
        return [_("The cluster was never heard: this may be old.")]
    age = spell((timezone.now() - ages.at).total_seconds())
    said = _("Seen %(age)s ago, at %(time)s.") % {"age": age, "time": exact(ages.at)}
    if ages.lost_since is None:
        return [said]
    lost = _("The line to the cluster is lost since %(time)s.") % {"time": exact(ages.lost_since)}
    return [f"{said} {lost}"]
