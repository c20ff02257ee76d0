"""What each reason reads as, as a table: one code, one or more templates.

The first template whose every value is known is used, so the fullest comes first and the last
one needs nothing that could be missing. Values appear in bold; a template holds no markup.
"""

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
        _("Runs on borrowed quota: up to {at_risk} of {flavor} may be taken back."),
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
    "queue_drained": (_("Stopped, because its queue was emptied."),),
    "entry_drained": (_("Stopped, because its entry was emptied."),),
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
        _("Lost its place {preempted_because}."),
        _("Lost its place {why}."),
        _("Lost its place to another job."),
    ),
}

ROUTING: Final[Mapping[str, Texts]] = {
    "entry_terminating": (
        _("Its entry {entry} is being removed."),
        _("Its entry is being removed."),
    ),
    "entry_missing": (
        _("There is no entry {entry} in its namespace, but there is {entries}."),
        _("There is no entry {entry} in its namespace."),
        _("Its entry does not exist in this namespace."),
    ),
    "entry_stopped": (
        _("Its entry {entry} is held; jobs wait until it is opened."),
        _("Its entry is held; jobs wait until it is opened."),
    ),
    "entry_without_queue": (_("Its entry leads to no queue."),),
    "queue_missing": (
        _("Its entry leads to the queue {queue}, which does not exist."),
        _("Its entry leads to a queue that does not exist."),
    ),
    "queue_terminating": (
        _("The queue {queue} is being removed."),
        _("Its queue is being removed."),
    ),
    "queue_stopped": (
        _("The queue {queue} is held; jobs wait until it is opened."),
        _("Its queue is held; jobs wait until it is opened."),
    ),
    "queue_inactive": (_("The queue {queue} is out of order."), _("Its queue is out of order.")),
    "queue_flavor_missing": (
        _("The queue {queue} names a flavor that the cluster does not have."),
        _("Its queue names a flavor that the cluster does not have."),
    ),
    "queue_check_missing": (
        _("The queue {queue} asks for an admission check that does not exist."),
        _("Its queue asks for an admission check that does not exist."),
    ),
    "queue_check_inactive": (
        _("An admission check of the queue {queue} is out of order."),
        _("An admission check of its queue is out of order."),
    ),
    "queue_topology_missing": (
        _("The queue {queue} names a topology that the cluster does not have."),
        _("Its queue names a topology that the cluster does not have."),
    ),
    "cohort_cycle": (
        _("The departments above the queue {queue} form a circle."),
        _("The departments above its queue form a circle."),
    ),
    "queue_remote_invalid": (
        _("The checks of the queue {queue} that send jobs to other clusters do not fit together."),
        _("The checks of its queue that send jobs to other clusters do not fit together."),
    ),
    "selector_invalid": (_("The queue cannot read which namespaces it takes jobs from."),),
    "no_queue_label": (_("Names no queue, so that nobody looks at it."),),
    "framework_off": (
        _("Kueue does not look at jobs of the kind {kind} in this cluster."),
        _("Kueue does not look at jobs of this kind in this cluster."),
    ),
    "namespace_excluded": (_("Kueue does not look at jobs in this namespace."),),
    "nested_owner": (
        _("Belongs to {owner}, which waits for both."),
        _("Belongs to another job, which waits for both."),
    ),
    "nesting_too_deep": (_("Belongs to a job of a job of a job, deeper than Kueue follows."),),
    "priority_class_missing": (
        _("Names the priority {priority_class}, which does not exist."),
        _("Names a priority that does not exist."),
    ),
    "priority_class_breaks_kueue": (
        _(
            "The priority {priority_class} holds a number that is too large and stops Kueue for everybody."
        ),
        _(
            "A priority of the cluster holds a number that is too large and stops Kueue for everybody."
        ),
    ),
    "prebuilt_missing": (
        _("Names the Workload {workload}, which does not exist."),
        _("Names a Workload that does not exist."),
    ),
    "pod_group_incomplete": (_("Some pods of its group are missing: it waits for all of them."),),
    "compose_failed": (
        _("Kueue cannot use the job as it is written ({text})."),
        _("Kueue cannot use the job as it is written."),
    ),
    "workload_not_made": (_("Kueue has not taken the job in, and does not say why."),),
    "flavor_missing": (
        _("The flavor {flavor} does not exist in the cluster."),
        _("A flavor of its queue does not exist in the cluster."),
    ),
    "namespace_mismatch": (_("Its queue does not take jobs from this namespace."),),
    "namespace_unknown": (_("The cluster cannot read its namespace right now."),),
}

REQUEST: Final[Mapping[str, Texts]] = {
    "resource_not_covered": (
        _("Asks for {resource}, of which its queue has no quota at all."),
        _("Asks for something of which its queue has no quota at all."),
    ),
    "selector_mismatch": (
        _("Its own node selector does not fit the flavor {flavor}."),
        _("Its own node selector fits no flavor of the queue."),
    ),
    "untolerated_taint": (
        _(
            "Machines of the flavor {flavor} carry the taint {taint}, which the job does not tolerate."
        ),
        _("The machines carry a taint that the job does not tolerate."),
    ),
    "requests_above_limits": (
        _("Asks for more than its own limit allows ({field})."),
        _("Asks for more than its own limit allows."),
    ),
    "limit_range": (
        _("Asks for more or less than a job in this namespace may ({field})."),
        _("Asks for more or less than a job in this namespace may."),
    ),
    "resources_invalid": (_("What it asks for cannot be read as written."),),
    "resource_claims": (_("Asks for devices by claims, which this cluster does not support."),),
    "device_class_unmapped": (
        _(
            "Asks for devices of the class {device_class}, of which Kueue does not know what they count as."
        ),
        _("Asks for a class of devices of which Kueue does not know what they count as."),
    ),
    "no_matching_flavor": (_("No flavor of its queue fits what it asks for."),),
}

QUOTA: Final[Mapping[str, Texts]] = {
    "quota_short": (
        _("Needs {asked}: {held} of {nominal} in its queue are held, {missing} more are needed."),
        _("Needs {asked}: {missing} more are needed."),
        _("Waits for quota."),
    ),
    "quota_short_other": (
        _("{missing} more of the {resource} of the flavor {flavor} are needed."),
        _("Waits for quota."),
    ),
    "max_capacity": (
        _("Asks for {asked}, but its queue can never have more than {capacity} at once."),
        _("Asks for more than its queue can ever have at once."),
    ),
    "max_borrowing": (
        _(
            "Asks for {asked}: with all that it may borrow, its queue can never have more than {capacity} at once."
        ),
        _("Asks for more than quota and borrowing limit of its queue together."),
    ),
    "max_cohort": (
        _("Asks for {asked}: all that its department can give its queue is {capacity}."),
        _("Asks for more than all that its department can give its queue."),
    ),
    "growth_waits": (_("The job runs at its old size and waits to grow."),),
    "lost_the_race": (_("Another job took the free place first. It is looked at again soon."),),
    "overlapping_preemption": (
        _("Two jobs want the same place to be freed. It is looked at again soon."),
    ),
    "elastic_flavor": (
        _("Grows only on {original}, where it already runs, not on {flavor}."),
        _("Grows only on the kind of machine where it already runs."),
    ),
}

CHECK: Final[Mapping[str, Texts]] = {
    "check_pending": (
        _("Has its quota and waits for the admission check {check}."),
        _("Has its quota and waits for an admission check."),
    ),
    "check_retry": (
        _("The admission check {check} asks for another try at {requeue_at}."),
        _("The admission check {check} asks for another try."),
        _("An admission check asks for another try."),
    ),
    "check_rejected": (
        _("The admission check {check} refused it."),
        _("An admission check refused it."),
    ),
    "check_failed": (_("An admission check failed."),),
    "check_not_active": (
        _("The admission check {check} is out of order."),
        _("An admission check is out of order."),
    ),
    "provisioning_eta": (
        _("New machines are ordered and due at {eta}."),
        _("New machines are ordered."),
    ),
    "provisioning_failed": (
        _("New machines could not be had; the admission check {check} tries again."),
        _("New machines could not be had; it is tried again."),
    ),
    "provisioning_refused": (_("The order for new machines cannot be written."),),
    "remote_waits": (
        _("The cluster {remote} has room for it and is about to start it."),
        _("Another cluster has room for it and is about to start it."),
    ),
    "remote_lost": (_("The cluster that had taken it is lost; another is looked for."),),
    "remote_evicted": (
        _("The cluster {remote} stopped it; it is admitted anew."),
        _("Another cluster stopped it; it is admitted anew."),
    ),
    "remote_unsupported": (_("A job of this kind cannot be sent to another cluster."),),
    "admission_pending": (_("Has its quota and is about to be admitted."),),
    "gated": (_("Is held back by {gates}."), _("Is held back on purpose.")),
    "gate_cleared": (_("Is free to go and waits for quota."),),
    "preemption_gated": (_("Needs room that others hold, but may not take it yet."),),
}

TOPOLOGY: Final[Mapping[str, Texts]] = {
    "topology_delayed": (_("Has its quota; its machines are chosen a little later."),),
    "flavor_without_topology": (
        _("Asks for machines near each other, which the flavor {flavor} cannot promise."),
        _("Asks for machines near each other, which its flavor cannot promise."),
    ),
    "flavor_only_topology": (
        _("The flavor {flavor} takes only jobs that say how near their machines must be."),
        _("Its flavor takes only jobs that say how near their machines must be."),
    ),
    "topology_level_unknown": (
        _("Asks for nearness by {level}, which the topology does not know."),
        _("Asks for a kind of nearness that the topology does not know."),
    ),
    "topology_not_cached": (_("The cluster is still reading where its machines stand."),),
    "topology_partly": (
        _("Only {fits} of {asked_parts} pods find a place near enough to each other."),
        _("There is quota, but only some of its pods find a place near enough to each other."),
    ),
    "topology_no_nodes": (
        _("No machine carries the label {level}, by which nearness is told."),
        _("No machine carries the label by which nearness is told."),
    ),
    "topology_elastic": (_("A job that grows cannot ask for machines near each other."),),
    "topology_too_small": (
        _("None of {asked_parts} pods finds a place near enough to the others."),
        _("There is quota, but no place where its pods are near enough to each other."),
    ),
    "topology_invalid": (
        _("What it asks about the nearness of its machines does not fit together."),
    ),
    "node_not_replaced": (
        _("The machine {node} failed, and no other near enough can take its place."),
        _("A machine failed, and no other near enough can take its place."),
    ),
}

ORDER: Final[Mapping[str, Texts]] = {
    "back_off": (
        _("Takes a break after a failed try, until {requeue_at}."),
        _("Takes a break after a failed try."),
    ),
    "behind_head": (
        _("{ahead} jobs are before it, and its queue takes them strictly in order."),
        _("Its queue takes jobs strictly in order, and the one at the head waits."),
    ),
    "behind_preemptor": (_("A job of its queue goes first: others are being stopped for it."),),
    "reopened": (_("Its queue was shut or missing and is open now. It is looked at again soon."),),
    "not_looked_at": (_("Was not looked at yet; it waits for its turn."),),
    "same_as_another": (
        _("Just like another job that waits; it is looked at when that one moves."),
    ),
    "other_variant": (_("A better variant of it already has its place."),),
    "on_hold": (_("Scaled to zero; it waits until it is wanted again."),),
    "kueue_failed": (
        _("The cluster could not admit it because of an error of its own. It tries again."),
    ),
    "other_pods_not_ready": (_("Waits until the pods of jobs admitted before are ready."),),
    "unknown": (_("The cluster says: {raw}"), _("Waits; the cluster does not say why.")),
}

MAKING_ROOM: Final = {
    1: _("One job is being stopped to make room."),
    2: _("{preempting} jobs are being stopped to make room."),
}

TEXTS: Final[Mapping[str, Texts]] = {
    **RUNNING, **ENDED, **STOPPED, **ROUTING, **REQUEST, **QUOTA, **CHECK, **TOPOLOGY, **ORDER,
}  # fmt: skip

# Why a job lost its place, in the middle of a sentence.
BECAUSE: Final[Mapping[str, str | Promise]] = {
    "priority": _("to a job of higher priority in its queue"),
    "reclaimed": _("because another queue took back what it had lent"),
    "fair_sharing": _("because its queue held more than its fair share"),
    "reclaimed_while_borrowing": _("because it was on borrowed quota that another queue needs"),
    "unknown": _("to another job"),
    # The cluster's own words for the same.
    "prioritization in the ClusterQueue": _("to a job of higher priority in its queue"),
    "reclamation within the cohort": _("because another queue took back what it had lent"),
    "reclamation within the cohort while borrowing": _(
        "because it was on borrowed quota that another queue needs"
    ),
    "Fair Sharing within the cohort": _("because its queue held more than its fair share"),
    "UNKNOWN": _("to another job"),
}

# What its people can do, where that is for certain.
HELP: Final[Mapping[str, str | Promise]] = {
    "outside_queues": _("Give it an entry, so that it runs within your quota."),
    "no_queue_label": _("Add the label kueue.x-k8s.io/queue-name with the name of an entry."),
    "namespace_excluded": _("Send it to a namespace of your tenant."),
    "nesting_too_deep": _("Send it with fewer jobs that own each other."),
    "priority_class_missing": _("Use one of the priorities of the catalog."),
    "prebuilt_missing": _("Make the Workload that it names, or remove that label."),
    "pod_group_incomplete": _("Make the pods that are missing, or correct their number."),
    "compose_failed": _("Correct the job as the cluster says, and send it again."),
    "entry_missing": _("Use one of the entries of your tenant."),
    "namespace_mismatch": _("Use an entry of this namespace's own tenant."),
    "resource_not_covered": _("Remove what the queue does not offer from the job."),
    "selector_mismatch": _("Change the node selector of the job."),
    "untolerated_taint": _("Add a toleration, or use another entry."),
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
    "topology_too_small": _("Ask for nearness at a wider level, or for smaller pods."),
    "topology_partly": _("Ask for nearness at a wider level, or for fewer pods."),
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
    "pods_untolerated_taint": _("Add a toleration to the pods."),
    "pods_wait_for_volume": _("Check the volume that the pods ask for."),
}

# What a waiting job waits for, by the stage at which it stands.
WAITS_FOR: Final[Mapping[str, str | Promise]] = {
    "order": _("Waiting for its turn"),
    "quota": _("Waiting for quota"),
    "check": _("Waiting for a check"),
    "topology": _("Waiting for a place"),
    "pods": _("Waiting for pods"),
}
