"""How the API answers: what may be kept, and one form for every answer and every error."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from http import HTTPStatus
from typing import Any, ClassVar, Final

import orjson
from django.core.exceptions import PermissionDenied
from django.http import Http404
from django.utils.cache import patch_vary_headers
from django.utils.functional import Promise
from django.utils.http import parse_etags
from django.utils.translation import gettext_lazy as _
from rest_framework import exceptions, views
from rest_framework.fields import DateTimeField
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer

from portal.web import errors
from portal.web.cursors import COMMON, only
from portal.web.errors import DomainError, NotAllowed, Refused
from portal.web.pages import ASK_EACH_TIME, stamp_of

OBSERVED_AT: Final = "Observed-At"
#: The form of our tags: none of another form is repeated in an answer.
OURS: Final = re.compile(r'\*|(?:W/)?"[0-9a-f]{20,40}"')
#: What says how old an answer is, and changes without anything having happened.
AGING: Final = frozenset({"observed_at", "age_seconds", "clusters"})


class ReadView(views.APIView):
    """An address that is only read. Subclasses write ``get`` and end with ``answer``."""

    http_method_names = ["get", "head"]
    #: The parameters that ``get`` reads; any other is refused.
    filters: ClassVar[Collection[str]] = ()
    paged: ClassVar[bool] = False
    #: Names in the answer that repeat the others and their age.
    aging: ClassVar[Collection[str]] = ()

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Ask first who is there; then refuse forms and parameters that nobody knows.

        What would write is refused before anything of it is read.
        """
        if request.method not in ("GET", "HEAD"):
            raise exceptions.MethodNotAllowed(str(request.method))
        self.perform_authentication(request)
        self.check_permissions(request)
        super().initial(request, *args, **kwargs)
        only(request.query_params, [*self.filters, *(COMMON if self.paged else ())])

    def handle_exception(self, exc: Exception) -> Response:
        """Answer an error as JSON, whatever form the answer would have had."""
        self.request.accepted_renderer = JSONRenderer()
        self.request.accepted_media_type = JSONRenderer.media_type
        return super().handle_exception(exc)

    def answer(
        self, shape: type[BaseSerializer[Any]], facts: Mapping[str, Any], first: str = ""
    ) -> Response:
        """Give ``facts`` in ``shape``, or 304 to who has just this.

        The age moves all the time and is no news: it is left out of the ETag, and a 304 carries
        the new one in ``Observed-At``.
        """
        data = shape(facts, context={"request": self.request}).data
        aging = AGING.union(self.aging)
        news = {name: value for name, value in data.items() if name not in aging}
        stamp = self._stamp(as_text(news))
        same = any(tag == "*" or tag.endswith(stamp) for tag in self._shown())
        response = Response(status=HTTPStatus.NOT_MODIFIED) if same else Response(data)
        return _stamped(response, first + stamp, data.get("observed_at"))

    def answer_if_moved(
        self,
        shape: type[BaseSerializer[Any]],
        gather: Callable[[], Mapping[str, Any]],
        *,
        moved: object,
        observed_at: datetime | None,
    ) -> Response:
        """Answer the same, but ``gather`` the facts only when something may have moved.

        ``moved`` is cheap to know, and differs whenever the answer could say something else.
        """
        first = self._stamp(moved)
        for tag in self._shown():
            if tag.startswith(first):
                response = Response(status=HTTPStatus.NOT_MODIFIED)
                return _stamped(response, tag, as_time(observed_at))
        return self.answer(shape, gather(), first)

    def _stamp(self, facts: object) -> str:
        return stamp_of(self.request._request, type(self).__qualname__, None, facts)

    def _shown(self) -> list[str]:
        tags = parse_etags(self.request.headers.get("If-None-Match", ""))
        return [tag.removeprefix("W/").strip('"') for tag in tags if OURS.fullmatch(tag)]


def _stamped(response: Response, stamp: str, observed_at: object) -> Response:
    response["ETag"] = f'W/"{stamp}"'
    response["Cache-Control"] = ASK_EACH_TIME
    patch_vary_headers(response, ["Cookie", "Accept-Language"])
    if observed_at:
        response[OBSERVED_AT] = str(observed_at)
    return response


def as_time(at: datetime | None) -> str | None:
    """Write a time as every answer does."""
    return DateTimeField().to_representation(at) if at else None


def as_text(data: object) -> str:
    """Give data as one text, equal for equal data."""
    return orjson.dumps(data, default=str).decode()


# --- errors ---------------------------------------------------------------------------------------

#: What the framework itself refuses: the code and the sentence by the status.
REFUSALS: Final[Mapping[int, tuple[str, str | Promise]]] = {
    400: ("GP-1400", _("The request could not be read.")),
    401: ("GP-1401", _("Sign in first. There is nothing here for somebody who is not known.")),
    403: ("GP-1403", _("You may not do this.")),
    404: ("GP-1404", _("There is nothing here that you can see.")),
    405: ("GP-1406", _("This address cannot be used in this way. It can only be read.")),
    406: ("GP-1407", _("This can only be had as application/json.")),
    415: ("GP-1415", _("This form of content cannot be read. Send application/json.")),
    429: ("GP-1429", _("Too many requests. Wait as long as Retry-After says.")),
}


def api_exception(exception: Exception, context: Mapping[str, Any]) -> Response | None:
    """Answer an exception inside an API view in the one form that all errors have."""
    error = error_of(exception)
    if error is None:
        return None
    views.set_rollback()
    facts = errors.details_of(errors.problem(context["request"], error))
    response = Response(facts, status=error.status, content_type=errors.PROBLEM_JSON)
    for name, attribute in (("WWW-Authenticate", "auth_header"), ("Retry-After", "wait")):
        if (value := getattr(exception, attribute, None)) is not None:
            response[name] = str(value)
    return response


def error_of(exception: Exception) -> DomainError | None:
    """Return an exception as one of ours; None when it is a defect."""
    if isinstance(exception, DomainError):
        return exception
    if isinstance(exception, Http404):
        return _refusal(404)
    if isinstance(exception, PermissionDenied):
        return _refusal(403)
    if not isinstance(exception, exceptions.APIException):
        return None
    details = {}
    if isinstance(exception, exceptions.ValidationError):
        details = {"errors": exception.detail}
    return _refusal(exception.status_code, details)


def _refusal(status: int, details: Mapping[str, Any] | None = None) -> DomainError:
    code, sentence = REFUSALS.get(status, ("GP-1001", _("The request was refused.")))
    kind = NotAllowed if status == HTTPStatus.FORBIDDEN else Refused
    return kind(sentence, code=code, status=status, details=details)
