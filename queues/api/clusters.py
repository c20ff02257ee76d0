"""Clusters: how well each is heard, what runs and waits, what is left of each flavor."""

from __future__ import annotations

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from portal.web.api import ReadView
from portal.web.cursors import asked, window
from queues.api import describe
from queues.api import queue_shapes as shapes
from queues.api.answers import age_of, ages_of, next_page
from queues.selectors.clusters import ClusterNow, cluster_now, cluster_rows
from queues.selectors.freshness import QUEUES
from tenants import access
from tenants.models import Cluster

ORDERS = {"name": ("slug",)}


class Clusters(ReadView):
    """The clusters, for everybody with a role."""

    paged = True

    @describe.listing("clusters", shapes.Clusters, None, ORDERS)
    def get(self, request: Request) -> Response:
        """List clusters by name."""
        wanted = asked(request.query_params, "clusters", ORDERS)
        page = window(access.clusters(request.user), wanted)
        keys = [row.pk for row in page.rows]
        facts = {
            **ages_of(page.rows, QUEUES),
            "items": cluster_rows(Cluster.objects.filter(pk__in=keys).order_by("slug")),
            "next": next_page(request, page.after),
        }
        return self.answer(shapes.Clusters, facts)


class OneCluster(ReadView):
    """One cluster."""

    @describe.one("get_cluster", "clusters", shapes.ClusterAnswer)
    def get(self, request: Request, slug: str) -> Response:
        """Give the numbers and the capacity of each flavor; the platform sees the lines too."""
        row = access.cluster(request.user, slug)
        now = cluster_now(row)
        sees = access.can(request.user, "cluster.details", row)
        facts = {
            **age_of(row, QUEUES),
            "cluster": now.row,
            "pools": now.pools,
            "details": _details(now) if sees else None,
        }
        return self.answer(shapes.ClusterAnswer, facts)


def _details(now: ClusterNow) -> dict[str, Any]:
    link = now.row.link
    seen = link.capabilities if link else {}
    return {
        "lines": now.row.streams,
        "drifted": now.row.drifted,
        "checked_at": link.checked_at if link else None,
        "check_error": link.check_error if link else "",
        "revision": now.head.number if now.head else None,
        "kubernetes": seen.get("kubernetes", ""),
        "kueue": seen.get("kueue_version", ""),
    }
