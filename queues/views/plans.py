"""The decision page, its buttons, and the progress of an apply."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from kube import catalog_json
from kube import edits as kube_edits
from kube.catalog import Catalog
from kube.problems import InvalidCatalog
from portal.web.errors import DomainError, NotAllowed, problem
from portal.web.pages import page
from queues import access as own
from queues.models import Apply, Plan
from queues.selectors.plans import sorted_objects
from queues.selectors.requests import results_of
from queues.services import approve as deciding
from queues.services import capacity, conflicts
from queues.views import progress
from queues.views.answers import person, see_other
from tenants import access
from tenants.models import Revision
from tenants.services.catalog import catalog_of, head

MOVING = (Apply.State.QUEUED, Apply.State.RUNNING, Apply.State.UNKNOWN)


@require_safe
@login_required
def plan(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Show a plan with everything that a decision needs."""
    return shown(request, own.plan(person(request), pk))


def shown(
    request: HttpRequest, row: Plan, refused: Mapping[str, Any] | None = None
) -> HttpResponse:
    """Draw the plan; after a refused decision with what was refused and what was typed."""
    sorted_, pools = sorted_objects(row), numbers(row)
    context = {
        "refused": refused,
        "plan": row, "request_row": row.request, "what": progress.summary(row.request, row),
        "objects": sorted_, "changes": [c for o in sorted_.changed for c in progress.changes_of(o)],
        "capacity": pools, "over": any(each.get("over") for each in pools), "reductions": row.impact.get("reductions", []),
        "conflicts": [(o, progress.str_of(o)) for o in sorted_.conflicts],
        "untried": [(o, progress.str_of(o)) for o in sorted_.untried],
        "problems": progress.problems(row.problems),
        "warnings": progress.problems(row.impact.get("warnings", [])), "raw": raw(sorted_.changed),
        "decision": getattr(row, "decision", None), "apply": getattr(row, "apply", None),
        "may": may(request, row), "newer": newer(row),
        "crumbs": [
            *progress.crumbs(),
            {"label": _("Request %(id)s") % {"id": str(row.request)},
             "url": reverse("request", args=[row.request_id])},
        ],
    }  # fmt: skip
    stamp = (row.pk, row.version, row.request.version, context["may"], row.error, pools)
    status = refused["status"] if refused else 200
    return page(request, "queues/plan.html", context, partial="now", seen=stamp, status=status)


def kept_when_refused(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Bring a refused decision back to the plan as it is now, with the reason that was typed."""

    @wraps(view)
    def answer(request: HttpRequest, pk: UUID) -> HttpResponse:
        try:
            return view(request, pk)
        except NotAllowed:
            raise
        except DomainError as error:
            row = own.plan(person(request), pk)
            typed = request.POST.get("reason", "")
            facts = problem(request, error) | {"form": view.__name__, "typed": typed}
            return shown(
                request, row, facts | {"kept": _("What you typed is kept.") if typed else ""}
            )

    return answer


def may(request: HttpRequest, row: Plan) -> dict[str, Any]:
    """Say what the viewer may do with a plan that is ready, and why not where that is so."""
    asked = row.request
    actions = ("approve", "reject", "take_back", "keep_theirs")
    found: dict[str, Any] = {
        name: row.state == Plan.State.READY and access.can(request.user, f"plan.{name}", asked)
        for name in actions
    }
    why = access.reason_against(request.user, "plan.approve", asked)
    found["why"] = why.text if why is not None and row.state == Plan.State.READY else ""
    found["abandon"] = access.can(request.user, "request.abandon", asked)
    return found


def numbers(row: Plan) -> list[dict[str, Any]]:
    """Return devices and promises for each flavor: as decided, or as of now.

    ``over`` is what would be promised and is not there; then nobody can approve it.
    """
    decision = getattr(row, "decision", None)
    if decision is not None and decision.evidence.get("capacity"):
        return list(decision.evidence["capacity"])
    if not row.proposed:
        return []
    before, after = _catalogs(row)
    was = {each["flavor"]: each["committed"] for each in capacity.facts(row.cluster, before)}
    found = capacity.facts(row.cluster, after)
    return [_with_before(each, was.get(each["flavor"], 0)) for each in found]


def _catalogs(row: Plan) -> tuple[Catalog, Catalog]:
    """Return the catalog without and with a plan: of today, as others are approved meanwhile."""
    if row.state == Plan.State.READY:
        today = head(row.cluster)
        try:
            return today, kube_edits.apply(today, kube_edits.load_edits(row.request.edits))
        except InvalidCatalog:
            pass  # it fits no longer; the decision says why
    return catalog_of(row.base) if row.base else Catalog(), catalog_json.load(row.proposed)


def _with_before(now: dict[str, Any], before: int) -> dict[str, Any]:
    more = now["committed"] > before and now["free"] is not None
    return now | {"committed_before": before, "over": max(0, -now["free"]) if more else 0}


def newer(row: Plan) -> Plan | None:
    """Return the plan that replaced this one."""
    if row.state != Plan.State.SUPERSEDED:
        return None
    later = Plan.objects.filter(request=row.request_id, created_at__gt=row.created_at)
    return later.defer("proposed").order_by("-created_at").first()


def raw(objects: list[Any]) -> list[tuple[str, str]]:
    """Return the objects as they would be sent."""
    return [
        (progress.str_of(each), json.dumps(each.wanted, indent=2, ensure_ascii=False))
        for each in objects
    ]


@require_POST
@login_required
@kept_when_refused
def approve(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Approve the plan that was shown; its digest came with the form."""
    row = own.plan(person(request), pk, "plan.approve")
    made = deciding.approve(
        actor=person(request), plan=row, digest=request.POST.get("digest", ""),
        take_back=request.POST.get("take_back") == "yes", reason=request.POST.get("reason", ""),
    )  # fmt: skip
    return see_other(
        request, _("Approved. A worker brings it into the cluster."), "request", made.request_id
    )


@require_POST
@login_required
@kept_when_refused
def reject(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Reject the plan that was shown, with a reason."""
    row = own.plan(person(request), pk, "plan.reject")
    deciding.reject(
        actor=person(request), plan=row, digest=request.POST.get("digest", ""),
        reason=request.POST.get("reason", ""),
    )  # fmt: skip
    return see_other(request, _("Rejected, with your reason."), "request", row.request_id)


@require_POST
@login_required
@kept_when_refused
def keep_theirs(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Let the catalog follow what another writer set."""
    row = own.plan(person(request), pk, "plan.keep_theirs")
    revision: Revision = conflicts.keep_theirs(
        actor=person(request),
        plan=row,
        reason=request.POST.get("reason", ""),
    )
    said = _("The catalog follows the cluster now, as revision %(number)d.") % {
        "number": revision.number
    }
    return see_other(request, said, "request", row.request_id)


@require_POST
@login_required
@kept_when_refused
def abandon(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Give the plan's request up."""
    row = own.plan(person(request), pk, "request.abandon")
    reason = request.POST.get("reason", "")
    conflicts.abandon(actor=person(request), request=row.request, reason=reason)
    return see_other(request, _("The request is given up."), "request", row.request_id)


@require_safe
@login_required
def apply(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Show what became of each object."""
    row = own.apply(person(request), pk)
    results = results_of(row)
    context = {
        "apply": row, "request_row": row.request, "rows": progress.result_rows(results),
        "moving": row.state in MOVING, "counts": counts(results),
        "may_retry": row.state in (Apply.State.PARTIAL, Apply.State.STUCK)
        and access.can(request.user, "apply.retry", row.request),
        "crumbs": [
            *progress.crumbs(),
            {"label": _("Request %(id)s") % {"id": str(row.request)},
             "url": reverse("request", args=[row.request_id])},
        ],
    }  # fmt: skip
    stamp = (row.version, row.seen_at, row.error, [(r.pk, r.state) for r in results])
    return page(request, "queues/apply.html", context, partial="now", seen=stamp)


def counts(results: list[Any]) -> dict[str, int]:
    """Count the objects that are done."""
    done = sum(row.state in ("applied", "found") for row in results)
    return {"done": done, "all": len(results)}


@require_POST
@login_required
def retry(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Go on with an apply that stopped."""
    row = own.apply(person(request), pk, "apply.retry")
    conflicts.continue_partial(actor=person(request), apply=row)
    return see_other(request, _("It goes on where it stopped."), "apply", pk)
