"""The end of an apply, or of one attempt: rows, request and audit in one transaction."""

from __future__ import annotations

from typing import Any, Final

from django.db import transaction
from django.db.models.functions import Now

from kube import errors
from queues.models import Apply, Decision, ObjectResult, PlanObject
from queues.services.leases import Lease, finished, returned, worn_out
from tenants import audit
from tenants.models import Request
from tenants.models.states import move
from tenants.services import requests

State = Apply.State
Result = ObjectResult.State

#: Where the request goes when its apply has ended.
REQUEST: Final = {
    State.SUCCEEDED: Request.State.APPLIED,
    State.PARTIAL: Request.State.PARTIAL,
    State.STALE: Request.State.STALE,
    State.CONFLICT: Request.State.CONFLICT,
    State.STUCK: Request.State.STUCK,
}
WRITTEN: Final = (Result.APPLIED, Result.FOUND, Result.CHANGED)
FINISHED: Final = tuple(REQUEST)
#: Changes of one object that the trail spells out; the plan keeps all of them.
CHANGES_IN_TRAIL: Final = 20


def finish(lease: Lease[Apply], state: Apply.State, *, error: str = "", code: str = "") -> None:
    """End the apply for good, or until a person decides."""
    with transaction.atomic():
        lease.check()
        move(lease.row, state, finished_at=Now(), **finished(error, code))
        _move_request(lease.row, REQUEST[state])
        _tell(lease, outcome=audit.DONE if state == State.SUCCEEDED else audit.FAILED)


def give_back(lease: Lease[Apply], error: errors.ClusterError) -> None:
    """Put the apply back for its next try, or end it when it has been tried enough."""
    row = lease.row
    message = sentence(error)
    if worn_out(row) or not can_wait(error):
        finish(lease, stopped_state(row), error=message, code=error.code)
        return
    unknown = row.results.filter(state=Result.UNKNOWN).exists()
    with transaction.atomic():
        lease.check()
        to = State.UNKNOWN if unknown else State.QUEUED
        move(row, to, **returned(row, error.code, message, error.retry_after))
        if unknown:
            _move_request(row, Request.State.UNKNOWN)
        elif not written(row):
            _move_request(row, Request.State.APPROVED)
        if row.returns == 1 or unknown:
            _tell(lease, outcome=audit.FAILED)


def can_wait(error: errors.ClusterError) -> bool:
    """Tell whether the same call may succeed later without a person."""
    waits = (errors.Credential, errors.TlsError, errors.Terminating)
    return error.retry or error.outcome_unknown or isinstance(error, waits)


def stopped_state(row: Apply) -> Apply.State:
    """Return what an apply is that cannot go on: partly done, or not begun."""
    return State.PARTIAL if written(row) else State.STUCK


def stopped_or_stale(row: Apply) -> Apply.State:
    """Return what an apply is whose approval no longer holds."""
    return State.PARTIAL if written(row) else State.STALE


def written(row: Apply) -> bool:
    """Tell whether this apply has changed anything in the cluster."""
    return bool(row.results.filter(state__in=(Result.APPLIED, Result.CHANGED)).exists())


def sentence(error: errors.ClusterError) -> str:
    """Say what is wrong in the words of the person who waits, with the cluster's own text."""
    if isinstance(error, errors.WebhookDown):
        return f"Kueue's webhook is not answering: {error.message}"
    if isinstance(error, errors.Credential):
        return f"the cluster does not accept the portal's credential: {error.message}"
    return error.message


def _move_request(row: Apply, to: Request.State) -> None:
    request = Request.objects.get(pk=row.request_id)
    if request.state == to:
        return
    if to not in Request.TRANSITIONS[request.state]:
        # An apply that ends before it began again: its request passes through the same states.
        move(request, Request.State.APPLYING)
    if to == Request.State.APPLIED:
        requests.close(request, to)
    else:
        move(request, to)


def _tell(lease: Lease[Apply], *, outcome: str) -> None:
    row = lease.row
    request = Request.objects.select_related("tenant", "author").get(pk=row.request_id)
    audit.record(
        "apply.result",
        actor=None,
        scope=audit.scope_of(request.tenant),
        obj=row,
        data={
            "state": row.state,
            "error": row.error,
            "code": row.error_code,
            "fence": lease.fence,
            "attempts": row.attempts,
            "force": row.force,
            "revision": row.revision.number,
            "plan": str(row.plan_id),
            **people(row, request),
            "objects": [_facts(result) for result in _results(row)],
        },
        outcome=outcome,
    )


def people(row: Apply, request: Request) -> dict[str, str]:
    """Say for whom a worker acts: who asked, who decided, and why."""
    found = Decision.objects.filter(plan_id=row.plan_id).select_related("actor").first()
    return {
        "asked_by": request.author.username,
        "decided_by": found.actor.username if found else "",
        "reason": request.reason,
    }


def _results(row: Apply) -> Any:
    return row.results.select_related("object").order_by("object__position")


def _facts(result: ObjectResult) -> dict[str, Any]:
    planned = result.object
    facts = {
        "object": str(planned),
        "namespace": planned.namespace,
        "state": result.state,
        "uid": result.uid,
        "version_before": result.version_before,
        "version_after": result.resource_version,
        "manager": result.manager,
        "fence": result.fence,
        "message": result.message,
        "changes": _changes(planned),
    }
    return {name: value for name, value in facts.items() if value not in ("", None, [])}


def _changes(planned: PlanObject) -> list[Any]:
    """Return the old and new values of an object that was there before."""
    changed = planned.operation == PlanObject.Operation.UPDATE
    return list(planned.changes[:CHANGES_IN_TRAIL]) if changed else []
