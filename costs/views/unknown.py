"""Hours that are missing or partly observed, by name: with their date, their clock, and what for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from costs.selectors.unknown_hours import Guess, Unknown, runs
from costs.times import HOUR, moment
from costs.views.words import hours_text
from portal.web.wording import DASH

#: So many times are named, more are counted.
NAMED: Final = 6


class Named(NamedTuple):
    """Hours that follow each other: when, how well they are known, and how many they are."""

    when: str
    known: str
    missing: bool
    hours: int


class Both(NamedTuple):
    """A quantity of the watched hours, of the missing ones, and of both: what a statement counts."""

    label: str
    watched: str
    missing: str
    both: str


def named(found: Sequence[Unknown]) -> list[Named]:
    """Name hours with their date and clock in UTC."""
    return [Named(_when(each), _known(each), not each.heard, each.hours) for each in found]


def _when(each: Unknown) -> str:
    first, last = moment(each.span.starts), moment(each.span.ends)
    ends = f"{last:%H:%M}" if first.date() == last.date() else date_format(last, "j M H:i")
    return _("%(from)s to %(to)s") % {"from": date_format(first, "j M H:i"), "to": ends}


def _known(each: Unknown) -> str:
    if not each.heard:
        return ngettext("%(n)s hour missing", "%(n)s hours missing", each.hours) % {"n": each.hours}
    said = ngettext(
        "partly observed, %(minutes)s of 60 minutes seen",
        "%(n)s hours partly observed, %(minutes)s of 60 minutes of each seen",
        each.hours,
    )
    return said % {"n": each.hours, "minutes": each.heard * 60 // HOUR}


def clocks(at: Sequence[int]) -> str:
    """Name hours by their starts, those that follow each other together: "3 Oct 04:00 to 06:00"."""
    found = [_when(each) for each in runs(dict.fromkeys(at, 0))]
    more = len(found) - NAMED
    if more > 0:
        said = ngettext("and %(n)s time more", "and %(n)s times more", more) % {"n": more}
        found = [*found[:NAMED], said]
    return ", ".join(found)


def counts(found: Sequence[Unknown]) -> dict[str, int]:
    """Return how many hours are missing, and how many partly observed."""
    missing = sum(each.hours for each in found if not each.heard)
    return {"missing": missing, "partial": sum(each.hours for each in found) - missing}


def both(of: Sequence[tuple[str, int | None, int]]) -> list[Both]:
    """Return quantities, given as their names, watched and missing seconds.

    Watched is ``None`` where no hour was: that is not 0.
    """
    return [
        Both(
            label,
            DASH if watched is None else hours_text(watched),
            hours_text(missing),
            hours_text((watched or 0) + missing),
        )
        for label, watched, missing in of
        if watched or missing
    ]


def bounds(found: Guess | None) -> str:
    """Say between which bounds held time of missing hours is; nothing if they are the same."""
    if found is None or found.least == found.most:
        return ""
    return _("Held in them is between %(least)s and %(most)s.") % {
        "least": hours_text(found.least), "most": hours_text(found.most)
    }  # fmt: skip


def context(found: Sequence[Unknown], guessed: Guess | None, rows: list[Both]) -> dict[str, Any]:
    """Return what the part of the page about these hours shows."""
    return {"unknown": named(found), "guess": guessed, "guess_rows": rows,
            "guess_bounds": bounds(guessed)}  # fmt: skip
