"""The shapes of answers about jobs and queues. Names are those of the pages and documents."""

from __future__ import annotations

from typing import Any

from django.urls import reverse
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.serializers import Serializer

from queues.api.fields import Maybe, Words
from queues.reading.reasons import unit_of
from queues.selectors.positions import Place
from queues.sentences import JobShown

UNIT = "milliCPU (thousandths of a CPU), bytes, or devices (whole GPUs)"


class Age(Serializer):
    """When what is said was true."""

    observed_at = serializers.DateTimeField(
        allow_null=True,
        help_text="Last sign of life of the slowest line to the cluster; null: never heard.",
    )
    age_seconds = serializers.IntegerField(
        allow_null=True, min_value=0, help_text="Seconds between observed_at and this answer."
    )
    lost_since = serializers.DateTimeField(
        allow_null=True, help_text="Since when the line to the cluster is lost; null: it is not."
    )


class ClusterAge(Age):
    """When what is said about one cluster was true."""

    cluster = serializers.CharField(help_text="Name of the cluster.")


class Answer(Age):
    """What every answer begins with. Of several clusters, the oldest counts."""


class Listed(Answer):
    """What every list begins with."""

    clusters = ClusterAge(many=True, help_text="The age of each cluster that is in this page.")
    next = Maybe(help_text="Address of the next page; null: this is the last.")


class Size(Serializer):
    """How much: a number of jobs and the GPUs that they ask for together."""

    jobs = serializers.IntegerField(min_value=0)
    devices = serializers.IntegerField(min_value=0)


class Amount(Serializer):
    """How much of one resource of one flavor."""

    flavor = serializers.CharField()
    resource = serializers.CharField(help_text="Kubernetes resource, such as nvidia.com/gpu.")
    unit = serializers.SerializerMethodField(help_text=UNIT)
    amount = serializers.IntegerField(min_value=0)

    @extend_schema_field({"type": "string", "enum": ["milliCPU", "bytes", "devices"]})
    def get_unit(self, row: dict[str, Any]) -> str:
        """Name the unit of the amount."""
        return unit_of(str(row.get("resource", "")))


# --- jobs -----------------------------------------------------------------------------------------


class JobName(Serializer):
    """Which job. ``name`` is its Workload and unique in the namespace of the cluster."""

    url = serializers.SerializerMethodField(help_text="Address of this job in the API.")
    cluster = serializers.CharField(source="job.cluster.slug")
    namespace = serializers.CharField(source="job.namespace")
    name = serializers.CharField(source="job.name", help_text="Name of the Workload.")
    uid = serializers.CharField(source="job.uid", help_text="UID of the Workload.")
    stray = serializers.BooleanField(
        source="job.stray",
        help_text="The job has no Workload: name and uid are then its own, and reasons say why.",
    )
    kind = Maybe(source="job.job_kind", help_text="Kind of the job, such as Job or RayJob.")
    job = Maybe(source="job.job_name", help_text="Name of the job itself.")

    @extend_schema_field({"type": "string"})
    def get_url(self, shown: JobShown | Place) -> str:
        """Give the address."""
        job = shown.job
        return job_url(job.cluster.slug, job.namespace, job.name) if job else ""


def job_url(cluster: str, namespace: str, name: str) -> str:
    """Give the address of a job in the API."""
    return reverse("api-job", args=[cluster, namespace, name])


class Job(JobName):
    """One job as a list shows it."""

    tenant = Maybe(source="queue.tenant.slug", help_text="Tenant of its queue.")
    queue = Maybe(source="queue.name", help_text="null: unknown, or not visible to you.")
    entry = Maybe(source="job.entry", help_text="The LocalQueue that it was sent to.")
    priority = Maybe(source="job.priority_class", help_text="WorkloadPriorityClass.")
    priority_value = serializers.IntegerField(source="job.priority")
    devices = serializers.IntegerField(source="job.devices", help_text="GPUs that it asks for.")
    held = Amount(source="job.held", many=True, help_text="What it holds now.")
    state = serializers.ChoiceField(
        source="job.state",
        choices=[
            "waiting", "starting", "running", "stopping", "finished", "deactivated", "gone",
        ],
        help_text="stopping: evicted, and still holding its quota.",
    )  # fmt: skip
    shown_as = serializers.CharField(
        source="state", help_text="The state as pages name it, such as preempted or cannot_run."
    )
    stage = Maybe(
        source="job.stage",
        help_text="Where it stands: routing, request, order, quota, check, topology or pods.",
    )
    code = Maybe(source="job.code", help_text="Stable code of the deciding reason.")
    never = serializers.BooleanField(
        source="job.never", help_text="Waiting alone will not help: something has to change."
    )
    preempted = serializers.BooleanField(
        source="job.preempted", help_text="It lost its place to another job and waits again."
    )
    preempting = serializers.BooleanField(
        source="job.preempting", help_text="Others are being stopped to make room for it."
    )
    sentence = Words(source="reason", help_text="Why it is where it is, in words.")
    position = serializers.IntegerField(
        source="job.position", allow_null=True, min_value=1,
        help_text="Place among the waiting jobs of its queue, counted from 1.",
    )  # fmt: skip
    since = serializers.DateTimeField(
        source="job.since", allow_null=True, help_text="Since when the reason holds."
    )
    created_at = serializers.DateTimeField(source="job.created_at")


class Jobs(Listed):
    """A page of jobs."""

    items = Job(many=True)


class Change(Serializer):
    """A change of one quota line, in the unit of its resource."""

    kind = serializers.ChoiceField(choices=["ClusterQueue", "Cohort"])
    queue = serializers.CharField(help_text="Name of the queue, or of the department.")
    flavor = serializers.CharField()
    resource = serializers.CharField()
    unit = serializers.SerializerMethodField(help_text=UNIT)
    field = serializers.ChoiceField(choices=["nominal", "borrowing_limit", "lending_limit"])
    before = serializers.IntegerField()
    after = serializers.IntegerField()

    @extend_schema_field({"type": "string", "enum": ["milliCPU", "bytes", "devices"]})
    def get_unit(self, change: Any) -> str:
        """Name the unit of the amounts."""
        return unit_of(change.resource)


class Reason(Serializer):
    """One reason, the deciding one first. Amounts are in ``unit``; null: not known."""

    stage = Maybe()
    code = serializers.CharField()
    never = serializers.BooleanField()
    sentence = Words(source="text")
    help = Maybe(help_text="What helps against it, in words.")
    flavor = Maybe()
    resource = Maybe()
    pod_set = Maybe()
    unit = Maybe(help_text=UNIT)
    asked = serializers.IntegerField(allow_null=True)
    free = serializers.IntegerField(allow_null=True)
    missing = serializers.IntegerField(allow_null=True)
    freed_by = Maybe(help_text="Who or what ends it, such as own_queue, cohort, nodes or owner.")
    stale = serializers.BooleanField(help_text="It speaks of something that is no longer so.")
    oscillating = serializers.BooleanField(
        help_text="It comes and goes between two looks of the scheduler, and is no news."
    )
    change = serializers.SerializerMethodField(
        help_text="The smallest change of a quota line after which the job could start."
    )
    raw = Maybe(help_text="The cluster's own words, without names of others.")

    @extend_schema_field(Change(allow_null=True))
    def get_change(self, reason: Any) -> Any:
        """Give the change, unless it is one of a queue that is not the viewer's."""
        facts: Any = self.root.instance
        change, shown = reason.change, facts["job"]
        own = shown.queue.name if shown.queue else ""
        known = change and (change.kind == "Cohort" or change.queue == own)
        return Change(change).data if known else None


class JobAnswer(Answer):
    """One job with all its reasons."""

    job = Job()
    reasons = Reason(many=True)
    raw = Maybe(help_text="The cluster's own words, without names of others.")


class OfPriority(Size):
    """What is ahead with one priority."""

    priority = Maybe(source="name", help_text="WorkloadPriorityClass.")
    priority_value = serializers.IntegerField(source="value")


class Ahead(Size):
    """What stands before a job, the highest priority first. Nobody is named."""

    by_priority = OfPriority(many=True)


class OwnJob(Serializer):
    """A job of your own tenants that stands before this one."""

    namespace = serializers.CharField()
    name = serializers.CharField(help_text="Name of the Workload.")
    job = Maybe(source="job_name")
    position = serializers.IntegerField(allow_null=True, min_value=1)
    devices = serializers.IntegerField(min_value=0)


class InLine(Serializer):
    """The place of a waiting job, and how sure it is."""

    position = serializers.IntegerField(min_value=1, help_text="Counted from 1.")
    pending = serializers.IntegerField(min_value=1, help_text="Jobs that wait in the queue.")
    entry_position = serializers.IntegerField(
        allow_null=True, min_value=1, help_text="Place among the jobs of its own entry."
    )
    ahead = Ahead()
    own_jobs = serializers.IntegerField(source="mine_jobs", help_text="Jobs ahead of your tenants.")
    own_devices = serializers.IntegerField(source="mine_devices")
    own = OwnJob(source="mine", many=True, help_text="The first of them, by name.")
    may_pass = serializers.BooleanField(
        help_text="A job behind this one starts first when it fits and this one does not."
    )
    held_up = serializers.BooleanField(
        help_text="The queue is strict, and this job is not its first."
    )
    in_front = serializers.BooleanField(help_text="Kept in front while others are stopped for it.")
    backs_off = serializers.BooleanField(help_text="Passed over until its pause is over.")
    sure = serializers.ChoiceField(
        source="certainty.sure", choices=["kueue", "own", "estimate"],
        help_text="From Kueue's own list; worked out by its rules; estimated.",
    )  # fmt: skip
    by_use = serializers.BooleanField(
        source="certainty.by_use", help_text="Past use comes before priority and age."
    )
    placed_at = serializers.DateTimeField(source="certainty.placed_at", allow_null=True)
    checked_at = serializers.DateTimeField(
        source="certainty.checked_at", allow_null=True,
        help_text="When the place was last compared with Kueue's own list.",
    )  # fmt: skip


class Rung(Serializer):
    """One stage of the way of a job."""

    stage = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]
    state = serializers.ChoiceField(choices=["done", "now", "todo"])
    codes = serializers.ListField(
        child=serializers.CharField(), help_text="Codes of the reasons at this stage."
    )


class NextStep(Serializer):
    """Something that would help. ``url`` is the page of the portal, or the mail, where it is done."""

    code = serializers.CharField()
    text = serializers.CharField()
    url = Maybe()
    copy = Maybe(help_text="A text to take along, for a manifest or a message.")


# --- quota ----------------------------------------------------------------------------------------


class Limits(Serializer):
    """A quota line as the catalog has it. null: no limit of its own."""

    nominal = serializers.IntegerField(min_value=0)
    borrowing_limit = serializers.IntegerField(allow_null=True, min_value=0)
    lending_limit = serializers.IntegerField(allow_null=True, min_value=0)


class Room(Limits):
    """A quota line as the cluster has it, with what is held of it now."""

    held = serializers.IntegerField(min_value=0, help_text="All that is in use, borrowed or not.")
    borrowed = serializers.IntegerField(min_value=0)
    lent = serializers.IntegerField(min_value=0, help_text="What others certainly took of it.")
    borrowable = serializers.IntegerField(min_value=0, help_text="What could be borrowed now.")
    free = serializers.IntegerField(min_value=0, help_text="What could start now.")


class QuotaLine(Serializer):
    """Quota of one flavor and resource. All amounts are in ``unit``."""

    flavor = serializers.CharField(source="line.flavor")
    capability = Maybe(help_text="What the flavor is good for, in words.")
    resource = serializers.CharField(source="line.resource")
    unit = serializers.SerializerMethodField(help_text=UNIT)
    agreed = Limits(source="line", help_text="As the catalog has it.")
    observed = Room(
        source="room", allow_null=True, help_text="As the cluster has it; null: not seen."
    )

    @extend_schema_field({"type": "string", "enum": ["milliCPU", "bytes", "devices"]})
    def get_unit(self, now: Any) -> str:
        """Name the unit of the amounts."""
        return unit_of(now.line.resource)


class Why(Answer):
    """Why a job is where it is, with the numbers behind it and what would help."""

    job = Job()
    sentence = Words()
    reasons = Reason(many=True)
    ladder = Rung(many=True, help_text="The seven stages; empty where no stage is known.")
    quota = QuotaLine(many=True, help_text="The lines of its queue, devices first.")
    place = InLine(allow_null=True, help_text="null: not waiting, or its place is not known.")
    next_steps = NextStep(many=True)
    raw = Maybe(help_text="The cluster's own words, without names of others.")
    text = serializers.CharField(help_text="All of it as plain text, as manage.py why prints it.")
