"""Where use is asked for, and what the answers were: one row for each pod and hour.

Prometheus forgets after some days, so these rows are the record. What an hour says is replaced as
a whole when it is asked again.
"""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from tenants.models import Cluster


class MetricsSource(models.Model):
    """The Prometheus of a cluster. The token is sealed: workers alone can open it.

    ``found`` is what the last good test has found out, ``problem`` what was wrong at the last one.
    """

    cluster = models.OneToOneField(Cluster, models.CASCADE, related_name="+", primary_key=True)
    server = models.CharField(_("address"), max_length=300)
    ca_pem = models.TextField(_("certificate authority"), blank=True)
    sealed = models.BinaryField(null=True)
    key_id = models.CharField(_("key"), max_length=16, blank=True)
    job = models.CharField(_("job"), max_length=200, blank=True)
    interval = models.PositiveIntegerField(_("seconds between scrapes"), null=True)
    since = models.DateTimeField(_("connected"), db_default=Now())
    wanted_at = models.DateTimeField(_("test asked for"), db_default=Now())
    checked_at = models.DateTimeField(_("tested"), null=True)
    found = models.JSONField(_("found"), default=dict)
    code = models.CharField(max_length=8, blank=True)
    problem = models.CharField(_("problem"), max_length=500, blank=True)
    problem_field = models.CharField(max_length=16, blank=True)

    class Meta:
        verbose_name = _("source of metrics")
        verbose_name_plural = _("sources of metrics")
        constraints = [
            models.CheckConstraint(
                condition=Q(interval__isnull=True) | Q(interval__gte=1, interval__lte=300),
                name="metrics_source_interval",
            ),
        ]

    def __str__(self) -> str:
        return self.server

    @property
    def is_checked(self) -> bool:
        """Tell whether it was tested since that was asked for."""
        return self.checked_at is not None and self.checked_at >= self.wanted_at


class Harvest(models.Model):
    """One hour that was asked of the metrics. It is known only if ``code`` is empty.

    ``series`` of devices were read, ``clamped`` of them were cut to between 0 and the whole.
    """

    cluster = models.ForeignKey(Cluster, models.PROTECT, related_name="+")
    hour = models.DateTimeField(_("hour"))
    at = models.DateTimeField(_("asked"))
    attempts = models.PositiveIntegerField(_("attempts"), default=1)
    code = models.CharField(max_length=8, blank=True)
    problem = models.CharField(_("problem"), max_length=500, blank=True)
    series = models.PositiveIntegerField(_("series"), default=0)
    clamped = models.PositiveIntegerField(_("cut"), default=0)

    class Meta:
        verbose_name = _("harvest")
        verbose_name_plural = _("harvests")
        constraints = [
            models.UniqueConstraint("cluster", "hour", name="harvest_once"),
            models.CheckConstraint(
                condition=Q(hour__minute=0, hour__second=0), name="harvest_is_an_hour"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.cluster_id} {self.hour:%F %R}"


class UsedHour(models.Model):
    """What one pod used of one kind of device on one node; without a pod it is nobody's.

    ``used`` in thousandths of a device-second, ``seen`` and ``expected`` in device-seconds,
    ``fallback`` the seen part that a worse metric told. ``shared`` pods had one device at the
    same time. ``energy`` is in joules. The flavor is found when the hour is counted.
    """

    cluster = models.ForeignKey(Cluster, models.PROTECT, related_name="+")
    hour = models.DateTimeField(_("hour"))
    namespace = models.CharField(_("namespace"), max_length=63, blank=True)
    pod = models.CharField(_("pod"), max_length=253, blank=True)
    pod_uid = models.CharField(max_length=64, blank=True)
    node = models.CharField(_("node"), max_length=253, blank=True)
    model = models.CharField(_("device"), max_length=128, blank=True)
    profile = models.CharField(_("profile"), max_length=64, blank=True)
    used = models.BigIntegerField(_("used"))
    seen = models.BigIntegerField(_("seen"))
    expected = models.BigIntegerField(_("expected"))
    fallback = models.BigIntegerField(_("seen by utilisation alone"), default=0)
    shared = models.PositiveIntegerField(_("pods of a device"), default=1)
    clamped = models.PositiveIntegerField(_("cut"), default=0)
    energy = models.BigIntegerField(_("energy"), null=True)

    class Meta:
        verbose_name = _("use of an hour")
        verbose_name_plural = _("use of hours")
        constraints = [
            models.UniqueConstraint(
                "cluster", "hour", "namespace", "pod", "pod_uid", "node", "model", "profile",
                name="used_hour_once",
            ),
            models.CheckConstraint(
                condition=Q(used__gte=0, used__lte=F("seen") * 1000)
                & Q(seen__lte=F("expected"), fallback__gte=0, fallback__lte=F("seen")),
                name="used_hour_adds_up",
            ),
            models.CheckConstraint(
                condition=Q(hour__minute=0, hour__second=0), name="used_hour_is_an_hour"
            ),
        ]  # fmt: skip

    def __str__(self) -> str:
        return f"{self.namespace}/{self.pod} {self.hour:%F %R}"


class GaugeHour(models.Model):
    """What Kueue itself said that a queue held: the control total of our own records.

    ``reserved`` in resource-seconds of what was ``seen`` of the hour, in seconds; ``held`` is what
    our records say of the whole hour, NULL until it is counted.
    """

    cluster = models.ForeignKey(Cluster, models.PROTECT, related_name="+")
    hour = models.DateTimeField(_("hour"))
    queue = models.CharField(_("queue"), max_length=253)
    flavor = models.CharField(_("flavor"), max_length=253)
    resource = models.CharField(_("resource"), max_length=317)
    reserved = models.BigIntegerField(_("reserved"))
    seen = models.PositiveIntegerField(_("seen"))
    held = models.BigIntegerField(_("held"), null=True)

    class Meta:
        verbose_name = _("gauge of an hour")
        verbose_name_plural = _("gauges of hours")
        constraints = [
            models.UniqueConstraint(
                "cluster", "hour", "queue", "flavor", "resource", name="gauge_hour_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.queue} {self.hour:%F %R}"
