"""What every request and every answer carries."""

import re
import uuid
from collections.abc import Callable

import structlog
from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.db import IntegrityError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.cache import patch_vary_headers
from django.utils.translation import gettext as _
from psycopg.errors import ExclusionViolation, UniqueViolation

from portal.web import health
from portal.web.errors import DomainError, Stale, answer

log = structlog.get_logger(__name__)
Next = Callable[[HttpRequest], HttpResponse]
#: What was looked for and not there a moment ago is there now.
TAKEN = (UniqueViolation, ExclusionViolation)
REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{8,64}")


class RequestIdMiddleware:
    """Give each request an id, or keep the one it came with, and send it back."""

    def __init__(self, get_response: Next) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Set it where the log, the error pages and the audit find it."""
        given = request.META.get("HTTP_X_REQUEST_ID", "")
        # What came from outside ends up in logs, so its form is checked.
        request_id = given if REQUEST_ID.fullmatch(given) else uuid.uuid4().hex
        request.META["HTTP_X_REQUEST_ID"] = request_id
        request.request_id = request_id  # type: ignore[attr-defined]
        response = self.get_response(request)
        response["X-Request-ID"] = request_id
        return response


class HealthMiddleware:
    """Answer the probes before anything looks at the host or the scheme.

    Who probes uses the address of a container or a pod, which no list of hosts can name.
    """

    def __init__(self, get_response: Next) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer at once, or pass on."""
        view = health.PROBES.get(request.path_info)
        if view is None:
            return self.get_response(request)
        response = view(request)
        response["Cache-Control"] = "no-store"
        return response


class HeadersMiddleware:
    """Say to caches and browsers what they may keep and use."""

    def __init__(self, get_response: Next) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Only fill in what a view has not said itself."""
        response = self.get_response(request)
        if not request.path_info.startswith(settings.STATIC_URL):
            response.headers.setdefault("Cache-Control", "private, no-store")
            patch_vary_headers(response, ["HX-Request", "Cookie"])
        response.headers.setdefault(
            "Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()"
        )
        response.headers.setdefault("Cross-Origin-Resource-Policy", "same-origin")
        return response


class LoginRedirectMiddleware:
    """Send the whole browser to the login when a partial's session has ended.

    htmx would follow the redirect and put the login page into the middle of a table.
    """

    def __init__(self, get_response: Next) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Turn the redirect to the login into htmx's own."""
        response = self.get_response(request)
        htmx = getattr(request, "htmx", None)
        if not htmx or not isinstance(response, HttpResponseRedirect):
            return response
        if not response.url.startswith(settings.LOGIN_URL):
            return response
        page = htmx.current_url_abs_path or "/"
        page = "/" if page.startswith("//") else page
        target = redirect_to_login(page, settings.LOGIN_URL).url
        return HttpResponse(status=401, headers={"HX-Redirect": target})


class DomainErrorMiddleware:
    """Answer a `DomainError` that a view let through."""

    def __init__(self, get_response: Next) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Nothing to do on the way."""
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """Answer ours, and what two people have done at once; leave all others to Django."""
        if isinstance(exception, IntegrityError) and isinstance(exception.__cause__, TAKEN):
            sentence = _("Somebody else did the same at this moment. Look at it, and try again.")
            exception = Stale(sentence)
        if not isinstance(exception, DomainError):
            return None
        log.info("refused", code=exception.code, status=int(exception.status))
        return answer(request, exception)
