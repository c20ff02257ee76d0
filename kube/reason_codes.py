"""The stable codes of reasons: the stage of each, who ends it, and what it means.

A code never changes its meaning. A new reason is one line here, one row where it is found, one
sentence in the portal and one row in the tests; the page ``docs/how/why.md`` lists all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from kube.reasons import FreedBy, Reason, Stage


@dataclass(frozen=True, slots=True)
class Code:
    """What always holds for one code. ``never``: no waiting ends it."""

    stage: Stage | None
    freed_by: FreedBy
    meaning: str
    never: bool = False
    oscillating: bool = False


_TABLE: Final = """
- running                nobody      The job runs.
- orphaned               admin       It holds quota, and no job owns it any more.
- outside_queues         owner       The job runs without a queue: its devices are free of any quota.
- succeeded              nobody      The job is done.
- failed                 nobody      The job ended with an error.
- ended                  nobody      The job ended in a way that has no name here.
- out_of_sync            nobody      The job was changed so that its old Workload ended.
- failed_to_start        nobody      The job could not be started.
- replaced               nobody      A larger or smaller Workload of the same job took its place.
- owner_gone             nobody      The job that owned it is gone.
- deleted                nobody      It is being deleted.
- deactivated            owner       Somebody switched it off (spec.active is false).
- time_limit             owner       It was switched off after the longest time that it may run.
- evicted                kueue       It is being stopped, for a cause that has no name here.

routing no_queue_label         owner   never  The job names no queue, so Kueue does not look at it.
routing framework_off          admin   never  Kueue is not set up for this kind of job.
routing namespace_excluded     admin   never  Kueue does not look at jobs in this namespace.
routing nested_owner           nobody         The job belongs to another managed job, which waits for both.
routing nesting_too_deep       owner   never  Jobs own each other more levels deep than Kueue follows.
routing priority_class_missing owner   never  The job names a WorkloadPriorityClass that does not exist.
routing priority_class_breaks_kueue admin never A WorkloadPriorityClass holds a value that Kueue cannot read.
routing prebuilt_missing       owner   never  The job names a Workload, made beforehand, that does not exist.
routing pod_group_incomplete   owner          The pod group has fewer pods than it says.
routing compose_failed         owner          Kueue cannot make a Workload from the job as it is written.
routing workload_not_made      admin          Kueue has made no Workload for the job, for no cause that can be seen.
routing entry_missing          owner   never  There is no LocalQueue of that name in the namespace.
routing entry_terminating      admin          The LocalQueue is being deleted.
routing entry_stopped          admin          The LocalQueue is closed (held).
routing entry_drained          admin          The LocalQueue was closed and emptied.
routing entry_without_queue    admin   never  The LocalQueue names no ClusterQueue.
routing queue_missing          admin   never  The LocalQueue leads to a ClusterQueue that does not exist.
routing queue_terminating      admin   never  The ClusterQueue is being deleted.
routing queue_stopped          admin          The ClusterQueue is closed (held).
routing queue_drained          admin          The ClusterQueue was closed and emptied.
routing queue_inactive         admin          The ClusterQueue is out of order; why is not known.
routing queue_flavor_missing   admin   never  The ClusterQueue names a ResourceFlavor that does not exist.
routing queue_check_missing    admin   never  The ClusterQueue names an AdmissionCheck that does not exist.
routing queue_check_inactive   admin          An AdmissionCheck of the ClusterQueue is out of order.
routing queue_topology_missing admin   never  A flavor of the ClusterQueue names a Topology that does not exist.
routing queue_remote_invalid   admin   never  The MultiKueue checks of the ClusterQueue do not fit together.
routing cohort_cycle           admin   never  The departments above the ClusterQueue form a circle.
routing flavor_missing         admin   never  A flavor of the ClusterQueue does not exist.
routing namespace_mismatch     admin   never  The ClusterQueue does not take jobs of this namespace.
routing namespace_unknown      kueue          Kueue cannot read the namespace of the job.
routing selector_invalid       admin   never  The namespace selector of the ClusterQueue cannot be read.

request resource_not_covered   owner   never  The queue has no quota line for a resource that the job asks for.
request selector_mismatch      owner   never  The node selector of the job matches no machine of the flavor.
request untolerated_taint      owner   never  The flavor has a taint that the job does not tolerate.
request requests_above_limits  owner   never  The job asks for more than its own limit.
request limit_range            owner   never  The job asks for more or less than the LimitRange of the namespace allows.
request resources_invalid      owner   never  What the job asks for cannot be used as written.
request resource_claims        owner   never  The job asks for devices by claims, which this Kueue does not count.
request device_class_unmapped  admin   never  The device class of a claim has no place in Kueue's configuration.
request flavor_not_allowed     owner   never  The job may use only flavors that its queue does not have.
request no_matching_flavor     owner   never  No flavor fits what the job asks for; the text does not say why.

order   not_looked_at          kueue          The scheduler has not looked at it yet.
order   behind_head            own_queue      The queue is StrictFIFO and the job at its head waits.
order   behind_preemptor       own_queue      A job of the queue that makes room for itself goes first.
order   same_as_another        own_queue      An equal job of the queue was refused a moment ago.
order   reopened               kueue          The text says that a queue is shut or missing, and it is open.
order   back_off               kueue          It may be tried again at a time that Kueue has set.
order   flavor_not_chosen      kueue   moves  Kueue looked only at flavors that it had chosen a moment before.
order   other_variant          kueue          A better variant of the same job has its place, or none worse is allowed.
order   on_hold                owner          The set was scaled to zero.
order   kueue_failed           kueue          Kueue failed to admit it, and tries again.
order   unknown                admin          A text that has no row here; it is kept as it came.

quota   quota_short            own_queue      The quota is large enough, and too much of it is in use.
quota   max_capacity           quota   never  The job asks for more than its queue can ever have.
quota   max_borrowing          quota   never  The job asks for more than quota and borrowing limit of its queue together.
quota   max_cohort             quota   never  The job asks for more than all that its queue can ever borrow.
quota   lost_the_race          kueue   moves  Another job took the room in the same look of the scheduler.
quota   overlapping_preemption kueue   moves  Two jobs want the same jobs to be stopped.
quota   elastic_flavor         own_queue      The job can grow only on the flavor on which it runs.
quota   growth_waits           own_queue      The job runs at its old size and waits to grow.
quota   preempted              kueue          It lost its place to another job.
quota   flavor_migration       kueue          It moves to a better flavor.
quota   may_be_reclaimed       cohort         It runs on borrowed quota, which other queues may take back.

check   check_pending          controller     An admission check has not decided.
check   check_retry            controller     An admission check wants another try later.
check   check_rejected         controller never An admission check refused the job.
check   check_failed           controller     An admission check failed.
check   check_not_active       admin          The controller of an admission check is not set up or does not run.
check   admission_pending      kueue          All checks are ready; the admission follows.
check   provisioning_eta       controller     New machines are ordered and have a time at which they are due.
check   provisioning_failed    controller     Machines could not be ordered, and it is tried again.
check   provisioning_refused   admin          The order of machines cannot be written.
check   remote_waits           controller     Another cluster has its quota, and has not started it.
check   remote_lost            controller     The other cluster that ran it is lost.
check   remote_evicted         controller     The other cluster stopped it; it is admitted anew.
check   remote_unsupported     admin   never  This kind of job cannot be sent to other clusters.
check   gated                  controller     An external controller holds the job back.
check   gate_cleared           kueue          The external hold is gone; it waits for quota.
check   preemption_gated       controller     It could start by stopping others, and may not yet.

topology topology_delayed      kueue          The machines are chosen after the admission checks.
topology topology_too_small    nodes          No place takes even one of its pods or slices.
topology topology_partly       nodes          A place takes some of its pods, not all of them.
topology topology_no_nodes     admin          No machine carries the label of the level.
topology topology_level_unknown owner  never  The job names a level that the topology does not have.
topology topology_not_cached   kueue          Kueue is still reading where its machines are.
topology topology_invalid      owner   never  What the job says about nearness contradicts itself.
topology topology_elastic      owner   never  Jobs that grow cannot ask for nearness.
topology flavor_without_topology owner never  The flavor cannot promise nearness.
topology flavor_only_topology  owner   never  The flavor takes only jobs that ask for nearness.
topology node_not_replaced     nodes          A machine of the job failed, and no other can take its place.

pods    no_pods_yet            kueue          It has its place, and no pod was made yet.
pods    pods_refused           owner          The cluster refuses to make the pods.
pods    pods_starting          kueue          Its pods are not all ready; nothing more is known.
pods    pods_not_ready         owner          Its pods run and do not say that they are ready.
pods    pods_failed            owner          Some of its pods failed and are being replaced.
pods    pods_recovering        kueue          It ran, lost a pod and waits for another.
pods    container_starting     nodes          The containers are being started.
pods    container_waiting      owner          Containers stop by themselves and are started again.
pods    container_config       owner          Containers need a secret, a config map or a command that is missing.
pods    image                  owner          The image cannot be fetched.
pods    unschedulable          nodes          No machine takes the pods, for a cause that has no name here.
pods    pods_lack_room         nodes          The machines that match have no room.
pods    pods_match_no_node     owner          No machine matches the selector of the pods.
pods    pods_nodes_closed      admin          The machines that match take no new pods at the moment.
pods    pods_untolerated_taint owner          The machines have a taint that the pods do not tolerate.
pods    pods_wait_for_volume   owner          A volume of the pods is missing or cannot be reached.
pods    pod_gated              kueue          Kueue still holds the pods.
pods    pod_gated_elsewhere    controller     Another controller still holds the pods.
pods    pods_still_stopping    nodes          Its old pods are still on their machines.
pods    pods_ready_timeout     kueue          Its pods were not ready in time.
pods    too_many_retries       owner          It was switched off: its pods were not ready in time too often.
pods    node_unhealthy         nodes          It runs, and one of its machines is not well.
pods    node_failed            nodes          One of its machines failed and had no replacement.
pods    other_pods_not_ready   cohort         The pods of jobs admitted before are not ready.
"""


def _codes() -> Iterator[tuple[str, Code]]:
    flags = ("never", "moves")
    for line in filter(None, _TABLE.splitlines()):
        stage, code, freed_by, rest = line.split(None, 3)
        flag = rest.split(None, 1)[0]
        meaning = rest.split(None, 1)[1] if flag in flags else rest
        place = None if stage == "-" else Stage(stage)
        yield code, Code(place, FreedBy(freed_by), meaning, flag == "never", flag == "moves")


CODES: Final[Mapping[str, Code]] = MappingProxyType(dict(_codes()))


def reason(code: str, **facts: Any) -> Reason:
    """Make a reason from its code; ``facts`` are fields of :class:`kube.reasons.Reason`."""
    known = CODES[code]
    given: dict[str, Any] = {
        "never": known.never, "freed_by": known.freed_by, "oscillating": known.oscillating,
    } | facts  # fmt: skip
    return Reason(stage=known.stage, code=code, **given)
