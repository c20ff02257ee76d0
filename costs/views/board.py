"""The reconciliation board of a month: findings, runs, and the step that comes next."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final, NamedTuple, cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import F, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from costs.forms.months import AssignForm, BackForm, FindingFilter, ResolveForm
from costs.models import Discrepancy, Dispute, Period
from costs.selectors import home as rows
from costs.selectors.blockers import blockers
from costs.selectors.generated import generated
from costs.selectors.inputs import newest_run
from costs.services import closing, findings, reconcile
from costs.views import files, finding_words, month_bills
from costs.views.home import dispute_rows, tie
from costs.views.months import fetch
from costs.views.period_words import LOOKS, local, month_text, outside, payer, reasons
from costs.views.words import money_text
from portal.web.errors import DomainError
from portal.web.lists import keyset
from portal.web.pages import page
from portal.web.wording import DASH
from tenants import access
from tenants.models import PlatformRole, User

SORTS: Final = {
    "-blocks": ("-blocks", "found_at", "pk"),
    "age": ("found_at", "pk"), "-age": ("-found_at", "pk"),
    "code": ("code", "subject", "pk"), "-code": ("-code", "subject", "pk"),
}  # fmt: skip
HEAD: Final = (
    "period", "finding", "about", "state", "blocks", "unit", "difference", "of", "allowed", "money",
    "currency", "explanation", "found", "assigned", "settled", "resolution",
)  # fmt: skip


@require_safe
@login_required
def board(request: HttpRequest, pk: int) -> HttpResponse:
    """Show what was found in a month, what it comes to, and what is to be done next."""
    return _board(request, fetch(request, pk), BackForm())


def _board(request: HttpRequest, period: Period, back: BackForm, status: int = 200) -> HttpResponse:
    user = cast(User, request.user)
    found = period.discrepancies.select_related("assignee", "resolved_by", "cluster", "settled_by")
    codes = sorted(
        {(code, finding_words.name(code)) for code in found.values_list("code", flat=True)}
    )
    closed = period.state == Period.State.CLOSED
    form = FindingFilter(request.GET, codes=codes, closed=closed)
    listed = keyset(form.narrow(found, user), request.GET, SORTS)
    about = blockers(period, user)
    last = newest_run(period)
    open_disputes = Dispute.objects.filter(statement__period=period)
    context: dict[str, Any] = {
        "period": period, "month": month_text(period), "look": LOOKS[Period.State(period.state)],
        "closed": closed, "currency": period.book.currency,
        "form": form, "back": back, "listed": listed, "items": [item(each, period) for each in listed],
        "counts": _counts(found), "run": last,
        "listed_money": money_text(last.listed, period.book.currency)
        if last and last.listed is not None
        else "", "tie": tie(period), "parts": _parts(period),
        "payers": [_payer(each, period) for each in rows.payers(period)],
        "reasons": reasons(period, about), "over": period.ends <= timezone.now(),
        "bills": month_bills.shown(period),
        "works": access.can(user, "costs.work"), "next": _next(period, {each.name for each in about}),
        "disputes": dispute_rows(list(open_disputes.select_related("statement__tenant", "statement__period__book"))),
        "steps": _steps(period),
        "crumbs": [{"label": _("Costs"), "url": reverse("costs")}],
    }  # fmt: skip
    return page(request, "costs/board.html", context, status=status)


def _next(period: Period, open_reasons: set[str]) -> str:
    """Return the step that a person can take now."""
    left = open_reasons - {"not_reviewed", "second_person"}
    if period.state == Period.State.CLOSED:
        return "correct"
    if period.state == Period.State.PROVISIONAL and not left:
        return "review"
    if period.state == Period.State.REVIEW and not open_reasons:
        return "close"
    return ""


class Step(NamedTuple):
    """One state of a month in the line of all of them."""

    label: str
    state: str
    person: str
    when: datetime | None
    url: str = ""
    note: str = ""


def _steps(period: Period) -> list[Step]:
    """Return the states of a month as steps, with who took the last two."""
    order = list(Period.State)
    at = order.index(Period.State(period.state))
    done = len(order) if period.state == Period.State.CLOSED else at
    who = {Period.State.REVIEW: period.reviewed_by, Period.State.CLOSED: period.closed_by}
    return [
        Step(
            label=capfirst(str(each.label)),
            state="done" if n < done else "now" if n == at else "todo",
            person=str(who.get(each) or ""),
            when=period.closed_at if each == Period.State.CLOSED else None,
        )
        for n, each in enumerate(order)
    ]


def _counts(found: QuerySet[Discrepancy]) -> dict[str, int]:
    states = list(found.values_list("blocks", F("resolved_at")))
    return {
        "open": sum(at is None for _blocks, at in states),
        "blocks": sum(at is None and blocks for blocks, at in states),
        "settled": sum(at is not None for _blocks, at in states),
    }


def frozen(row: Discrepancy, period: Period) -> bool:
    """Return whether a finding stays unsettled for good, because its month was closed with it."""
    return row.resolved_at is None and period.state == Period.State.CLOSED


def _state(row: Discrepancy, period: Period) -> tuple[str, str]:
    """Return how the state of a finding looks, and its word."""
    if row.resolved_at is not None:
        return "succeeded", _("settled")
    if frozen(row, period):
        return "inactive", _("kept at the close")
    return ("refused", _("blocks the close")) if row.blocks else ("amber", _("open"))


def item(row: Discrepancy, period: Period) -> dict[str, Any]:
    """Return a finding as a row of the board."""
    currency = period.book.currency
    look, state = _state(row, period)
    return {
        "row": row, "name": finding_words.name(row.code), "sentence": finding_words.sentence(row),
        "todo": finding_words.todo(row.code),
        "url": reverse("costs-finding", args=[row.pk]),
        "difference": finding_words.size(row, row.difference, currency),
        "whole": finding_words.size(row, row.whole, currency),
        "allowed": finding_words.size(row, row.allowed, currency) if row.allowed else DASH,
        "money": money_text(row.money, currency) if row.money is not None else "",
        "state": state, "look": look, "frozen": frozen(row, period),
        "by": _("by a run that did not find it any more") if row.settled_by_id else str(row.resolved_by or ""),
    }  # fmt: skip


def _parts(period: Period) -> list[tuple[str, str]]:
    """Return what the bills were for, with its amount; nothing where that is one thing alone."""
    found = rows.parts(period) if period.bill_total is not None else []
    named = [
        (each.flavor or outside(each.basis), money_text(each.amount, period.book.currency))
        for each in found
    ]
    return named if len(named) > 1 else []


def _payer(row: Any, period: Period) -> dict[str, Any]:
    label, note = payer(row.payer_name, row.bucket)
    return {
        "label": label, "note": note, "platform": bool(row.bucket),
        "url": reverse("statement", args=[row.tenant.slug, period.pk]) if row.tenant else "",
        "total": money_text(row.total, period.book.currency),
    }  # fmt: skip


@require_safe
@login_required
def board_csv(request: HttpRequest, pk: int) -> HttpResponse:
    """Give all findings of a month as a file."""
    period = fetch(request, pk)
    month = f"{local(period):%Y-%m}"
    found = period.discrepancies.select_related("assignee").order_by("pk")
    table = [
        [
            month, each.code, each.subject, _state_code(each, period),
            str(each.blocks).lower(), each.unit, each.difference, each.whole, each.allowed,
            each.money, period.book.currency if each.money is not None else "",
            finding_words.sentence(each), f"{each.found_at:%FT%TZ}",
            each.assignee.username if each.assignee else "",
            f"{each.resolved_at:%FT%TZ}" if each.resolved_at else "", each.resolution,
        ]
        for each in found
    ]  # fmt: skip
    made = generated().between(period.starts, period.ends)
    return files.response(["findings", period.book.name, month], HEAD, table, made=made)


def _state_code(row: Discrepancy, period: Period) -> str:
    if row.resolved_at is not None:
        return "settled"
    return "frozen" if frozen(row, period) else "open"


# --- steps of the month -----------------------------------------------------------------------------


@require_POST
@login_required
def run(request: HttpRequest, pk: int) -> HttpResponse:
    """Reconcile a month now."""
    period = fetch(request, pk, "costs.work")
    try:
        done = reconcile.run(period=period, actor=cast(User, request.user))
    except DomainError as refusal:
        messages.error(request, str(refusal.message))
    else:
        messages.success(request, _ran(done))
    return redirect("costs-period", period.pk)


def _ran(done: Any) -> str:
    if not done.written:
        return _("Compared, without statements: something is missing for them.")
    return _("Reconciled: %(n)s findings.") % {"n": done.findings}


@require_POST
@login_required
def review(request: HttpRequest, pk: int) -> HttpResponse:
    """Say that a month was looked at, or send it back."""
    period = fetch(request, pk, "costs.work")
    actor = cast(User, request.user)
    back = BackForm(request.POST)
    to = "back" if request.POST.get("step") == "back" else "review"
    if to == "back" and not back.is_valid():
        return _board(request, period, back, status=422)
    try:
        if to == "back":
            closing.back(period=period, actor=actor, reason=back.cleaned_data["reason"])
            messages.success(request, _("The month is provisional again."))
        else:
            closing.review(period=period, actor=actor)
            messages.success(request, _("Reviewed. It can be closed now."))
    except DomainError as refusal:
        messages.error(request, str(refusal.message))
    return redirect("costs-period", period.pk)


# --- one finding --------------------------------------------------------------------------------------


def _finding(request: HttpRequest, pk: int, to: str = "costs.see") -> Discrepancy:
    if not access.rights(request.user).platform:
        raise access.Hidden("finding", pk)
    found = Discrepancy.objects.select_related(
        "period__book", "assignee", "resolved_by", "run", "settled_by"
    )
    return access.fetch(request.user, found, to, pk=pk)


def platform_people() -> QuerySet[User]:
    """Return whom a finding can be assigned to."""
    roles = [PlatformRole.Role.ADMIN, PlatformRole.Role.APPROVER]
    people = User.objects.filter(platform_roles__role__in=roles, is_active=True)
    return people.distinct().order_by("username")


@require_safe
@login_required
def finding(request: HttpRequest, pk: int) -> HttpResponse:
    """Show one finding with its numbers."""
    return _shown(request, _finding(request, pk), ResolveForm())


def _shown(
    request: HttpRequest, row: Discrepancy, form: ResolveForm, status: int = 200
) -> HttpResponse:
    assign_form = AssignForm(people=platform_people(), initial={"to": row.assignee_id})
    month = reverse("costs-period", args=[row.period_id])
    open_month = row.period.state != Period.State.CLOSED
    context = {
        "item": item(row, row.period), "row": row, "period": row.period, "form": form,
        "assign_form": assign_form, "month": month_text(row.period),
        "works": access.can(request.user, "costs.work") and open_month,
        "crumbs": [
            {"label": _("Costs"), "url": reverse("costs")},
            {"label": month_text(row.period), "url": month},
        ],
    }  # fmt: skip
    return page(request, "costs/finding.html", context, status=status)


@require_POST
@login_required
def resolve(request: HttpRequest, pk: int) -> HttpResponse:
    """Settle a finding with a reason, or open it again."""
    row = _finding(request, pk, "costs.work")
    actor = cast(User, request.user)
    if request.POST.get("step") == "reopen":
        findings.reopen(finding=row, actor=actor)
        messages.success(request, _("It is open again."))
        return redirect("costs-finding", row.pk)
    form = ResolveForm(request.POST)
    if not form.is_valid():
        return _shown(request, row, form, status=422)
    findings.resolve(finding=row, actor=actor, reason=form.cleaned_data["reason"])
    messages.success(request, _("Settled."))
    return redirect("costs-period", row.period_id)


@require_POST
@login_required
def assign(request: HttpRequest, pk: int) -> HttpResponse:
    """Say who looks after a finding."""
    row = _finding(request, pk, "costs.work")
    form = AssignForm(request.POST, people=platform_people())
    if form.is_valid():
        findings.assign(finding=row, actor=cast(User, request.user), to=form.cleaned_data["to"])
        messages.success(request, _("Assigned."))
    else:
        messages.error(request, _("That person can not be chosen. Nothing was changed."))
    return redirect("costs-finding", row.pk)
