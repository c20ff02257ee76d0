"""Jobs that have their place, are at their end, or are being stopped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

Texts = tuple[str | Promise, ...]

RUNNING: Final[Mapping[str, Texts]] = {
    "running": (_("Runs on {holds}."), _("Runs.")),
    "orphaned": (_("Holds its place, but no job owns it any more. It must be removed by hand."),),
    "outside_queues": (_("Runs outside all queues: no quota counts its devices."),),
    "may_be_reclaimed": (
        _("Runs on borrowed quota: up to {at_risk} devices of {flavor} may be taken back."),
        _("Runs on borrowed quota, which other queues may take back."),
    ),
    "node_unhealthy": (
        _("Runs, but a machine is not well: {nodes}."),
        _("Runs, but a machine is not well."),
    ),
    "pods_recovering": (_("Ran, and waits for one of its pods to come back."),),
    "pods_starting": (_("Has its place; the pods are being started."),),
    "no_pods_yet": (_("Has its place; its pods were not made yet."),),
    "pods_refused": (
        _("Has its place, but the cluster refuses to make its pods ({text})."),
        _("Has its place, but the cluster refuses to make its pods."),
    ),
    "pods_not_ready": (
        _("{waiting} of {pods} pods run and do not say that they are ready."),
        _("Its pods run and do not say that they are ready."),
    ),
    "pods_failed": (
        _("{waiting} of {pods} pods failed ({cause}) and are being replaced."),
        _("{waiting} of {pods} pods failed and are being replaced."),
        _("Some of its pods failed and are being replaced."),
    ),
    "container_starting": (
        _("The containers start: {waiting} of {pods} pods are not ready."),
        _("The containers start."),
    ),
    "container_config": (
        _("{waiting} of {pods} pods lack something that they need to start ({text})."),
        _("Pods lack a secret, a config map or a command that they need to start."),
    ),
    "container_waiting": (
        _("{waiting} of {pods} pods stop by themselves ({cause}) and are started again."),
        _("{waiting} of {pods} pods wait to be started again after a fault."),
        _("Pods wait to be started again after a fault."),
    ),
    "image": (
        _("The image cannot be fetched for {waiting} of {pods} pods."),
        _("The image of the job cannot be fetched."),
    ),
    "unschedulable": (
        _("Has its quota, but no machine takes {waiting} of {pods} pods."),
        _("Has its quota, but no machine takes the pods."),
    ),
    "pods_lack_room": (
        _(
            "Has its quota, but the machines that match have too little {resource} left for {waiting} of {pods} pods."
        ),
        _(
            "Has its quota, but the machines that match have no room left for {waiting} of {pods} pods."
        ),
        _("Has its quota, but the machines that match have no room left."),
    ),
    "pods_match_no_node": (
        _("Has its quota, but none of {nodes} machines matches the node selector of its pods."),
        _("Has its quota, but no machine matches the node selector of its pods."),
    ),
    "pods_nodes_closed": (_("Has its quota, but the machines that match are closed or not well."),),
    "pods_untolerated_taint": (
        _(
            "Has its quota, but the machines carry the taint {taint}, which its pods do not tolerate."
        ),
        _("Has its quota, but the machines carry a taint that its pods do not tolerate."),
    ),
    "pods_wait_for_volume": (
        _("{waiting} of {pods} pods wait for a volume that is missing or cannot be reached."),
        _("Its pods wait for a volume that is missing or cannot be reached."),
    ),
    "pod_gated": (
        _("{waiting} of {pods} pods are held back until a machine is chosen."),
        _("The pods are held back until a machine is chosen."),
    ),
    "pod_gated_elsewhere": (
        _("{waiting} of {pods} pods are held back by {gates}."),
        _("The pods are held back by something outside Kueue."),
    ),
    "pods_still_stopping": (
        _(
            "{waiting} of its old pods are still on their machines and hold their devices until they have stopped."
        ),
        _("Its old pods are still on their machines."),
    ),
}

ENDED: Final[Mapping[str, Texts]] = {
    "succeeded": (_("Done."),),
    "failed": (_("Ended with an error."),),
    "ended": (_("Ended."),),
    "out_of_sync": (_("The job was changed, so that its old place in the queue ended."),),
    "failed_to_start": (_("Could not be started."),),
    "replaced": (_("Replaced by a larger or smaller version of itself."),),
    "owner_gone": (_("The job it belonged to is gone."),),
    "deleted": (_("Is being removed."),),
    "deactivated": (_("Was switched off. It waits for somebody to switch it on again."),),
    "too_many_retries": (_("Was switched off: it was started again too often."),),
    "time_limit": (_("Was switched off: it ran for as long as it may."),),
}

STOPPED: Final[Mapping[str, Texts]] = {
    "evicted": (_("Is being stopped by the cluster."),),
    "queue_drained": (_("Stopped, because its queue was closed and emptied."),),
    "entry_drained": (_("Stopped, because its entry was closed and emptied."),),
    "pods_ready_timeout": (
        _("Its pods were not ready in time. It may try again at {requeue_at}."),
        _("Its pods were not ready in time, so it gave its place back."),
    ),
    "node_failed": (
        _("A machine failed ({nodes}) and no other could take its place."),
        _("A machine failed, and the job gave its place back."),
    ),
    "flavor_migration": (_("Moves to another kind of machine."),),
    "preempted": (
        _("Was stopped {preempted_because}."),
        _("Was stopped {why}."),
        _("Was stopped for another job."),
    ),
}
