"""Which figures were made up for a demo: files and answers for programs say it of each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple

from costs.models import GeneratedTime
from costs.times import Span, instant

_FOR_EVER: Final = 10**12


class Made(NamedTuple):
    """A time of a cluster of which figures were made up."""

    cluster: int
    slug: str
    span: Span


@dataclass(frozen=True, slots=True)
class Generated:
    """All times of which figures were made up; none where the portal is no demo."""

    times: tuple[Made, ...] = ()

    def within(self, span: Span, clusters: Iterable[int | str] | None = None) -> bool:
        """Say whether any figure of a span may be made up, of some clusters (key or slug) or all."""
        wanted = None if clusters is None else set(clusters)
        return any(
            each.span.cut(span) is not None
            and (wanted is None or each.cluster in wanted or each.slug in wanted)
            for each in self.times
        )

    def between(
        self, starts: datetime, ends: datetime, clusters: Iterable[int | str] | None = None
    ) -> bool:
        """Say the same of a time that is given by its bounds."""
        return self.within(Span(instant(starts), instant(ends)), clusters)


def generated() -> Generated:
    """Return what was made up; one query."""
    rows = GeneratedTime.objects.select_related("cluster").order_by("cluster")
    return Generated(tuple(Made(each.cluster_id, each.cluster.slug, _span(each)) for each in rows))


def _span(row: GeneratedTime) -> Span:
    return Span(instant(row.starts), _FOR_EVER if row.lasting else instant(row.until))
