"""What is due in a cluster: found in the database, whatever became of the messages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from queues.models import Link, Plan
from queues.services import preflight
from queues.services.apply import first_unfinished
from queues.services.leases import due
from queues.services.plan import request_plan
from tenants.models import Cluster, Request
from tenants.models.states import move
from tenants.services.requests import CLOSED

#: Plans handed out at once; the rest comes with the next tick.
AT_ONCE = 20


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that a worker can do now."""

    what: Literal["plan", "apply", "preflight"]
    key: str | int


def next_steps(cluster_id: int) -> list[Step]:
    """Return what is due now, also work whose worker or message was lost.

    Approved changes of one cluster come one at a time, in the order of their approval: a change
    that waits for the cluster holds up those behind it, and says so.
    """
    _void_plans(cluster_id)
    for request in _without_plan(cluster_id):
        request_plan(request=request)
    steps = [Step("apply", str(pk)) for pk in _apply_due(cluster_id)]
    steps += [Step("plan", str(pk)) for pk in _plans_due(cluster_id)]
    if preflight.due().filter(cluster_id=cluster_id).exists():
        steps.append(Step("preflight", cluster_id))
    return steps


def clusters() -> list[int]:
    """Return the clusters that are connected."""
    return list(Link.objects.order_by("pk").values_list("cluster_id", flat=True))


def _apply_due(cluster_id: int) -> list[UUID]:
    if not Cluster.objects.filter(pk=cluster_id, writing=True).exists():
        return []
    first = first_unfinished(cluster_id)
    if first is None:
        return []
    rows = type(first).objects.filter(due(), pk=first.pk)
    return list(rows.values_list("pk", flat=True))


def _plans_due(cluster_id: int) -> list[UUID]:
    rows = Plan.objects.filter(due(), cluster_id=cluster_id, state=Plan.State.WAITING)
    return list(rows.order_by("created_at").values_list("pk", flat=True)[:AT_ONCE])


def _without_plan(cluster_id: int) -> list[Request]:
    rows = Request.objects.filter(cluster_id=cluster_id, state=Request.State.SUBMITTED)
    waiting = Plan.objects.filter(state=Plan.State.WAITING).values("request")
    return list(rows.exclude(pk__in=waiting).order_by("created_at")[:AT_ONCE])


def _void_plans(cluster_id: int) -> None:
    """Take plans out of the way whose request was withdrawn or given up."""
    open_states = (Plan.State.WAITING, Plan.State.READY)
    rows = Plan.objects.filter(
        cluster_id=cluster_id, state__in=open_states, request__state__in=CLOSED
    )
    for plan in rows:
        move(plan, Plan.State.SUPERSEDED, lease_until=None)
