"""The shapes of answers about queues, places, tenants, requests and clusters."""

from __future__ import annotations

from typing import Any

from django.urls import reverse
from drf_spectacular.utils import extend_schema_field, extend_schema_serializer
from rest_framework import serializers
from rest_framework.serializers import Serializer

from queues.api.fields import Edits, Maybe
from queues.api.shapes import Ahead, Answer, JobName, Listed, QuotaLine, Size
from queues.selectors.positions import Place
from tenants.models import Request
from tenants.sentences import read, sentence

TEXT = {"type": "string"}


# --- queues ---------------------------------------------------------------------------------------


class Entry(Serializer):
    """A LocalQueue: the door of a namespace into a queue."""

    namespace = serializers.CharField()
    name = serializers.CharField()


class Queue(Serializer):
    """A queue with its quota: as agreed, and as the cluster has it."""

    url = serializers.SerializerMethodField(help_text="Address of this queue in the API.")
    cluster = serializers.CharField(source="queue.cluster.slug")
    name = serializers.CharField(source="queue.name", help_text="Name of the ClusterQueue.")
    tenant = serializers.CharField(source="queue.tenant.slug")
    department = Maybe(source="queue.department.name", help_text="Name of its Cohort.")
    purpose = serializers.CharField(source="queue.purpose")
    strategy = serializers.CharField(
        source="queue.strategy", help_text="StrictFIFO or BestEffortFIFO."
    )
    stop_policy = serializers.CharField(
        source="queue.stop_policy", help_text="None, Hold or HoldAndDrain."
    )
    in_cluster = serializers.BooleanField(source="seen.present")
    in_sync = serializers.BooleanField(
        source="seen.in_sync", allow_null=True, help_text="It is there as agreed; null: not known."
    )
    in_sync_since = serializers.DateTimeField(source="seen.since", allow_null=True)
    revision = serializers.IntegerField(source="seen.revision", allow_null=True)
    problem = Maybe(source="seen.status", help_text="The cluster's words, when it takes no jobs.")
    entries = Entry(many=True)
    quota = QuotaLine(source="lines", many=True)
    waiting = Size(help_text="All its waiting jobs, those of others too.")
    running = Size(help_text="All jobs that hold quota of it, those of others too.")

    @extend_schema_field(TEXT)
    def get_url(self, row: Any) -> str:
        """Give the address."""
        return reverse("api-queue", args=[row.queue.cluster.slug, row.queue.name])


class Queues(Listed):
    """A page of queues."""

    items = Queue(many=True)


class QueueAnswer(Answer):
    """One queue."""

    queue = Queue()


@extend_schema_serializer(component_name="Place")
class PlaceShape(Size):
    """One waiting job by name, or a stretch of jobs that you may not read by name."""

    position = serializers.IntegerField(
        source="first", allow_null=True, min_value=1,
        help_text="Place, counted from 1; of a stretch, its first. null: not known.",
    )  # fmt: skip
    last = serializers.IntegerField(
        allow_null=True, min_value=1, help_text="Last place of a stretch."
    )
    job = serializers.SerializerMethodField(help_text="null: jobs of others.")
    ahead = Ahead()

    @extend_schema_field(JobName(allow_null=True))
    def get_job(self, place: Place) -> Any:
        """Name the job."""
        return JobName(place).data if place.job else None


class Positions(Answer):
    """A page of the waiting line, those in front first."""

    next = Maybe(help_text="Address of the next page; null: this is the last.")
    cluster = serializers.CharField()
    queue = serializers.CharField()
    strategy = serializers.CharField(
        help_text="With BestEffortFIFO a later job passes one that does not fit."
    )
    waiting = Size(help_text="The whole line.")
    items = PlaceShape(many=True)


# --- tenants --------------------------------------------------------------------------------------


class Tenant(Serializer):
    """A tenant, and what you are in it."""

    url = serializers.SerializerMethodField(help_text="Address of this tenant in the API.")
    slug = serializers.CharField()
    display_name = serializers.CharField()
    roles = serializers.ListField(
        child=serializers.ChoiceField(choices=["user", "lead", "finance"]),
        help_text="Your roles in it.",
    )

    @extend_schema_field(TEXT)
    def get_url(self, row: Any) -> str:
        """Give the address."""
        return reverse("api-tenant", args=[row["slug"]])


class Tenants(Listed):
    """A page of tenants."""

    items = Tenant(many=True)


class TenantAnswer(Listed):
    """One tenant with its queues and the numbers of its jobs."""

    tenant = Tenant()
    queues = Queue(many=True)
    jobs = serializers.DictField(
        child=serializers.IntegerField(min_value=0), allow_null=True,
        help_text="Number of jobs by state; null: your roles do not show jobs.",
    )  # fmt: skip
    next = None  # type: ignore[assignment] # one thing, not a page


# --- requests -------------------------------------------------------------------------------------


class Finding(Serializer):
    """What a check found."""

    field = serializers.CharField()
    code = serializers.CharField()
    text = serializers.CharField()


@extend_schema_serializer(component_name="Request")
class RequestShape(Serializer):
    """A request to change the catalog of one cluster."""

    url = serializers.SerializerMethodField(help_text="Address of this request in the API.")
    id = serializers.UUIDField()
    cluster = serializers.CharField(source="cluster.slug")
    tenant = Maybe(source="tenant.slug", help_text="null: a request of the platform.")
    kind = serializers.ChoiceField(choices=Request.Kind.values)
    state = serializers.ChoiceField(choices=Request.State.values)
    author = serializers.CharField(help_text="Who asked, by the name that is shown.")
    reason = serializers.CharField()
    edits = Edits()
    problems = serializers.SerializerMethodField()
    revision = serializers.IntegerField(source="revision.number", allow_null=True)
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()

    @extend_schema_field(TEXT)
    def get_url(self, row: Request) -> str:
        """Give the address."""
        return reverse("api-request", args=[row.pk])

    @extend_schema_field(Finding(many=True))
    def get_problems(self, row: Request) -> list[dict[str, str]]:
        """Give what the checks found, in words."""
        return [problem_of(each) for each in row.problems]


def problem_of(row: dict[str, Any]) -> dict[str, str]:
    """Give a stored problem with its sentence."""
    problem = read(row)
    return {"field": problem.field, "code": problem.code, "text": sentence(problem)}


class Requests(Listed):
    """A page of requests."""

    items = RequestShape(many=True)


class RequestAnswer(Answer):
    """One request."""

    request = RequestShape()


# --- clusters -------------------------------------------------------------------------------------


@extend_schema_serializer(component_name="Cluster")
class ClusterShape(Serializer):
    """A cluster with its numbers: totals are no secret, whose they are is."""

    url = serializers.SerializerMethodField(help_text="Address of this cluster in the API.")
    slug = serializers.CharField(source="cluster.slug")
    display_name = serializers.CharField(source="cluster.display_name")
    writing = serializers.BooleanField(
        source="cluster.writing", help_text="The portal may write there."
    )
    queues = serializers.IntegerField(min_value=0)
    running = serializers.IntegerField(min_value=0, help_text="Running jobs.")
    waiting = serializers.IntegerField(min_value=0, help_text="Waiting jobs.")

    @extend_schema_field(TEXT)
    def get_url(self, row: Any) -> str:
        """Give the address."""
        return reverse("api-cluster", args=[row.cluster.slug])


class Clusters(Listed):
    """A page of clusters."""

    items = ClusterShape(many=True)


class Pool(Serializer):
    """The devices of one flavor."""

    flavor = serializers.CharField(source="pool.flavor")
    resource = serializers.CharField(source="pool.resource")
    capacity = serializers.IntegerField(help_text="As agreed, else as the nodes offer.")
    observed = serializers.IntegerField(help_text="Allocatable devices of the ready nodes.")
    committed = serializers.IntegerField(help_text="Promised to queues and departments.")
    uncommitted = serializers.IntegerField(help_text="Below 0: more is promised than there is.")
    held = serializers.IntegerField()
    nodes = serializers.IntegerField()
    ready = serializers.IntegerField(help_text="Nodes that are ready.")


class Line(Serializer):
    """The observer's line to one kind of object."""

    kind = serializers.CharField()
    listed_at = serializers.DateTimeField(allow_null=True)
    alive_at = serializers.DateTimeField(allow_null=True)
    lost_since = serializers.DateTimeField(allow_null=True)
    error = Maybe()


class ClusterDetails(Serializer):
    """What only the roles of the platform see."""

    lines = Line(many=True)
    drifted = serializers.IntegerField(help_text="Objects that are not as agreed.")
    checked_at = serializers.DateTimeField(allow_null=True, help_text="When rights were checked.")
    check_error = Maybe()
    revision = serializers.IntegerField(allow_null=True)
    kubernetes = Maybe(help_text="Version of Kubernetes.")
    kueue = Maybe(help_text="Version of Kueue.")


class ClusterAnswer(Answer):
    """One cluster."""

    cluster = ClusterShape()
    pools = Pool(many=True)
    details = ClusterDetails(allow_null=True, help_text="null: only for roles of the platform.")
