"""Requests for quota and for changes of the catalog."""

from __future__ import annotations

from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from portal.web.api import ReadView
from portal.web.cursors import asked, window
from queues.api import describe
from queues.api import queue_shapes as shapes
from queues.api.answers import at_once, filtered, next_page
from queues.filters import RequestFilter
from queues.selectors.requests import listed
from tenants import access

ORDERS = {"newest": ("-created_at",), "oldest": ("created_at",), "moved": ("-updated_at",)}


class Requests(ReadView):
    """The requests that you see."""

    filters = tuple(RequestFilter.base_filters)
    paged = True

    @describe.listing("requests", shapes.Requests, RequestFilter, ORDERS)
    def get(self, request: Request) -> Response:
        """List requests, newest first."""
        wanted = asked(request.query_params, "requests", ORDERS)
        request._request.visible_tenants = access.tenants(request.user)  # type: ignore[attr-defined]
        rows = filtered(RequestFilter, listed(access.requests(request.user)), request)
        page = window(rows, wanted)
        facts = {
            **at_once(),
            "clusters": [],
            "items": page.rows,
            "next": next_page(request, page.after),
        }
        return self.answer(shapes.Requests, facts)


class OneRequest(ReadView):
    """One request."""

    @describe.one("get_request", "requests", shapes.RequestAnswer)
    def get(self, request: Request, pk: UUID) -> Response:
        """Give what was asked for, by whom, and where it stands."""
        facts = {**at_once(), "request": access.request(request.user, pk)}
        return self.answer(shapes.RequestAnswer, facts)
