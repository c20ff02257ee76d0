"""Periods in words: their months, how a state looks, and what keeps them open, with links."""

from __future__ import annotations

from datetime import datetime
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

from django.urls import reverse
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from costs.models import Discrepancy, Period
from costs.policy import Bucket
from costs.selectors import blockers as known
from costs.selectors.blockers import Blocker
from costs.views import finding_words

#: Which state of other things a period's state looks like; its word is its own.
LOOKS: Final = {
    Period.State.OPEN: "draft",
    Period.State.COLLECTING: "planning",
    Period.State.PROVISIONAL: "partial",
    Period.State.REVIEW: "planned",
    Period.State.CLOSED: "succeeded",
}
BUCKETS: Final = {
    Bucket.IDLE: (gettext_lazy("Idle"), gettext_lazy("devices that nobody had")),
    Bucket.UNSOLD: (gettext_lazy("Unsold"), gettext_lazy("devices promised to nobody")),
    Bucket.DOWN: (gettext_lazy("Down"), gettext_lazy("nodes that were not ready")),
    Bucket.SHARED: (gettext_lazy("Shared"), gettext_lazy("what belongs to no pool")),
    Bucket.ORPHAN: (gettext_lazy("Orphans"), gettext_lazy("billed nodes that never joined")),
    Bucket.GAP: (gettext_lazy("Billing gap"), gettext_lazy("billed longer than seen")),
    Bucket.UNATTRIBUTED: (gettext_lazy("Nobody's"), gettext_lazy("queues without a tenant")),
    Bucket.UNUSED: (gettext_lazy("Unused commitments"), gettext_lazy("paid and not taken")),
    Bucket.UNALLOCATED: (gettext_lazy("Unallocated"), gettext_lazy("no rule gives it to anybody")),
    Bucket.GRANTED: (gettext_lazy("Granted"), gettext_lazy("credits after disputes")),
    Bucket.LOST: (gettext_lazy("Lost work"), gettext_lazy("given back to tenants")),
}


#: What is wrong with the bills of a month; the subject is a source, or currencies.
BILLS: Final = {
    known.BILL_MISSING: gettext_lazy(
        "%(subject)s has no bill of this month yet, and the month before had one."
    ),
    known.CURRENCIES: gettext_lazy(
        "Its bills are in %(subject)s, and are not added up. Leave all but one currency out."
    ),
    known.BILL_NOT_FINAL: gettext_lazy(
        "The bill of %(subject)s is not final: it may still change."
    ),
}


class Reason(NamedTuple):
    """One thing that keeps a month open, in words, and where it can be settled."""

    text: str
    url: str = ""
    label: str = ""


def local(period: Period) -> datetime:
    """Return the first moment of a period in its own zone."""
    return period.starts.astimezone(ZoneInfo(period.zone))


def month_text(period: Period) -> str:
    """Name a period by its month in its own zone: "October 2026"."""
    return date_format(local(period), "F Y")


def payer(name: str, bucket: str) -> tuple[str, str]:
    """Name who pays, with a note for what the platform pays."""
    if not bucket:
        return name, ""
    found = [each for each in Bucket if each == bucket]
    label, note = BUCKETS[found[0]] if found else (bucket, "")
    return str(label), str(note)


def reasons(period: Period, found: list[Blocker]) -> list[Reason]:
    """Say what keeps a period open; one query for the findings among it."""
    rows = Discrepancy.objects.in_bulk([each.pk for each in found if each.pk])
    return [_finding(rows[each.pk]) if each.pk in rows else _reason(period, each) for each in found]


def _finding(row: Discrepancy) -> Reason:
    url = reverse("costs-finding", args=[row.pk])
    return Reason(finding_words.sentence(row), url, _("Settle"))


def _reason(period: Period, blocker: Blocker) -> Reason:
    here = reverse("costs-period", args=[period.pk])
    books = reverse("costs-book", args=[period.book_id])
    if blocker.name in BILLS:
        said = str(BILLS[blocker.name]) % {"subject": blocker.subject}
        return Reason(said, f"{here}#bills", _("Bills"))
    match blocker.name:
        case known.NO_BILL:
            return Reason(_("No bill that covers exactly this month was taken."))
        case known.NO_PRICES:
            return Reason(
                _("The price book has no active prices or no policy."), books, _("Price book")
            )
        case known.NOT_RUN:
            return Reason(
                _("The month was not reconciled with a bill yet."), f"{here}#run", _("Run")
            )
        case known.CHANGED:
            return Reason(
                _("Hours, bill, prices or policy have changed since the last run."),
                f"{here}#run", _("Run again"),
            )  # fmt: skip
        case known.NOT_REVIEWED:
            return Reason(_("Nobody has reviewed it."), here, _("Review"))
        case known.SECOND_PERSON:
            return Reason(_("What is charged is closed by somebody else than who reviewed it."))
        case known.DISPUTED:
            return Reason(
                ngettext("%(n)s dispute is open.", "%(n)s disputes are open.", blocker.number)
                % {"n": blocker.number},
                f"{here}#disputes", _("Answer"),
            )  # fmt: skip
    return Reason(finding_words.name(blocker.name))
