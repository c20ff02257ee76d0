"""How views of this app answer: go to a page after a change, keep a list of what was asked."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, cast

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import resolve_url

from portal.web.pages import wants_partial
from queues.selectors.freshness import Freshness
from tenants.models import User

# A page's stamp follows the age of its data in steps of this many seconds.
STEP = 10


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


def generation(*facts: object, ages: Freshness | None = None) -> tuple[object, ...]:
    """Give the stamp of a page: its facts, and the age of its data in coarse steps."""
    if ages is None:
        return facts
    return (*facts, _step(ages.at), ages.lost_since)


def _step(at: datetime | None) -> int:
    return int(at.timestamp()) // STEP if at else 0


def oldest(ages: Mapping[int, Freshness]) -> Freshness:
    """Give the age of a page that joins several clusters: that of its oldest part."""
    rows = list(ages.values())
    if not rows:
        return Freshness()
    lost = [row.lost_since for row in rows if row.lost_since]
    times = [row.at for row in rows]
    known = [at for at in times if at is not None]
    return Freshness(
        at=min(known) if known and None not in times else None,
        lost_since=min(lost) if lost else None,
        error=next((row.error for row in rows if row.error), ""),
    )
