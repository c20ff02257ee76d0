"""One way to answer with a page, or with the named part of it that htmx asks for."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_vary_headers
from django.utils.http import parse_etags
from django.utils.translation import get_language

PERSONAL = "private, no-store"
# With a stamp the browser may keep the page, but asks each time whether it is still good.
ASK_EACH_TIME = "private, no-cache"


def page(
    request: HttpRequest,
    template: str,
    ctx: Mapping[str, Any],
    partial: str | None = None,
    seen: object = None,
    *,
    status: int = 200,
) -> HttpResponse:
    """Render `template`, or only its `partial` when htmx asks without boosting.

    `seen` is the generation of the data, a number or a time that moves whenever the page would
    look different. A browser that has the page of this generation gets 304, a polling htmx
    element that sends `?seen=` gets 204 and leaves the screen alone.
    """
    part = partial if wants_partial(request) else None
    stamp = "" if seen is None else stamp_of(request, template, part, seen)
    if stamp and status == 200 and (code := unchanged(request, stamp)):
        response = HttpResponse(status=code)
    else:
        name = f"{template}#{part}" if part else template
        response = render(request, name, {**ctx, "seen": stamp}, status=status)
    if stamp and status == 200:
        response["ETag"] = f'W/"{stamp}"'
    response["Cache-Control"] = ASK_EACH_TIME if stamp and status == 200 else PERSONAL
    patch_vary_headers(response, ["HX-Request", "Cookie"])
    return response


def page_if_moved(
    request: HttpRequest,
    template: str,
    draw: Callable[[], tuple[Mapping[str, Any], object]],
    partial: str | None = None,
    *,
    moved: object,
    alive: Mapping[str, datetime] | None = None,
) -> HttpResponse:
    """Render a page like `page`, but ask for its context only when something may have moved.

    `moved` is cheap to know and differs whenever the page could look different; `draw` gives
    the context and the facts that it shows. A browser that shows this `moved` gets 304 or 204
    without a call of `draw`, one that shows equal facts gets it after the call. `alive` are the
    newest times of data by name: an open page counts on from them though it is not sent again.
    """
    part = partial if wants_partial(request) else None
    response = _if_moved(request, template, draw, part, stamp_of(request, template, part, moved))
    if alive:
        times = (f"{name}={at.timestamp() * 1_000_000:.0f}" for name, at in sorted(alive.items()))
        response["X-Alive"] = " ".join(times)
    return response


def _if_moved(
    request: HttpRequest,
    template: str,
    draw: Callable[[], tuple[Mapping[str, Any], object]],
    part: str | None,
    first: str,
) -> HttpResponse:
    for shown, code in shown_by(request):
        if shown.startswith(first):
            return _stamped(request, HttpResponse(status=code), shown)
    ctx, facts = draw()
    stamp = first + stamp_of(request, template, part, facts)
    for shown, code in shown_by(request):
        if shown[len(first) :] == stamp[len(first) :]:
            return _stamped(request, HttpResponse(status=code), stamp)
    name = f"{template}#{part}" if part else template
    return _stamped(request, render(request, name, {**ctx, "seen": stamp}), stamp)


def _stamped(request: HttpRequest, response: HttpResponse, stamp: str) -> HttpResponse:
    response["ETag"] = f'W/"{stamp}"'
    response["Cache-Control"] = ASK_EACH_TIME
    patch_vary_headers(response, ["HX-Request", "Cookie"])
    return response


def shown_by(request: HttpRequest) -> Iterator[tuple[str, int]]:
    """Give the stamps of what the browser shows, each with the status for "still good"."""
    if request.method not in ("GET", "HEAD"):
        return
    if wants_partial(request) and (stamp := request.GET.get("seen")):
        yield stamp, 204
    for tag in parse_etags(request.headers.get("If-None-Match", "")):
        yield tag.removeprefix('W/"').removesuffix('"'), 304


def wants_partial(request: HttpRequest) -> bool:
    """Tell an htmx request from a browser's own, and from a boosted link."""
    htmx = getattr(request, "htmx", None)
    if not htmx:
        return False
    return not htmx.boosted and not htmx.history_restore_request


def stamp_of(request: HttpRequest, template: str, part: str | None, seen: object) -> str:
    """Return a short text that differs whenever the rendered page may differ."""
    viewer = getattr(getattr(request, "user", None), "pk", None)
    facts = (template, part, viewer, get_language(), request.path, query_of(request), seen)
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:20]


def query_of(request: HttpRequest) -> str:
    """Return the query without the stamp itself."""
    query = request.GET.copy()
    query.pop("seen", None)
    return query.urlencode()


def unchanged(request: HttpRequest, stamp: str) -> int | None:
    """Return 204 or 304 when the browser shows this generation already."""
    return next((code for shown, code in shown_by(request) if shown == stamp), None)
