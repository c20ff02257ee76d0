"""What the cluster says, as last seen. Every row carries the time at which it was true."""

from __future__ import annotations

from django.db import models
from django.db.models import Case, F, Value, When
from django.db.models.functions import Coalesce
from django.utils.translation import gettext_lazy as _

from tenants.models import Cluster


class Stream(models.Model):
    """The observer's line to one kind of one cluster."""

    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="+")
    kind = models.CharField(_("kind"), max_length=63)
    resource_version = models.CharField(max_length=32, blank=True)
    listed_at = models.DateTimeField(_("listed"), null=True)
    alive_at = models.DateTimeField(_("last sign of life"), null=True)
    lost_since = models.DateTimeField(_("lost since"), null=True)
    error = models.TextField(_("error"), blank=True)
    # Counts the lists of this kind; a row that a list did not hold is known by its older number.
    epoch = models.BigIntegerField(default=0)
    # The newest list of which the history of workloads has noted everything.
    noted_epoch = models.BigIntegerField(default=0)
    # Of pods: since when the times in which they had devices are on record without a hole.
    history_since = models.DateTimeField(_("history since"), null=True)
    # A cluster may not serve some kinds, or not let the portal read them, and work all the same.
    needed = models.BooleanField(default=True)
    # The cluster was restored from a backup: its versions went back.
    went_back_at = models.DateTimeField(_("restored"), null=True)

    class Meta:
        verbose_name = _("stream")
        verbose_name_plural = _("streams")
        constraints = [models.UniqueConstraint("cluster", "kind", name="stream_once")]

    def __str__(self) -> str:
        return f"{self.cluster_id} {self.kind}"


class ObservedObject(models.Model):
    """An object of ``queues.services.observed.OBJECT_KINDS``, trimmed to what is used."""

    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="+")
    kind = models.CharField(_("kind"), max_length=63)
    namespace = models.CharField(_("namespace"), max_length=63, blank=True)
    name = models.CharField(_("name"), max_length=253)
    uid = models.CharField(max_length=64)
    resource_version = models.CharField(max_length=32)
    body = models.JSONField(_("object"))
    in_sync = models.BooleanField(_("as in the catalog"), null=True)
    sync_since = models.DateTimeField(null=True)
    observed_at = models.DateTimeField(_("observed"))
    # What the row says as one number: equal rows are not written. And the list it was last in.
    digest = models.BigIntegerField(default=0)
    epoch = models.BigIntegerField(default=0)

    class Meta:
        verbose_name = _("observed object")
        verbose_name_plural = _("observed objects")
        constraints = [
            models.UniqueConstraint(
                "cluster", "kind", "namespace", "name", name="observed_object_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


#: States by how much they need eyes: what moves comes last here and first in a list.
URGENCY = ("finished", "deactivated", "running", "starting", "waiting", "stopping")
#: Counts as the place of a job whose place is not known.
LAST = 2**31 - 1


def urgency() -> Case:
    """Give the number of a state by which a list of jobs is sorted, the greatest first."""
    whens = [When(state=state, then=Value(number)) for number, state in enumerate(URGENCY)]
    return Case(*whens, default=Value(-1), output_field=models.SmallIntegerField())


def line_place() -> Coalesce:
    """Give the place by which a line is sorted; a job whose place is not known comes last."""
    return Coalesce("position", Value(LAST), output_field=models.IntegerField())


def nearness() -> models.Expression:
    """Give the negative place of a job, so that the greatest number starts first."""
    return models.ExpressionWrapper(line_place() * Value(-1), output_field=models.IntegerField())


class Workload(models.Model):
    """A Kueue Workload, with the portal's reading of where it stands.

    A job that should have one and has none stands here itself, marked as ``stray``: its people
    look for it in the same place, and only the portal can tell them what is wrong.
    """

    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="+")
    uid = models.CharField(max_length=64)
    namespace = models.CharField(_("namespace"), max_length=63)
    name = models.CharField(_("name"), max_length=253)
    job_kind = models.CharField(_("kind of job"), max_length=63, blank=True)
    job_name = models.CharField(_("job"), max_length=253, blank=True)
    entry = models.CharField(_("entry"), max_length=253, blank=True)
    queue = models.CharField(_("queue"), max_length=253, blank=True)
    priority_class = models.CharField(_("priority"), max_length=253, blank=True)
    priority = models.BigIntegerField(_("priority value"), default=0)
    devices = models.BigIntegerField(_("devices asked"), default=0)
    held = models.JSONField(_("held"), default=list)
    state = models.CharField(_("state"), max_length=16)
    stage = models.CharField(_("stage"), max_length=16, blank=True)
    code = models.CharField(_("reason"), max_length=48, blank=True)
    params = models.JSONField(default=dict)
    #: Every reason, the deciding one first: what kube.reasons.Reason.known gives.
    reasons = models.JSONField(_("reasons"), default=list)
    never = models.BooleanField(default=False)
    preempted = models.BooleanField(default=False)
    preempting = models.BooleanField(default=False)
    raw = models.TextField(_("text of the cluster"), blank=True)
    since = models.DateTimeField(_("since"), null=True)
    created_at = models.DateTimeField(_("created"))
    # Since when it counts in its queue, and where it stands with Kueue (kube.queue_order.Turn).
    queued_at = models.DateTimeField(_("queue time"), null=True)
    turn = models.CharField(_("turn"), max_length=12, blank=True)
    boost = models.IntegerField(_("boost of the priority"), default=0)
    position = models.PositiveIntegerField(_("position in the queue, from 1"), null=True)
    entry_position = models.PositiveIntegerField(_("position in the entry, from 1"), null=True)
    positioned_at = models.DateTimeField(null=True)
    resource_version = models.CharField(max_length=32)
    stray = models.BooleanField(_("job without a workload"), default=False)
    job_uid = models.CharField(max_length=64, blank=True)
    # The last text of each admission check, which Kueue itself drops after a moment.
    kept = models.JSONField(default=dict)
    # How its pods are, by number; empty while nothing is known of them.
    pods = models.JSONField(_("pods"), default=dict)
    observed_at = models.DateTimeField(_("observed"))
    digest = models.BigIntegerField(default=0)
    epoch = models.BigIntegerField(default=0)

    class Meta:
        verbose_name = _("workload")
        verbose_name_plural = _("workloads")
        constraints = [models.UniqueConstraint("cluster", "uid", name="workload_once")]
        indexes = [
            # The line of a queue, as portal.web.lists jumps into it; its end is the whole key.
            models.Index(
                F("cluster"), F("queue"), F("state"), line_place(), F("id"), name="workload_line"
            ),
            models.Index("cluster", "namespace", "entry", "state", name="workload_entry_state"),
            models.Index(
                urgency(), nearness(), F("created_at"), F("id"), name="workload_attention"
            ),
            models.Index("created_at", "id", name="workload_newest"),
            models.Index("devices", "created_at", "id", name="workload_size"),
            models.Index("job_name", name="workload_job_name"),
            models.Index("name", name="workload_name"),
        ]

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"
