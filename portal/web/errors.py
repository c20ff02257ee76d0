"""What went wrong, for people and for programs: a stable code, a sentence, sometimes a field."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import structlog
from django.contrib.staticfiles.storage import staticfiles_storage
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template import TemplateDoesNotExist
from django.template.loader import render_to_string
from django.utils.cache import patch_vary_headers
from django.utils.html import escape
from django.utils.translation import gettext as _

log = structlog.get_logger(__name__)

PROBLEM_JSON = "application/problem+json"
# What an error is, as a name that never changes; docs/error-codes.md explains each.
PROBLEM_TYPE = "urn:gpu-quota-portal:error:"


class DomainError(Exception):
    """A rule said no. Raised by services, answered by the middleware, never a traceback.

    `code` is stable and documented ("GP-1203"); `message` is a sentence for a person, already
    translated or lazy; `field` is the input that it is about.
    """

    status: int = HTTPStatus.UNPROCESSABLE_ENTITY
    code: str = "GP-1000"

    def __init__(
        self,
        message: Any,
        *,
        code: str | None = None,
        field: str | None = None,
        status: int | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.field = field
        self.code = code or type(self).code
        self.status = status or type(self).status
        self.details = dict(details or {})

    def __str__(self) -> str:
        """Code and sentence, as they appear in a log."""
        return f"{self.code} {self.message}"


class Refused(DomainError):
    """The request is understood, and a rule forbids what it asks for."""

    code = "GP-1001"


class Stale(DomainError):
    """Somebody or something was quicker: what the decision was based on has changed."""

    status = HTTPStatus.CONFLICT
    code = "GP-1002"


class NotAllowed(DomainError):
    """The person may see the thing, but may not do this with it."""

    status = HTTPStatus.FORBIDDEN
    code = "GP-1003"


def wants_json(request: HttpRequest) -> bool:
    """Tell a program from a browser."""
    if request.path_info.startswith("/api/"):
        return True
    return request.get_preferred_type(["text/html", "application/json"]) == "application/json"


def problem(request: HttpRequest, error: DomainError) -> dict[str, Any]:
    """Return the facts of an error, the same for every form that it is shown in."""
    facts = {
        "code": error.code,
        "message": str(error.message),
        "status": int(error.status),
        "request_id": getattr(request, "request_id", ""),
    }
    if error.field:
        facts["field"] = error.field
    if error.details:
        facts["details"] = error.details
    return facts


def details_of(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts of an error as a problem of RFC 9457."""
    named = {
        name: facts[name] for name in ("code", "request_id", "field", "details") if name in facts
    }
    return {
        "type": f"{PROBLEM_TYPE}{facts['code']}",
        "title": HTTPStatus(facts["status"]).phrase,
        "status": facts["status"],
        "detail": facts["message"],
        **named,
    }


def as_json(facts: Mapping[str, Any]) -> JsonResponse:
    """Answer a program: ``application/problem+json``."""
    return JsonResponse(details_of(facts), status=facts["status"], content_type=PROBLEM_JSON)


def answer(request: HttpRequest, error: DomainError) -> HttpResponse:
    """Turn an error into JSON, a partial for htmx, or a page."""
    facts = problem(request, error)
    if wants_json(request):
        response: HttpResponse = as_json(facts)
    else:
        response = HttpResponse(render(request, facts), status=error.status)
    patch_vary_headers(response, ["Accept", "HX-Request", "Cookie"])
    return response


def render(request: HttpRequest, facts: Mapping[str, Any]) -> str:
    """Render errors/error.html, or its partial `panel` for htmx; plain HTML when that fails."""
    htmx = getattr(request, "htmx", None)
    template = "errors/error.html"
    if htmx and not htmx.boosted:
        template += "#panel"
    try:
        return render_to_string(template, {"error": facts}, request=request)
    except TemplateDoesNotExist:
        return plain(facts)


def plain(facts: Mapping[str, Any]) -> str:
    """Return a page that needs no template, no session and no database."""
    message, code = escape(facts["message"]), escape(facts["code"])
    number = escape(facts["request_id"])
    return (
        "<!doctype html>"
        f'<html lang="en"><head><meta charset="utf-8"><title>{code}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"{sheet()}</head>"
        '<body><main role="alert"><section class="panel bad">'
        f"<h1>{message}</h1>"
        f'<p class="panel-meta"><code>{code}</code> <code>{number}</code></p></section>'
        '<p><a href="/">GPU quota portal</a></p></main></body></html>'
    )


def sheet() -> str:
    """Return the link to the style sheet, or nothing where that cannot be found either."""
    try:
        url = staticfiles_storage.url("portal.css")
    except Exception:  # noqa: BLE001 - an error page must not fail over its looks
        return ""
    return f'<link rel="stylesheet" href="{escape(url)}">'


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer 400. The exception's text may quote what was sent, so it is not shown."""
    error = Refused(_("The request could not be read."), code="GP-1400", status=400)
    return answer(request, error)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer 403."""
    return answer(request, NotAllowed(_("You may not do this."), code="GP-1403"))


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer 404: the same for what does not exist and for what is not yours to see."""
    error = Refused(_("There is nothing here that you can see."), code="GP-1404", status=404)
    return answer(request, error)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Answer a form whose CSRF token is missing or old."""
    log.warning("csrf_refused", reason=reason)
    sentence = _("This form is too old or came from another site. Reload the page and try again.")
    return answer(request, NotAllowed(sentence, code="GP-1405"))


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer 500 without touching anything that may be what is broken."""
    sentence = "Something went wrong on our side. Try again in a minute."
    if request.method not in ("GET", "HEAD"):
        # It may have gone wrong after the commit.
        sentence = (
            "Something went wrong on our side. Look whether it was done before you try again."
        )
    error = DomainError(sentence, code="GP-1500", status=500)
    facts = problem(request, error)
    if wants_json(request):
        return as_json(facts)
    return HttpResponse(plain(facts), status=500)
