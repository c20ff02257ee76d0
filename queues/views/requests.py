"""Asking for quota, the list of requests, and one request on its way into the cluster."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from portal.web.errors import DomainError
from portal.web.lists import keyset
from portal.web.pages import page
from queues.filters import RequestFilter
from queues.selectors.requests import course, listed
from queues.services import conflicts
from queues.views import asking, progress
from queues.views.answers import person, see_other
from tenants import access
from tenants.models import Request
from tenants.services import requests as service

ORDERS = {"newest": ("-created_at",), "oldest": ("created_at",), "moved": ("-updated_at",)}


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def new(request: HttpRequest, slug: str) -> HttpResponse:
    """Ask for quota; a preview stores nothing, and what was typed is never lost."""
    tenant = access.tenant(request.user, slug, "request.create")
    ask = asking.Asking(request, tenant)
    return asked(request, ask, ask.submit, _("The request is in. Its plan is being made."))


def asked(
    request: HttpRequest, ask: asking.Asking, send: Callable[[], Request], said: str
) -> HttpResponse:
    """Send a valid form; a preview, a mistake or a refusal shows the form again."""
    if request.method == "POST" and "preview" not in request.POST and ask.valid():
        try:
            made = send()
        except DomainError as refusal:
            ask.refused(refusal)
        else:
            return see_other(request, said, "request", made.pk)
    return page(
        request, "queues/request_new.html", ask.context(), partial=ask.partial, status=ask.status
    )


@require_safe
@login_required
def requests(request: HttpRequest) -> HttpResponse:
    """List the requests that the viewer may see."""
    request.visible_tenants = access.tenants(request.user)  # type: ignore[attr-defined]
    rows = access.requests(request.user)
    found = RequestFilter(request.GET, listed(rows), request=request)
    listing = keyset(found.qs, request.GET, ORDERS)
    for row in listing:
        row.words = progress.summary(row)
    led = access.rights(request.user).tenant_ids(frozenset({access.LEAD}))
    context = {
        "rows": listing, "filter": found, "show": request.GET.get("show", ""),
        "ask": list(access.tenants(request.user).filter(pk__in=led)) if led else [],
    }  # fmt: skip
    stamp = ([(row.pk, row.version) for row in listing], led)
    return page(request, "queues/requests.html", context, partial="list", seen=stamp)


@require_safe
@login_required
def request_(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Show where one request stands and what can be done with it."""
    row = access.request(request.user, pk)
    way = progress.Way(course(row), request.user)
    return page(request, "queues/request.html", way.context(), partial="now", seen=way.stamp)


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def edit(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Correct a refused request: the same form, with what was asked for in it."""
    row = access.request(request.user, pk, "request.edit")
    ask = asking.Asking(request, row.tenant, row)
    return asked(request, ask, ask.resubmit, _("Sent again. A new plan is being made."))


@require_POST
@login_required
def withdraw(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Take a request back."""
    row = access.request(request.user, pk, "request.withdraw")
    service.withdraw(actor=person(request), request=row)
    return see_other(request, _("The request is withdrawn."), "request", pk)


@require_POST
@login_required
def plan_again(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Have a new plan made."""
    row = access.request(request.user, pk, "request.plan_again")
    conflicts.plan_again(actor=person(request), request=row)
    return see_other(request, _("A new plan is being made."), "request", pk)


@require_POST
@login_required
def abandon(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Give a request up; what it had committed to the catalog is set back."""
    row = access.request(request.user, pk, "request.abandon")
    reason = request.POST.get("reason", "")
    conflicts.abandon(actor=person(request), request=row, reason=reason)
    return see_other(request, _("The request is given up."), "request", pk)
