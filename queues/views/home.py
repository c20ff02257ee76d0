"""Where a person lands: on what their roles have to do with."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_safe

from portal.web.pages import page
from tenants import access
from tenants.models import Tenant


@require_safe
@login_required
def home(request: HttpRequest) -> HttpResponse:
    """Send approvers to what waits for them, leads to their tenant, users to their jobs."""
    held = access.rights(request.user)
    if held.platform & {access.APPROVER, access.ADMIN}:
        return redirect(reverse("requests") + "?show=decide")
    led = held.tenant_ids(frozenset({access.LEAD, access.FINANCE}))
    if led:
        return redirect("tenant", Tenant.objects.get(pk=led[0]).slug)
    if held.tenants:
        return redirect("jobs")
    if held.platform:
        return redirect("clusters")
    return page(request, "queues/nowhere.html", {})
