"""What a plan does to those who hold and borrow, from the observed numbers of this moment."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.db.models import Max

from kube.catalog import Catalog
from kube.impact import reductions
from queues.models import ObservedObject
from queues.selectors.room import Tree
from tenants.models import Cluster


def of(cluster: Cluster, before: Catalog, after: Catalog) -> dict[str, Any]:
    """Return what goes down and what that hits; ``held`` is null where nothing was observed."""
    rows = ObservedObject.objects.filter(cluster=cluster, kind__in=("ClusterQueue", "Cohort"))
    usage = {
        (name, flavor, resource): amount
        for name, node in Tree(rows).queues.items()
        for (flavor, resource), amount in _with_idle_lines(node).items()
    }
    seen = rows.aggregate(latest=Max("observed_at"))["latest"]
    return {
        "reductions": [asdict(row) for row in reductions(before, after, usage)],
        "observed_at": seen.isoformat() if seen else None,
    }


def _with_idle_lines(node: Any) -> dict[tuple[str, str], int]:
    """A line that is observed and holds nothing is zero, not unknown."""
    return {key: node.held.get(key, 0) for key in {*node.lines, *node.held}}
