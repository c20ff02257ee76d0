"""The catalog: what people agreed, and the forms that propose a change of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods, require_safe

from portal.web.errors import DomainError
from portal.web.pages import page
from portal.web.tokens import form_key, new_key
from tenants import access, selectors
from tenants.forms import catalog as forms
from tenants.forms import queues as queue_forms
from tenants.models import Cluster, Request, Tenant
from tenants.selectors import Found
from tenants.services.catalog import head, heads, newest
from tenants.services.requests import Invalid, submit


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of thing in the catalog: its words and its form."""

    title: str | Promise
    new: str | Promise
    form: Any
    template: str


KINDS: Final[Mapping[str, Kind]] = {
    "flavors": Kind(_("Flavors"), _("New flavor"), forms.FlavorForm, "flavor"),
    "topologies": Kind(_("Topologies"), _("New topology"), forms.TopologyForm, "topology"),
    "departments": Kind(
        _("Departments"), _("New department"), queue_forms.DepartmentForm, "department"
    ),
    "tenants": Kind(_("Tenants"), _("New tenant"), forms.TenantForm, "tenant"),
    "queues": Kind(_("Queues"), _("New queue"), queue_forms.QueueForm, "queue"),
    "entries": Kind(_("Entries"), _("New entry"), queue_forms.EntryForm, "entry"),
    "priorities": Kind(_("Priorities"), _("New priority"), forms.PriorityForm, "priority"),
}


@require_safe
@login_required
def overview(request: HttpRequest) -> HttpResponse:
    """List the clusters with the size of their catalogs."""
    clusters = access.clusters(request.user).order_by("slug")
    rows = [(each, selectors.seen(request.user, each.catalog)) for each in heads(clusters)]
    return page(request, "tenants/catalog.html", {"rows": rows})


@require_safe
@login_required
def cluster(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the whole catalog of one cluster."""
    row = access.cluster(request.user, slug, "catalog.see")
    revision = newest(row)
    whole = head(row)
    shown = selectors.seen(request.user, whole)
    context = {
        "cluster": row,
        "revision": revision,
        "catalog": shown,
        "tree": selectors.tree(shown, whole),
        "alone": [pair for pair in shown.queues() if not pair[1].cohort],
        "revisions": selectors.revisions(row),
        "kinds": KINDS,
        "may_propose": access.can(request.user, "catalog.propose"),
        "sees_all": access.can(request.user, "cluster.details", row),
        "crumbs": [crumb_to_catalog()],
    }
    may_see = [tenant.slug for tenant in shown.tenants]
    stamp = (revision and revision.pk, context["sees_all"], context["may_propose"], may_see)
    return page(request, "tenants/catalog_cluster.html", context, seen=stamp)


@require_safe
@login_required
def item(request: HttpRequest, slug: str, kind: str, name: str) -> HttpResponse:
    """Show one thing of a catalog."""
    row = access.cluster(request.user, slug, "catalog.see")
    whole = head(row)
    shown = selectors.seen(request.user, whole)
    found = selectors.item(shown, kind, name)
    context = {
        "cluster": row,
        "kind": kind,
        "words": KINDS[kind],
        "found": found,
        "spec": found.spec,
        "body": f"tenants/catalog/{KINDS[kind].template}.html",
        "catalog": shown,
        "may_propose": kind != "entries" and access.can(request.user, "catalog.propose"),
        "crumbs": [crumb_to_catalog(), crumb_to_cluster(row)],
    }
    return page(request, "tenants/catalog_item.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def propose(request: HttpRequest, slug: str, kind: str, name: str = "") -> HttpResponse:
    """Ask for a new thing, or for a change of one; nothing is written but the request."""
    row = access.cluster(request.user, slug, "catalog.propose")
    catalog = head(row)
    found = selectors.item(catalog, kind, name) if name else None
    sent = request.POST if request.method == "POST" else None
    form = KINDS[kind].form(
        sent, catalog=catalog, spec=found.spec if found else None, initial=request.GET.dict()
    )
    if sent is not None and form.is_valid():
        try:
            return redirect("request", _submit(request, row, form, found).pk)
        except Invalid as refusal:
            form.take(refusal.problems)
        except DomainError as refusal:
            form.add_error(None, str(refusal.message))
    context = {
        "cluster": row, "kind": kind, "words": KINDS[kind], "found": found, "form": form,
        "form_key": request.POST.get("form_key") or new_key(),
        "crumbs": [crumb_to_catalog(), crumb_to_cluster(row)],
    }  # fmt: skip
    status = 422 if form.errors else 200
    return page(request, "tenants/catalog_form.html", context, "form", status=status)


def _submit(request: HttpRequest, row: Cluster, form: Any, found: Found | None) -> Request:
    owner = found.tenant if found else form.owner() if hasattr(form, "owner") else ""
    return submit(
        actor=request.user,  # type: ignore[arg-type]
        cluster=row,
        tenant=Tenant.objects.filter(slug=owner).first() if owner else None,
        kind=Request.Kind.CATALOG,
        edits=form.edits(),
        reason=form.cleaned_data["reason"],
        key=form_key(request),
    )


def crumb_to_catalog() -> dict[str, Any]:
    """Return the way back to all catalogs."""
    return {"label": _("Catalog"), "url": "/catalog/"}


def crumb_to_cluster(row: Cluster) -> dict[str, Any]:
    """Return the way back to the catalog of a cluster."""
    return {"label": str(row), "url": f"/catalog/{row.slug}/"}
