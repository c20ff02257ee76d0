"""Wake-ups of harvests, counts, bills and reconciliations. A message may be lost or come twice: what is due is in the rows."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from django.utils import timezone

from costs.models import MetricsSource
from costs.services import bills, cases, hourly, matches, progress, telling
from costs.services import harvest as harvesting
from portal.celery import task
from tenants.models import Cluster

#: Seconds of one task; what is left goes into the next one, so that others get their turn.
BUDGET: Final = 20
#: A file that was handed in so long ago and is not read: its message was lost.
LOST: Final = timedelta(minutes=5)


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


@task
def look_all() -> None:
    """Wake a worker for each cluster that looks for idle devices."""
    for cluster_id in Cluster.objects.order_by("pk").values_list("pk", flat=True):
        look.wake(cluster_id)


@task
def look(cluster_id: int) -> None:
    """Look for idle devices in a cluster."""
    for cluster in Cluster.objects.filter(pk=cluster_id):
        cases.look(cluster)


@task
def tell_owners() -> None:
    """Tell owners of idle devices by mail what they are asked; nothing while mails are off."""
    found = telling.due()
    for case_id in found:
        telling.tell(case_id)
    if len(found) == telling.TURN:
        tell_owners.wake()


@task
def reconcile_all() -> None:
    """Open months that have begun, and wake a worker for each month that is to be reconciled."""
    progress.open_months()
    for period_id in progress.due():
        reconcile.wake(period_id)


@task
def reconcile(period_id: int) -> None:
    """Reconcile a month, if anything has changed since it was done last."""
    progress.take_turn(period_id)


@task
def harvest_all() -> None:
    """Wake a worker for each cluster whose metrics can be asked."""
    for cluster_id in MetricsSource.objects.order_by("pk").values_list("pk", flat=True):
        harvest.wake(cluster_id)


@task
def harvest(cluster_id: int) -> None:
    """Test the source of metrics if that is wanted, and ask the hours that are due."""
    if harvesting.take_turn(cluster_id, seconds=BUDGET):
        harvest.wake(cluster_id)


@task
def read_bill(bill_id: int) -> None:
    """Read a file that was handed in, and have it joined."""
    if bills.read(bill_id=bill_id):
        match_bills.wake()


@task
def match_bills() -> None:
    """Join the bills that are due with nodes, and wake the readers of those not read yet."""
    for bill_id in bills.waiting(timezone.now() - LOST):
        read_bill.wake(bill_id)
    if matches.match_due(seconds=BUDGET, now=timezone.now()):
        match_bills.wake()
