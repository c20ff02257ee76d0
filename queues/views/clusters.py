"""Clusters: is the data fresh, what may the portal do there, what is left of each flavor."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from portal.web.errors import DomainError, Refused
from portal.web.pages import page, page_if_moved
from queues.forms import PLACES, ConnectForm
from queues.selectors import pulse
from queues.selectors.clusters import cluster_now, cluster_rows
from queues.selectors.gangs import gangs
from queues.selectors.room import Tree, trees
from queues.selectors.tenants import TREE_LIMIT, described, joined
from queues.selectors.unknown import unknown_texts
from queues.services import links
from queues.views import health, laid, meters
from queues.views.answers import person, see_other
from queues.views.tree import branches, flows, strangers
from tenants import access
from tenants.models import Cluster

# More queues than this are found in the catalog.
SHOWN = 200


@require_safe
@login_required
def clusters(request: HttpRequest) -> HttpResponse:
    """List the clusters with their health."""
    rows = cluster_rows(access.clusters(request.user).order_by("slug"))
    context: dict[str, Any] = {
        "rows": [health.ListLine(row) for row in rows],
        "may_register": access.can(request.user, "cluster.register"),
    }
    stamp = [line.stamp for line in context["rows"]]
    return page(request, "queues/clusters.html", context, partial="list", seen=stamp)


@require_safe
@login_required
def cluster(request: HttpRequest, slug: str) -> HttpResponse:
    """Show one cluster: health, rights, capacity, and the queues that the viewer may see."""
    rows = pulse.of_cluster(access.clusters(request.user))
    row = access.fetch(request.user, rows, "cluster.see", slug=slug)
    draw = partial(_draw, request, row)
    beat = pulse.read(row)
    moved = beat.quiet_stamp(row.writing, row.display_name, access.rights(request.user))
    return page_if_moved(request, "queues/cluster.html", draw, "now", moved=moved, alive=beat.alive)


def _draw(request: HttpRequest, row: Cluster) -> tuple[dict[str, Any], object]:
    tree = trees([row.pk], TREE_LIMIT).get(row.pk, Tree(()))
    now = cluster_now(row, tree)
    visible = described(access.queues(request.user).filter(cluster=row)).order_by("name")
    found = list(visible[: SHOWN + 1])
    shown = [meters.shown(each, {}) for each in joined(found[:SHOWN], {row.pk: tree})]
    details = access.can(request.user, "cluster.details", row)
    cut = len(found) > SHOWN
    named = None if details else [each.now.queue.name for each in shown]
    context: dict[str, Any] = {
        "cluster": row, "now": now, "health": health.Health(now, details=details),
        "details": details, "cut": cut, "queues": shown,
        "unknown": unknown_texts(row) if details else [],
        "strangers": strangers(tree, shown) if details and not cut else 0,
        "may_write": access.can(request.user, "cluster.write", row),
        "may_disconnect": access.can(request.user, "cluster.disconnect", row),
        "pools": [health.PoolLine(pool) for pool in now.pools],
        "branches": branches(now, shown, tree, cut=cut), "laid": laid.drawn(gangs(now)),
        "flows": flows(now, tree, named),
        "crumbs": [{"label": _("Clusters"), "url": "/clusters/"}],
    }  # fmt: skip
    lines = [each.stamp for each in context["branches"]]
    names = ("pools", "laid", "flows", "strangers")
    texts = [(each.pk, each.times) for each in context["unknown"]]
    return context, (context["health"].stamp, lines, [context[name] for name in names], texts)


@sensitive_post_parameters("reader", "applier")
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def register(request: HttpRequest) -> HttpResponse:
    """Connect a cluster: read-only until an administrator switches writing on."""
    access.require(request.user, "cluster.register")
    posted = request.method == "POST"
    form = (
        ConnectForm(request.POST or {}, request.FILES)
        if posted
        else ConnectForm(initial=_known(request))
    )
    if posted and form.is_valid():
        try:
            made = links.register_cluster(actor=person(request), **form.facts())
        except DomainError as refusal:
            form.add_error(PLACES.get(refusal.field or ""), str(refusal.message))
        else:
            said = _("Connected, read-only. The portal's rights there are being checked.")
            return see_other(request, said, "cluster", made.slug)
    context: dict[str, Any] = {
        "form": form,
        "crumbs": [{"label": _("Clusters"), "url": "/clusters/"}],
    }
    return page(
        request, "queues/cluster_register.html", context, status=422 if form.errors else 200
    )


def _known(request: HttpRequest) -> dict[str, object]:
    """Begin with the names of a cluster whose tokens are to be replaced."""
    row = access.clusters(request.user).filter(slug=request.GET.get("cluster", "")[:40]).first()
    return {"slug": row.slug, "display_name": row.display_name, "replace": True} if row else {}


@require_POST
@login_required
def writing(request: HttpRequest, slug: str) -> HttpResponse:
    """Switch writing to a cluster on or off."""
    row = access.cluster(request.user, slug, "cluster.write")
    on = request.POST.get("on") == "yes"
    links.set_writing(actor=person(request), cluster=row, on=on)
    said = _("The portal may write to this cluster now.") if on else _("The portal only reads now.")
    return see_other(request, said, "cluster", row.slug)


@require_POST
@login_required
def disconnect(request: HttpRequest, slug: str) -> HttpResponse:
    """Forget a cluster's address and tokens, once its short name was typed in."""
    row = access.cluster(request.user, slug, "cluster.disconnect")
    if request.POST.get("slug", "").strip() != row.slug:
        said = _("Nothing was changed: write the short name of the cluster to disconnect it.")
        raise Refused(said, code="GP-4107", field="slug")
    if links.disconnect_cluster(actor=person(request), cluster=row):
        return see_other(request, _("Disconnected and removed."), "clusters")
    said = _("Disconnected. The address and the tokens are gone, the history stays.")
    return see_other(request, said, "cluster", slug)
