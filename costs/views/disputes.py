"""Disputes: a tenant says what is wrong with a line, the platform answers, both see all of it."""

from __future__ import annotations

from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from costs.forms.months import AnswerForm, DisputeForm, line_key
from costs.models import Dispute, Statement
from costs.selectors import statements
from costs.services import disputes as service
from costs.views.home import dispute_rows
from costs.views.period_words import month_text
from costs.views.statement import basis_text
from costs.views.words import money_text
from portal.web.errors import DomainError
from portal.web.pages import page
from tenants import access
from tenants.models import Tenant, User


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def new(request: HttpRequest, slug: str, period: int) -> HttpResponse:
    """Say what is wrong with a line of a statement."""
    tenant = access.tenant(request.user, slug, "tenant.costs")
    statement = statements.of_tenant(tenant.pk).filter(period=period).first()
    if statement is None:
        raise access.Hidden("statement", period)
    access.require(request.user, "dispute.open", tenant)
    sent = request.POST if request.method == "POST" else None
    initial = {"line": request.GET.get("line", "")}
    form = DisputeForm(sent, lines=_lines(statement), initial=initial)
    if form.is_bound and form.is_valid():
        try:
            row = _open(request, statement, form)
        except DomainError as refusal:
            form.add_error(
                refusal.field if refusal.field in form.fields else None, str(refusal.message)
            )
        else:
            messages.success(request, _("The platform team sees it now and answers here."))
            return redirect("dispute", slug, row.pk)
    month = month_text(statement.period)
    context = {
        "tenant": tenant, "period": statement.period, "month": month, "form": form,
        "crumbs": _crumbs(tenant, statement),
    }  # fmt: skip
    return page(request, "costs/dispute_new.html", context, status=422 if form.errors else 200)


def _open(request: HttpRequest, statement: Statement, form: DisputeForm) -> Dispute:
    flavor, _slash, basis = form.cleaned_data["line"].rpartition("/")
    return service.dispute(
        statement=statement, flavor=flavor, basis=basis, text=form.cleaned_data["text"],
        actor=cast(User, request.user),
    )  # fmt: skip


def _lines(statement: Statement) -> list[tuple[str, str]]:
    currency = statement.period.book.currency
    return [
        (
            line_key(line),
            " · ".join(filter(None, (
                basis_text(line.basis), line.flavor,
                f"{money_text(line.amount, currency)} {currency}",
            ))),
        )
        for line in statements.lines(statement)
        if line.corrects_id is None
    ]  # fmt: skip


def _crumbs(tenant: Tenant, statement: Statement) -> list[dict[str, str]]:
    return [
        {"label": str(tenant), "url": reverse("tenant", args=[tenant.slug])},
        {"label": _("Costs"), "url": reverse("tenant-costs", args=[tenant.slug])},
        {
            "label": _("Statement %(month)s") % {"month": month_text(statement.period)},
            "url": reverse("statement", args=[tenant.slug, statement.period_id]),
        },
    ]


def _fetch(request: HttpRequest, slug: str, pk: int) -> tuple[Tenant, Dispute]:
    tenant = access.tenant(request.user, slug, "dispute.see")
    found = Dispute.objects.select_related(
        "statement__tenant", "statement__period__book", "opened_by", "answered_by",
        "booked__statement__period",
    ).filter(statement__tenant=tenant)  # fmt: skip
    return tenant, access.fetch(request.user, found, "dispute.see", pk=pk)


@require_safe
@login_required
def dispute(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Show what was said and what was answered."""
    tenant, row = _fetch(request, slug, pk)
    form = AnswerForm(currency=row.statement.period.book.currency)
    return _shown(request, tenant, row, form)


def _shown(
    request: HttpRequest, tenant: Tenant, row: Dispute, form: AnswerForm, status: int = 200
) -> HttpResponse:
    currency = row.statement.period.book.currency
    (listed,) = dispute_rows([row])
    answers = row.state == Dispute.State.OPEN and access.can(request.user, "dispute.answer", row)
    context: dict[str, Any] = {
        "tenant": tenant, "row": row, "listed": listed, "form": form, "currency": currency,
        "answers": answers, "line": " · ".join(filter(None, (basis_text(row.basis), row.flavor))),
        "month": month_text(row.statement.period),
        "credit": money_text(row.credit, currency) if row.credit is not None else "",
        "booked": month_text(row.booked.statement.period) if row.booked else "",
        "booked_url": reverse("statement", args=[tenant.slug, row.booked.statement.period_id]) if row.booked else "",
        "crumbs": _crumbs(tenant, row.statement),
    }  # fmt: skip
    if answers:
        context["place"] = _place(row)
    return page(request, "costs/dispute.html", context, status=status)


def _place(row: Dispute) -> str:
    try:
        return month_text(service.place(row))
    except DomainError:
        return ""


@require_POST
@login_required
def answer(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Accept a dispute with a credit, or reject it with a reason."""
    tenant, row = _fetch(request, slug, pk)
    access.require(request.user, "dispute.answer", row)
    form = AnswerForm(request.POST, currency=row.statement.period.book.currency)
    if not form.is_valid():
        return _shown(request, tenant, row, form, status=422)
    data = form.cleaned_data
    actor = cast(User, request.user)
    try:
        if data["step"] == "accept":
            service.accept(dispute=row, credit=data["credit"], answer=data["answer"], actor=actor)
        else:
            service.reject(dispute=row, answer=data["answer"], actor=actor)
    except DomainError as refusal:
        form.add_error(
            refusal.field if refusal.field in form.fields else None, str(refusal.message)
        )
        return _shown(request, tenant, row, form, status=422)
    messages.success(request, _("Answered. The tenant sees it."))
    return redirect("dispute", slug, row.pk)
