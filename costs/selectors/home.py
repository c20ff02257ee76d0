"""What the home of costs lists: months with their sums, and what keeps them open."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Final, NamedTuple

from django.db.models import Count, OuterRef, Q, QuerySet, Subquery, Sum

from costs.models import Dispute, Period, PeriodBill, Reconciliation, Statement, StatementLine
from costs.selectors.month_bills import rests_on

#: Months that a page lists; older ones are found by their statements.
LISTED: Final = 24


@dataclass(frozen=True, slots=True)
class Sums:
    """Bills, and what tenants and the platform pay of them, corrections included.

    ``parts`` are the bills, and ``booked`` what corrections of earlier months add to them.
    """

    bill: Decimal
    tenants: Decimal
    platform: Decimal
    parts: list[PeriodBill]

    @property
    def booked(self) -> Decimal:
        """Return what was booked beside the bills."""
        return self.bill - sum((each.amount or Decimal(0) for each in self.parts), Decimal(0))

    @property
    def tied(self) -> bool:
        """Return whether the parts are the bill."""
        return self.tenants + self.platform == self.bill


def periods() -> QuerySet[Period]:
    """Return months with their open findings and the newest run, the newest month first."""
    newest = Reconciliation.objects.filter(period=OuterRef("pk")).order_by("-at", "-pk")
    waiting = Q(discrepancies__resolved_at=None)
    return (
        Period.objects.select_related("book", "prices", "policy")
        .annotate(
            open_findings=Count("discrepancies", filter=waiting, distinct=True),
            blocking=Count(
                "discrepancies", filter=waiting & Q(discrepancies__blocks=True), distinct=True
            ),
            last_run=Subquery(newest.values("at")[:1]),
            missing=Subquery(newest.values("missing")[:1]),
            partial=Subquery(newest.values("partial")[:1]),
        )
        .order_by("-starts", "book__name", "pk")
    )


def sums(period: Period) -> Sums | None:
    """Return how the bill of a month is divided; ``None`` before its statements are written."""
    if period.bill_total is None:
        return None
    theirs = Q(tenant__isnull=False)
    found = period.statements.aggregate(
        tenants=Sum("total", filter=theirs), platform=Sum("total", filter=~theirs)
    )
    return Sums(
        period.bill_total, found["tenants"] or Decimal(0), found["platform"] or Decimal(0),
        rests_on(period),
    )  # fmt: skip


class Part(NamedTuple):
    """What was billed of one flavor; without one ``basis`` says what it was for."""

    flavor: str
    basis: str
    amount: Decimal


def parts(period: Period) -> list[Part]:
    """Return what a month's bills were for, flavors first; they add up to what all pay.

    Corrections of earlier months are no part of its bills. One query.
    """
    rows = StatementLine.objects.filter(statement__period=period, corrects=None)
    summed = rows.order_by("flavor").values_list("flavor", "basis").annotate(Sum("amount"))
    found: dict[tuple[str, str], Decimal] = {}
    for flavor, basis, amount in summed:
        key = (flavor, "" if flavor else basis)
        found[key] = found.get(key, Decimal(0)) + amount
    told = (Part(*key, amount) for key, amount in found.items() if amount)
    return sorted(told, key=lambda each: (not each.flavor, each))


def payers(period: Period) -> list[Statement]:
    """Return the statements of a month, tenants first, the largest first."""
    rows = period.statements.select_related("tenant").exclude(total=0)
    return sorted(rows, key=lambda row: (row.tenant_id is None, -row.total, row.payer_name))


def runs(limit: int = 8) -> list[Reconciliation]:
    """Return the newest runs."""
    rows = Reconciliation.objects.select_related("period__book", "actor")
    return list(rows.order_by("-at", "-pk")[:limit])


def disputes(*, tenants: list[int] | None) -> list[Dispute]:
    """Return disputes of some tenants, or of all: open ones first, then the newest."""
    rows = Dispute.objects.select_related(
        "statement__tenant", "statement__period__book", "opened_by"
    )
    if tenants is not None:
        rows = rows.filter(statement__tenant__in=tenants)
    found = rows.order_by("-opened_at", "-pk")[:50]
    return sorted(found, key=lambda row: row.state != Dispute.State.OPEN)


def statements(tenants: list[int]) -> list[Statement]:
    """Return the newest statements of some tenants."""
    rows = Statement.objects.filter(tenant__in=tenants).select_related("tenant", "period__book")
    return list(rows.order_by("-period__starts", "payer_name", "pk")[: 2 * LISTED])
