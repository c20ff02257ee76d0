"""Tolerances: how exact the comparisons are, everywhere and in single pools."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from costs.forms.months import COMPARED, ToleranceForm
from costs.models import PoolTolerance
from costs.selectors.period_hours import known_pools
from costs.services import findings
from costs.states import DEFAULTS, Kind, Tolerance
from costs.views.words import hours_text, share_text
from portal.web.pages import page
from portal.web.wording import DASH
from tenants import access
from tenants.models import Cluster, User


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def tolerances(request: HttpRequest) -> HttpResponse:
    """Show what is allowed, and set it for a pool."""
    if not access.rights(request.user).platform:
        raise access.Hidden("tolerances", "")
    posts = request.method == "POST"
    access.require(request.user, "costs.work" if posts else "costs.see")
    pools = {str(each): each for each in known_pools()}
    form = ToleranceForm(request.POST if posts else None, pools=pools)
    if form.is_bound and form.is_valid():
        place = pools[form.cleaned_data["pool"]]
        findings.set_tolerance(
            cluster=Cluster.objects.get(slug=place.cluster), flavor=place.pool.flavor,
            resource=place.pool.resource, kind=Kind(form.cleaned_data["kind"]), to=form.tolerance,
            actor=cast(User, request.user),
        )  # fmt: skip
        messages.success(request, _("Set. The next run compares with it."))
        return redirect("costs-tolerances")
    rows = PoolTolerance.objects.select_related("cluster", "set_by")
    context: dict[str, Any] = {
        "form": form, "works": access.can(request.user, "costs.work"), "pools": bool(pools),
        "defaults": [_row(kind, DEFAULTS[kind]) for kind in COMPARED],
        "own": [
            {
                **_row(Kind(each.kind), Tolerance(Fraction(each.relative), each.absolute)),
                "pool": f"{each.cluster.slug}/{each.flavor}/{each.resource}",
                "by": str(each.set_by or DASH),
            }
            for each in rows.order_by("cluster__slug", "flavor", "resource", "kind")
        ],
        "crumbs": [{"label": _("Costs"), "url": reverse("costs")}],
    }  # fmt: skip
    return page(request, "costs/tolerances.html", context, status=422 if form.errors else 200)


def _row(kind: Kind, found: Tolerance) -> dict[str, str]:
    return {
        "kind": str(COMPARED[kind]), "percent": share_text(found.relative),
        "hours": hours_text(found.absolute) if found.absolute else DASH,
    }  # fmt: skip
