"""Signing in with one click. These addresses exist in demo mode only."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth import login
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import path
from django.views.decorators.http import require_POST

from portal.demo.cast import PEOPLE
from tenants.models import User

LOOPBACK = frozenset({"127.0.0.1", "::1"})
BACKEND = "django.contrib.auth.backends.ModelBackend"


def offered(request: HttpRequest) -> list[dict[str, str]]:
    """Return the accounts that the sign-in page may offer to this visitor: often none."""
    if not settings.DEMO or request.META.get("REMOTE_ADDR") not in LOOPBACK:
        return []
    return [
        {"url": "/demo/sign-in", "username": p.username, "label": p.display_name, "role": p.what}
        for p in PEOPLE
    ]


def accounts(request: HttpRequest) -> dict[str, object]:
    """Context processor of the demo."""
    return {"demo_accounts": offered(request)} if request.path == "/login/" else {}


@require_POST
def sign_in(request: HttpRequest) -> HttpResponse:
    """Sign in as a person of the cast; only from this machine, only in the demo."""
    names = {account["username"] for account in offered(request)}
    username = request.POST.get("username", "")
    if username not in names:
        raise Http404
    user = get_object_or_404(User, username=username, is_active=True)
    login(request, user, backend=BACKEND)
    return redirect("/")


urlpatterns = [path("demo/sign-in", sign_in, name="demo-sign-in")]
