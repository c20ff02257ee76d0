"""The way in, and the description of all of it, made from the code."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from django.urls import reverse
from django.utils import translation
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.renderers import OpenApiYamlRenderer
from drf_spectacular.utils import extend_schema
from rest_framework import renderers
from rest_framework.request import Request
from rest_framework.response import Response

from portal.web.api import ReadView
from queues.api import shapes


class SessionScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """How the session is described. The name is the one behind HTTPS."""

    target_class = "portal.web.authentication.SessionAuthentication"
    name = "session"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, str]:
        """Give the cookie."""
        return {"type": "apiKey", "in": "cookie", "name": "__Host-sessionid"}


PLACES = (
    "jobs", "queues", "tenants", "requests", "clusters", "periods", "bills", "schema",
)  # fmt: skip


class Root(ReadView):
    """Where things are."""

    @extend_schema(exclude=True)
    def get(self, request: Request) -> Response:
        """Give the address of each list."""
        return Response({name: reverse(f"api-{name}") for name in PLACES})


class Schema(ReadView):
    """The OpenAPI description, in YAML or, for who accepts application/json, in JSON."""

    renderer_classes = (OpenApiYamlRenderer, renderers.JSONRenderer)

    @extend_schema(exclude=True)
    def get(self, request: Request) -> Response:
        """Give the description."""
        return Response(described())


@cache
def described() -> Mapping[str, Any]:
    """Return the description of every address, in English."""
    with translation.override("en"):
        generator: Any = SchemaGenerator()  # type: ignore[no-untyped-call]
        found: Mapping[str, Any] = generator.get_schema(public=True)
    return found


def as_yaml() -> str:
    """Return the description as the file that is kept."""
    renderer: Any = OpenApiYamlRenderer()
    made: bytes = renderer.render(described(), renderer_context={})
    return made.decode()


__all__ = ["Root", "Schema", "as_yaml", "described", "shapes"]
