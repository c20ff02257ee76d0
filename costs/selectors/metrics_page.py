"""What the page about a cluster's metrics shows: the hours of a week, and what was found in them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple

from costs.models import Harvest, MetricsSource
from costs.selectors import control
from costs.selectors.harvests import SETTLED
from costs.states import Code, Finding
from costs.times import HOUR, Span, hour_of, hours, instant, moment

DAYS: Final = 7


class Asked(NamedTuple):
    """One hour: ``known``, ``failed`` or ``open``, and why it failed."""

    starts: datetime
    state: str
    code: str
    problem: str


@dataclass(frozen=True, slots=True)
class Week:
    """The last days of UTC, each a row of hours up to the last that is over."""

    days: list[list[Asked]]
    findings: list[Finding]

    @property
    def hours(self) -> list[Asked]:
        """Return all hours, the first first."""
        return [each for day in self.days for each in day]

    def number(self, state: str) -> int:
        """Return how many hours are in a state."""
        return sum(each.state == state for each in self.hours)


def source_of(cluster_id: int) -> MetricsSource | None:
    """Return the source of a cluster; one query."""
    return MetricsSource.objects.filter(pk=cluster_id).first()


def week(cluster_id: int, now: datetime) -> Week:
    """Return the last seven days; five queries."""
    ends = hour_of(instant(now - SETTLED))
    first = ends - ends % (24 * HOUR) - (DAYS - 1) * 24 * HOUR
    span = Span(first, max(ends, first + HOUR))
    rows = Harvest.objects.filter(
        cluster=cluster_id, hour__gte=moment(span.starts), hour__lt=moment(span.ends)
    )
    known = {instant(hour): tuple(rest) for hour, *rest in rows.values_list("hour", "code", "problem")}  # fmt: skip
    days: list[list[Asked]] = []
    for hour in hours(span):
        if not hour.starts % (24 * HOUR):
            days.append([])
        days[-1].append(_asked(hour.starts, known.get(hour.starts)))
    found = control.findings(cluster_id, span)
    return Week(days, [each for each in found if each.code is not Code.MATCHED])


def _asked(hour: int, found: tuple[str, ...] | None) -> Asked:
    if found is None:
        return Asked(moment(hour), "open", "", "")
    code, problem = found
    return Asked(moment(hour), "failed" if code else "known", code, problem)
