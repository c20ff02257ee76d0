"""Who had the machines of a bill, as Kubernetes says, and what tags may call a tenant."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection

from costs.facts import NOBODY
from costs.selectors.holdings import owners
from costs.times import Span, instant, moment
from queues.models import PodInterval, PodRun
from tenants.models import Cluster, Tenant

_CHUNK = 5000


def names() -> dict[str, str]:
    """Return tenants by what a tag may say, in small letters: slug, cost centre, or name."""
    found: dict[str, str] = {}
    for slug, *others in Tenant.objects.order_by("slug").values_list(
        "slug", "cost_centre", "display_name"
    ):
        for each in (slug, *others):
            if each:
                found.setdefault(each.strip().lower(), slug)
    # What a slug says wins over what another tenant is called.
    return found | {slug.lower(): slug for slug in found.values()}


def had(nodes: Collection[tuple[str, str]], span: Span) -> dict[tuple[str, str], Counter[str]]:
    """Return device-seconds of pods by node and tenant; three queries for each cluster.

    ``nodes`` are clusters and names. A pod is of the tenant whose namespace it was in then.
    """
    found: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    by_cluster: dict[str, set[str]] = defaultdict(set)
    for slug, node in nodes:
        by_cluster[slug].add(node)
    for cluster in Cluster.objects.filter(slug__in=by_cluster).order_by("slug"):
        of = owners(cluster.pk, span).namespaces
        for node, namespace, amount, time in _pods(cluster.pk, by_cluster[cluster.slug], span):
            dated = of.get(namespace)
            parts = dated.within(time) if dated else [(time, None)]
            for part, tenant in parts:
                found[cluster.slug, node][tenant or NOBODY] += amount * part.seconds
    return found


def _pods(cluster_id: int, nodes: Collection[str], span: Span) -> list[tuple[str, str, int, Span]]:
    lo, hi = moment(span.starts), moment(span.ends)
    over = PodInterval.objects.filter(
        cluster=cluster_id, node__in=nodes, ends__gt=lo, starts__lt=hi
    )
    lasting = PodRun.objects.filter(cluster=cluster_id, node__in=nodes, starts__lt=hi)
    found = []
    for node, namespace, amount, starts, ends in [
        *over.values_list("node", "namespace", "amount", "starts", "ends").iterator(_CHUNK),
        *((*row, hi) for row in lasting.values_list("node", "namespace", "amount", "starts")),
    ]:
        cut = Span(instant(starts), instant(ends)).cut(span)
        if cut:
            found.append((node, namespace, amount, cut))
    return found
