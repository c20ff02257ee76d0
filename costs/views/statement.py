"""A statement as it was written: its lines, what they are based on, and what came later."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final, NamedTuple
from zoneinfo import ZoneInfo

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from costs.models import Period, PolicyVersion, Statement, StatementLine
from costs.policy import Base
from costs.rates import Basis
from costs.selectors import statements
from costs.selectors.prices import switches
from costs.services.periods import CORRECTION
from costs.views import files, shown
from costs.views.words import money_text, rate_text, share_text
from portal.web.pages import page
from portal.web.wording import DASH, plain
from tenants import access
from tenants.models import Tenant

HEAD: Final = (
    "period", "tenant", "payer", "currency", "state", "line", "flavor", "basis", "quantity_h",
    "rate_per_h", "amount", "corrects", "reason",
)  # fmt: skip
#: Which state of other things a period's state looks like; its word is its own.
_LOOKS: Final = {
    Period.State.OPEN: "draft",
    Period.State.COLLECTING: "planning",
    Period.State.PROVISIONAL: "partial",
    Period.State.REVIEW: "planned",
    Period.State.CLOSED: "succeeded",
}
_BASES: Final = {
    Base.COMMITTED: gettext_lazy("Tenants pay the quota that is committed to them."),
    Base.HELD: gettext_lazy("Tenants pay the time for which they held devices."),
    Base.ADMITTED: gettext_lazy("Tenants pay the time for which their jobs were admitted."),
    Base.USED: gettext_lazy("Tenants pay the time for which their devices were used."),
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


class LineShown(NamedTuple):
    """One line of a statement in words."""

    flavor: str
    basis: str
    quantity: str
    rate: str
    amount: str
    corrects: str
    reason: str


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
        "look": _LOOKS[Period.State(found.period.state)], "closed": found.period.state == Period.State.CLOSED,
        "lines": [_line(line, currency) for line in lines], "total": money_text(found.total, currency),
        "later": [(month_text(line.statement.period), _line(line, currency)) for line in later],
        "restated": money_text(statements.restated(lines, later), currency),
        "policy": policy_text(found.period.policy) if found.period.policy else [],
        "crumbs": [
            {"label": str(row), "url": reverse("tenant", args=[slug])},
            {"label": _("Costs"), "url": reverse("tenant-costs", args=[slug])},
        ],
    }  # fmt: skip
    return page(request, "costs/statement.html", context)


@require_safe
@login_required
def statement_csv(request: HttpRequest, slug: str, period: int) -> HttpResponse:
    """Give the lines of a statement as a file."""
    row, found = _fetch(request, slug, period)
    name = ["statement", slug, found.period.book.name, _month(found.period)]
    return files.response(name, HEAD, _rows(row, found))


def _fetch(request: HttpRequest, slug: str, period: int) -> tuple[Tenant, Statement]:
    """Return a tenant and its statement of a period, or raise a 404, or a 403 without the right."""
    row = access.tenant(request.user, slug, "tenant.costs")
    found = statements.of_tenant(row.pk).filter(period=period).first()
    if found is None:
        raise access.Hidden("statement", period)
    return row, found


def _rows(row: Tenant, found: Statement) -> Iterator[list[files.Cell]]:
    period = found.period
    fixed = (_month(period), row.slug, found.payer_name, period.book.currency, period.state)
    for number, line in enumerate(statements.lines(found), 1):
        corrects = _month(line.corrects) if line.corrects else None
        amounts = (line.quantity, line.rate, line.amount)
        yield [*fixed, number, line.flavor, line.basis, *amounts, corrects, line.reason]


def listed(row: Tenant) -> list[Item]:
    """Return the newest statements of a tenant for a list."""
    return [
        Item(
            month=month_text(each.period),
            url=reverse("statement", args=[row.slug, each.period_id]),
            book=each.period.book.name,
            look=_LOOKS[Period.State(each.period.state)],
            state=each.period.get_state_display(),
            total=money_text(each.total, each.period.book.currency),
            currency=each.period.book.currency,
        )
        for each in statements.newest(row.pk)
    ]


def _local(period: Period) -> datetime:
    return period.starts.astimezone(ZoneInfo(period.zone))


def _month(period: Period) -> str:
    return f"{_local(period):%Y-%m}"


def month_text(period: Period) -> str:
    """Name a period by its month in its own zone: "October 2026"."""
    return date_format(_local(period), "F Y")


def _edges(period: Period) -> tuple[str, str]:
    """Return the first and the last moment in the zone of the bill."""
    zone = ZoneInfo(period.zone)
    edges = (period.starts.astimezone(zone), period.ends.astimezone(zone))
    first, last = (date_format(each, "j M Y H:i") for each in edges)
    return first, last


def _line(line: StatementLine, currency: str) -> LineShown:
    return LineShown(
        flavor=line.flavor or DASH,
        basis=_basis(line.basis),
        quantity=plain(line.quantity, 6) if line.quantity else DASH,
        rate=DASH if line.rate is None else rate_text(line.rate),
        amount=money_text(line.amount, currency),
        corrects=month_text(line.corrects) if line.corrects else "",
        reason=line.reason,
    )


def _basis(value: str) -> str:
    if value == CORRECTION:
        return _("Correction")
    known = [each for each in Basis if each == value]
    return str(shown.BASES.get(known[0], value)) if known else value


def policy_text(version: PolicyVersion) -> list[str]:
    """Say in sentences what a tenant pays by a policy."""
    policy = switches(version)
    found = [str(_BASES[policy.base])]
    if policy.base is Base.COMMITTED:
        part = share_text(policy.borrow)
        found.append(_("Borrowed time costs %(part)s of the rate.") % {"part": part})
        if policy.credit:
            found.append(_("Lenders get what their borrowers pay."))
    return found
