"""Tenants: their queues, and how many jobs are in which state."""

from __future__ import annotations

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from portal.web.api import ReadView
from portal.web.cursors import asked, window
from queues.api import describe
from queues.api import queue_shapes as shapes
from queues.api.answers import ages, at_once, next_page
from queues.selectors import jobs as select
from queues.selectors import pulse
from queues.selectors.freshness import oldest
from queues.selectors.tenants import tenant_queues
from tenants import access
from tenants.models import Tenant

ORDERS = {"name": ("slug",)}


class Tenants(ReadView):
    """The tenants that exist for you."""

    paged = True

    @describe.listing("tenants", shapes.Tenants, None, ORDERS)
    def get(self, request: Request) -> Response:
        """List tenants by name."""
        wanted = asked(request.query_params, "tenants", ORDERS)
        page = window(access.tenants(request.user), wanted)
        held = access.rights(request.user)
        facts = {
            **at_once(),
            "clusters": [],
            "items": [_tenant(row, held) for row in page.rows],
            "next": next_page(request, page.after),
        }
        return self.answer(shapes.Tenants, facts)


class OneTenant(ReadView):
    """One tenant."""

    @describe.one("get_tenant", "tenants", shapes.TenantAnswer)
    def get(self, request: Request, slug: str) -> Response:
        """Give a tenant's queues with their quota, and the numbers of its jobs."""
        rows = pulse.of_tenant(access.tenants(request.user))
        row = access.fetch(request.user, rows, "tenant.see", slug=slug)
        beat = pulse.read(row)
        return self.answer_if_moved(
            shapes.TenantAnswer,
            lambda: _facts(request, row, beat),
            moved=beat.quiet_stamp(access.rights(request.user)),
            observed_at=oldest(beat.ages).at,
        )


def _facts(request: Request, row: Tenant, beat: pulse.Pulse) -> dict[str, Any]:
    queues = tenant_queues(row)
    return {
        **ages(beat.ages, (each.queue.cluster for each in queues)),
        "tenant": _tenant(row, access.rights(request.user)),
        "queues": queues,
        "jobs": _jobs(request, row),
    }


def _tenant(row: Tenant, held: access.Rights) -> dict[str, Any]:
    roles = sorted(held.within(row.pk))
    return {"slug": row.slug, "display_name": row.display_name, "roles": roles}


def _jobs(request: Request, row: Tenant) -> dict[str, int] | None:
    if not access.can(request.user, "tenant.jobs", row):
        return None
    return select.counts(select.of_tenants(Tenant.objects.filter(pk=row.pk)))
