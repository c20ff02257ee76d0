"""Wake-ups: each task claims, calls one service and ends; each argument is one id.

A message may be lost or come twice. What has to be done is a row, and ``tick_all`` looks for
such rows every few seconds. Which queue a task goes to stands in ``portal/settings/celery.py``.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from celery import shared_task

from queues.services import apply as apply_service
from queues.services import links, reconcile
from queues.services import plan as plan_service
from queues.services import preflight as preflight_service
from tenants.models import Cluster


@shared_task
def tick(cluster_id: int) -> None:
    """Wake a worker for each thing that is due in a cluster."""
    tasks: dict[str, Any] = {"apply": apply, "plan": plan, "preflight": preflight}
    for step in reconcile.next_steps(cluster_id):
        tasks[step.what].wake(step.key)


@shared_task
def tick_all() -> None:
    """Look at every cluster; finds work whose message was lost."""
    for cluster_id in reconcile.clusters():
        tick.run(cluster_id)


@shared_task
def sweep() -> None:
    """Renew tokens in time, and look for work a second way."""
    for cluster in Cluster.objects.filter(pk__in=reconcile.clusters()):
        links.renew_due(cluster)
        tick.run(cluster.pk)


@shared_task
def plan(plan_id: str) -> None:
    """Make one plan."""
    plan_service.make_plan(UUID(plan_id))


@shared_task
def apply(apply_id: str) -> None:
    """Bring one approved plan into its cluster, then wake whoever waits behind it."""
    cluster_id = apply_service.run(UUID(apply_id))
    if cluster_id is not None:
        tick.wake(cluster_id)  # type: ignore[attr-defined]  # of WakeUp


@shared_task
def preflight(cluster_id: int) -> None:
    """Check the portal's rights in a cluster."""
    preflight_service.run(cluster_id)
