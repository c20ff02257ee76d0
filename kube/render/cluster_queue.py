"""ClusterQueue: a tenant's queue. Every policy is written, so that nobody's edit can hide."""

from __future__ import annotations

from kube import keys
from kube.catalog import Preemption, QueueSpec, TenantSpec
from kube.manifest import Manifest
from kube.render.objects import JSON, build, set_only
from kube.render.resource_groups import resource_groups
from kube.weight import weight_text


def cluster_queue(tenant: TenantSpec, spec: QueueSpec) -> Manifest:
    """Render one queue of a tenant."""
    content = {
        **set_only({"cohortName": spec.cohort}),
        "fairSharing": {"weight": weight_text(spec.weight)},
        "flavorFungibility": {
            "whenCanBorrow": spec.fungibility.when_can_borrow,
            "whenCanPreempt": spec.fungibility.when_can_preempt,
        },
        "namespaceSelector": {"matchLabels": {keys.TENANT: tenant.slug}},
        "preemption": _preemption(spec.preemption),
        "queueingStrategy": spec.strategy.value,
        **set_only({"resourceGroups": resource_groups(spec.quotas)}),
        "stopPolicy": spec.stop_policy.value,
    }
    return build(
        "ClusterQueue",
        spec.name,
        {"spec": content},
        labels={keys.TENANT: tenant.slug, keys.PURPOSE: spec.purpose.value},
        annotations={
            keys.DISPLAY_NAME: tenant.display_name,
            keys.COST_CENTRE: tenant.cost_centre,
        },
    )


def _preemption(spec: Preemption) -> JSON:
    borrow: JSON = {"policy": spec.borrow_within_cohort}
    if spec.max_priority_threshold is not None:
        borrow["maxPriorityThreshold"] = spec.max_priority_threshold
    return {
        "borrowWithinCohort": borrow,
        "reclaimWithinCohort": spec.reclaim_within_cohort,
        "withinClusterQueue": spec.within_cluster_queue,
    }
