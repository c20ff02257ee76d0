"""When pods had devices, and which: one row for each time that is over, one for each that lasts.

Only pods that ask for devices are here. Times are as good as their quality says; see
``queues.models.intervals``.
"""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from queues.models.intervals import Quality
from tenants.models import Cluster


class PodTime(models.Model):
    """Devices of one kind that one pod has on its node.

    ``workload`` is the name of its Workload in its namespace, empty for a pod without one;
    ``workload_uid`` is empty where the Workload was not seen.
    """

    class Kind(models.TextChoices):
        RUNNING = "running", _("running")
        TERMINATING = "terminating", _("terminating")

    cluster = models.ForeignKey(Cluster, models.PROTECT, related_name="+")
    uid = models.CharField(max_length=64)
    namespace = models.CharField(_("namespace"), max_length=63)
    name = models.CharField(_("name"), max_length=253)
    node = models.CharField(_("node"), max_length=253)
    resource = models.CharField(_("resource"), max_length=317)
    amount = models.BigIntegerField(_("amount"))
    workload = models.CharField(_("workload"), max_length=253, blank=True)
    workload_uid = models.CharField(max_length=64, blank=True)
    kind = models.CharField(_("kind"), max_length=12, choices=Kind)
    starts = models.DateTimeField(_("starts"))
    starts_quality = models.CharField(max_length=8, choices=Quality)
    starts_earliest = models.DateTimeField(null=True)
    starts_latest = models.DateTimeField(null=True)
    # When the row was written: what was counted before does not know of it.
    noted_at = models.DateTimeField(_("noted"), db_default=Now())

    class Meta:
        abstract = True
        constraints = [
            models.CheckConstraint(
                condition=Q(kind__in=["running", "terminating"]), name="%(class)s_kind"
            ),
            models.CheckConstraint(condition=Q(amount__gt=0), name="%(class)s_amount"),
        ]

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name} {self.kind} {self.starts:%F %T}"


class PodRun(PodTime):
    """A time that lasts; the row goes when it becomes a :class:`PodInterval`."""

    class Meta(PodTime.Meta):
        verbose_name = _("pod on devices")
        verbose_name_plural = _("pods on devices")
        constraints = [
            *PodTime.Meta.constraints,
            models.UniqueConstraint("cluster", "uid", "resource", name="podrun_once"),
        ]


class PodInterval(PodTime):
    """A time that is over. Rows are only added."""

    ends = models.DateTimeField(_("ends"))
    ends_quality = models.CharField(max_length=8, choices=Quality)
    ends_earliest = models.DateTimeField(null=True)
    ends_latest = models.DateTimeField(null=True)
    ended_by = models.CharField(_("ended by"), max_length=16)

    class Meta(PodTime.Meta):
        verbose_name = _("time of a pod on devices")
        verbose_name_plural = _("times of pods on devices")
        constraints = [
            *PodTime.Meta.constraints,
            models.UniqueConstraint(
                "cluster", "uid", "resource", "starts", name="podinterval_once"
            ),
            models.CheckConstraint(condition=Q(ends__gt=F("starts")), name="podinterval_length"),
        ]
        indexes = [
            models.Index("cluster", "ends", name="podinterval_by_end"),
            models.Index("cluster", "noted_at", name="podinterval_by_note"),
        ]
