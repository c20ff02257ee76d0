"""Bills joined with the nodes of clusters, and what others say about the same hours.

Of a file all rows are made anew when it is joined again. Those of a bill that a closed period
rests on are kept by a trigger.
"""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from costs.matching import Method
from costs.models.bills import BillFile
from costs.models.choices import names, values
from costs.states import Code
from tenants.models import Cluster


class Matching(models.Model):
    """One time that a file was joined with the nodes. Equal inputs have the same ``result``."""

    file = models.ForeignKey(BillFile, models.PROTECT, related_name="matchings")
    # What was on record at this moment is in it, and nothing that was noted later.
    at = models.DateTimeField(_("joined"), default=timezone.now)
    result = models.CharField(max_length=64)

    class Meta:
        verbose_name = _("join of a bill")
        verbose_name_plural = _("joins of bills")
        indexes = [models.Index(fields=["file", "-at"], name="matching_newest")]

    def __str__(self) -> str:
        return f"{self.file_id} {self.at:%F %T}"


class BilledHour(models.Model):
    """What a file has for one pool in one hour, or for one bucket in its whole period.

    ``seconds`` are device-seconds, NULL where the bill says nothing of time; ``orphan`` those of
    machines that were not in the cluster in this hour, ``unknown`` those of an hour that was not
    counted when the file was joined. ``cost`` is the effective cost to ten places; all rows of a
    file add up to its own. ``spread``: the bill does not say when in a longer time it was.
    """

    file = models.ForeignKey(BillFile, models.PROTECT, related_name="hours")
    bucket = models.CharField(_("paid by the platform"), max_length=16, blank=True)
    cluster = models.ForeignKey(Cluster, models.PROTECT, related_name="+", null=True)
    flavor = models.CharField(_("flavor"), max_length=253, blank=True)
    resource = models.CharField(_("resource"), max_length=317, blank=True)
    hour = models.DateTimeField(_("hour"), null=True)
    seconds = models.BigIntegerField(_("billed"), null=True)
    orphan = models.BigIntegerField(_("not in the cluster"), default=0)
    unknown = models.BigIntegerField(_("not counted"), default=0)
    cost = models.DecimalField(_("effective cost"), max_digits=30, decimal_places=10)
    spread = models.BooleanField(_("spread"), default=False)

    class Meta:
        verbose_name = _("billed hour")
        verbose_name_plural = _("billed hours")
        constraints = [
            models.UniqueConstraint(
                "file",
                "bucket",
                "cluster",
                "flavor",
                "resource",
                "hour",
                name="billed_hour_once",
                nulls_distinct=False,
            ),
            models.CheckConstraint(
                condition=Q(bucket="", cluster__isnull=False, hour__isnull=False)
                | Q(bucket__startswith="*", cluster__isnull=True, hour__isnull=True),
                name="billed_hour_has_one_place",
            ),
            models.CheckConstraint(
                condition=Q(orphan__gte=0, unknown__gte=0)
                & (Q(seconds__isnull=True) | Q(seconds__gte=F("orphan") + F("unknown"))),
                name="billed_hour_parts",
            ),
        ]
        indexes = [
            models.Index("cluster", "flavor", "resource", "hour", name="billed_hour_of_pool"),
        ]  # fmt: skip

    def __str__(self) -> str:
        return f"{self.bucket or self.flavor} {self.hour}"


class BillMatch(models.Model):
    """A machine, or a service that is none, on one day of a bill; seconds are the machine's."""

    file = models.ForeignKey(BillFile, models.PROTECT, related_name="matches")
    day = models.DateField(_("day"))
    subject = models.CharField(_("about"), max_length=1024)
    method = models.CharField(_("found by"), max_length=8, choices=names(Method))
    bucket = models.CharField(_("paid by the platform"), max_length=16, blank=True)
    cluster = models.ForeignKey(Cluster, models.PROTECT, related_name="+", null=True)
    node = models.CharField(_("node"), max_length=253, blank=True)
    flavor = models.CharField(_("flavor"), max_length=253, blank=True)
    resource = models.CharField(_("resource"), max_length=317, blank=True)
    devices = models.PositiveIntegerField(_("devices"), default=0)
    seconds = models.BigIntegerField(_("billed"))
    seen = models.BigIntegerField(_("seen"))
    orphan = models.BigIntegerField(_("not in the cluster"))
    unknown = models.BigIntegerField(_("not counted"))
    billed = models.DecimalField(_("billed"), max_digits=30, decimal_places=12)
    effective = models.DecimalField(_("effective"), max_digits=30, decimal_places=12)
    spread = models.BooleanField(_("spread"), default=False)

    class Meta:
        verbose_name = _("match of a bill")
        verbose_name_plural = _("matches of bills")
        constraints = [
            models.CheckConstraint(
                condition=Q(method__in=values(Method)), name="bill_match_method"
            ),
        ]
        indexes = [models.Index("file", "subject", name="bill_match_of_file")]

    def __str__(self) -> str:
        return f"{self.subject} {self.day}"


class BillFinding(models.Model):
    """What a bill and the cluster say differently; seconds of a machine, and their worth."""

    file = models.ForeignKey(BillFile, models.PROTECT, related_name="findings")
    code = models.CharField(_("finding"), max_length=24, choices=names(Code))
    subject = models.CharField(_("about"), max_length=1024)
    cluster = models.ForeignKey(Cluster, models.PROTECT, related_name="+", null=True)
    node = models.CharField(_("node"), max_length=253, blank=True)
    difference = models.DecimalField(_("difference"), max_digits=30, decimal_places=6)
    whole = models.DecimalField(_("of"), max_digits=30, decimal_places=6)
    money = models.DecimalField(_("worth"), max_digits=30, decimal_places=10)
    facts = models.JSONField(_("facts"), default=dict, db_default={})

    class Meta:
        verbose_name = _("finding about a bill")
        verbose_name_plural = _("findings about bills")
        constraints = [
            models.CheckConstraint(condition=Q(code__in=values(Code)), name="bill_finding_code"),
        ]
        indexes = [models.Index("file", "code", name="bill_finding_of_file")]

    def __str__(self) -> str:
        return f"{self.code} {self.subject}"


class OpinionLine(models.Model):
    """What another report says about a time: devices in seconds, money in its own way.

    ``held`` is what it says was allocated, ``borrowed`` the part beyond that, NULL where it says
    nothing of it. ``machine`` is a node's name in the bill, or the type of its machine.
    """

    file = models.ForeignKey(BillFile, models.CASCADE, related_name="opinions")
    row = models.PositiveBigIntegerField(_("row"))
    starts = models.DateTimeField(_("from"))
    ends = models.DateTimeField(_("to"))
    namespace = models.CharField(_("namespace"), max_length=253, blank=True)
    team = models.CharField(_("team"), max_length=253, blank=True)
    machine = models.CharField(_("machine"), max_length=1024, blank=True)
    held = models.BigIntegerField(_("allocated"), null=True)
    borrowed = models.BigIntegerField(_("borrowed"), null=True)
    cost = models.DecimalField(_("cost"), max_digits=30, decimal_places=12, null=True)
    unused = models.DecimalField(_("unused"), max_digits=30, decimal_places=12, null=True)

    class Meta:
        verbose_name = _("line of another report")
        verbose_name_plural = _("lines of other reports")
        constraints = [
            models.UniqueConstraint("file", "row", name="opinion_line_once"),
            models.CheckConstraint(
                condition=Q(ends__gt=F("starts")), name="opinion_line_has_length"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.file_id} #{self.row}"
