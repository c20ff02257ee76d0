"""Is the way into a cluster in order: its rights, what it can do, its clock?"""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

import structlog
from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from kube import errors, kinds, rbac
from kube.client import ClusterClient
from kube.preflight import Report, preflight
from queues.models import Link
from queues.services import links
from tenants import audit
from tenants.models import Cluster

log = structlog.get_logger(__name__)

EVERY: Final = timedelta(minutes=10)
AGAIN_AFTER_ERROR: Final = timedelta(seconds=30)


def due() -> QuerySet[Link]:
    """Return the links that should be checked now."""
    failed = ~Q(check_error="") & Q(checked_at__lt=Now() - AGAIN_AFTER_ERROR)
    old = Q(checked_at__isnull=True) | Q(checked_at__lt=Now() - EVERY)
    return Link.objects.filter(old | failed)


def run(cluster_id: int) -> None:
    """Check one cluster and keep the report; what cannot be reached is said, not raised."""
    link = Link.objects.select_related("cluster").get(cluster_id=cluster_id)
    # Claimed by the time of the check, so that two workers do not ask 200 questions each.
    seen = Q(checked_at=link.checked_at) if link.checked_at else Q(checked_at__isnull=True)
    if not Link.objects.filter(seen, pk=link.pk).update(checked_at=Now()):
        return
    try:
        links.renew_due(link.cluster)
        found, capabilities, skew = _look(link.cluster)
    except errors.ClusterError as error:
        text = f"{error.code} {error.message}"
        Link.objects.filter(pk=link.pk).update(check_error=text, checked_at=Now())
        log.warning("preflight_failed", cluster=link.cluster.slug, code=error.code)
        return
    _keep(link, found, capabilities, skew)


def _look(cluster: Cluster) -> tuple[dict[str, Any], dict[str, Any], float | None]:
    reports: dict[str, Any] = {}
    with links.client(cluster=cluster, purpose="reader") as reader:
        reports["reader"] = _told(preflight(reader, rbac.Identity.READER))
        capabilities = _capabilities(reader)
        skew = reader.clock_skew
    with links.client(cluster=cluster, purpose="applier") as applier:
        reports["applier"] = _told(preflight(applier, rbac.Identity.APPLIER))
    served = bool(capabilities["served"])
    reports["ok"] = served and all(reports[purpose]["ok"] for purpose in links.PURPOSES)
    return reports, capabilities, skew


def _told(report: Report) -> dict[str, Any]:
    return {
        "ok": report.ok,
        "user": report.user,
        "missing": [str(right) for right in report.missing],
        "surplus": [str(right) for right in report.surplus],
        "incomplete": report.incomplete,
    }


def _capabilities(client: ClusterClient) -> dict[str, Any]:
    """Return versions and whether every kind that the portal writes is served."""
    group = kinds.CLUSTER_QUEUE.group
    versions = client.groups().get(group, [])
    served = {str(each.get("name")) for each in client.discovery(group, _VERSION)}
    wanted = {kind.plural for kind in kinds.KUEUE_KINDS}
    return {
        "kubernetes": client.version().git,
        "kueue_versions": versions,
        "kinds_missing": sorted(wanted - served),
        "served": _VERSION in versions and wanted <= served,
    }


_VERSION: Final = kinds.CLUSTER_QUEUE.version


@transaction.atomic
def _keep(
    link: Link, found: dict[str, Any], capabilities: dict[str, Any], skew: float | None
) -> None:
    before = Link.objects.select_for_update().get(pk=link.pk)
    Link.objects.filter(pk=link.pk).update(
        preflight=found,
        capabilities=capabilities,
        check_error="",
        checked_at=Now(),
        clock_skew_seconds=None if skew is None else round(skew),
    )
    if before.preflight == found and before.capabilities == capabilities:
        return
    outcome = audit.DONE if found["ok"] else audit.FAILED
    audit.record(
        "cluster.preflight",
        actor=None,
        scope=audit.PLATFORM,
        obj=link.cluster,
        data={"preflight": found, "capabilities": capabilities},
        outcome=outcome,
    )
