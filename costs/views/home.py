"""The home of costs: months and what keeps them open, or a tenant's own statements."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, NamedTuple, cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from costs.forms.months import OpenForm
from costs.models import Dispute, Period
from costs.selectors import home as rows
from costs.selectors.blockers import blockers
from costs.services import closing
from costs.views.period_words import LOOKS, month_text, reasons
from costs.views.words import money_text
from portal.web.errors import DomainError
from portal.web.pages import page
from tenants import access
from tenants.models import User

MONEY = frozenset({access.LEAD, access.FINANCE})
_DISPUTES = {
    Dispute.State.OPEN: "planned",
    Dispute.State.ACCEPTED: "approved",
    Dispute.State.REJECTED: "rejected",
}


class Tie(NamedTuple):
    """The card that shows that bills are all there: bills = tenants + platform.

    ``parts`` are the bills by source, where there are several or something else was booked.
    ``beside``: no bill of the month was divided, all of it was booked beside one.
    """

    parts: list[tuple[str, str]]
    bill: str
    tenants: str
    platform: str
    currency: str
    tied: bool
    width: str
    beside: bool = False


class DisputeRow(NamedTuple):
    """A dispute in a list."""

    url: str
    title: str
    tenant: str
    month: str
    look: str
    state: str
    amount: str
    currency: str
    at: object


@require_safe
@login_required
def home(request: HttpRequest) -> HttpResponse:
    """Show the months to the platform, and to a tenant's lead and finance their own statements."""
    access.require(request.user, "tenant.costs")
    held = access.rights(request.user)
    if not held.platform:
        return page(request, "costs/own.html", _own(held.tenant_ids(MONEY)))
    listed: list[Any] = list(rows.periods()[: rows.LISTED])
    waiting = (each for each in listed if each.state != Period.State.CLOSED and each.last_run)
    current = next(waiting, None)
    current = current or next(iter(listed), None)
    context: dict[str, Any] = {
        "periods": [_row(each) for each in listed],
        "current": current, "month": month_text(current) if current else "",
        "tie": tie(current) if current else None,
        "look": LOOKS[Period.State(current.state)] if current else "",
        "reasons": reasons(current, blockers(current)) if current else [],
        "ends": current.ends if current and current.ends > timezone.now() else None,
        "runs": [_run(each) for each in rows.runs()],
        "disputes": dispute_rows(rows.disputes(tenants=None)),
        "works": access.can(request.user, "costs.work"),
    }  # fmt: skip
    return page(request, "costs/home.html", context)


def _own(tenants: list[int]) -> dict[str, Any]:
    return {
        "statements": [
            {
                "url": reverse("statement", args=[each.tenant.slug, each.period_id]),
                "month": month_text(each.period), "tenant": each.tenant.display_name,
                "look": LOOKS[Period.State(each.period.state)],
                "state": each.period.get_state_display(),
                "total": money_text(each.total, each.period.book.currency),
                "beside": each.period.prices_id is None,
                "currency": each.period.book.currency, "book": each.period.book.name,
            }
            for each in rows.statements(tenants)
            if each.tenant
        ],
        "several": len(tenants) > 1,
        "disputes": dispute_rows(rows.disputes(tenants=tenants)),
    }  # fmt: skip


def tie(period: Period) -> Tie | None:
    """Return the tie-out of a month; ``None`` before its statements are written."""
    sums = rows.sums(period)
    if sums is None:
        return None
    currency = period.book.currency
    part = 0
    if sums.bill:
        # Also of a refund, where all of it is below nothing.
        share = int(sums.tenants * 10_000 // sums.bill)
        part = max(0, min(10_000, share))
    parts = [
        (each.source.name, money_text(each.amount or Decimal(0), currency)) for each in sums.parts
    ]
    if sums.booked:
        parts.append((_("corrections of earlier months"), money_text(sums.booked, currency)))
    return Tie(
        parts=parts if len(parts) > 1 else [],
        bill=money_text(sums.bill, currency),
        tenants=money_text(sums.tenants, currency),
        platform=money_text(sums.platform, currency),
        currency=currency, tied=sums.tied, beside=period.prices_id is None, width=f"{part // 100}.{part % 100:02}%",
    )  # fmt: skip


def _row(period: Any) -> dict[str, Any]:
    return {
        "url": reverse("costs-period", args=[period.pk]), "month": month_text(period),
        "book": period.book.name, "purpose": period.book.get_purpose_display(),
        "look": LOOKS[Period.State(period.state)], "state": period.get_state_display(),
        "total": money_text(period.bill_total, period.book.currency) if period.bill_total is not None else "",
        "beside": period.bill_total is not None and period.prices_id is None,
        "currency": period.book.currency, "open": period.open_findings, "blocking": period.blocking,
        "closed": period.state == Period.State.CLOSED,
        "missing": period.missing, "partial": period.partial, "last_run": period.last_run,
    }  # fmt: skip


def _run(run: Any) -> dict[str, Any]:
    return {
        "at": run.at, "month": month_text(run.period), "book": run.period.book.name,
        "who": str(run.actor) if run.actor else _("by itself"), "written": run.written,
        "findings": run.findings, "missing": run.missing, "partial": run.partial, "result": run.result,
        "url": reverse("costs-period", args=[run.period_id]),
        "total": money_text(run.billed, run.period.book.currency) if run.billed is not None else "",
        "currency": run.period.book.currency,
    }  # fmt: skip


def dispute_rows(found: list[Dispute]) -> list[DisputeRow]:
    """Return disputes for a list."""
    return [
        DisputeRow(
            url=reverse("dispute", args=[each.statement.tenant.slug, each.pk]),
            title=each.text if len(each.text) <= 90 else f"{each.text[:90]}…",
            tenant=each.statement.payer_name, month=month_text(each.statement.period),
            look=_DISPUTES[Dispute.State(each.state)], state=each.get_state_display(),
            amount=money_text(each.amount, each.statement.period.book.currency),
            currency=each.statement.period.book.currency, at=each.opened_at,
        )
        for each in found
        if each.statement.tenant
    ]  # fmt: skip


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def begin(request: HttpRequest) -> HttpResponse:
    """Open the first month of a price book."""
    access.require(request.user, "costs.work")
    form = OpenForm(request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        data = form.cleaned_data
        try:
            period = closing.begin(
                book=data["book"], year=data["month"].year, number=data["month"].number,
                zone=data["zone"], actor=cast(User, request.user),
            )  # fmt: skip
        except DomainError as refusal:
            form.add_error("month", str(refusal.message))
        except (KeyError, ValueError, OSError):
            form.add_error("zone", _("There is no such time zone."))
        else:
            messages.success(request, _("%(month)s is open.") % {"month": month_text(period)})
            return redirect("costs-period", period.pk)
    context = {"form": form, "crumbs": [{"label": _("Costs"), "url": reverse("costs")}]}
    return page(request, "costs/open.html", context, status=422 if form.errors else 200)
