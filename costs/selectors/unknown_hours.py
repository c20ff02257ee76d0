"""Hours that nobody watched, or watched in part only: which they are, and what was noted of them.

*Missing* is an hour in which nobody listened at all, or that was never counted; *partly observed*
one in which somebody listened for a part of it. Missing hours are in no sum of quantities. Their
bill is divided all the same, by what was noted before and after: an estimate, never nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from django.db.models import Min

from costs.facts import Fact, Quality
from costs.models import TenantHour
from costs.selectors.hours import Sums, sums, within
from costs.times import HOUR, Span, hours, instant


class Unknown(NamedTuple):
    """Hours that follow each other and are known alike; ``heard`` seconds of each, 0: missing."""

    span: Span
    heard: int

    @property
    def hours(self) -> int:
        """Return how many there are."""
        return self.span.seconds // HOUR


@dataclass(frozen=True, slots=True)
class Guess:
    """What was noted of missing hours, in resource-seconds; held is between two bounds."""

    hours: int
    sums: Sums
    least: int
    most: int


def runs(heard: Mapping[int, int]) -> list[Unknown]:
    """Put hours together that follow each other and are known alike; ``heard`` by their starts."""
    found: list[Unknown] = []
    for at, seconds in sorted(heard.items()):
        last = found[-1] if found else None
        if last and last.span.ends == at and last.heard == seconds:
            found[-1] = Unknown(Span(last.span.starts, at + HOUR), seconds)
        else:
            found.append(Unknown(Span(at, at + HOUR), seconds))
    return found


def heard(
    facts: Iterable[Fact], span: Span, counted: Collection[int], until: int
) -> dict[int, int]:
    """Return the observed seconds of each hour that is not whole; those never counted have 0.

    ``counted`` are hours of the cluster that were counted. An hour that ends after ``until`` may
    still be counted.
    """
    known = {each.hour: each.coverage for each in facts}
    found = {at: seconds for at, seconds in known.items() if seconds < HOUR}
    for hour in hours(span):
        at = hour.starts
        if hour.ends <= until and at not in known and at not in counted:
            found[at] = 0
    return found


def guess(facts: Iterable[Fact]) -> Guess | None:
    """Return what was noted of those facts that nobody watched; ``None`` if there is none."""
    found = [each for each in facts if each.quality is Quality.MISSING]
    if not found:
        return None
    return Guess(
        hours=len({each.hour for each in found}),
        sums=sums(found),
        least=sum(each.held_least for each in found),
        most=sum(each.held_most for each in found),
    )


def of_tenant(tenant_id: int, span: Span) -> dict[str, list[Unknown]]:
    """Return by cluster the hours of a tenant that are not whole; one query."""
    rows = TenantHour.objects.filter(within(span), tenant=tenant_id, coverage__lt=HOUR)
    least = rows.order_by().values_list("cluster__slug", "hour").annotate(least=Min("coverage"))
    found: dict[str, dict[int, int]] = defaultdict(dict)
    for slug, hour, seconds in least:
        found[slug][instant(hour)] = seconds
    return {slug: runs(each) for slug, each in sorted(found.items())}
