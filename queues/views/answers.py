"""How views of this app answer: go to a page after a change, keep a list of what was asked."""

from __future__ import annotations

from typing import Any, cast

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import resolve_url

from portal.web.pages import wants_partial
from queues.selectors.freshness import generation, oldest
from tenants.models import User

__all__ = ["SeeOther", "generation", "oldest", "person", "see_other"]


def person(request: HttpRequest) -> User:
    """Return who is signed in; every view of this app has ``login_required`` above it."""
    return cast(User, request.user)


class SeeOther(HttpResponseRedirect):
    """After a POST, a GET."""

    status_code = 303


def see_other(request: HttpRequest, said: str, to: Any, *args: Any) -> HttpResponse:
    """Say what was done and show where it can be seen; htmx loads the page as a whole."""
    messages.success(request, said)
    url = resolve_url(to, *args)
    if wants_partial(request):
        return HttpResponse(status=204, headers={"HX-Redirect": url})
    return SeeOther(url)
