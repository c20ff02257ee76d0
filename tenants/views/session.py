"""Signing in and out."""

from __future__ import annotations

from django.contrib.auth import login, logout
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from portal.web.errors import DomainError
from portal.web.pages import page
from tenants.addresses import client_address, safe_next
from tenants.forms import SignInForm
from tenants.models import User
from tenants.services import people
from tenants.signals import rights_changed


@sensitive_post_parameters("password")
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in(request: HttpRequest) -> HttpResponse:
    """Ask for name and password; whoever is signed in already goes on."""
    target = safe_next(request)
    if request.user.is_authenticated:
        return redirect(target)
    form = SignInForm(request.POST if request.method == "POST" else None)
    status = 200
    if request.method == "POST":
        status = 422
        if form.is_valid():
            try:
                user = people.sign_in(address=client_address(request), **form.cleaned_data)
            except DomainError as refusal:
                form.add_error(None, str(refusal.message))
                status = refusal.status
            else:
                login(request, user)
                return redirect(target)
    return page(request, "tenants/sign_in.html", {"form": form, "next": target}, status=status)


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    """End the session."""
    user = request.user
    if isinstance(user, User):
        people.sign_out(actor=user)
    logout(request)
    if isinstance(user, User):
        # Only now is the session gone; who looks again a moment earlier would still find it.
        rights_changed.send(User, user_id=user.pk)
    return redirect("login")
