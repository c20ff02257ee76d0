"""Evictions in words: those that are alike are one row, with each of them below it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import Any, Final, NamedTuple

from django.urls import reverse
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from costs.lost import Why
from costs.selectors.lost import NOTHING, Lost, LostMonth, Worth, total
from costs.views.words import fine_hours_text, money_text
from portal.web.wording import DASH, number
from queues.history_texts import cause as cause_text
from queues.history_texts import taker

#: Rows of a page, those of them that are seen at once, and how many evictions of one row are
#: named: a file has them all.
GROUPS: Final = 50
FIRST: Final = 10
NAMED: Final = 20
_WHY: Final = {
    Why.NO_RULE: gettext_lazy("no policy gives it back"),
    Why.BORROWED: gettext_lazy("its devices were borrowed"),
    Why.OWN: gettext_lazy("stopped by an own job, or by itself"),
    Why.UNKNOWN: gettext_lazy("nobody saw why"),
}


class LostRow(NamedTuple):
    """One eviction in words: when, since when it is counted, and what was lost."""

    at: datetime
    since: datetime | None
    saved: bool
    devices: str
    hours: str
    worth: str
    back: str
    why: str


@dataclass(frozen=True, slots=True)
class LostGroup:
    """Evictions of one job for one cause, the newest first; no job's name for who may not read it."""

    url: str
    job: str
    sub: str
    cause: str
    by: str
    newest: datetime
    oldest: datetime
    count: int
    devices: str
    hours: str
    worth: str
    back: str
    why: str
    rows: list[LostRow]

    @property
    def more(self) -> int:
        """Return how many of them are not named."""
        return self.count - len(self.rows)


def groups(found: LostMonth, money: str, *, names: bool) -> list[LostGroup]:
    """Return what was lost by job and cause, what lost most first.

    Whoever may not read names sees the jobs of a queue together. ``money`` is the currency of
    amounts, empty for who sees none.
    """
    alike: dict[Any, list[Lost]] = {}
    for each in found.rows:
        job = (each.namespace, each.job) if names else ()
        by = (each.by if names else bool(each.by), each.by_other)
        key = (each.cluster, each.queue, each.flavor, job, each.cause, by)
        alike.setdefault(key, []).append(each)
    made = sorted(alike.values(), key=lambda rows: -sum(each.lost for each in rows))
    return [_group(rows, found, money, names=names) for rows in made[:GROUPS]]


def _group(rows: list[Lost], found: LostMonth, money: str, *, names: bool) -> LostGroup:
    first = rows[0]
    worths = [found.worth.get(each.pk, NOTHING) for each in rows]
    worth = total(worths)
    devices = sorted({each.devices for each in rows})
    return LostGroup(
        url=reverse("job", args=[first.cluster, first.namespace, first.workload]) if names else "",
        job=first.job if names else _("jobs of %(queue)s") % {"queue": first.queue},
        sub=" · ".join(filter(None, [first.queue if names else "", first.flavor])),
        cause=capfirst(cause_text(first.cause)),
        by=taker(first.by if names else "", of_other=first.by_other),
        newest=first.at, oldest=rows[-1].at, count=len(rows),
        devices=f" {DASH} ".join(number(each) for each in dict.fromkeys((devices[0], devices[-1]))),
        hours=fine_hours_text(sum(each.lost for each in rows)),
        worth=amount(worth.amount, money), back=given(worth, money),
        why=_whys(zip(rows, worths, strict=True), worth),
        rows=[_row(*pair, money) for pair in list(zip(rows, worths, strict=True))[:NAMED]],
    )  # fmt: skip


def _row(each: Lost, worth: Worth, money: str) -> LostRow:
    return LostRow(
        at=each.at,
        since=each.saved_at or each.ran_since,
        saved=each.saved_at is not None,
        devices=number(each.devices),
        hours=fine_hours_text(each.lost),
        worth=amount(worth.amount, money),
        back=given(worth, money),
        why=_why(worth, each.lost),
    )


def amount(value: Fraction | None, money: str) -> str:
    """Return an amount in a currency; a dash where it is not known, or not for the reader."""
    return DASH if value is None or not money else money_text(value, money)


def given(worth: Worth, money: str) -> str:
    """Return what is given back as an amount, or in hours for who sees no money."""
    if not worth.back:
        return DASH
    return amount(worth.credit, money) if money else fine_hours_text(worth.back)


def _whys(pairs: Iterable[tuple[Lost, Worth]], whole: Worth) -> str:
    """Say once why rows give back what they do, if all of them say the same."""
    if whole.back:
        return _why(whole, whole.back)
    said = dict.fromkeys(_why(worth, each.lost) for each, worth in pairs if each.lost)
    return " · ".join(said)


def _why(worth: Worth, lost: int) -> str:
    if not lost:
        return ""
    if worth.back:
        by = _("by who took the place") if worth.taker else _("by the platform")
        part = _("for %(hours)s GPU-h") % {"hours": fine_hours_text(worth.back)}
        return f"{part} {by}"
    return str(_WHY[worth.why])
