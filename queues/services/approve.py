"""Decide on a plan: by somebody else, on exactly what was shown, within what there is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from kube.catalog import Catalog
from kube.problems import InvalidCatalog
from portal.web.errors import Refused, Stale
from queues.models import Apply, Decision, ObjectResult, Plan, PlanObject
from queues.services import capacity, reasons
from queues.services.plan import Proposal, propose
from queues.services.plan_objects import wanted_objects
from tenants import access, audit
from tenants.models import Cluster, Request, Revision, User
from tenants.models.states import move
from tenants.services import requests
from tenants.services.catalog import commit_revision
from tenants.signals import work_ready

Verdict = Decision.Verdict


class PlanChanged(Stale):
    """What was shown is not what would be decided on now."""

    code = "GP-4201"


class NotReady(Stale):
    """The plan is not one that can be decided on."""

    code = "GP-4202"


class AlreadyDecided(Stale):
    """Somebody else has decided."""

    code = "GP-4203"


class ConflictOpen(Refused):
    """Another writer owns fields; that needs a decision of its own."""

    code = "GP-4205"


@dataclass(frozen=True, slots=True)
class Superseded:
    """The plan was voided by a change of the catalog; committed, then told."""

    error: PlanChanged


def approve(
    *, actor: User, plan: Plan, digest: str, take_back: bool = False, reason: str = ""
) -> Apply:
    """Approve exactly the plan that ``digest`` names and queue its apply.

    ``take_back`` also takes the fields that another writer owns; it needs the right and a reason.
    """
    request = Request.objects.select_related("tenant", "cluster").get(pk=plan.request_id)
    scope = audit.scope_of(request.tenant)
    told = {"digest": reasons.told(digest), "take_back": take_back, "reason": reasons.told(reason)}
    with audit.refusals("plan.approve", actor=actor, scope=scope, obj=plan, data=told):
        access.require(actor, "plan.approve", request)
        if take_back:
            access.require(actor, "plan.take_back", request)
        reason = reasons.readable(reason, needed=take_back)
        found = _approve(actor, plan, digest, take_back, reason)
        if isinstance(found, Superseded):
            raise found.error
    return found


@transaction.atomic
def _approve(
    actor: User, plan: Plan, digest: str, take_back: bool, reason: str
) -> Apply | Superseded:
    cluster = Cluster.objects.get(pk=plan.cluster_id)
    capacity.lock_pools(cluster, _flavors(plan))
    # The cluster's row is the lock of its catalog: the head cannot move from here on.
    cluster = Cluster.objects.select_for_update().get(pk=plan.cluster_id)
    row = Plan.objects.select_for_update().get(pk=plan.pk)
    _check(row, digest, cluster)
    objects = list(row.planned.order_by("position"))
    _check_conflicts(objects, take_back)
    request = Request.objects.select_related("tenant", "cluster").get(pk=row.request_id)
    proposal = _still_true(row, request, objects)
    if proposal is None:
        return _supersede(actor, row, request)
    evidence = capacity.decide(cluster, proposal.before, proposal.after)
    return _commit(actor, row, request, proposal, objects, evidence, take_back, reason)


def _flavors(plan: Plan) -> set[str]:
    """Return the flavors that the plan's catalog promises from."""
    proposed = plan.proposed or {}
    return {str(each["name"]) for each in proposed.get("flavors") or ()}


def _check(plan: Plan, digest: str, cluster: Cluster) -> None:
    if plan.state in (Plan.State.APPROVED, Plan.State.REJECTED):
        raise AlreadyDecided(decided(plan))
    if plan.state != Plan.State.READY:
        raise NotReady(_("This plan is not ready for a decision."))
    if plan.digest != digest:
        raise PlanChanged(_("The plan has changed since it was shown. Look at it again."))
    if not cluster.writing:
        message = _("Writing to this cluster is off; an administrator can switch it on.")
        raise Refused(message, code="GP-4207")


def decided(plan: Plan) -> str:
    """Say who has decided on a plan, and how."""
    decision = Decision.objects.select_related("actor").get(plan=plan)
    sentence = _("%(person)s has already decided: %(verdict)s.")
    return sentence % {"person": decision.actor, "verdict": decision.get_verdict_display()}


def _check_conflicts(objects: Sequence[PlanObject], take_back: bool) -> None:
    owned = [each for each in objects if each.tried == PlanObject.Tried.CONFLICT]
    if owned and not take_back:
        managers = sorted({found["manager"] for each in owned for found in each.conflicts})
        sentence = _(
            "%(managers)s owns fields that this plan changes. "
            "Keep what is there, take the fields back with a reason, or give the request up."
        )
        raise ConflictOpen(sentence % {"managers": ", ".join(managers)})


def _still_true(plan: Plan, request: Request, objects: Sequence[PlanObject]) -> Proposal | None:
    """Compute the proposal from today's catalog; ``None`` when it writes something else."""
    try:
        proposal = propose(request)
    except InvalidCatalog:
        return None
    planned = {(each.kind, each.namespace, each.name): each.wanted_digest for each in objects}
    wanted = wanted_objects(proposal.before, proposal.after, again=planned)
    now = {tuple(each.ref): each.digest for each in wanted.objects}
    return proposal if now == planned and not wanted.removed else None


def _supersede(actor: User, plan: Plan, request: Request) -> Superseded:
    """Void the plan and have it made anew; the approver is told after the commit."""
    move(plan, Plan.State.SUPERSEDED)
    move(request, Request.State.SUBMITTED)
    audit.record(
        "plan.superseded",
        actor=actor,
        scope=audit.scope_of(request.tenant),
        obj=plan,
        data={"digest": plan.digest, "request": str(request.pk)},
    )
    work_ready.send(Plan, cluster_id=plan.cluster_id)
    sentence = _(
        "The catalog has changed since this plan was made, and with it what would be written. "
        "A new plan is being made; decide on that one."
    )
    return Superseded(PlanChanged(sentence))


def _commit(
    actor: User,
    plan: Plan,
    request: Request,
    proposal: Proposal,
    objects: Sequence[PlanObject],
    evidence: list[dict[str, Any]],
    take_back: bool,
    reason: str,
) -> Apply:
    move(plan, Plan.State.APPROVED)
    revision = _revision(actor, request, proposal)
    # The revision that first held the change: undoing it later needs the one before that.
    fresh = proposal.base is None or revision.pk != proposal.base.pk
    first = revision if fresh or request.revision is None else request.revision
    move(request, Request.State.APPROVED, revision=first)
    Decision.objects.create(
        plan=plan,
        verdict=Verdict.APPROVE,
        actor=actor,
        digest=plan.digest,
        reason=reason,
        take_back=take_back,
        evidence={"capacity": evidence, "base": revision.number - 1},
    )
    apply = Apply.objects.create(
        plan=plan, request=request, cluster=request.cluster, revision=revision, force=take_back
    )
    ObjectResult.objects.bulk_create(ObjectResult(apply=apply, object=each) for each in objects)
    audit.record(
        "plan.approve",
        actor=actor,
        scope=audit.scope_of(request.tenant),
        obj=plan,
        data={
            "digest": plan.digest,
            "request": str(request.pk),
            "revision": revision.number,
            "take_back": take_back,
            "reason": reason,
            "capacity": evidence,
        },
    )
    work_ready.send(Apply, cluster_id=request.cluster_id)
    return apply


def _revision(actor: User, request: Request, proposal: Proposal) -> Revision:
    """Commit the proposal; what was committed by an earlier approval stays the revision."""
    if proposal.base is not None and _same(proposal.before, proposal.after):
        return proposal.base
    return commit_revision(
        cluster=request.cluster, catalog=proposal.after, actor=actor, summary=request.reason
    )


def _same(before: Catalog, after: Catalog) -> bool:
    return before == after


def reject(*, actor: User, plan: Plan, digest: str, reason: str) -> Plan:
    """Reject exactly the plan that ``digest`` names, with a reason."""
    request = Request.objects.select_related("tenant").get(pk=plan.request_id)
    scope = audit.scope_of(request.tenant)
    told = {"digest": reasons.told(digest), "reason": reasons.told(reason)}
    with audit.refusals("plan.reject", actor=actor, scope=scope, obj=plan, data=told):
        access.require(actor, "plan.reject", request)
        reason = reasons.readable(reason)
        return _reject(actor, plan, digest, reason)


@transaction.atomic
def _reject(actor: User, plan: Plan, digest: str, reason: str) -> Plan:
    row = Plan.objects.select_for_update().get(pk=plan.pk)
    if row.state in (Plan.State.APPROVED, Plan.State.REJECTED):
        raise AlreadyDecided(decided(row))
    if row.state != Plan.State.READY:
        raise NotReady(_("This plan is not ready for a decision."))
    if row.digest != digest:
        raise PlanChanged(_("The plan has changed since it was shown. Look at it again."))
    move(row, Plan.State.REJECTED)
    request = Request.objects.select_related("tenant").get(pk=row.request_id)
    requests.close(request, Request.State.REJECTED)
    Decision.objects.create(
        plan=row, verdict=Verdict.REJECT, actor=actor, digest=row.digest, reason=reason
    )
    audit.record(
        "plan.reject",
        actor=actor,
        scope=audit.scope_of(request.tenant),
        obj=row,
        data={"digest": row.digest, "reason": reason, "request": str(request.pk)},
    )
    return row
