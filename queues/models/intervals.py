"""What happened to each Workload and when: rows that stay after the cluster has forgotten.

A ``Lifetime`` is one Workload, told apart by its uid; it carries the phase that is open now and
what is needed to go on after a restart. When a phase ends it becomes an ``Interval``, a row that
is only ever added. So are evictions, changes of conditions and gaps of the observation.

Times of conditions are whole seconds of the cluster's clock. A bound that no condition gives has
a quality below exact, and the earliest and the latest time at which it can have been.
"""

from __future__ import annotations

from typing import Final

from django.contrib.postgres.constraints import ExclusionConstraint
from django.contrib.postgres.fields import DateTimeRangeField, RangeOperators
from django.contrib.postgres.indexes import GistIndex
from django.db import models
from django.db.models import F, Func, Q, Value
from django.db.models.functions import Greatest, Least, Now
from django.utils.translation import gettext_lazy as _

from tenants.models import Cluster


class Phase(models.TextChoices):
    """Where a Workload stands; exactly one at a time until it has ended."""

    QUEUED = "queued", _("queued")
    RESERVED = "reserved", _("reserved")
    ADMITTED = "admitted", _("admitted")
    DRAINING = "draining", _("draining")
    EVICTED = "evicted", _("evicted")
    DEACTIVATED = "deactivated", _("deactivated")


class Quality(models.TextChoices):
    """How well a time is known."""

    EXACT = "exact", _("exact")
    SEEN = "seen", _("as seen")
    BOUNDED = "bounded", _("between two observations")
    UNKNOWN = "unknown", _("before the observation began")


class Lifetime(models.Model):
    """One Workload from its creation on, with its open phase; the row outlives the object.

    ``conditions`` is the status as last noted, by type; ``held`` is a list of flavor, resource
    and amount (milli-CPU, bytes, devices). ``phase`` is empty once the Workload has ended.
    """

    cluster = models.ForeignKey(Cluster, models.PROTECT, related_name="+")
    uid = models.CharField(max_length=64)
    namespace = models.CharField(_("namespace"), max_length=63)
    name = models.CharField(_("name"), max_length=253)
    job_kind = models.CharField(_("kind of job"), max_length=63, blank=True)
    job_name = models.CharField(_("job"), max_length=253, blank=True)
    job_uid = models.CharField(max_length=64, blank=True)
    entry = models.CharField(_("entry"), max_length=253, blank=True)
    priority_class = models.CharField(_("priority"), max_length=253, blank=True)
    priority = models.BigIntegerField(_("priority value"), default=0)
    created_at = models.DateTimeField(_("created"))
    first_seen_at = models.DateTimeField(_("first seen"))
    noted_at = models.DateTimeField(_("last change seen"))
    resource_version = models.CharField(max_length=32)
    phase = models.CharField(_("phase"), max_length=12, choices=Phase, blank=True)
    attempt = models.PositiveIntegerField(_("attempt"), default=0)
    starts = models.DateTimeField(_("since"), null=True)
    starts_quality = models.CharField(max_length=8, choices=Quality, blank=True)
    starts_earliest = models.DateTimeField(null=True)
    starts_latest = models.DateTimeField(null=True)
    queue = models.CharField(_("queue"), max_length=253, blank=True)
    cohort = models.CharField(_("department"), max_length=253, blank=True)
    cause = models.CharField(_("cause"), max_length=48, blank=True)
    preemptor_uid = models.CharField(max_length=64, blank=True)
    devices = models.BigIntegerField(_("devices held"), default=0)
    held = models.JSONField(_("held"), default=list)
    running_since = models.DateTimeField(_("admitted"), null=True)
    evictions = models.PositiveIntegerField(_("evictions"), default=0)
    counted = models.PositiveIntegerField(_("evictions counted by the cluster"), default=0)
    past_seconds = models.BigIntegerField(_("admitted before"), default=0)
    active = models.BooleanField(default=True)
    orphaned = models.BooleanField(_("without an owner"), default=False)
    conditions = models.JSONField(default=dict)
    finished_at = models.DateTimeField(_("finished"), null=True)
    outcome = models.CharField(_("outcome"), max_length=128, blank=True)
    gone_at = models.DateTimeField(_("gone"), null=True)

    class Meta:
        verbose_name = _("lifetime")
        verbose_name_plural = _("lifetimes")
        constraints = [
            models.UniqueConstraint("cluster", "uid", name="lifetime_once"),
            models.CheckConstraint(
                condition=Q(phase="", starts__isnull=True)
                | Q(phase__in=Phase.values, starts__isnull=False),
                name="lifetime_open_phase_has_its_start",
            ),
        ]
        indexes = [
            models.Index("cluster", "namespace", "name", name="lifetime_name"),
            models.Index("cluster", "queue", condition=~Q(phase=""), name="lifetime_open_queue"),
        ]

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


#: The phases in which a Workload has quota.
HOLDING: Final = ("reserved", "admitted", "draining")
#: The longest time that an interval can have been.
REACH: Final = Func(
    Least("starts", "starts_earliest"),
    Greatest("ends", "ends_latest"),
    function="tstzrange",
    output_field=DateTimeRangeField(),
)


class Interval(models.Model):
    """A phase that is over. Rows are only added."""

    cluster = models.ForeignKey(Cluster, models.PROTECT, related_name="+")
    lifetime = models.ForeignKey(Lifetime, models.PROTECT, related_name="intervals")
    phase = models.CharField(_("phase"), max_length=12, choices=Phase)
    attempt = models.PositiveIntegerField(_("attempt"))
    starts = models.DateTimeField(_("starts"))
    starts_quality = models.CharField(max_length=8, choices=Quality)
    starts_earliest = models.DateTimeField(null=True)
    starts_latest = models.DateTimeField(null=True)
    ends = models.DateTimeField(_("ends"))
    ends_quality = models.CharField(max_length=8, choices=Quality)
    ends_earliest = models.DateTimeField(null=True)
    ends_latest = models.DateTimeField(null=True)
    ended_by = models.CharField(_("ended by"), max_length=16)
    queue = models.CharField(_("queue"), max_length=253, blank=True)
    cohort = models.CharField(_("department"), max_length=253, blank=True)
    priority_class = models.CharField(_("priority"), max_length=253, blank=True)
    priority = models.BigIntegerField(_("priority value"))
    cause = models.CharField(_("cause"), max_length=48, blank=True)
    preemptor_uid = models.CharField(max_length=64, blank=True)
    devices = models.BigIntegerField(_("devices held"))
    held = models.JSONField(_("held"), default=list)
    # When the row was written: what was counted before does not know of it.
    noted_at = models.DateTimeField(_("noted"), db_default=Now())

    class Meta:
        verbose_name = _("interval")
        verbose_name_plural = _("intervals")
        constraints = [
            models.CheckConstraint(condition=Q(ends__gt=F("starts")), name="interval_has_length"),
            models.CheckConstraint(condition=Q(phase__in=Phase.values), name="interval_phase"),
            models.CheckConstraint(condition=Q(devices__gte=0), name="interval_devices"),
            # A range around the key stands for the key itself: PostgreSQL without extensions has
            # no GiST class for numbers, but it has one for ranges.
            ExclusionConstraint(
                name="interval_one_phase_at_a_time",
                expressions=[
                    (
                        Func("lifetime", "lifetime", Value("[]"), function="int8range"),
                        RangeOperators.OVERLAPS,
                    ),
                    (Func("starts", "ends", function="tstzrange"), RangeOperators.OVERLAPS),
                ],
            ),
        ]
        indexes = [
            models.Index("lifetime", "starts", name="interval_of_lifetime"),
            models.Index("cluster", "ends", name="interval_by_end"),
            models.Index("cluster", "noted_at", name="interval_by_note"),
            # What held devices in some hours: neither of its ends alone would find that.
            GistIndex(REACH, condition=Q(phase__in=HOLDING), name="interval_by_time"),
        ]

    def __str__(self) -> str:
        return f"{self.lifetime_id} {self.phase} {self.starts:%F %T}"


class Eviction(models.Model):
    """A Workload lost its place, or was switched off. Rows are only added.

    ``lost_seconds`` are device-seconds since the last checkpoint that was known at that time, or
    since the run began. ``message`` and the paths may name what other tenants own.
    """

    cluster = models.ForeignKey(Cluster, models.PROTECT, related_name="+")
    lifetime = models.ForeignKey(Lifetime, models.PROTECT, related_name="evicted")
    number = models.PositiveIntegerField(_("number"))
    attempt = models.PositiveIntegerField(_("attempt"))
    at = models.DateTimeField(_("at"))
    quality = models.CharField(max_length=8, choices=Quality)
    earliest = models.DateTimeField(null=True)
    latest = models.DateTimeField(null=True)
    cause = models.CharField(_("cause"), max_length=48)
    detail = models.CharField(max_length=128, blank=True)
    preemptor_uid = models.CharField(max_length=64, blank=True)
    preemptor_job_uid = models.CharField(max_length=64, blank=True)
    preemptor_path = models.CharField(max_length=1024, blank=True)
    preemptee_path = models.CharField(max_length=1024, blank=True)
    message = models.TextField(_("text of the cluster"), blank=True)
    queue = models.CharField(_("queue"), max_length=253, blank=True)
    priority_class = models.CharField(_("priority"), max_length=253, blank=True)
    priority = models.BigIntegerField(_("priority value"))
    devices = models.BigIntegerField(_("devices held"))
    running_since = models.DateTimeField(_("admitted"), null=True)
    checkpoint_at = models.DateTimeField(_("last checkpoint"), null=True)
    lost_seconds = models.BigIntegerField(_("lost"), default=0)

    class Meta:
        verbose_name = _("eviction")
        verbose_name_plural = _("evictions")
        constraints = [
            models.UniqueConstraint("lifetime", "number", name="eviction_once"),
            models.CheckConstraint(condition=Q(lost_seconds__gte=0), name="eviction_lost"),
        ]
        indexes = [
            models.Index("cluster", "at", name="eviction_by_time"),
            models.Index(
                "cluster",
                "preemptor_uid",
                condition=~Q(preemptor_uid=""),
                name="eviction_preemptor",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.lifetime_id} {self.cause}"


class ConditionChange(models.Model):
    """One condition, check or setting of a Workload took another value. Rows are only added."""

    lifetime = models.ForeignKey(Lifetime, models.PROTECT, related_name="changes")
    type = models.CharField(max_length=128)
    status = models.CharField(max_length=32, blank=True)
    reason = models.CharField(max_length=128, blank=True)
    message = models.TextField(blank=True)
    at = models.DateTimeField(_("at"), null=True)
    seen_at = models.DateTimeField(_("seen"))

    class Meta:
        verbose_name = _("change of a condition")
        verbose_name_plural = _("changes of conditions")
        indexes = [models.Index("lifetime", "seen_at", name="change_of_lifetime")]

    def __str__(self) -> str:
        return f"{self.lifetime_id} {self.type} {self.status}"


class Gap(models.Model):
    """A time in which nobody listened to a kind of object. Rows are added when it is over.

    ``starts`` is the last sign of life before, ``ends`` the first after. After a ``resumed`` gap
    every change was delivered late; after a ``listed`` one, changes in between may be unknown.
    """

    class Healed(models.TextChoices):
        RESUMED = "resumed", _("resumed")
        LISTED = "listed", _("read anew")

    cluster = models.ForeignKey(Cluster, models.PROTECT, related_name="+")
    kind = models.CharField(_("kind"), max_length=63)
    starts = models.DateTimeField(_("starts"))
    ends = models.DateTimeField(_("ends"))
    cause = models.CharField(_("cause"), max_length=16)
    healed = models.CharField(_("ended by"), max_length=8, choices=Healed)
    error = models.TextField(_("error"), blank=True)

    class Meta:
        verbose_name = _("gap of the observation")
        verbose_name_plural = _("gaps of the observation")
        constraints = [
            models.UniqueConstraint("cluster", "kind", "starts", name="gap_once"),
            models.CheckConstraint(condition=Q(ends__gt=F("starts")), name="gap_has_length"),
        ]
        indexes = [models.Index("cluster", "ends", name="gap_by_end")]

    def __str__(self) -> str:
        return f"{self.cluster_id} {self.kind} {self.starts:%F %T}"
