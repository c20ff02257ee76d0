"""People: accounts and platform roles, the members of a tenant, one's own password."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from portal.web.errors import DomainError
from portal.web.forms import field_of
from portal.web.lists import keyset
from portal.web.pages import page
from tenants import access, selectors
from tenants.addresses import client_address
from tenants.forms.fields import PickField
from tenants.forms.people import MemberForm, PasswordForm, PersonForm, RoleForm
from tenants.models import Membership, PlatformRole, User
from tenants.services import people as service

SORTS = {"name": ("username",), "-name": ("-username",)}


# --- accounts ---------------------------------------------------------------------------------------


@require_safe
@login_required
def accounts(request: HttpRequest) -> HttpResponse:
    """List the accounts with their roles."""
    access.require(request.user, "people.see")
    rows = keyset(selectors.accounts(request.user), request.GET, SORTS)
    may_add = access.can(request.user, "people.grant")
    return page(request, "tenants/accounts.html", {"people": rows, "may_add": may_add}, "rows")


@sensitive_post_parameters("password")
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def add(request: HttpRequest) -> HttpResponse:
    """Add an account."""
    access.require(request.user, "people.grant")
    form = PersonForm(request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        try:
            user = service.create_person(actor=_actor(request), **form.cleaned_data)
        except (ValidationError, DomainError) as refusal:
            show(form, refusal, "password")
        else:
            messages.success(request, _("%(name)s can sign in now.") % {"name": user})
            return redirect("person", user.pk)
    context = {"form": form, "crumbs": [{"label": _("People"), "url": "/people/"}]}
    return page(request, "tenants/person_form.html", context, status=422 if form.errors else 200)


@require_safe
@login_required
def account(request: HttpRequest, pk: int) -> HttpResponse:
    """Show an account with its roles."""
    row = access.person(request.user, pk)
    held = set(row.platform_roles.values_list("role", flat=True))
    context = {
        "row": row,
        "roles": [(role, role in held) for role in PlatformRole.Role],
        "memberships": row.memberships.select_related("tenant").order_by("tenant__slug", "role"),
        "may_grant": access.can(request.user, "people.grant") and row.pk != request.user.pk,
        "crumbs": [{"label": _("People"), "url": "/people/"}],
    }
    return page(request, "tenants/account.html", context)


@require_POST
@login_required
def role(request: HttpRequest, pk: int) -> HttpResponse:
    """Give a platform role, or take it away."""
    row = access.person(request.user, pk, "people.grant")
    form = RoleForm(request.POST)
    if form.is_valid():
        step = service.grant_role if form.cleaned_data["step"] == "give" else service.take_role
        step(actor=_actor(request), user=row, role=form.cleaned_data["role"])
        messages.success(request, _("The roles of %(name)s are changed.") % {"name": row})
    else:
        messages.error(request, _("That could not be read. Nothing was changed."))
    return redirect("person", row.pk)


@require_POST
@login_required
def close(request: HttpRequest, pk: int) -> HttpResponse:
    """Close an account."""
    row = access.person(request.user, pk, "people.grant")
    service.deactivate(actor=_actor(request), user=row)
    messages.success(request, _("The account of %(name)s is closed.") % {"name": row})
    return redirect("person", row.pk)


# --- members of a tenant ------------------------------------------------------------------------------


@require_safe
@login_required
def people(request: HttpRequest, slug: str) -> HttpResponse:
    """Show who is in a tenant and as what."""
    tenant = access.tenant(request.user, slug, "tenant.people")
    return _members(request, tenant, MemberForm(initial={"step": "add"}))


@require_POST
@login_required
def member(request: HttpRequest, slug: str) -> HttpResponse:
    """Add a member, or take a role away."""
    tenant = access.tenant(request.user, slug, "tenant.add_member")
    form = MemberForm(request.POST)
    if not form.is_valid():
        if "step" in form.errors:
            # The step is the button that was pressed: no field shows what is wrong with it.
            messages.error(request, _("That could not be read. Nothing was changed."))
        return _members(request, tenant, form, status=422)
    data = form.cleaned_data
    step = service.add_member if data["step"] == "add" else service.remove_member
    step(actor=_actor(request), tenant=tenant, user=data["username"], role=data["role"])
    messages.success(request, _("The people of %(tenant)s are changed.") % {"tenant": tenant})
    return redirect("tenant-people", tenant.slug)


def _members(
    request: HttpRequest, tenant: Any, form: MemberForm, status: int = 200
) -> HttpResponse:
    names_leads = access.can(request.user, "tenant.name_lead", tenant)
    if not names_leads:
        kept = [choice for choice in Membership.Role.choices if choice[0] != access.LEAD]
        field_of(form, "role", PickField).choices = kept
    context = {
        "tenant": tenant,
        "members": selectors.members(tenant),
        "form": form,
        "may_add": access.can(request.user, "tenant.add_member", tenant),
        "names_leads": names_leads,
        "sees_contacts": access.can(request.user, "tenant.contacts", tenant),
        "crumbs": [{"label": str(tenant), "url": f"/t/{tenant.slug}/"}],
    }
    return page(request, "tenants/people.html", context, status=status)


# --- oneself ------------------------------------------------------------------------------------------


@sensitive_post_parameters("old", "new")
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def password(request: HttpRequest) -> HttpResponse:
    """Change one's own password; other sessions of the person end."""
    form = PasswordForm(request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        try:
            user = service.change_password(
                actor=_actor(request), address=client_address(request), **form.cleaned_data
            )
        except (ValidationError, DomainError) as refusal:
            show(form, refusal, "new")
        else:
            update_session_auth_hash(request, user)
            messages.success(request, _("The new password counts from now on."))
            return redirect("password")
    return page(
        request, "tenants/password.html", {"form": form}, status=422 if form.errors else 200
    )


def show(form: Any, refusal: ValidationError | DomainError, field: str) -> None:
    """Put a refusal of the service beside its field."""
    if isinstance(refusal, DomainError):
        form.add_error(refusal.field, str(refusal.message))
    elif hasattr(refusal, "error_dict"):
        for name, texts in refusal.message_dict.items():
            form.add_error(name if name in form.fields else None, texts)
    else:
        form.add_error(field, refusal.messages)


def _actor(request: HttpRequest) -> User:
    return request.user  # type: ignore[return-value]
