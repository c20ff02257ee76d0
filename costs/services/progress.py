"""Moves months on by themselves: opens the one that has begun, reconciles those that are over."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import structlog
from django.utils import timezone

from costs.models import Period
from costs.selectors.inputs import newest_run, of_period
from costs.selectors.months import Month
from costs.services import closing, reconcile
from portal.web.errors import DomainError

log = structlog.get_logger(__name__)


def open_months(now: datetime | None = None) -> list[Period]:
    """Open the months after the newest one of each book, up to the one that it is now.

    A book that never had a month gets none: somebody decides when its billing begins.
    """
    at = now or timezone.now()
    newest: dict[int, Period] = {}
    for period in Period.objects.select_related("book").order_by("starts"):
        newest[period.book_id] = period
    found = []
    for period in newest.values():
        last = period
        while last.ends <= at:
            try:
                last = _following(last)
            except DomainError as error:
                # Somebody else was quicker, or the zone cuts hours from now on.
                log.info("month_not_opened", book=last.book.name, code=error.code)
                break
            found.append(last)
    return found


def _following(period: Period) -> Period:
    starts = period.ends.astimezone(ZoneInfo(period.zone))
    month = Month(starts.year, starts.month)
    return closing.begin(
        book=period.book, year=month.year, number=month.number, actor=None, zone=period.zone
    )


def due(now: datetime | None = None) -> list[int]:
    """Return the months that are over and would be reconciled from something new."""
    rows = Period.objects.filter(ends__lte=now or timezone.now())
    waiting = rows.exclude(state=Period.State.CLOSED).select_related("book")
    return [each.pk for each in waiting.order_by("starts", "pk") if _has_news(each)]


def _has_news(period: Period) -> bool:
    last = newest_run(period)
    return last is None or last.inputs != of_period(period)


def take_turn(period_id: int) -> None:
    """Reconcile a month; nothing where another process does, or where there is no such month."""
    period = Period.objects.filter(pk=period_id).first()
    if period is None:
        return
    try:
        reconcile.run(period=period)
    except DomainError as error:
        log.info("month_not_reconciled", period=period_id, code=error.code)
