"""Make a plan: what a request would change, tried by the cluster and bound to a digest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

import structlog
from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from kube import catalog_json, errors
from kube.catalog import Catalog
from kube.digest import digest
from kube.edits import load_edits
from kube.problems import InvalidCatalog, Problem
from portal.web.errors import Stale
from queues.models import Apply, Plan, PlanObject
from queues.services import capacity, impact
from queues.services.leases import Lease, LeaseLost, claim, finished, lost_too_often, returned
from queues.services.plan_objects import Draft, look_at, wanted_objects
from queues.services.problems import of_draft, stored
from tenants import audit
from tenants.models import Request, Revision
from tenants.models.states import move, moved
from tenants.services import proposals
from tenants.services.catalog import catalog_of, newest

log = structlog.get_logger(__name__)

State = Plan.State
LIVE: Final = (State.WAITING, State.READY, State.APPROVED)
UNFINISHED: Final = (Apply.State.QUEUED, Apply.State.RUNNING, Apply.State.UNKNOWN)
#: Decided under the pools' lock, with the numbers of that moment, not while planning.
CAPACITY: Final = "GP-2176"


class Waiting(errors.ClusterError):
    """Another approved change of the same object comes first."""

    code = "GP-4211"
    retry = True


@dataclass(frozen=True, slots=True)
class Proposal:
    """What the catalog would become, from which revision on."""

    base: Revision | None
    before: Catalog
    after: Catalog
    warnings: tuple[Problem, ...] = ()


def request_plan(*, request: Request) -> Plan | None:
    """Give a submitted request a plan to be made, unless it has one."""
    try:
        with transaction.atomic():
            row = Request.objects.select_for_update().get(pk=request.pk)
            live = list(row.plans.filter(state__in=LIVE))
            waiting = any(plan.state == State.WAITING for plan in live)
            if row.state != Request.State.SUBMITTED or waiting:
                return None
            for plan in live:
                move(plan, State.SUPERSEDED)
            return Plan.objects.create(request=row, cluster_id=row.cluster_id)
    except IntegrityError:
        return None


def make_plan(plan_id: UUID) -> None:
    """Make one waiting plan, if it is due."""
    plan = Plan.objects.select_related("cluster", "request").filter(pk=plan_id).first()
    lease = claim(plan, states=(State.WAITING,), to=State.WAITING) if plan else None
    if lease is None:
        return
    try:
        _make(lease)
    except LeaseLost:
        log.warning("lease_lost", plan=str(plan_id), fence=lease.fence)
    except Stale:
        # The request was withdrawn meanwhile; the next tick takes the plan out of the way.
        log.info("plan_not_needed", plan=str(plan_id))
        lease.mine().update(lease_until=None)
    except errors.ClusterError as error:
        log.warning("plan_held_up", plan=str(plan_id), code=error.code, error=error.message)
        _hold(lease, error)
    except Exception:  # whatever it is, the row must not be lost
        log.exception("plan_broken", plan=str(plan_id))
        _broken(lease)


def _make(lease: Lease[Plan]) -> None:
    plan = lease.row
    if plan.request.state != Request.State.SUBMITTED:
        _supersede(lease)
        return
    if lost_too_often(plan):
        text = _("Several workers were lost on this plan.")
        _refuse(lease, stored([Problem("", "GP-4405", text)]))
        return
    try:
        proposal = propose(plan.request)
    except InvalidCatalog as error:
        _refuse(lease, stored(error.problems))
        return
    wanted = wanted_objects(proposal.before, proposal.after, again=_once_planned(plan.request))
    if wanted.removed:
        _refuse(lease, [_removal(each) for each in wanted.removed])
        return
    if proposal.before == proposal.after and not wanted.objects:
        _refuse(lease, [_nothing()])
        return
    _wait_for_others(plan, wanted.objects)
    drafts = look_at(plan.cluster, wanted.objects, beat=lease.beat)
    problems = [problem for draft in drafts for problem in of_draft(draft, proposal.after)]
    numbers = impact.of(plan.cluster, proposal.before, proposal.after)
    _keep(lease, proposal, drafts, numbers, problems)


def propose(request: Request, revision: Revision | None = None) -> Proposal:
    """Apply the request's edits to the newest catalog; raise ``InvalidCatalog`` if refused.

    The capacity of pools is left to the approval, which decides it under a lock.
    """
    base = revision or newest(request.cluster)
    before = catalog_of(base) if base else Catalog()
    found = proposals.propose(before, load_edits(request.edits))
    faults = [each for each in found.errors if each.code != CAPACITY]
    if faults:
        raise InvalidCatalog(faults)
    return Proposal(base, before, found.after, found.warnings)


def _once_planned(request: Request) -> set[tuple[str, str, str]]:
    """Return the objects of this request's approved plans: committed, so no diff shows them."""
    rows = PlanObject.objects.filter(plan__request=request, plan__apply__isnull=False)
    return set(rows.values_list("kind", "namespace", "name"))


def _wait_for_others(plan: Plan, wanted: Any) -> None:
    """An object that an approved change is about to write has no base to compare with yet."""
    names = {(each.kind, each.namespace, each.name) for each in wanted}
    rows = PlanObject.objects.filter(
        plan__cluster=plan.cluster, plan__apply__state__in=UNFINISHED
    ).exclude(plan__request=plan.request)
    for kind, namespace, name in rows.values_list("kind", "namespace", "name"):
        if (kind, namespace, name) in names:
            message = f"an approved change of {kind} {name} is applied first"
            raise Waiting(message)


def _removal(name: str) -> dict[str, Any]:
    message = _("%(name)s would be removed. Removing is not possible here.") % {"name": name}
    return stored([Problem("", "GP-4212", message)])[0]


def _nothing() -> dict[str, Any]:
    message = _("Nothing would change: the catalog already says what is asked for.")
    return stored([Problem("", "GP-4213", message)])[0]


# --- ends -----------------------------------------------------------------------------------------


def plan_digest(drafts: list[Draft]) -> str:
    """Return what a reviewer approves: every object, what it becomes, what it was seen as."""
    return digest(
        [
            [each.manifest.kind, each.manifest.namespace, each.manifest.name, each.operation.value,
             each.manifest.digest, each.base_uid, each.base_digest]
            for each in drafts
        ]
    )  # fmt: skip


@transaction.atomic
def _keep(
    lease: Lease[Plan],
    proposal: Proposal,
    drafts: list[Draft],
    numbers: dict[str, Any],
    problems: list[dict[str, Any]],
) -> None:
    """Store the plan and move it and its request on, in one transaction."""
    lease.check()
    plan = lease.row
    PlanObject.objects.bulk_create(
        [draft.row(plan, position) for position, draft in enumerate(drafts, start=1)]
    )
    refused = bool(problems)
    move(
        plan,
        State.REFUSED if refused else State.READY,
        base=proposal.base,
        proposed=catalog_json.dump(proposal.after),
        digest=plan_digest(drafts),
        impact=numbers
        | {
            "capacity": capacity.facts(plan.cluster, proposal.after),
            "warnings": stored(proposal.warnings),
        },
        problems=problems,
        made_at=Now(),
        **finished(),
    )
    _move_request(plan, problems)


@transaction.atomic
def _refuse(lease: Lease[Plan], problems: list[dict[str, Any]]) -> None:
    lease.check()
    move(lease.row, State.REFUSED, problems=problems, made_at=Now(), **finished())
    _move_request(lease.row, problems)


def _move_request(plan: Plan, problems: list[dict[str, Any]]) -> None:
    to = Request.State.REFUSED if problems else Request.State.PLANNED
    request = move(plan.request, to, problems=problems)
    audit.record(
        "plan.refused" if problems else "plan.made",
        actor=None,
        scope=audit.scope_of(request.tenant),
        obj=plan,
        data={
            "request": str(request.pk),
            "digest": plan.digest,
            "base": plan.base.number if plan.base else 0,
            "objects": plan.planned.count(),
            "problems": [{"field": each["field"], "code": each["code"]} for each in problems],
        },
        outcome=audit.REFUSED if problems else audit.DONE,
    )


@transaction.atomic
def _supersede(lease: Lease[Plan]) -> None:
    lease.check()
    move(lease.row, State.SUPERSEDED, **finished())


def _hold(lease: Lease[Plan], error: errors.ClusterError) -> None:
    """Put the plan back for its next try; what no retry can mend refuses it."""
    plan = lease.row
    try:
        # Trouble of the cluster is waited for as long as it lasts: nobody has decided yet.
        if not (error.retry or isinstance(error, _MENDED_ELSEWHERE)):
            _refuse(lease, stored([Problem("", error.code, error.message)]))
            return
        with transaction.atomic():
            lease.check()
            fields = returned(plan, error.code, error.message, error.retry_after)
            Plan.objects.filter(pk=plan.pk).update(**fields)
            moved.send(Plan, row=plan)
    except LeaseLost:
        log.warning("lease_lost", plan=str(plan.pk), fence=lease.fence)


def _broken(lease: Lease[Plan]) -> None:
    plan = lease.row
    text = _("An internal error interrupted the planning.")
    try:
        if lost_too_often(plan):
            _refuse(lease, stored([Problem("", "GP-4409", text)]))
            return
        fields = returned(plan, "GP-4409", text, None) | {"returns": plan.returns}
        lease.mine().update(**fields)
        moved.send(Plan, row=plan)
    except LeaseLost:
        log.warning("lease_lost", plan=str(plan.pk), fence=lease.fence)


_MENDED_ELSEWHERE: Final = (errors.Credential, errors.TlsError, errors.Terminating)
