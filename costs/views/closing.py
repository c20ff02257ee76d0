"""Closing a month with its effect in front, and what is booked because of a closed one."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Final, cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from costs.forms.months import CloseForm, CorrectionForm
from costs.models import Period, PolicyVersion, StatementLine
from costs.money import from_minor
from costs.selectors import home as rows
from costs.selectors.blockers import blockers
from costs.selectors.inputs import newest_run
from costs.selectors.month_bills import correcting
from costs.selectors.periods import gaps, targets, weights
from costs.services import closing
from costs.statements import adjust
from costs.views import finding_words, month_bills
from costs.views.home import tie
from costs.views.months import fetch
from costs.views.period_words import LOOKS, month_text, payer, reasons
from costs.views.policy_words import policy_text
from costs.views.words import money_text
from portal.web.errors import DomainError
from portal.web.pages import page
from portal.web.tokens import form_key, new_key
from tenants.models import Tenant, User

PREVIEW: Final = "preview"


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def close(request: HttpRequest, pk: int) -> HttpResponse:
    """Show what closing would fix for good, and do it when somebody has said so."""
    period = fetch(request, pk, "costs.work")
    user = cast(User, request.user)
    form = CloseForm(request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        try:
            closing.close(period=period, actor=user)
        except DomainError as refusal:
            form.add_error(None, str(refusal.message))
            period = fetch(request, pk, "costs.work")
        else:
            said = _("%(month)s is closed. Nothing of it can be changed any more.")
            messages.success(request, said % {"month": month_text(period)})
            return redirect("costs-period", period.pk)
    return page(
        request, "costs/close.html", _effect(period, user, form), status=422 if form.errors else 200
    )


def _effect(period: Period, user: User, form: CloseForm) -> dict[str, Any]:
    """Return what will be fixed, by which versions, with which totals."""
    found = blockers(period, user)
    run = newest_run(period)
    policies = PolicyVersion.objects.filter(pk__in=run.policies if run else [])
    return {
        "period": period, "month": month_text(period), "form": form, "run": run,
        "look": LOOKS[Period.State(period.state)], "currency": period.book.currency,
        "reasons": reasons(period, found), "tie": tie(period),
        "bills": [each for each in month_bills.shown(period) if each.sha256 or each.step == month_bills.IN],
        "payers": [_payer(each, period) for each in rows.payers(period)],
        "policies": [(each, policy_text(each)) for each in policies.order_by("starts")],
        "lines": StatementLine.objects.filter(statement__period=period).count(),
        "settled": period.discrepancies.filter(resolved_by__isnull=False).count(),
        "gaps": [finding_words.sentence(each) for each in gaps(period)],
        "crumbs": _crumbs(period),
    }  # fmt: skip


def _payer(row: Any, period: Period) -> dict[str, str]:
    label, note = payer(row.payer_name, row.bucket)
    return {"label": label, "note": note, "total": money_text(row.total, period.book.currency)}


def _crumbs(period: Period) -> list[dict[str, str]]:
    return [
        {"label": _("Costs"), "url": reverse("costs")},
        {"label": month_text(period), "url": reverse("costs-period", args=[period.pk])},
    ]


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def correct(request: HttpRequest, pk: int) -> HttpResponse:
    """Divide a late correction of a closed month, show the parts, and book them."""
    period = fetch(request, pk, "costs.work")
    later = Period.objects.filter(pk__in=[each.pk for each in targets(period)])
    currency = period.book.currency
    sent = request.POST if request.method == "POST" else None
    form = CorrectionForm(
        sent, periods=later.order_by("starts"), bills=correcting(period), currency=currency
    )
    parts: list[dict[str, str]] = []
    if form.is_bound and form.is_valid():
        data = form.cleaned_data
        parts = _parts(period, data["amount"])
        if not parts:
            form.add_error("amount", _("There is nothing to divide."))
        elif request.POST.get("step") != PREVIEW and _booked(request, period, form):
            return redirect("costs-period", data["period"].pk)
    context = {
        "period": period, "month": month_text(period), "form": form, "currency": currency,
        "closed": period.state == Period.State.CLOSED, "places": later.exists(),
        "parts": parts if not form.errors else [], "crumbs": _crumbs(period),
        "form_key": request.POST.get("form_key") or new_key(),
    }  # fmt: skip
    return page(request, "costs/correct.html", context, status=422 if form.errors else 200)


def _booked(request: HttpRequest, period: Period, form: CorrectionForm) -> bool:
    data = form.cleaned_data
    try:
        lines = closing.correct(
            closed=period, period=data["period"], amount=data["amount"], reason=data["reason"],
            actor=cast(User, request.user), bill=data["bill"], key=form_key(request),
        )  # fmt: skip
    except DomainError as refusal:
        form.add_error(None, str(refusal.message))
        return False
    messages.success(request, _("%(n)s lines were booked.") % {"n": len(lines)})
    return True


def _parts(period: Period, amount: Decimal) -> list[dict[str, str]]:
    """Return who would get which part of a correction, as it would be booked."""
    shares = weights(period)
    if not shares or not amount:
        return []
    currency = period.book.currency
    names = dict(Tenant.objects.values_list("slug", "display_name"))
    found = []
    found_parts = adjust(amount, shares, of="", currency=currency)
    for each in sorted(found_parts, key=lambda part: (part.payer.startswith("*"), part.payer)):
        bucket = each.payer if each.payer.startswith("*") else ""
        label, note = payer(names.get(each.payer, each.payer), bucket)
        found.append(
            {
                "label": label, "note": note,
                "had": money_text(shares[each.payer], currency),
                "amount": money_text(from_minor(each.amount, currency), currency),
            }
        )  # fmt: skip
    return found
