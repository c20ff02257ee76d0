"""The audit trail: read it, and have it proved."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_POST, require_safe

from portal.web.lists import keyset
from portal.web.pages import page
from tenants import access, audit, selectors
from tenants.filters import AuditFilter
from tenants.services.trail import verify

SORTS = {"newest": ("-at", "-pk"), "oldest": ("at", "pk")}


@require_safe
@login_required
def trail(request: HttpRequest) -> HttpResponse:
    """Show who did what and when, newest first."""
    access.require(request.user, "audit.see")
    visible = selectors.events(request.user)
    form = AuditFilter(request.GET, scopes=selectors.scopes(visible))
    context = {
        "form": form,
        "events": keyset(form.narrow(visible), request.GET, SORTS),
        "words": audit.ACTIONS,
        "may_verify": access.can(request.user, "audit.verify"),
    }
    return page(request, "tenants/trail.html", context, "rows")


@require_POST
@login_required
def prove(request: HttpRequest) -> HttpResponse:
    """Walk along every chain and say how far each is intact."""
    reports = verify(actor=request.user)  # type: ignore[arg-type]
    intact = all(report.intact for report in reports)
    context = {"reports": reports, "intact": intact}
    return page(request, "tenants/proof.html", context, "proof")
