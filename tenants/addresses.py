"""Where a request comes from, and where a person may be sent after signing in."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest
from django.utils.http import url_has_allowed_host_and_scheme


def client_address(request: HttpRequest) -> str:
    """Return the address of the browser, believing only as many proxies as are ours."""
    direct = str(request.META.get("REMOTE_ADDR", ""))
    hops = int(settings.TRUSTED_PROXIES)
    if not hops:
        return direct
    forwarded = request.headers.get("X-Forwarded-For", "").split(",")
    chain = [part.strip() for part in forwarded if part.strip()]
    # Each proxy appends who called it: the last `hops` entries are written by ours.
    return chain[-hops] if len(chain) >= hops else direct


def safe_next(request: HttpRequest) -> str:
    """Return the page to go to after signing in: a path of this portal, or the start."""
    target = request.POST.get("next") or request.GET.get("next") or ""
    local = target.startswith("/") and not target.startswith("//") and "\\" not in target
    allowed = url_has_allowed_host_and_scheme(
        target, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return target if local and allowed and target.isprintable() else "/"
