"""The answer about one job as plain text, for a terminal and for a program."""

from __future__ import annotations

import html
import re

from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from portal.web.states import look
from portal.web.wording import exact, gpus, plain, spell
from queues import position_texts
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
from queues.reading.why import NOW, Rung, Why
from queues.selectors.tenants import LineNow

_TAG = re.compile(r"<[^>]*>")


def bare(text: SafeString | str) -> str:
    """Give a sentence without its markup; what was escaped for a page reads as it was."""
    return html.unescape(_TAG.sub("", text))


def text_of(why: Why) -> str:
    """Give everything that the page says, line by line."""
    parts = [_head(why), _sentence(why), _figures(why), _ladder(why), _place(why), _quota(why)]
    parts += [_help(why), _raw(why), _seen(why)]
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
    if job.position is not None and job.state == "waiting" and in_line(why):
        facts.append(_("place %(n)s") % {"n": job.position})
    if why.facts.queue is not None:
        facts.append(_("queue %(name)s") % {"name": why.facts.queue.name})
    if job.priority_class:
        facts.append(_("priority %(name)s") % {"name": job.priority_class})
    return [where, ", ".join(facts)]


def _sentence(why: Why) -> list[str]:
    """Give the sentence, and what must be said beside it."""
    alone = [_("Waiting alone will not help.")] if hopeless(why) else []
    return [bare(why.shown.reason), *alone, *(note.text for note in notes(why))]


def _figures(why: Why) -> list[str]:
    said = ", ".join(f"{label} {amount}" for _key, label, amount in figures(why))
    return [said] if said else []


def _ladder(why: Why) -> list[str]:
    """Give the stages with the reasons found at each; reasons without a stage follow."""
    lines = [line for rung in why.ladder for line in _rung(why, rung)]
    shown = {each.stage for each in why.ladder}
    rest = [line for each in why.reasons[1:] if each.stage not in shown for line in _reason(each)]
    return [*([_("How far it got"), *lines] if lines else []), *rest]


def _rung(why: Why, rung: Rung) -> list[str]:
    width = max(len(each.label) for each in why.ladder)
    mark = ">" if rung.state == NOW else " "
    note = rung_note(why, rung)
    head = f"{mark} {rung.label:{width}}  {standing(why, rung)}"
    found = [each for each in why.reasons if each.stage == rung.stage]
    return [
        f"{head}: {note}" if note else head,
        *(line for each in found for line in _reason(each)),
    ]


def _reason(reason: ReasonShown) -> list[str]:
    return [f"    {bare(reason.text)}", *(f"      {part}" for part in evidence(reason))]


def _place(why: Why) -> list[str]:
    """Say what is ahead, and what the place means."""
    line, said = why.facts.place if in_line(why) else None, told(why)
    if line is None:
        return []
    groups = [
        "  "
        + _("priority %(name)s: %(size)s")
        % {"name": each.name or each.value, "size": _size(each.jobs, each.devices)}
        for each in line.ahead.by_priority
    ]
    mine = [
        f"  {_('ahead of it:')} {job.namespace}/{job.job_name or job.name}" for job in line.mine
    ]
    return [
        position_texts.place(line),
        said["before"],
        *groups,
        *mine,
        said["turn"],
        said["certainty"],
    ]


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


def _size(jobs: int, devices: int) -> str:
    number = ngettext("%(n)s job", "%(n)s jobs", jobs) % {"n": plain(jobs)}
    return f"{number}, {gpus(devices)}"


def _help(why: Why) -> list[str]:
    rows = [line for step in why.steps for line in _step(step)]
    return [_("What would help"), *rows] if rows else []


def _step(step: NextStep) -> list[str]:
    """Give a step, where it is done, and the text to take along."""
    copy = [f"      {line}" for line in step.copy.splitlines()]
    # A letter's address says all that follows it once more, encoded.
    place = "" if step.url.startswith("mailto:") else step.url
    return [f"  - {step.text} {place}".rstrip(), *copy]


def _raw(why: Why) -> list[str]:
    said = dict.fromkeys(each.raw for each in why.reasons if each.raw)
    return [_("The cluster says: %(text)s") % {"text": text} for text in said]


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
