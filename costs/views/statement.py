"""A statement as it was written: its lines, what they are based on, and what came later."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple
from zoneinfo import ZoneInfo

from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from costs import passing
from costs.models import Dispute, Period, Statement, StatementLine
from costs.rates import Basis
from costs.reason_texts import BASES
from costs.selectors import statements, unknown_hours
from costs.selectors.generated import generated
from costs.selectors.period_hours import span_of
from costs.services.periods import CORRECTION, CREDIT
from costs.views import files, sections, unknown
from costs.views.home import dispute_rows
from costs.views.period_words import LOOKS, local, month_text
from costs.views.policy_words import policy_text
from costs.views.words import money_text, rate_text
from portal.web.pages import page
from portal.web.wording import DASH, plain
from tenants import access
from tenants.models import Tenant

HEAD: Final = (
    "period", "tenant", "payer", "currency", "state", "line", "flavor", "basis", "quantity_h",
    "rate_per_h", "amount", "corrects", "reason", "bill", "unwatched_h",
)  # fmt: skip


#: What a line may be for beside the bases of prices.
_OTHERS: Final = {
    CORRECTION: gettext_lazy("Correction"),
    CREDIT: gettext_lazy("Credit"),
    "held": gettext_lazy("Held"),
    passing.UNMANAGED: gettext_lazy("Without quota"),
    passing.REST: gettext_lazy("Part of what nobody had"),
    passing.SHARED: gettext_lazy("Shared costs"),
    passing.UNUSED: gettext_lazy("Unused commitments"),
    passing.LOST_CREDIT: gettext_lazy("Lost work (credit)"),
    passing.LOST_WORK: gettext_lazy("Lost work of others, whose places were taken"),
}


class Item(NamedTuple):
    """A statement in the list."""

    month: str
    url: str
    book: str
    look: str
    state: str
    total: str
    currency: str
    beside: bool


class LineShown(NamedTuple):
    """One line of a statement in words."""

    flavor: str
    basis: str
    quantity: str
    rate: str
    amount: str
    corrects: str
    reason: str
    bill: str
    unwatched: str = ""


@require_safe
@login_required
def statement(request: HttpRequest, slug: str, period: int) -> HttpResponse:
    """Show one statement of a tenant, so that it prints well."""
    row, found = _fetch(request, slug, period)
    lines, later = statements.lines(found), statements.booked_later(found)
    currency = found.period.book.currency
    context: dict[str, Any] = {
        "tenant": row, "statement": found, "period": found.period, "currency": currency,
        "month": month_text(found.period), "edges": _edges(found.period),
        "look": LOOKS[Period.State(found.period.state)], "closed": found.period.state == Period.State.CLOSED,
        "beside": found.period.prices_id is None, "unknown": _unknown(row, found.period),
        "lines": [_line(line, currency) for line in lines], "total": money_text(found.total, currency),
        "later": [(month_text(line.statement.period), _line(line, currency)) for line in later],
        "restated": money_text(statements.restated(found, lines, later), currency),
        "policy": policy_text(found.period.policy) if found.period.policy else [],
        "disputes": dispute_rows(list(_disputes(found))),
        "may_dispute": access.can(request.user, "dispute.open", row),
        "crumbs": [
            {"label": str(row), "url": reverse("tenant", args=[slug])},
            {"label": _("Costs"), "url": reverse("tenant-costs", args=[slug])},
        ],
        "sections": sections.of_tenant(request, row, "tenant-statements"),
    }  # fmt: skip
    return page(request, "costs/statement.html", context)


@require_safe
@login_required
def statements_(request: HttpRequest, slug: str) -> HttpResponse:
    """List the newest statements of a tenant."""
    row = access.tenant(request.user, slug, "tenant.costs")
    context = {
        "tenant": row, "statements": listed(row),
        "sections": sections.of_tenant(request, row, "tenant-statements"),
        "crumbs": [{"label": str(row), "url": reverse("tenant", args=[slug])}],
    }  # fmt: skip
    return page(request, "costs/statements.html", context)


@require_safe
@login_required
def statement_csv(request: HttpRequest, slug: str, period: int) -> HttpResponse:
    """Give the lines of a statement as a file."""
    row, found = _fetch(request, slug, period)
    name = ["statement", slug, found.period.book.name, _month(found.period)]
    made = generated().between(found.period.starts, found.period.ends)
    return files.response(name, HEAD, _rows(row, found), made=made)


def _fetch(request: HttpRequest, slug: str, period: int) -> tuple[Tenant, Statement]:
    """Return a tenant and its statement of a period, or raise a 404, or a 403 without the right."""
    row = access.tenant(request.user, slug, "tenant.costs")
    found = statements.of_tenant(row.pk).filter(period=period).first()
    if found is None:
        raise access.Hidden("statement", period)
    return row, found


def _unknown(row: Tenant, period: Period) -> list[tuple[str, list[unknown.Named]]]:
    """Return by cluster the hours of the month that are missing or partly observed."""
    found = unknown_hours.of_tenant(row.pk, span_of(period)).items()
    return [(slug if len(found) > 1 else "", unknown.named(each)) for slug, each in found]


def _disputes(found: Statement) -> QuerySet[Dispute]:
    rows = found.disputes.select_related("statement__tenant", "statement__period__book")
    return rows.order_by("-opened_at", "-pk")


def _rows(row: Tenant, found: Statement) -> Iterator[list[files.Cell]]:
    period = found.period
    fixed = (_month(period), row.slug, found.payer_name, period.book.currency, period.state)
    for number, line in enumerate(statements.lines(found), 1):
        corrects = _month(line.corrects) if line.corrects else None
        amounts = (line.quantity, line.rate, line.amount)
        bill = line.bill.sha256 if line.bill else None
        about = (corrects, line.reason, bill, line.unwatched)
        yield [*fixed, number, line.flavor, line.basis, *amounts, *about]


def listed(row: Tenant) -> list[Item]:
    """Return the newest statements of a tenant for a list."""
    return [
        Item(
            month=month_text(each.period),
            url=reverse("statement", args=[row.slug, each.period_id]),
            book=each.period.book.name,
            look=LOOKS[Period.State(each.period.state)],
            state=each.period.get_state_display(),
            total=money_text(each.total, each.period.book.currency),
            currency=each.period.book.currency,
            beside=each.period.prices_id is None,
        )
        for each in statements.newest(row.pk)
    ]


def _month(period: Period) -> str:
    return f"{local(period):%Y-%m}"


def _edges(period: Period) -> tuple[str, str]:
    """Return the first and the last moment in the zone of the bill."""
    zone = ZoneInfo(period.zone)
    edges = (period.starts.astimezone(zone), period.ends.astimezone(zone))
    first, last = (date_format(each, "j M Y H:i") for each in edges)
    return first, last


def _line(line: StatementLine, currency: str) -> LineShown:
    return LineShown(
        flavor=line.flavor or DASH,
        basis=basis_text(line.basis),
        quantity=plain(line.quantity, 2) if line.quantity else DASH,
        rate=DASH if line.rate is None else rate_text(line.rate),
        amount=money_text(line.amount, currency),
        corrects=month_text(line.corrects) if line.corrects else "",
        reason=line.reason,
        bill=line.bill.sha256 if line.bill else "",
        unwatched=plain(line.unwatched, 6) if line.unwatched else "",
    )


def basis_text(value: str) -> str:
    """Name what a line is for."""
    if value in _OTHERS:
        return str(_OTHERS[value])
    known = [each for each in Basis if each == value]
    return str(BASES.get(known[0], value)) if known else value
