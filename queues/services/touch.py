"""A department that lost a queue: make Kueue look again at the jobs that wait there.

When a queue moves to another department, Kueue reconsiders the new tree only; a job in the old
one that would fit now keeps waiting. How a queue is touched without an effect is in
``kube.touch``; which one has to be is decided here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import structlog

from kube import errors
from kube.catalog import Catalog
from kube.client import ClusterClient
from kube.kinds import CLUSTER_QUEUE
from kube.touch import is_neutral, touch
from queues.models import Apply, PlanObject
from tenants.services.catalog import catalog_of

log = structlog.get_logger(__name__)

Step = Callable[[], None]


def left_behind(row: Apply, client: ClusterClient, step: Step) -> None:
    """Touch one queue in each department tree that a queue of this apply has left."""
    catalog = catalog_of(row.revision)
    done: list[dict[str, str]] = []
    for cohort in sorted(_left_trees(row.plan.planned.all(), catalog)):
        queue = _neighbour(client, catalog, cohort)
        if queue is not None:
            step()
            name = str(queue["metadata"]["name"])
            done.append({"cohort": cohort, "queue": name, "problem": _touch(client, queue)})
    if done:
        Apply.objects.filter(pk=row.pk).update(touched=done)


def _left_trees(objects: Iterable[PlanObject], catalog: Catalog) -> set[str]:
    """Return the departments that were left for another tree."""
    parents = {each.name: each.parent for each in catalog.cohorts}
    found = set()
    for planned in objects:
        if planned.kind != CLUSTER_QUEUE.name or not planned.base:
            continue
        before = str(planned.base.get("spec.cohortName") or "")
        after = str(planned.wanted.get("spec", {}).get("cohortName") or "")
        if before and _top(before, parents) != _top(after, parents):
            found.add(before)
    return found


def _top(name: str, parents: dict[str, str]) -> str:
    seen = {name}
    while (above := parents.get(name)) and above not in seen:
        name = above
        seen.add(name)
    return name


def _neighbour(client: ClusterClient, catalog: Catalog, cohort: str) -> dict[str, Any] | None:
    """Return a queue of the same tree on which a touch has no effect."""
    parents = {each.name: each.parent for each in catalog.cohorts}
    tree = _top(cohort, parents)
    queues, _version = client.list_all(CLUSTER_QUEUE.name)
    for queue in queues:
        home = str(queue.get("spec", {}).get("cohortName") or "")
        if home and _top(home, parents) == tree and is_neutral(queue):
            return queue
    return None


def _touch(client: ClusterClient, queue: dict[str, Any]) -> str:
    """Touch a queue; a failure is told and spoils nothing."""
    try:
        touch(client, queue)
    except errors.ClusterError as error:
        name = queue["metadata"]["name"]
        log.warning("queue_not_touched", queue=name, code=error.code, error=error.message)
        return f"{error.code} {error.message}"
    return ""
