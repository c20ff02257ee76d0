"""The bills of a month in words: what it rests on, what is waited for, and what is left out."""

from __future__ import annotations

from decimal import Decimal
from typing import NamedTuple, cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from costs.forms.months import CountForm
from costs.models import BillFile, BillSource, Period
from costs.selectors import month_bills as rows
from costs.services import reconcile
from costs.views.months import fetch
from costs.views.words import money_text
from portal.web.errors import DomainError
from portal.web.wording import DASH
from tenants.models import User

OUT, IN = "out", "in"


class BillShown(NamedTuple):
    """A bill of a month; ``amount`` is what it comes to, in ``currency``.

    ``step`` is what a person can do with it, or nothing.
    """

    source: BillSource
    url: str
    file: str
    number: int | None
    sha256: str
    amount: str
    currency: str
    look: str
    state: str
    step: str = ""


def shown(period: Period) -> list[BillShown]:
    """Return the bills of a month; of a closed one those that it was closed with."""
    if period.state == Period.State.CLOSED:
        return _closed(period)
    rests = {each.bill_id: each.amount for each in rows.rests_on(period)}
    return [
        _with_amount(_due(each), period, each.bill, rests.get(each.bill.pk) if each.bill else None)
        for each in rows.due(period)
    ]


def _with_amount(
    row: BillShown, period: Period, bill: BillFile | None, amount: Decimal | None
) -> BillShown:
    """Add what a bill comes to in the book's currency, or its own sum before it was divided."""
    if bill is None:
        return row
    if amount is None:
        currency = bill.source.currency
        return row._replace(amount=money_text(bill.effective, currency), currency=currency)
    currency = period.book.currency
    return row._replace(amount=money_text(amount, currency), currency=currency)


def _due(each: rows.Due) -> BillShown:
    if each.left_out:
        look, state = "withdrawn", _("left out")
    elif each.bill is None:
        look, state = "amber", _("missing")
    elif each.bill.finalized:
        look, state = "succeeded", _("final")
    else:
        look, state = "amber", _("not final")
    return _of(each.source, each.bill, look, state)._replace(step=IN if each.left_out else OUT)


def _closed(period: Period) -> list[BillShown]:
    kept = period.bills.select_related("source", "bill__source")
    out, final = ("withdrawn", _("left out")), ("succeeded", _("final"))
    return [
        _with_amount(
            _of(each.source, each.bill, *(out if each.left_out else final)),
            period,
            each.bill,
            each.amount,
        )
        for each in kept.order_by("left_out", "source__name")
    ]


def _of(source: BillSource, bill: BillFile | None, look: str, state: str) -> BillShown:
    url = reverse("bill-file", args=[bill.pk]) if bill else reverse("bill-source", args=[source.pk])
    name, number, sha256 = (bill.name, bill.number, bill.sha256) if bill else ("", None, "")
    return BillShown(source, url, name, number, sha256, DASH, "", look, state)


@require_POST
@login_required
def bill(request: HttpRequest, pk: int) -> HttpResponse:
    """Leave a source out of a month, or take it in again."""
    period = fetch(request, pk, "costs.work")
    form = CountForm(request.POST)
    if not form.is_valid():
        messages.error(request, _("That is no bill of this month. Nothing was changed."))
        return redirect("costs-period", period.pk)
    source, counts = form.cleaned_data["source"], form.cleaned_data["step"] == IN
    try:
        reconcile.count_source(
            period=period, source=source, counts=counts, actor=cast(User, request.user)
        )
    except DomainError as refusal:
        messages.error(request, str(refusal.message))
    else:
        said = _("%(source)s counts in this month.") if counts else _("%(source)s is left out.")
        messages.success(request, said % {"source": source})
    return redirect("costs-period", period.pk)
