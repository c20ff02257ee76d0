"""What would help a job that waits: each step with its numbers, only where it is certain."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from portal.web.wording import gpus
from queues.reading.reasons import ReasonShown
from queues.selectors.why import Facts

QUOTA_CODES = frozenset({"quota_short", "max_capacity"})
#: In these states there is nothing left to help.
SETTLED = frozenset({"running", "finished", "gone"})


@dataclass(frozen=True, slots=True)
class NextStep:
    """Something that somebody can do. ``url`` leads to where the portal does it, if it can."""

    code: str
    text: str
    url: str = ""


def steps(facts: Facts, reasons: tuple[ReasonShown, ...], *, may_ask: bool) -> list[NextStep]:
    """Give what would help, the nearest first."""
    if facts.job.state in SETTLED:
        return []
    found = [*_said(reasons), *_other_flavor(facts, reasons), *_smaller(facts, reasons)]
    return [*found, *_more_quota(facts, reasons, may_ask=may_ask)]


def _said(reasons: tuple[ReasonShown, ...]) -> Iterator[NextStep]:
    """Give what always helps against a reason, each text once."""
    told = {reason.help: reason.code for reason in reversed(reasons) if reason.help}
    for text, code in reversed(told.items()):
        yield NextStep(code, text)


def _short(reasons: tuple[ReasonShown, ...]) -> ReasonShown | None:
    """Give the first reason that is a lack of devices."""
    lacks = (each for each in reasons if each.code in QUOTA_CODES and "/" in each.resource)
    return next(lacks, None)


def _other_flavor(facts: Facts, reasons: tuple[ReasonShown, ...]) -> Iterator[NextStep]:
    short = _short(reasons)
    tried = {each.flavor for each in reasons if each.code in QUOTA_CODES}
    if short is None:
        return
    for line in facts.lines:
        fits = line.room is not None and line.room.free >= facts.job.devices > 0
        if line.is_device and fits and line.line.flavor not in tried and line.room is not None:
            text = _("Use the flavor %(flavor)s: %(free)s are free there now.")
            free = gpus(line.room.free)
            yield NextStep("other_flavor", text % {"flavor": line.line.flavor, "free": free})


def _smaller(facts: Facts, reasons: tuple[ReasonShown, ...]) -> Iterator[NextStep]:
    short = _short(reasons)
    line = facts.line(short.flavor, short.resource) if short else None
    if line is None or line.room is None or not 0 < line.room.free < facts.job.devices:
        return
    text = ngettext(
        "Ask for one device: so many are free now, and nobody has to be waited for.",
        "Ask for %(n)s devices or fewer: so many are free now.",
        line.room.free,
    )
    yield NextStep("smaller", text % {"n": line.room.free})


def _more_quota(
    facts: Facts, reasons: tuple[ReasonShown, ...], *, may_ask: bool
) -> Iterator[NextStep]:
    short = _short(reasons)
    line = facts.line(short.flavor, short.resource) if short else None
    if short is None or line is None or facts.queue is None or not short.missing:
        return
    wanted = line.line.nominal + short.missing
    names = {"n": wanted, "flavor": short.flavor, "now": line.line.nominal}
    if not may_ask:
        text = _("Let a lead of your tenant ask for %(n)s GPUs of %(flavor)s instead of %(now)s.")
        yield NextStep("ask_lead", text % names)
        return
    queue = facts.queue
    query = {"cluster": queue.cluster.slug, f"{queue.name}/{short.flavor}/nominal": wanted}
    url = f"{reverse('request-new', args=[queue.tenant.slug])}?{urlencode(query)}"
    text = _("Ask for %(n)s GPUs of %(flavor)s instead of %(now)s.")
    yield NextStep("ask_quota", text % names, url)
