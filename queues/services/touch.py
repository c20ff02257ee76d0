"""A department that lost a queue: make Kueue look again at the jobs that wait there.

When a queue moves to another department, Kueue reconsiders the new tree only; a job in the old
one that would fit now keeps waiting. A write to any queue left behind wakes it. The write is
made by a field manager of its own, sets a field that has no effect there, and takes it back at
once, so that nothing stays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import structlog

from kube import errors
from kube.catalog import Catalog
from kube.client import ClusterClient
from kube.kinds import CLUSTER_QUEUE
from queues.models import Apply, PlanObject
from tenants.services.catalog import catalog_of

log = structlog.get_logger(__name__)

MANAGER: Final = "gpuportal-touch"
#: Read only together with a policy that the touched queue does not have.
_NEUTRAL: Final = {"preemption": {"borrowWithinCohort": {"maxPriorityThreshold": 0}}}

Step = Callable[[], None]


def left_behind(row: Apply, client: ClusterClient, step: Step) -> None:
    """Touch one queue in each department tree that a queue of this apply has left."""
    catalog = catalog_of(row.revision)
    done: list[dict[str, str]] = []
    for cohort in sorted(_left_trees(row.plan.planned.all(), catalog)):
        name = _neighbour(client, catalog, cohort)
        if name is not None:
            step()
            done.append({"cohort": cohort, "queue": name, "problem": _touch(client, name)})
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


def _neighbour(client: ClusterClient, catalog: Catalog, cohort: str) -> str | None:
    """Return a queue of the same tree in which the neutral field has no effect."""
    parents = {each.name: each.parent for each in catalog.cohorts}
    tree = _top(cohort, parents)
    queues, _version = client.list_all(CLUSTER_QUEUE.name)
    for queue in queues:
        home = str(queue.get("spec", {}).get("cohortName") or "")
        if home and _top(home, parents) == tree and _is_neutral(queue):
            return str(queue["metadata"]["name"])
    return None


def _is_neutral(queue: dict[str, Any]) -> bool:
    borrow = queue.get("spec", {}).get("preemption", {}).get("borrowWithinCohort") or {}
    idle = borrow.get("policy", "Never") == "Never" and "maxPriorityThreshold" not in borrow
    return idle and "deletionTimestamp" not in queue["metadata"]


def _touch(client: ClusterClient, name: str) -> str:
    """Set the field and take it back; a failure is told and spoils nothing."""
    head = {
        "apiVersion": CLUSTER_QUEUE.api_version,
        "kind": CLUSTER_QUEUE.name,
        "metadata": {"name": name},
    }
    try:
        client.apply({**head, "spec": _NEUTRAL}, manager=MANAGER)
        client.apply(head, manager=MANAGER)
    except errors.ClusterError as error:
        log.warning("queue_not_touched", queue=name, code=error.code, error=error.message)
        return f"{error.code} {error.message}"
    return ""
