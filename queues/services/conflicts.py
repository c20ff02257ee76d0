"""What a person can do with a change that cannot go on by itself; each way is recorded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from kube.catalog import Catalog
from portal.web.errors import Refused, Stale
from queues.models import Apply, ObjectResult, Plan, PlanObject
from queues.services import reasons, theirs
from queues.services.approve import AlreadyDecided, decided
from queues.services.undo import Overlap, undone
from tenants import access, audit
from tenants.models import Cluster, Request, Revision, User
from tenants.models.states import move
from tenants.services import proposals, requests
from tenants.services.catalog import catalog_of, commit_revision, head
from tenants.services.requests import Invalid
from tenants.signals import work_ready

#: States in which a change is committed to the catalog but not, or not wholly, in the cluster.
COMMITTED = (
    Request.State.STALE,
    Request.State.CONFLICT,
    Request.State.STUCK,
    Request.State.PARTIAL,
)
Change = tuple[PlanObject, Sequence[dict[str, Any]]]


class NothingToKeep(Refused):
    """No object of this plan is held by another writer."""

    code = "GP-4301"


class NotNow(Stale):
    """The request has moved on."""

    code = "GP-4303"


class CannotUndo(Stale):
    """Somebody changed the same values again, so setting them back would undo that too."""

    code = "GP-4304"


def plan_again(*, actor: User, request: Request) -> Request:
    """Have a new plan made; one that was approved needs a new approval."""
    return requests.plan_again(actor=actor, request=request)


def keep_theirs(*, actor: User, plan: Plan, reason: str) -> Revision:
    """Let the catalog follow what another writer set, and close the request."""
    request = Request.objects.select_related("tenant", "cluster").get(pk=plan.request_id)
    scope = audit.scope_of(request.tenant)
    told = {"reason": reasons.told(reason), "digest": plan.digest}
    with audit.refusals("plan.keep_theirs", actor=actor, scope=scope, obj=plan, data=told):
        access.require(actor, "plan.keep_theirs", request)
        reason = reasons.readable(reason)
        return _keep_theirs(actor, plan, reason)


@transaction.atomic
def _keep_theirs(actor: User, plan: Plan, reason: str) -> Revision:
    Cluster.objects.select_for_update().get(pk=plan.cluster_id)
    row = Plan.objects.select_for_update().get(pk=plan.pk)
    request = _locked(row.request_id)
    changes = _held_by_others(row, request)
    if not changes:
        if row.state in (Plan.State.APPROVED, Plan.State.REJECTED):
            raise AlreadyDecided(decided(row))
        raise NothingToKeep(_("Nothing in this plan is held by another writer."))
    before = head(request.cluster)
    after = _set_back(before, request)
    found: dict[str, Any] = {}
    for planned, differences in changes:
        fields = theirs.fields_found(planned, differences)
        after = theirs.followed(after, planned, fields)
        found[str(planned)] = list(differences)
    revision = _commit(actor, request, before, after, reason)
    if row.state in (Plan.State.READY, Plan.State.APPROVED):
        move(row, Plan.State.SUPERSEDED)
    requests.close(request, Request.State.ABANDONED)
    audit.record(
        "plan.keep_theirs",
        actor=actor,
        scope=audit.scope_of(request.tenant),
        obj=row,
        data={"reason": reason, "revision": revision.number, "found": found},
    )
    work_ready.send(Plan, cluster_id=row.cluster_id)
    return revision


def _held_by_others(plan: Plan, request: Request) -> list[Change]:
    """Return the objects that somebody else changed, with the differences that were found."""
    if request.state == Request.State.PLANNED and plan.state == Plan.State.READY:
        rows = plan.planned.filter(tried=PlanObject.Tried.CONFLICT)
        return [(each, each.changes) for each in rows]
    if request.state not in (Request.State.CONFLICT, Request.State.STALE):
        return []
    states = (ObjectResult.State.CONFLICT, ObjectResult.State.STALE)
    results = ObjectResult.objects.filter(apply__plan=plan, state__in=states, uid__gt="")
    return [(each.object, each.found or []) for each in results.select_related("object")]


def _set_back(catalog: Catalog, request: Request) -> Catalog:
    """Return the catalog without what this request committed, if it did."""
    if request.state not in COMMITTED or request.revision is None:
        return catalog
    rows = Revision.objects.filter(cluster=request.cluster)
    parent = rows.filter(number=request.revision.number - 1).first()
    before = catalog_of(parent) if parent else Catalog()
    try:
        return undone(catalog, before=before, after=catalog_of(request.revision))
    except Overlap as error:
        sentence = _("%(path)s has been changed again since; make a new request instead.")
        raise CannotUndo(sentence % {"path": error.path}) from None


def abandon(*, actor: User, request: Request, reason: str) -> Request:
    """Give a request up; what it committed is taken back out of the catalog."""
    scope = audit.scope_of(request.tenant)
    told = {"reason": reasons.told(reason)}
    with audit.refusals("request.abandon", actor=actor, scope=scope, obj=request, data=told):
        access.require(actor, "request.abandon", request)
        reason = reasons.readable(reason)
        with transaction.atomic():
            Cluster.objects.select_for_update().get(pk=request.cluster_id)
            row = _locked(request.pk)
            _abandon(actor, row, reason)
            return row


def _abandon(actor: User, request: Request, reason: str) -> None:
    was = request.state
    before = head(request.cluster)
    after = _set_back(before, request)
    revision = _commit(actor, request, before, after, reason)
    for plan in request.plans.filter(state__in=(Plan.State.READY, Plan.State.APPROVED)):
        move(plan, Plan.State.SUPERSEDED)
    requests.close(request, Request.State.ABANDONED)
    audit.record(
        "request.abandon",
        actor=actor,
        scope=audit.scope_of(request.tenant),
        obj=request,
        data={"reason": reason, "was": was, "revision": revision.number if revision else 0},
    )


def _commit(
    actor: User, request: Request, before: Catalog, after: Catalog, reason: str
) -> Revision | Any:
    if before == after:
        return request.revision
    errors, _warnings = proposals.faults(before, after)
    if errors:
        raise Invalid(errors)
    return commit_revision(cluster=request.cluster, catalog=after, actor=actor, summary=reason)


def continue_partial(*, actor: User, apply: Apply) -> Apply:
    """Go on with the same approved plan where it stopped; every object is compared again."""
    request = Request.objects.select_related("tenant").get(pk=apply.request_id)
    scope = audit.scope_of(request.tenant)
    with audit.refusals("apply.retry", actor=actor, scope=scope, obj=apply):
        access.require(actor, "apply.retry", request)
        with transaction.atomic():
            return _continue(actor, apply)


def _continue(actor: User, apply: Apply) -> Apply:
    row = Apply.objects.select_for_update().select_related("plan").get(pk=apply.pk)
    request = _locked(row.request_id)
    may = (Apply.State.PARTIAL, Apply.State.STUCK)
    if row.state not in may or row.plan.state != Plan.State.APPROVED:
        raise NotNow(_("This apply cannot go on; make a new plan."))
    done = (ObjectResult.State.APPLIED, ObjectResult.State.FOUND)
    row.results.exclude(state__in=done).update(
        state=ObjectResult.State.PENDING, message="", code="", conflicts=[], field_problems=[]
    )
    move(
        row,
        Apply.State.QUEUED,
        attempts=0,
        returns=0,
        next_try_at=None,
        lease_until=None,
        finished_at=None,
        error="",
        error_code="",
        held_since=None,
    )
    move(request, Request.State.APPROVED)
    audit.record(
        "apply.retry",
        actor=actor,
        scope=audit.scope_of(request.tenant),
        obj=row,
        data={"plan": str(row.plan_id), "request": str(request.pk)},
    )
    work_ready.send(Apply, cluster_id=row.cluster_id)
    return row


def _locked(request_id: Any) -> Request:
    rows = Request.objects.select_for_update(of=("self",))
    return rows.select_related("tenant", "cluster", "revision").get(pk=request_id)
