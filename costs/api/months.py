"""Months in addresses."""

from __future__ import annotations

import re
from typing import TypeVar
from zoneinfo import ZoneInfo

from django.db.models import Model, QuerySet
from django.http import Http404

from costs.filters import MONTH
from costs.models import Period
from costs.selectors.months import Month
from costs.times import moment

M = TypeVar("M", bound=Model)


def month_of(text: str) -> Month:
    """Return a month of UTC, or raise a 404 for what cannot be one."""
    if not re.fullmatch(MONTH, text):
        raise Http404
    year, number = text.split("-")
    return Month(int(year), int(number))


def text(given: str) -> str:
    """Return a name out of an address; what no row can have is a 404, and no error of the database."""
    if "\0" in given:
        raise Http404
    return given


def named(period: Period) -> str:
    """Return a period's month in its own zone, as addresses name it."""
    return f"{period.starts.astimezone(ZoneInfo(period.zone)):%Y-%m}"


def of_month(rows: QuerySet[M], text: str, to_period: str = "") -> M:
    """Return the row whose period is a month of its own zone, or raise a 404.

    A period in another zone reaches over an edge of the month of UTC, and never over its middle.
    """
    middle = moment(sum(month_of(text).span) // 2)
    reaches = {f"{to_period}starts__lte": middle, f"{to_period}ends__gt": middle}
    found = rows.filter(**reaches).first()
    if found is None:
        raise Http404
    return found
