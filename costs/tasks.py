"""Wake-ups of the hourly count. A message may be lost or come twice: what is due is in the rows."""

from __future__ import annotations

from typing import Final

from costs.services import hourly
from portal.celery import task
from tenants.models import Cluster

#: Seconds of one task; what is left goes into the next one, so that others get their turn.
BUDGET: Final = 20


@task
def count_all() -> None:
    """Wake a worker for each cluster."""
    for cluster_id in Cluster.objects.order_by("pk").values_list("pk", flat=True):
        count.wake(cluster_id)


@task
def count(cluster_id: int) -> None:
    """Count the hours of a cluster that are due."""
    if hourly.take_turn(cluster_id, seconds=BUDGET):
        count.wake(cluster_id)
