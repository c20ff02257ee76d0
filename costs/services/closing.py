"""Opening, reviewing and closing periods, and the corrections that come after it.

A person decides each of these; what the month rests on is made by ``services/reconcile.py``.
"""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from django.db import IntegrityError, transaction
from django.db.models import Min
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from costs.models import BillFile, Period, PriceBook, Run, StatementLine
from costs.models.states import move
from costs.selectors.blockers import NOT_REVIEWED, SECOND_PERSON, blockers, sentence
from costs.selectors.month_bills import rests_on
from costs.selectors.months import Month
from costs.selectors.periods import weights
from costs.services import periods
from kube.names import says_nothing
from portal.web.errors import Refused
from tenants import access, audit
from tenants.models import User

_STATE = Period.State


class Blocked(Refused):
    """Something keeps the period from being closed or reviewed."""

    code = "GP-5302"


class SamePeriod(Refused):
    """A book has a period for this time already."""

    code = "GP-5310"


class NoReasonGiven(Refused):
    """A month was to be sent back, or corrected, without saying why."""

    code = "GP-5318"


class NoSuchMonth(Refused):
    """A month was to be opened of which there is nothing to divide, or not for long."""

    code = "GP-5316"


@transaction.atomic
def begin(
    *,
    book: PriceBook,
    year: int,
    number: int,
    actor: User | None,
    zone: str = "UTC",
    now: datetime | None = None,
) -> Period:
    """Open a month of a book. ``NoSuchMonth`` for one that a person cannot have meant."""
    if actor is not None:
        access.require(actor, "costs.work")
        _may_begin(Month(year, number), now or timezone.now())
    try:
        with transaction.atomic():
            period = periods.open_period(book=book, year=year, number=number, zone=zone)
    except IntegrityError as error:
        raise SamePeriod(_("This price book has a period with hours of this month.")) from error
    audit.record(
        "period.open", actor=actor, scope=audit.PLATFORM, obj=period, data={"period": str(period)}
    )
    return period


def _may_begin(month: Month, now: datetime) -> None:
    """All months after a first one open by themselves, so a wrong year makes hundreds."""
    if month > Month(now.year, now.month).moved(1):
        raise NoSuchMonth(_("This month begins too far in the future."), field="month")
    first = Run.objects.aggregate(first=Min("starts"))["first"]
    if first is not None and month < Month(first.year, first.month):
        sentence = _("Hours are counted from %(month)s on; before that there is nothing to divide.")
        raise NoSuchMonth(sentence % {"month": f"{first:%Y-%m}"}, field="month")


@transaction.atomic
def review(*, period: Period, actor: User) -> Period:
    """Say that a provisional period was looked at, and nothing but the close is left to do."""
    access.require(actor, "costs.work")
    periods.lock(period)
    _refuse_blocked(period, actor, {NOT_REVIEWED, SECOND_PERSON})
    found = move(period, _STATE.REVIEW, reviewed_by=actor)
    _record("period.review", period, actor)
    return found


@transaction.atomic
def back(*, period: Period, actor: User, reason: str) -> Period:
    """Send a period that is in review back, so that something can be settled first."""
    access.require(actor, "costs.work")
    if says_nothing(reason):
        raise NoReasonGiven(
            _("Say why it is sent back: who reviewed it reads this."), field="reason"
        )
    periods.lock(period)
    found = move(period, _STATE.PROVISIONAL, reviewed_by=None)
    _record("period.back", period, actor, reason=reason)
    return found


@transaction.atomic
def close(*, period: Period, actor: User, now: datetime | None = None) -> Period:
    """Close a period for good. ``Blocked`` names what still forbids it."""
    access.require(actor, "costs.work")
    periods.lock(period)
    _refuse_blocked(period, actor, set())
    found = move(period, _STATE.CLOSED, closed_by=actor, closed_at=now or timezone.now())
    bills = ", ".join(f"{each.source.name}: {each.bill}" for each in rests_on(period))
    _record("period.close", period, actor, total=str(period.bill_total), bills=bills)
    return found


def _refuse_blocked(period: Period, actor: User, allowed: set[str]) -> None:
    period.refresh_from_db()
    found = [each for each in blockers(period, actor) if each.name not in allowed]
    if found:
        said = _("This cannot be done yet. %(reasons)s") % {
            "reasons": " ".join(map(sentence, found))
        }
        raise Blocked(said, details={"reasons": list(map(str, found))})


@transaction.atomic
def correct(
    *,
    closed: Period,
    period: Period,
    amount: Decimal,
    reason: str,
    actor: User,
    bill: BillFile | None = None,
    key: str = "",
) -> list[StatementLine]:
    """Book in an open month what a closed one would have had, divided as that one was.

    ``bill`` is the file that said so, where one did. What was booked with the same ``key`` is
    returned, and nothing is booked again.
    """
    access.require(actor, "costs.work")
    if says_nothing(reason):
        raise NoReasonGiven(_("Say why: it stands on every line that is booked."), field="reason")
    periods.lock(period)
    if key and (booked := list(StatementLine.objects.filter(key=key).order_by("pk"))):
        return booked
    lines = periods.correct(
        closed=closed, period=period, amount=amount, reason=reason, weights=weights(closed),
        bill=bill, key=key,
    )  # fmt: skip
    _record(
        "period.correct", period, actor, corrects=str(closed), amount=str(amount), reason=reason,
        bill=bill.sha256 if bill else "",
    )  # fmt: skip
    return lines


def _record(action: str, period: Period, actor: User, **more: str) -> None:
    data = {"period": str(period), **more}
    audit.record(action, actor=actor, scope=audit.PLATFORM, obj=period, data=data)
