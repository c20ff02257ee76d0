"""The people of a tenant."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from portal.web.pages import page
from tenants import access, selectors


@require_safe
@login_required
def people(request: HttpRequest, slug: str) -> HttpResponse:
    """Show who is in a tenant and as what."""
    tenant = access.tenant(request.user, slug, "tenant.people")
    context = {
        "tenant": tenant,
        "members": selectors.members(tenant),
        "sees_contacts": access.can(request.user, "tenant.contacts", tenant),
        "crumbs": [{"label": str(tenant), "url": f"/t/{tenant.slug}/"}],
    }
    return page(request, "tenants/people.html", context)
