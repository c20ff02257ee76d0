"""Jobs without a place: the way to the queue, what they ask for, quota and turn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

Texts = tuple[str | Promise, ...]

ROUTING: Final[Mapping[str, Texts]] = {
    "entry_terminating": (
        _("Its entry {entry} is being removed."),
        _("Its entry is being removed."),
    ),
    "entry_missing": (
        _("The entry “{entry}” does not exist in its namespace; entries there: {entries}."),
        _("The entry “{entry}” does not exist in its namespace."),
        _("Its entry does not exist in this namespace."),
    ),
    "entry_stopped": (
        _("Its entry {entry} is closed; jobs wait until it is opened."),
        _("Its entry is closed; jobs wait until it is opened."),
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
        _("The queue {queue} is closed; jobs wait until it is opened."),
        _("Its queue is closed; jobs wait until it is opened."),
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
        _(
            "Names the priority {priority_class}, which does not exist; priorities of the cluster: "
            "{priorities}."
        ),
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
        _("Asks for {limited} than a pod in this namespace may ({field})."),
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
    "flavor_not_allowed": (
        _(
            "Its annotation does not allow the flavor {flavor}, and its queue has none that it allows."
        ),
        _("Its annotation allows no flavor that its queue has."),
    ),
    "no_matching_flavor": (_("No flavor of its queue fits what it asks for."),),
}

QUOTA: Final[Mapping[str, Texts]] = {
    "quota_short": (
        _(
            "Needs {asked}: {held} of {nominal} in its queue are held, {missing} more must become free."
        ),
        _("Needs {asked}: {missing} more must become free."),
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
    "flavor_not_chosen": (
        _("Kueue tried only the flavors that it had chosen before. It is looked at again soon."),
    ),
    "other_variant": (_("A better variant of it already has its place."),),
    "on_hold": (_("Scaled to zero; it waits until it is wanted again."),),
    "kueue_failed": (
        _("The cluster could not admit it because of an error of its own. It tries again."),
    ),
    "other_pods_not_ready": (_("Waits until the pods of jobs admitted before are ready."),),
    "unknown": (_("The cluster says: {raw}"), _("Waits; the cluster does not say why.")),
}

#: For a code and what bounds it (``other``: a resource that is no device), tried first.
VARIANTS: Final[Mapping[str, Texts]] = {
    "quota_short:other": (
        _("{missing} more of the {resource} of the flavor {flavor} must become free."),
        _("Waits for quota."),
    ),
    "quota_short:cohort": (
        _(
            "Needs {asked}: {held} of {nominal} in its queue are held, and not enough is left to "
            "borrow; {missing} more must become free."
        ),
        _("Needs {asked}: not enough is left to borrow, and {missing} more must become free."),
        *QUOTA["quota_short"],
    ),
    "quota_short:borrowing_limit": (
        _(
            "Needs {asked}: {held} of {nominal} in its queue are held, and it may borrow no more; "
            "{missing} more must become free."
        ),
        _("Needs {asked}: its queue may borrow no more, and {missing} more must become free."),
        *QUOTA["quota_short"],
    ),
    "quota_short:cohort_limit": (
        _("Needs {asked}: its department may borrow no more, and {missing} more must become free."),
        *QUOTA["quota_short"],
    ),
    "quota_short:none": (
        _(
            "Needs {asked}: its queue has no quota of its own, and not enough is left to borrow; "
            "{missing} more must become free."
        ),
        *QUOTA["quota_short"],
    ),
    "behind_head:one": (_("One job is before it, and its queue takes them strictly in order."),),
    "topology_too_small:one": (
        _("None of {nodes} machines has room for its pod: {excluded}."),
        _("No machine has room for its pod."),
    ),
    "max_capacity:other": (
        _(
            "Asks for {total} of the {resource} of the flavor {flavor}; its queue can never have "
            "more than {capacity}."
        ),
        *QUOTA["max_capacity"],
    ),
    "max_borrowing:other": (
        _(
            "Asks for {total} of the {resource} of the flavor {flavor}; with all that it may "
            "borrow, its queue can never have more than {capacity}."
        ),
        *QUOTA["max_borrowing"],
    ),
    "max_cohort:other": (
        _(
            "Asks for {total} of the {resource} of the flavor {flavor}; all that its department "
            "can give its queue is {capacity}."
        ),
        *QUOTA["max_cohort"],
    ),
    "max_cohort:lending_limit": (
        _(
            "Asks for {asked}: with all that the other queues lend, its queue can never have more "
            "than {capacity} at once."
        ),
        *QUOTA["max_cohort"],
    ),
    "max_cohort:cohort_limit": (
        _(
            "Asks for {asked}: with all that its department may borrow, its queue can never have "
            "more than {capacity} at once."
        ),
        *QUOTA["max_cohort"],
    ),
}
