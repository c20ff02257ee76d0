"""Periods in words: their months, how a state looks, and what keeps them open, with links."""

from __future__ import annotations

from datetime import datetime
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

from django.urls import reverse
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

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
    Bucket.ORPHAN: (
        gettext_lazy("Unmatched nodes"),
        gettext_lazy("billed, and never joined the cluster"),
    ),
    Bucket.GAP: (gettext_lazy("Billing gap"), gettext_lazy("billed longer than seen")),
    Bucket.UNATTRIBUTED: (gettext_lazy("Unattributed"), gettext_lazy("queues without a tenant")),
    Bucket.UNUSED: (gettext_lazy("Unused commitments"), gettext_lazy("paid and not taken")),
    Bucket.UNALLOCATED: (
        gettext_lazy("Unallocated"),
        gettext_lazy("not measured, or no rule gives it to anybody"),
    ),
    Bucket.GRANTED: (gettext_lazy("Granted"), gettext_lazy("credits after disputes")),
    Bucket.LOST: (gettext_lazy("Lost work"), gettext_lazy("given back to tenants")),
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


def outside(basis: str) -> str:
    """Name what was billed and belongs to no pool, by the basis of its lines."""
    label, _note = payer("", f"*{basis}")
    return _("%(what)s, in no pool") % {"what": label}


def reasons(period: Period, found: list[Blocker]) -> list[Reason]:
    """Say what keeps a period open; one query for the findings among it."""
    rows = Discrepancy.objects.in_bulk([each.pk for each in found if each.pk])
    return [_finding(rows[each.pk]) if each.pk in rows else _reason(period, each) for each in found]


def _finding(row: Discrepancy) -> Reason:
    url = reverse("costs-finding", args=[row.pk])
    return Reason(finding_words.sentence(row), url, _("Settle"))


def _reason(period: Period, blocker: Blocker) -> Reason:
    """Say a reason, with the place where it can be settled."""
    here = reverse("costs-period", args=[period.pk])
    said = known.sentence(blocker)
    match blocker.name:
        case known.BILL_MISSING | known.CURRENCIES | known.BILL_NOT_FINAL:
            return Reason(said, f"{here}#bills", _("Bills"))
        case known.NO_PRICES:
            return Reason(said, reverse("costs-book", args=[period.book_id]), _("Price book"))
        case known.NOT_RUN:
            return Reason(said, f"{here}#run", _("Run"))
        case known.CHANGED:
            return Reason(said, f"{here}#run", _("Run again"))
        case known.NOT_REVIEWED:
            return Reason(said, here, _("Review"))
        case known.DISPUTED:
            return Reason(said, f"{here}#disputes", _("Answer"))
    return Reason(said)
