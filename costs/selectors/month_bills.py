"""The bills of a month: one of each source, which may be there, be missing, or be left out.

All sources with a bill for exactly the time of a month count in it, until a person leaves one
out. What the month before rested on is expected again; what it left out stays left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from django.db.models import OuterRef, QuerySet, Subquery

from costs.models import BillFile, BillSource, Matching, Period, PeriodBill


class Due(NamedTuple):
    """One source in a month: its bill that counts now, or none, and whether it is left out."""

    source: BillSource
    bill: BillFile | None
    left_out: bool

    @property
    def missing(self) -> bool:
        """Return whether a bill is waited for."""
        return self.bill is None and not self.left_out


def files(period: Period) -> list[BillFile]:
    """Return the files that count for exactly the time of a period, one for each source.

    Each has the hash of its newest join with the nodes as ``joined``. One query.
    """
    paid = [each.value for each in BillSource.PAID]
    rows = BillFile.objects.filter(
        state=BillFile.State.ACTIVE, period_starts=period.starts, period_ends=period.ends,
        source__kind__in=paid,
    )  # fmt: skip
    newest = Matching.objects.filter(file=OuterRef("pk")).order_by("-at", "-pk")
    joined = rows.annotate(joined=Subquery(newest.values("result")[:1]))
    return list(joined.select_related("source").order_by("source__name"))


def due(period: Period) -> list[Due]:
    """Return every source that has to do with a period, by name; three queries."""
    there = {each.source_id: each for each in files(period)}
    rows = PeriodBill.objects.select_related("source")
    before = rows.filter(period__book=period.book_id, period__ends=period.starts)
    # What was said of this month wins over what was said of the one before.
    said: dict[int, PeriodBill] = {each.source_id: each for each in before}
    said |= {each.source_id: each for each in rows.filter(period=period)}
    sources = {each.source_id: each.source for each in there.values()}
    sources |= {each.source_id: each.source for each in said.values()}
    return [
        Due(source, there.get(key), key in said and said[key].left_out)
        for key, source in sorted(sources.items(), key=lambda pair: pair[1].name)
    ]


def counting(found: Iterable[Due]) -> list[BillFile]:
    """Return the bills that are divided together."""
    return [each.bill for each in found if each.bill is not None and not each.left_out]


def currencies(bills: Iterable[BillFile]) -> list[str]:
    """Return the currencies of bills; amounts of more than one are never added up."""
    return sorted({each.source.currency for each in bills})


def rests_on(period: Period) -> list[PeriodBill]:
    """Return the bills that the statements of a period were written from; one query."""
    rows = period.bills.filter(bill__isnull=False).select_related("bill", "source")
    return list(rows.order_by("source__name"))


def correcting(period: Period) -> QuerySet[BillFile]:
    """Return the files that count of its time and later: what may say that a month was wrong."""
    paid = [each.value for each in BillSource.PAID]
    rows = BillFile.objects.filter(
        state=BillFile.State.ACTIVE, period_ends__gte=period.ends, source__kind__in=paid
    )
    return rows.order_by("-period_starts", "name")
