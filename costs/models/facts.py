"""The facts of an hour, as ``costs.ledger`` makes them. All are resource-seconds in native units.

A row that is missing is an hour that was never counted. A closed month's rows cannot be changed:
a trigger holds that.
"""

from __future__ import annotations

from django.contrib.postgres.indexes import BrinIndex
from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from costs.facts import Quality
from costs.models.choices import names, values
from tenants.models import Cluster, Tenant


class Run(models.Model):
    """One calculation of the hours [starts, ends) of a cluster.

    ``result`` is the hash of the facts: the same hours counted again have the same one.
    """

    cluster = models.ForeignKey(Cluster, models.PROTECT, related_name="+")
    starts = models.DateTimeField(_("starts"))
    ends = models.DateTimeField(_("ends"))
    result = models.CharField(_("result"), max_length=64)
    # What was on record at this moment is in it, and nothing that was noted later.
    at = models.DateTimeField(_("counted"), default=timezone.now)

    class Meta:
        verbose_name = _("run")
        verbose_name_plural = _("runs")
        constraints = [
            models.CheckConstraint(condition=Q(ends__gt=F("starts")), name="run_has_length"),
        ]
        indexes = [models.Index("cluster", "ends", name="run_by_end")]

    def __str__(self) -> str:
        return f"{self.cluster_id} {self.starts:%F %R}"


class TenantSums(models.Model):
    """What one tenant had in one pool; without a tenant it is nobody's.

    ``used`` is in thousandths, ``seen`` and ``expected`` say how much was looked at, ``fallback``
    which part of it by a worse metric; NULL is not known, which is not 0. ``pods`` are the seconds
    in which somebody listened to pods: rows that were written before the portal did so have 0,
    and what ran then is not known.
    """

    # Tables with many rows: what is read by is an index of its own, with the time in it.
    cluster = models.ForeignKey(Cluster, models.PROTECT, related_name="+", db_index=False)
    tenant = models.ForeignKey(Tenant, models.PROTECT, related_name="+", null=True, db_index=False)
    flavor = models.CharField(_("flavor"), max_length=253)
    resource = models.CharField(_("resource"), max_length=317)
    committed = models.BigIntegerField(_("committed"))
    held = models.BigIntegerField(_("held"))
    own = models.BigIntegerField(_("own"))
    borrowed = models.BigIntegerField(_("borrowed"))
    lent = models.BigIntegerField(_("lent"))
    overdraft = models.BigIntegerField(_("overdraft"))
    excess = models.BigIntegerField(_("above quota"))
    reserved = models.BigIntegerField(_("reserved"))
    admitted = models.BigIntegerField(_("admitted"))
    draining = models.BigIntegerField(_("draining"))
    running = models.BigIntegerField(_("running"))
    terminating = models.BigIntegerField(_("terminating"))
    unmanaged = models.BigIntegerField(_("unmanaged"))
    pods = models.BigIntegerField(_("pods watched"), db_default=0)
    held_least = models.BigIntegerField(_("held at least"))
    held_most = models.BigIntegerField(_("held at most"))
    used = models.BigIntegerField(_("used"), null=True)
    seen = models.BigIntegerField(_("seen"), null=True)
    expected = models.BigIntegerField(_("expected"), null=True)
    fallback = models.BigIntegerField(_("seen by utilisation alone"), null=True)
    quality = models.CharField(_("quality"), max_length=10, choices=names(Quality))

    class Meta:
        abstract = True


class TenantHour(TenantSums):
    """One tenant in one pool for one hour; ``coverage`` are observed seconds of the hour."""

    hour = models.DateTimeField(_("hour"))
    coverage = models.PositiveSmallIntegerField(_("coverage"))
    run = models.ForeignKey(Run, models.PROTECT, related_name="+")

    class Meta:
        verbose_name = _("hour of a tenant")
        verbose_name_plural = _("hours of tenants")
        constraints = [
            models.UniqueConstraint(
                "hour", "cluster", "tenant", "flavor", "resource",
                name="tenant_hour_once", nulls_distinct=False,
            ),
            models.CheckConstraint(
                condition=Q(held=F("own") + F("borrowed")), name="tenant_hour_own_and_borrowed"
            ),
            models.CheckConstraint(
                condition=Q(held=F("reserved") + F("admitted") + F("draining")),
                name="tenant_hour_phases",
            ),
            models.CheckConstraint(
                condition=Q(held_least__lte=F("held"), held_most__gte=F("held")),
                name="tenant_hour_bounds",
            ),
            models.CheckConstraint(
                condition=Q(coverage__lte=3600, quality__in=values(Quality)),
                name="tenant_hour_quality",
            ),
            models.CheckConstraint(
                condition=Q(pods__gte=0, pods__lte=3600), name="tenant_hour_pods"
            ),
            models.CheckConstraint(
                condition=Q(used__isnull=True, seen__isnull=True, expected__isnull=True)
                | Q(used__gte=0, seen__gte=0, expected__gte=0),
                name="tenant_hour_use",
            ),
            models.CheckConstraint(
                condition=Q(hour__minute=0, hour__second=0), name="tenant_hour_is_an_hour"
            ),
        ]  # fmt: skip
        indexes = [
            models.Index("tenant", "hour", name="tenant_hour_of_tenant"),
            # Hours are written in their order: a month of all tenants lies side by side.
            BrinIndex("hour", name="tenant_hour_in_time", autosummarize=True),
        ]

    def __str__(self) -> str:
        return f"{self.tenant_id} {self.flavor} {self.hour:%F %R}"


class PoolSums(models.Model):
    """The devices of one pool, and quota of it that belongs to departments themselves.

    ``used``, ``seen`` and ``expected`` are of all devices, also of those that no pod had;
    ``unattributed`` is the part of ``used`` of which nobody says which pod it was.
    """

    cluster = models.ForeignKey(Cluster, models.PROTECT, related_name="+")
    flavor = models.CharField(_("flavor"), max_length=253)
    resource = models.CharField(_("resource"), max_length=317)
    ready = models.BigIntegerField(_("ready"))
    cordoned = models.BigIntegerField(_("cordoned"))
    down = models.BigIntegerField(_("down"))
    nominal = models.BigIntegerField(_("quota of departments"))
    borrowed = models.BigIntegerField(_("borrowed of it"))
    overdraft = models.BigIntegerField(_("overdraft"))
    used = models.BigIntegerField(_("used"), null=True)
    seen = models.BigIntegerField(_("seen"), null=True)
    expected = models.BigIntegerField(_("expected"), null=True)
    unattributed = models.BigIntegerField(_("used without a pod"), null=True)

    class Meta:
        abstract = True


class PoolHour(PoolSums):
    """One pool for one hour."""

    hour = models.DateTimeField(_("hour"))
    run = models.ForeignKey(Run, models.PROTECT, related_name="+")

    class Meta:
        verbose_name = _("hour of a pool")
        verbose_name_plural = _("hours of pools")
        constraints = [
            models.UniqueConstraint("hour", "cluster", "flavor", "resource", name="pool_hour_once"),
            models.CheckConstraint(
                condition=Q(borrowed__gte=0, borrowed__lte=F("nominal")), name="pool_hour_borrowed"
            ),
            models.CheckConstraint(
                condition=Q(hour__minute=0, hour__second=0), name="pool_hour_is_an_hour"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.flavor} {self.hour:%F %R}"
