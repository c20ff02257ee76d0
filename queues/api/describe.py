"""How each address is described in the OpenAPI file: its parameters, its answers, its errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

import django_filters
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.serializers import Serializer

from portal.web.lists import LARGEST, SIZE

V = TypeVar("V", bound=Callable[..., Any])
QUERY: Final = "query"
PROBLEM_JSON = "application/problem+json"


class Problem(Serializer):
    """What went wrong, as RFC 9457 writes it. The codes are explained in docs/error-codes.md."""

    type = serializers.CharField(help_text="A name of the error that never changes.")
    title = serializers.CharField()
    status = serializers.IntegerField()
    detail = serializers.CharField(help_text="A sentence for a person.")
    code = serializers.RegexField(r"^GP-[0-9]{4}$")
    request_id = serializers.CharField(help_text="Also in the header X-Request-ID and in the log.")
    field = serializers.CharField(required=False, help_text="The parameter that it is about.")
    details = serializers.DictField(required=False)


ERRORS = {
    400: "A parameter cannot be read: GP-1420 for a cursor, GP-1421 for any other.",
    401: "Nobody is signed in.",
    403: "It is there, but your roles do not allow this.",
    404: "There is no such thing, or it is not yours to see.",
}
UNCHANGED = OpenApiResponse(description="You have this answer already (If-None-Match).")


def listing(
    tag: str,
    shape: type[Serializer],
    filters: type[django_filters.FilterSet] | None,
    orders: Mapping[str, tuple[str, ...]],
    *,
    guarded: bool = False,
) -> Callable[[V], V]:
    """Describe a list with its filters, its orders and its pages; ``guarded``: not for everybody."""
    parameters = [*(_filter(name, each) for name, each in _filters(filters)), *_paging(orders)]
    return _described(f"list_{tag}", tag, shape, parameters, (400, 401, *_refused(guarded)))


def one(name: str, tag: str, shape: type[Serializer], *, guarded: bool = False) -> Callable[[V], V]:
    """Describe one thing; ``name`` is what a client made from the description calls it."""
    return _described(name, tag, shape, [], (400, 401, *_refused(guarded), 404))


def pages_of(
    name: str,
    tag: str,
    shape: type[Serializer],
    orders: Mapping[str, tuple[str, ...]],
    filters: type[django_filters.FilterSet] | None = None,
    *,
    guarded: bool = False,
) -> Callable[[V], V]:
    """Describe a list that belongs to one thing."""
    parameters = [*(_filter(name, each) for name, each in _filters(filters)), *_paging(orders)]
    return _described(name, tag, shape, parameters, (400, 401, *_refused(guarded), 404))


def _refused(guarded: bool) -> tuple[int, ...]:
    return (403,) if guarded else ()


def _described(
    name: str,
    tag: str,
    shape: type[Serializer],
    parameters: list[OpenApiParameter],
    errors: tuple[int, ...],
) -> Callable[[V], V]:
    refusals = {
        (status, PROBLEM_JSON): OpenApiResponse(Problem, description=ERRORS[status])
        for status in errors
    }
    found: Callable[[V], V] = extend_schema(
        operation_id=name,
        tags=[tag],
        parameters=[*parameters, *HEADERS],
        responses={200: shape, 304: UNCHANGED, **refusals},
    )
    return found


HEADERS = [
    OpenApiParameter(
        "If-None-Match", str, OpenApiParameter.HEADER,
        description="ETag of the answer that you have; the same again is a 304 without a body.",
    ),
    OpenApiParameter(
        "ETag", str, OpenApiParameter.HEADER, response=[200, 304],
        description="Moves when the answer says something else; its age alone is nothing else.",
    ),
    OpenApiParameter(
        "Observed-At", str, OpenApiParameter.HEADER, response=[200, 304],
        description="When what is said was true, also for the answer that you have already.",
    ),
]  # fmt: skip


def _paging(orders: Mapping[str, tuple[str, ...]]) -> list[OpenApiParameter]:
    first = next(iter(orders))
    return [
        OpenApiParameter("sort", str, QUERY, enum=list(orders), default=first),
        OpenApiParameter(
            "size", {"type": "integer", "minimum": 1, "maximum": LARGEST, "default": SIZE}, QUERY,
            description="Rows of one page.",
        ),
        OpenApiParameter(
            "after", str, QUERY,
            description="Cursor out of next. It holds with the same sort, and is not to be read.",
        ),
    ]  # fmt: skip


def _filters(
    filters: type[django_filters.FilterSet] | None,
) -> list[tuple[str, django_filters.Filter]]:
    return list(filters.base_filters.items()) if filters else []


def _filter(name: str, each: django_filters.Filter) -> OpenApiParameter:
    choices = each.extra.get("choices")
    values = [value for value, _words in choices] if choices else None
    schema: Any = str
    if length := each.extra.get("max_length"):
        schema = {"type": "string", "maxLength": length}
    return OpenApiParameter(name, schema, QUERY, enum=values, description=str(each.label))
