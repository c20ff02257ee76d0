"""What the people of a job can do about each reason, where that is for certain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

HELP: Final[Mapping[str, str | Promise]] = {
    "outside_queues": _("Give it an entry, so that it runs within your quota."),
    "no_queue_label": _("Add the label kueue.x-k8s.io/queue-name with the name of an entry."),
    "namespace_excluded": _("Send it to a namespace of your tenant."),
    "nested_owner": _("Look at the job that it belongs to."),
    "nesting_too_deep": _("Send it with fewer jobs that own each other."),
    "priority_class_missing": _("Name a priority that the cluster has, or none."),
    "prebuilt_missing": _("Make the Workload that it names, or remove that label."),
    "pod_group_incomplete": _("Make the pods that are missing, or correct their number."),
    "compose_failed": _("Correct the job as the cluster says, and send it again."),
    **dict.fromkeys(
        ("entry_stopped", "entry_drained"),
        _("It queues again by itself when the entry is open again."),
    ),
    **dict.fromkeys(
        ("queue_stopped", "queue_drained"),
        _("It queues again by itself when the queue is open again."),
    ),
    "entry_missing": _("Use one of the entries of your tenant."),
    "namespace_mismatch": _(
        "Use an entry whose queue takes this namespace, or ask those who run the cluster to let it in."
    ),
    "resource_not_covered": _("Remove what the queue does not offer from the job."),
    "selector_mismatch": _("Change the node selector of the job."),
    "untolerated_taint": _(
        "Use another entry, or add a toleration if those machines are meant for you."
    ),
    "flavor_not_allowed": _("Name flavors of its queue in the annotation, or use another entry."),
    "no_matching_flavor": _("Change its node selector or tolerations, or use another entry."),
    "max_capacity": _("Ask for fewer devices, or let the lead request more quota."),
    "max_borrowing": _("Ask for fewer devices, or let the lead request more quota."),
    "max_cohort": _("Ask for fewer devices, or let the lead request more quota."),
    "requests_above_limits": _("Change the requests or the limits of the job."),
    "limit_range": _("Change the requests of the job."),
    "resources_invalid": _("Correct what the job asks for, and send it again."),
    "resource_claims": _("Ask for devices by their resource name instead of by claims."),
    "on_hold": _("Scale it up when it shall run."),
    "check_rejected": _("Correct what the check refuses, and send the job again."),
    "topology_level_unknown": _("Name a level that the topology of the flavor has."),
    "topology_invalid": _("Correct what the job says about the nearness of its pods."),
    "topology_elastic": _("Do not ask for nearness, or give the job a fixed size."),
    "flavor_without_topology": _("Do not ask for nearness, or use a flavor with a topology."),
    "flavor_only_topology": _("Say how near the pods must be, or use another flavor."),
    "topology_too_small": _(
        "If no machine is as large as one pod asks, waiting does not help: ask for less in each "
        "pod. If pods must be near each other, allow a wider level."
    ),
    "topology_partly": _(
        "Ask for nearness at a wider level, or for fewer pods: then fewer machines close together "
        "are enough."
    ),
    "deactivated": _("Switch it on again when it shall run."),
    "time_limit": _("Let it run for a shorter time, or ask for a longer limit."),
    "too_many_retries": _("Find out why it fails before you switch it on again."),
    "orphaned": _("An administrator of the cluster can remove it."),
    "pods_refused": _("Correct the pods as the cluster says."),
    "pods_not_ready": _("Look at the logs of its pods."),
    "pods_failed": _("Look at the logs of the pods that failed."),
    "container_waiting": _("Look at the logs of its pods: they end by themselves."),
    "container_config": _("Make the secret or the settings that the containers need."),
    "image": _("Check the name of the image and whether it may be pulled."),
    "pods_match_no_node": _("Change the node selector of the pods."),
    "pods_untolerated_taint": _(
        "Add a toleration to the pods, if those machines are meant for you."
    ),
    "pods_wait_for_volume": _("Check the volume that the pods ask for."),
}
