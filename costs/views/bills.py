"""Bills: where they come from, handing one in, and the report of each file."""

from __future__ import annotations

from typing import Any, Final

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from costs import tasks
from costs.forms.bills import SourceForm, UploadForm
from costs.ingest import own
from costs.models import BillFile, BillSource
from costs.selectors import bills, opinions
from costs.services import bills as service
from costs.services.sources import add_source
from costs.views import bill_words as words
from costs.views import files
from portal.web.errors import DomainError
from portal.web.lists import keyset
from portal.web.pages import page
from portal.web.uploads import TOO_LARGE
from tenants import access

SEE: Final = "bills.see"
TAKE: Final = "bills.take"
#: A file of this size is read while the person waits; a larger one by a worker.
_AT_ONCE: Final = 4 << 20
_SORTS: Final = {"new": ("-pk",)}


@require_safe
@login_required
def overview(request: HttpRequest) -> HttpResponse:
    """List where bills come from, and what each month was."""
    access.require(request.user, SEE)
    context = {
        "sources": [words.source(each) for each in bills.sources()],
        "may_add": access.can(request.user, TAKE), "crumbs": _crumbs()[:1],
    }  # fmt: skip
    return page(request, "costs/bills.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def add(request: HttpRequest) -> HttpResponse:
    """Add a source."""
    access.require(request.user, TAKE)
    form = SourceForm(request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        found = add_source(actor=_person(request), **form.cleaned_data)
        messages.success(request, _("Hand in the first file of %(name)s.") % {"name": found})
        return redirect("bill-source", found.pk)
    context = {"form": form, "crumbs": _crumbs()}
    return page(request, "costs/bill_source_new.html", context, status=422 if form.errors else 200)


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def source(request: HttpRequest, pk: int) -> HttpResponse:
    """Show the files of a source, and take a new one."""
    row = access.fetch(request.user, _sources(request), SEE, pk=pk)
    if request.method == "POST":
        access.require(request.user, TAKE, row)
        form = UploadForm(request.POST, request.FILES, too_large=TOO_LARGE in request.META)
        if form.is_valid() and (found := _take(request, row, form)):
            return redirect("bill-file", found.pk)
    else:
        form = UploadForm()
    context = {
        "source": row, "form": form, "may_take": access.can(request.user, TAKE),
        "kind": row.get_kind_display(), "versions": keyset(bills.versions(row), request.GET, _SORTS),
        "own": row.kind == BillSource.Kind.OWN, "crumbs": _crumbs(),
    }  # fmt: skip
    return page(request, "costs/bill_source.html", context, status=422 if form.errors else 200)


def _take(request: HttpRequest, row: BillSource, form: UploadForm) -> BillFile | None:
    """Put a file down and have it read; ``None`` with an error beside the field."""
    file = form.cleaned_data["file"]
    given = {"name": file.name, "finalized": form.cleaned_data["finalized"]}
    try:
        found = service.receive(source=row, file=file, actor=_person(request), **given)
    except DomainError as refusal:
        form.add_error("file", str(refusal.message))
        return None
    if file.size <= _AT_ONCE:
        service.read(bill_id=found.pk)
    else:
        tasks.read_bill.wake(found.pk)
    tasks.match_bills.wake()
    return found


@require_safe
@login_required
def file(request: HttpRequest, pk: int) -> HttpResponse:
    """Show what came of one file."""
    row = access.fetch(request.user, _files(request), SEE, pk=pk)
    compares = row.source.kind not in BillSource.PAID
    context: dict[str, Any] = {
        "file": row, "source": row.source, "currency": row.source.currency, "month": words.month(row),
        "state": words.state(row), "report": words.report(row, bills.report(row)),
        "older": bills.before(row), "waiting": row.state == BillFile.State.STAGED,
        "beside": words.beside(row, opinions.beside(row)) if compares and row.period_starts else [],
        "compares": compares, "may_take": access.can(request.user, TAKE), "form": UploadForm(),
        "crumbs": _crumbs(row.source),
    }  # fmt: skip
    return page(request, "costs/bill_file.html", context, "report")


@require_safe
@login_required
def changes(request: HttpRequest, pk: int) -> HttpResponse:
    """Show what a version changed against the one before it, by resource."""
    row = access.fetch(request.user, _files(request), SEE, pk=pk)
    older = bills.before(row)
    if older is None:
        raise access.Hidden("billfile", pk)
    found, count = bills.changes(row, older)
    context = {
        "file": row, "older": older, "currency": row.source.currency, "month": words.month(row),
        "changes": words.changes(found, row.source.currency), "count": count,
        "rest": count - len(found),
        "crumbs": _crumbs(row.source, row),
    }  # fmt: skip
    return page(request, "costs/bill_changes.html", context)


@require_safe
@login_required
def problems_csv(request: HttpRequest, pk: int) -> HttpResponse:
    """Give all errors and warnings of a file as a table, to mend it by."""
    row = access.fetch(request.user, _files(request), SEE, pk=pk)
    found = row.problems.order_by("-error", "row", "column", "code")
    table = (
        ["error" if each.error else "warning", each.row, each.column, each.code, each.value, each.rows]
        for each in found.iterator(chunk_size=2000)
    )  # fmt: skip
    head = ("kind", "row", "column", "problem", "value", "rows")
    return files.response(["problems", row.name.removesuffix(".csv")], head, table)


@require_safe
@login_required
def template_csv(request: HttpRequest, pk: int) -> HttpResponse:
    """Give the table to fill in for own machines, with a row for each pool."""
    row = access.fetch(request.user, _sources(request), SEE, pk=pk)
    if row.kind != BillSource.Kind.OWN:
        raise access.Hidden("template", pk)
    head, *rows = own.template(service.places(), row.currency, f"{timezone.now():%Y-%m}")
    return files.response(["own-costs", row.name], head, rows)


def _sources(request: HttpRequest) -> QuerySet[BillSource]:
    access.require(request.user, SEE)
    return BillSource.objects.all()


def _files(request: HttpRequest) -> QuerySet[BillFile]:
    access.require(request.user, SEE)
    return BillFile.objects.select_related("source", "taken_by")


def _person(request: HttpRequest) -> Any:
    return request.user


def _crumbs(*of: BillSource | BillFile) -> list[dict[str, str]]:
    """Return the way to a page: costs, bills, and the things above it."""
    found = [
        {"label": _("Costs"), "url": reverse("costs")},
        {"label": _("Bills"), "url": reverse("bills")},
    ]
    for each in of:
        name = "bill-source" if isinstance(each, BillSource) else "bill-file"
        found.append({"label": str(each), "url": reverse(name, args=[each.pk])})
    return found
