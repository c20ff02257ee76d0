"""Requests: ask for a change of a catalog, correct it, take it back.

What needs a plan (deciding, planning again, giving up after a conflict) is in ``queues.services``. Every
function here writes its audit row in its own transaction; a refused attempt is kept as well.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any, Final

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from kube import catalog_json, names
from kube.catalog import Catalog
from kube.digest import canonical_json, digest
from kube.edits import Edit, Replace, SetQuota, dump_edits, load_edits
from kube.problems import InvalidCatalog, Problem
from kube.problems import Refused as RefusedValue
from portal.web.errors import DomainError, Refused, Stale
from tenants import access, audit
from tenants.models import Cluster, OpenTarget, Request, Tenant, User
from tenants.models.states import move, moved
from tenants.sentences import sentence
from tenants.services import proposals
from tenants.services.catalog import head
from tenants.services.proposals import Proposal
from tenants.signals import work_ready

MOST_EDITS: Final = 200
MOST_OPEN: Final = 50
LONGEST_REASON: Final = 2000
LONGEST_IN_TRAIL: Final = 20_000
_KEY: Final = re.compile(r"[A-Za-z0-9_-]{8,64}")
#: The states in which nothing more happens.
CLOSED: Final = frozenset(Request.State.values) - Request.OPEN


class Invalid(DomainError):
    """The input breaks rules. ``problems`` name the field of each; nothing was stored."""

    code = "GP-1110"
    # What somebody mistypes is between them and the form.
    keep = False

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        lines = [
            {"field": each.field, "code": each.code, "message": sentence(each)}
            for each in self.problems
        ]
        first = self.problems[0]
        super().__init__(sentence(first), field=first.field, details={"problems": lines})


class AlreadyOpen(Refused):
    """Somebody asks for the same thing already; two answers to one question help nobody."""

    status = HTTPStatus.CONFLICT
    code = "GP-1111"


class TooManyOpen(Refused):
    """More open requests than anybody could decide on."""

    code = "GP-1112"


# --- asking -----------------------------------------------------------------------------------------


def submit(
    *,
    actor: User,
    cluster: Cluster,
    tenant: Tenant | None,
    kind: str,
    edits: Sequence[Edit],
    reason: str,
    key: str,
) -> Request:
    """Store a request; the same key twice is the same request."""
    facts = {"cluster": cluster.slug, "kind": kind, **_facts(dump_edits(edits[:MOST_EDITS]))}
    scope = audit.scope_of(tenant)
    with audit.refusals("request.submit", actor=actor, scope=scope, obj=tenant, data=facts):
        _require_right(actor, tenant, kind)
        _check_key(key)
        return _submit(actor, cluster, tenant, kind, edits, reason, key)


def submit_devices(
    *,
    actor: User,
    cluster: Cluster,
    queue: str,
    flavor: str,
    nominal: int,
    reason: str,
    key: str,
) -> Request:
    """Ask for devices of one flavor, with CPU and memory in proportion; the limits stay."""
    tenant = access.queue(actor, cluster.slug, queue).tenant
    try:
        edits = proposals.devices(head(cluster), queue, flavor, nominal)
    except InvalidCatalog as error:
        raise Invalid(error.problems) from None
    kind = Request.Kind.QUOTA
    return submit(
        actor=actor,
        cluster=cluster,
        tenant=tenant,
        kind=kind,
        edits=edits,
        reason=reason,
        key=key,
    )


def whole_catalog(data: Any) -> tuple[Edit, ...]:
    """Return the edit that sets a whole catalog, read from parsed JSON."""
    try:
        return (Replace(catalog=catalog_json.load(data)),)
    except InvalidCatalog as error:
        raise Invalid(error.problems) from None


@transaction.atomic
def _submit(
    actor: User,
    cluster: Cluster,
    tenant: Tenant | None,
    kind: str,
    edits: Sequence[Edit],
    reason: str,
    key: str,
) -> Request:
    before = Request.objects.filter(author=actor, key=key).first()
    if before is not None:
        return _same(before, edits, reason)
    _check_number_of_open(actor, tenant)
    catalog = head(cluster)
    checked(catalog, tenant, kind, edits, reason)
    request = Request(
        cluster=cluster,
        tenant=tenant,
        kind=kind,
        author=actor,
        reason=reason,
        edits=dump_edits(edits),
        targets=proposals.targets(catalog, edits),
        key=key,
    )
    _full_clean(request)
    try:
        with transaction.atomic():
            request.save(force_insert=True)
    except IntegrityError:
        # The same form was sent twice at one moment; the other one was quicker.
        return _same(Request.objects.get(author=actor, key=key), edits, reason)
    _open(request)
    _tell("request.submit", actor, request, reason=reason, **_facts(request.edits))
    return request


def _same(before: Request, edits: Sequence[Edit], reason: str) -> Request:
    """Return what a form has made before; with another content it was changed and sent again."""
    if (before.edits, before.reason) != (dump_edits(edits), reason):
        sentence = _("This form was sent before, with other numbers or another reason.")
        raise Stale(sentence, code="GP-1120", details={"request": str(before.pk)})
    return before


def resubmit(
    *,
    actor: User,
    request: Request,
    edits: Sequence[Edit],
    reason: str,
    version: int | None = None,
) -> Request:
    """Correct a request that the checks refused; it is planned afresh."""
    with _attempt("request.resubmit", actor, request):
        access.require(actor, "request.edit", request)
        with transaction.atomic():
            row = _locked(request, version)
            catalog = head(row.cluster)
            checked(catalog, row.tenant, row.kind, edits, reason)
            move(
                row,
                Request.State.SUBMITTED,
                edits=dump_edits(edits),
                targets=proposals.targets(catalog, edits),
                reason=reason,
                problems=[],
            )
            row.open_targets.all().delete()
            _open(row)
            _tell("request.resubmit", actor, row, reason=reason, **_facts(row.edits))
            return row


# --- taking back, planning again --------------------------------------------------------------------------


def withdraw(*, actor: User, request: Request) -> Request:
    """Take a request back before anybody has decided."""
    with _attempt("request.withdraw", actor, request):
        access.require(actor, "request.withdraw", request)
        with transaction.atomic():
            row = _locked(request)
            was = row.state
            close(row, Request.State.WITHDRAWN)
            _tell("request.withdraw", actor, row, was=was)
            return row


def plan_again(*, actor: User, request: Request) -> Request:
    """Have a new plan made from today's catalog and today's cluster."""
    with _attempt("request.plan_again", actor, request):
        access.require(actor, "request.plan_again", request)
        with transaction.atomic():
            row = _locked(request)
            was = row.state
            move(row, Request.State.SUBMITTED)
            _tell("request.plan_again", actor, row, was=was)
            return row


def close(request: Request, to: str, **fields: Any) -> Request:
    """Move a request to an end; what it touched is free for the next one."""
    move(request, to, **fields)
    request.open_targets.all().delete()
    return request


# --- rules --------------------------------------------------------------------------------------------


def checked(
    catalog: Catalog, tenant: Tenant | None, kind: str, edits: Sequence[Edit], reason: str
) -> Proposal:
    """Return what the edits would do, or raise ``Invalid`` with everything that is wrong."""
    problems = [*_reason_problems(reason), *_edit_problems(catalog, tenant, kind, edits)]
    if problems:
        raise Invalid(problems)
    proposal = proposals.propose(catalog, edits)
    if proposal.errors:
        raise Invalid(proposal.errors)
    if not proposal.changes:
        raise Invalid([Problem("", "GP-1113", _("This is what the catalog says already."))])
    return proposal


def proposal_of(request: Request, catalog: Catalog | None = None) -> Proposal:
    """Return what a stored request would make of the catalog as it is now."""
    now = head(request.cluster) if catalog is None else catalog
    return proposals.propose(now, load_edits(request.edits))


def _reason_problems(reason: str) -> list[Problem]:
    if names.says_nothing(reason):
        return [Problem("reason", "GP-1114", _("Say why: others have to decide on it."))]
    try:
        names.long_text(reason, LONGEST_REASON)
    except RefusedValue as error:
        return [error.at("reason")]
    return []


def _edit_problems(
    catalog: Catalog, tenant: Tenant | None, kind: str, edits: Sequence[Edit]
) -> list[Problem]:
    if not edits:
        return [Problem("", "GP-1113", _("This is what the catalog says already."))]
    if len(edits) > MOST_EDITS:
        text = _("Too many changes in one request: %(count)d, at most %(limit)d.")
        facts = {"count": len(edits), "limit": MOST_EDITS}
        return [Problem("edits", "GP-1115", text % facts, params=tuple(facts.items()))]
    if kind != Request.Kind.QUOTA:
        return []
    own = {queue.name for spec, queue in catalog.queues() if tenant and spec.slug == tenant.slug}
    return [problem for edit in edits for problem in _quota_problems(catalog, own, edit)]


def _quota_problems(catalog: Catalog, own: set[str], edit: Edit) -> list[Problem]:
    """A lead asks for numbers of own queues on flavors that these already have."""
    if not isinstance(edit, SetQuota):
        return [Problem("edits", "GP-1116", _("Only quota can be asked for here."))]
    if edit.queue not in own:
        # The same words whether another tenant has it or nobody.
        return [Problem("queue", "GP-1117", _("This tenant has no such queue."))]
    lines = next(queue.quotas for _tenant, queue in catalog.queues() if queue.name == edit.queue)
    if edit.flavor not in {line.flavor for line in lines}:
        return [Problem("flavor", "GP-1118", _("The queue does not offer this flavor."))]
    return []


def _require_right(actor: User, tenant: Tenant | None, kind: str) -> None:
    if kind == Request.Kind.QUOTA and tenant is not None:
        access.require(actor, "request.create", tenant)
    else:
        access.require(actor, "catalog.propose")


def _check_key(key: str) -> None:
    if not _KEY.fullmatch(key):
        raise Refused(_("This form has no usable key. Reload the page."), code="GP-1410")


def _check_number_of_open(actor: User, tenant: Tenant | None) -> None:
    rows = Request.objects.filter(state__in=Request.OPEN)
    mine = rows.filter(tenant=tenant) if tenant else rows.filter(author=actor, tenant=None)
    if mine.count() >= MOST_OPEN:
        sentence_ = _("There are %(limit)d open requests already. Withdraw or finish some first.")
        raise TooManyOpen(sentence_ % {"limit": MOST_OPEN})


def _full_clean(request: Request) -> None:
    try:
        request.full_clean(
            exclude={"problems", "targets", "revision", "tenant"}, validate_constraints=False
        )
    except ValidationError as error:
        problems = [
            Problem(field, "GP-1110", " ".join(texts))
            for field, texts in error.message_dict.items()
        ]
        raise Invalid(problems) from None


# --- the rest of a step -------------------------------------------------------------------------------


def _attempt(action: str, actor: User, request: Request) -> Any:
    scope = audit.scope_of(request.tenant)
    return audit.refusals(action, actor=actor, scope=scope, obj=request)


def _locked(request: Request, version: int | None = None) -> Request:
    rows = Request.objects.select_for_update(of=("self",)).select_related("cluster", "tenant")
    row = rows.get(pk=request.pk)
    if version is not None and row.version != version:
        raise Stale(_("Somebody has changed this meanwhile. Reload the page."), code="GP-1119")
    return row


def _open(request: Request) -> None:
    rows = [
        OpenTarget(request=request, cluster_id=request.cluster_id, target=target)
        for target in request.targets
    ]
    try:
        with transaction.atomic():
            OpenTarget.objects.bulk_create(rows)
    except IntegrityError:
        raise _already_open(request) from None


def _already_open(request: Request) -> AlreadyOpen:
    rows = OpenTarget.objects.filter(cluster=request.cluster_id, target__in=request.targets)
    other = rows.exclude(request=request).select_related("request").order_by("target").first()
    sentence_ = _("There is an open request for %(target)s already. Wait for it or withdraw it.")
    target = other.target if other else ", ".join(request.targets[:3])
    details = {"request": str(other.request_id), "target": target} if other else {}
    return AlreadyOpen(sentence_ % {"target": target.partition(":")[2] or target}, details=details)


def _facts(edits: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the edits for the trail: their digest always, themselves while they are short."""
    # What is refused may hold text that no JSON can carry.
    clean = audit.storable(edits)
    size = len(canonical_json(clean))
    shown = {"edits": clean} if size <= LONGEST_IN_TRAIL else {"edits_size": size}
    return {"edits_digest": digest(clean), **shown}


def _tell(action: str, actor: User, request: Request, **data: Any) -> None:
    audit.record(
        action,
        actor=actor,
        scope=audit.scope_of(request.tenant),
        obj=request,
        data={"cluster": request.cluster.slug, "targets": request.targets, **data},
    )
    moved.send(Request, row=request)
    work_ready.send(sender=Request, cluster_id=request.cluster_id)
