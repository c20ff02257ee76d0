"""What lists of costs can be narrowed to."""

from __future__ import annotations

import re
from datetime import date
from typing import Any, Final

import django_filters
from django.core.validators import RegexValidator
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from costs.models import BillFile, Discrepancy, Period, Statement
from costs.models.prices import Purpose

#: ASCII alone, and years that have a neighbour on both sides.
MONTH: Final = r"(20[0-9]{2}|21[0-9]{2})-(0[1-9]|1[0-2])"


def month_filter(field: str, label: Any) -> django_filters.CharFilter:
    """Return a filter for the first day of a month, written 2026-11."""
    return _Month(
        label=label, field_name=field, max_length=7,
        validators=[RegexValidator(re.compile(rf"\A{MONTH}\Z", re.ASCII))],
    )  # fmt: skip


class _Month(django_filters.CharFilter):
    def filter(self, qs: QuerySet[Any], value: str) -> QuerySet[Any]:
        """Keep rows that begin within the month."""
        if not value:
            return qs
        first = date.fromisoformat(f"{value}-01")
        last = date(first.year + first.month // 12, first.month % 12 + 1, 1)
        name = self.field_name
        return qs.filter(**{f"{name}__gte": first, f"{name}__lt": last})


class PoolQuery(django_filters.FilterSet):
    """One pool, or those of one cluster or of one kind."""

    cluster = django_filters.CharFilter(
        label=_("Name of the cluster"), field_name="cluster__slug", max_length=40
    )
    flavor = django_filters.CharFilter(label=_("Flavor"), max_length=253)
    resource = django_filters.CharFilter(label=_("Resource"), max_length=317)


class RollupQuery(PoolQuery):
    """Days and months of one month of UTC."""

    month = month_filter("starts", _("Month of UTC, as 2026-11"))


class HourQuery(PoolQuery):
    """Hours of a time."""

    since = django_filters.IsoDateTimeFilter(
        label=_("Hours that begin at this time or later"), field_name="hour", lookup_expr="gte"
    )
    until = django_filters.IsoDateTimeFilter(
        label=_("Hours that begin before this time"), field_name="hour", lookup_expr="lt"
    )


class StatementQuery(django_filters.FilterSet):
    """Statements of one price book."""

    book = django_filters.CharFilter(
        label=_("Name of the price book"), field_name="period__book__name", max_length=120
    )

    class Meta:
        model = Statement
        fields: list[str] = []


class PeriodQuery(django_filters.FilterSet):
    """Periods by book, purpose and state."""

    book = django_filters.CharFilter(
        label=_("Name of the price book"), field_name="book__name", max_length=120
    )
    purpose = django_filters.ChoiceFilter(
        label=_("Purpose"), field_name="book__purpose", choices=Purpose.choices
    )
    state = django_filters.ChoiceFilter(label=_("State"), choices=Period.State.choices)

    class Meta:
        model = Period
        fields: list[str] = []


class DiscrepancyQuery(django_filters.FilterSet):
    """Findings by code, and whether somebody has settled them."""

    code = django_filters.CharFilter(label=_("Finding"), max_length=24)
    show = django_filters.ChoiceFilter(
        label=_("Show"), choices=[("open", _("open")), ("settled", _("settled"))], method="by_end"
    )

    class Meta:
        model = Discrepancy
        fields: list[str] = []

    def by_end(self, rows: QuerySet[Any], _name: str, value: str) -> QuerySet[Any]:
        """Keep those that are settled, or those that are not."""
        return rows.filter(resolved_at__isnull=value == "open")


class BillQuery(django_filters.FilterSet):
    """Files of one source or state."""

    source = django_filters.CharFilter(
        label=_("Name of the source"), field_name="source__name", max_length=120
    )
    state = django_filters.ChoiceFilter(label=_("State"), choices=BillFile.State.choices)

    class Meta:
        model = BillFile
        fields: list[str] = []
