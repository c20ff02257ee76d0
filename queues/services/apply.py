"""Bring one approved plan into the cluster: claim, compare, try everything, write, read back.

The row is the queue. A worker that dies leaves a lease behind; the next one reads what the
cluster has, records what is there already and writes only the rest.
"""

from __future__ import annotations

import os
import socket
from uuid import UUID

import structlog
from django.db import transaction
from django.db.models.functions import Coalesce, Now
from django.utils.translation import gettext as _

from kube import errors
from kube.render import render
from queues.faultpoints import faultpoint
from queues.models import Apply, Plan, PlanObject
from queues.services import links, outcome
from queues.services.apply_objects import Applying
from queues.services.leases import Lease, LeaseLost, claim, finished, returned, worn_out
from queues.services.live import ref_of
from queues.services.writer import Writer, only_writer
from tenants import audit
from tenants.models import Request
from tenants.models.states import move
from tenants.services.catalog import catalog_of

log = structlog.get_logger(__name__)

State = Apply.State
UNFINISHED = (State.QUEUED, State.RUNNING, State.UNKNOWN)
#: Where a request may be when its apply begins or goes on.
BEFORE = (Request.State.APPROVED, Request.State.APPLYING, Request.State.UNKNOWN)


def run(apply_id: UUID) -> int | None:
    """Work on one apply, if it is due and nobody else writes to its cluster.

    Returns the cluster's id if it has come to an end, so that the next one can begin.
    """
    rows = Apply.objects.select_related("cluster", "plan", "revision")
    row = rows.filter(pk=apply_id).first()
    if row is None or not row.cluster.writing:
        return None
    with only_writer(row.cluster_id) as writer:
        if writer is None:
            log.info("another_writer", cluster=row.cluster.slug, apply=str(row.pk))
            return None
        lease = _claim(row)
        if lease is None:
            return None
        _attempt(lease, writer)
    return row.cluster_id if row.state in outcome.FINISHED else None


def _claim(row: Apply) -> Lease[Apply] | None:
    """Take the row if it is the oldest approved change of its cluster."""
    oldest = first_unfinished(row.cluster_id)
    if oldest is None or oldest.pk != row.pk:
        return None
    return claim(row, states=UNFINISHED, to=State.RUNNING)


def first_unfinished(cluster_id: int) -> Apply | None:
    """Return the change of a cluster that comes first, in the order of approval."""
    rows = Apply.objects.filter(cluster_id=cluster_id, state__in=UNFINISHED)
    return rows.order_by("revision__number", "created_at").first()


def _attempt(lease: Lease[Apply], writer: Writer) -> None:
    row = lease.row
    try:
        faultpoint("after_claim")
        if worn_out(row):
            text = row.error or _("Several workers were lost on this change.")
            outcome.finish(lease, outcome.stopped_state(row), error=text, code="GP-4405")
        elif _begin(lease):
            with links.client(cluster=row.cluster, purpose="applier") as client:
                Applying(lease, writer, client).run()
    except LeaseLost:
        log.warning("lease_lost", apply=str(row.pk), fence=lease.fence)
    except errors.ClusterError as error:
        log.warning("apply_held_up", apply=str(row.pk), code=error.code, error=error.message)
        _settle(lease, error)
    except Exception:  # whatever it is, the row must not be lost
        log.exception("apply_broken", apply=str(row.pk))
        _broken(lease)


def _settle(lease: Lease[Apply], error: errors.ClusterError) -> None:
    try:
        outcome.give_back(lease, error)
    except LeaseLost:
        log.warning("lease_lost", apply=str(lease.row.pk), fence=lease.fence)


def _begin(lease: Lease[Apply]) -> bool:
    """Note the start; refuse to go on when the portal would write something else today."""
    row = lease.row
    with transaction.atomic():
        lease.check()
        request = Request.objects.select_related("tenant", "author").get(pk=row.request_id)
        if row.plan.state != Plan.State.APPROVED or request.state not in BEFORE:
            # A new plan is being made, or the request was given up: this one is void.
            move(row, State.STALE, finished_at=Now(), **finished())
            return False
        if request.state != Request.State.APPLYING:
            move(request, Request.State.APPLYING)
        Apply.objects.filter(pk=row.pk).update(started_at=Coalesce("started_at", Now()))
        audit.record(
            "apply.start",
            actor=None,
            scope=audit.scope_of(request.tenant),
            obj=row,
            data={
                "fence": lease.fence,
                "attempt": row.attempts,
                "worker": f"{socket.gethostname()}:{os.getpid()}",
                "plan": row.plan.digest,
                "revision": row.revision.number,
                **outcome.people(row, request),
            },
        )
    changed = _rendered_otherwise(row)
    if changed:
        text = _("The portal would write %(object)s differently today; plan again.")
        message = text % {"object": str(changed)}
        outcome.finish(lease, outcome.stopped_or_stale(row), error=message, code="GP-4402")
    return changed is None


def _rendered_otherwise(row: Apply) -> PlanObject | None:
    """Return an object whose rendering is not the one that was approved."""
    rendered = {
        (each.kind, each.namespace, each.name): each.digest
        for each in render(catalog_of(row.revision))
    }
    for planned in row.plan.planned.all():
        key = (planned.kind, planned.namespace, planned.name)
        if rendered.get(key) != planned.wanted_digest:
            log.warning("rendered_otherwise", object=str(ref_of(planned)), apply=str(row.pk))
            return planned
    return None


def _broken(lease: Lease[Apply]) -> None:
    """Give a row back after a defect; its lost attempts are counted."""
    row = lease.row
    text = _("An internal error interrupted the work; it will be tried again.")
    fields = returned(row, "GP-4409", text, None) | {"returns": row.returns}
    try:
        with transaction.atomic():
            lease.check()
            move(row, State.QUEUED, **fields)
    except LeaseLost:
        log.warning("lease_lost", apply=str(row.pk), fence=lease.fence)
