"""The resource groups of a ClusterQueue or Cohort, in Kubernetes' own spelling of numbers."""

from __future__ import annotations

from kube import quantity
from kube.catalog import QuotaSpec
from kube.groups import Group, groups
from kube.render.objects import JSON


def resource_groups(quotas: tuple[QuotaSpec, ...]) -> list[JSON]:
    """Render quota lines; every flavor lists the covered resources in the same order."""
    return [_group(each) for each in groups(quotas)]


def _group(group: Group) -> JSON:
    flavors = [
        {"name": name, "resources": [_line(line) for line in group.of(name)]}
        for name in group.flavors
    ]
    return {"coveredResources": list(group.resources), "flavors": flavors}


def _line(line: QuotaSpec) -> JSON:
    body = {"name": line.resource, "nominalQuota": quantity.format(line.resource, line.nominal)}
    limits = {"borrowingLimit": line.borrowing_limit, "lendingLimit": line.lending_limit}
    written = {
        key: quantity.format(line.resource, limit)
        for key, limit in limits.items()
        if limit is not None
    }
    return {**body, **written}
