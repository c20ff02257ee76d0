"""The committed catalog.

A ``Revision`` is the truth: a numbered, immutable snapshot of one cluster's whole catalog. The
other rows are its newest snapshot spread out, so that pages can join and the database can hold
keys and constraints. Only ``tenants.services.catalog.commit_revision`` writes them.
"""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from kube import names


class Cluster(models.Model):
    """A Kubernetes cluster with Kueue. Read-only until an administrator switches writing on."""

    slug = models.SlugField(_("name"), max_length=40, unique=True)
    display_name = models.CharField(_("display name"), max_length=120)
    writing = models.BooleanField(_("writing"), default=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = _("cluster")
        verbose_name_plural = _("clusters")
        ordering = ["slug"]

    def __str__(self) -> str:
        return self.display_name


class Revision(models.Model):
    """One committed state of a cluster's catalog. Rows are never changed."""

    cluster = models.ForeignKey(Cluster, models.PROTECT, related_name="revisions")
    number = models.PositiveIntegerField(_("number"))
    catalog = models.JSONField(_("catalog"))
    digest = models.CharField(_("digest"), max_length=64)
    summary = models.CharField(_("summary"), max_length=200)
    committed_by = models.ForeignKey("tenants.User", models.PROTECT, related_name="+", null=True)
    committed_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = _("revision")
        verbose_name_plural = _("revisions")
        ordering = ["cluster", "-number"]
        constraints = [models.UniqueConstraint("cluster", "number", name="revision_number_once")]

    def __str__(self) -> str:
        return f"{self.cluster} #{self.number}"


class Tenant(models.Model):
    """A team. The slug is known in every cluster; queues belong to one cluster each."""

    slug = models.SlugField(_("name"), max_length=40, unique=True)
    display_name = models.CharField(_("display name"), max_length=names.MAX_TEXT)
    cost_centre = models.CharField(_("cost centre"), max_length=names.MAX_TEXT, blank=True)

    class Meta:
        verbose_name = _("tenant")
        verbose_name_plural = _("tenants")
        ordering = ["slug"]

    def __str__(self) -> str:
        return self.display_name


class Pool(models.Model):
    """The devices of one flavor in one cluster; its row is the lock for capacity decisions."""

    cluster = models.ForeignKey(Cluster, models.PROTECT, related_name="pools")
    flavor = models.CharField(_("flavor"), max_length=names.MAX_SUBDOMAIN)
    resource = models.CharField(_("resource"), max_length=names.MAX_LABEL_KEY)
    spec = models.JSONField(_("specification"))
    capacity = models.BigIntegerField(_("agreed capacity"), null=True)

    class Meta:
        verbose_name = _("pool")
        verbose_name_plural = _("pools")
        ordering = ["cluster", "flavor"]
        constraints = [models.UniqueConstraint("cluster", "flavor", name="pool_once")]

    def __str__(self) -> str:
        return self.flavor


class Department(models.Model):
    """A Cohort: a node of the quota tree."""

    cluster = models.ForeignKey(Cluster, models.PROTECT, related_name="departments")
    name = models.CharField(_("name"), max_length=names.MAX_SUBDOMAIN)
    display_name = models.CharField(_("display name"), max_length=names.MAX_TEXT, blank=True)
    parent = models.ForeignKey("self", models.PROTECT, related_name="children", null=True)
    spec = models.JSONField(_("specification"))

    class Meta:
        verbose_name = _("department")
        verbose_name_plural = _("departments")
        ordering = ["cluster", "name"]
        constraints = [models.UniqueConstraint("cluster", "name", name="department_once")]

    def __str__(self) -> str:
        return self.display_name or self.name


class Queue(models.Model):
    """A tenant's ClusterQueue in one cluster."""

    cluster = models.ForeignKey(Cluster, models.PROTECT, related_name="queues")
    tenant = models.ForeignKey(Tenant, models.PROTECT, related_name="queues")
    department = models.ForeignKey(Department, models.PROTECT, related_name="queues", null=True)
    name = models.CharField(_("name"), max_length=63)
    purpose = models.CharField(_("purpose"), max_length=16)
    strategy = models.CharField(_("queueing strategy"), max_length=16)
    stop_policy = models.CharField(_("stop policy"), max_length=16)
    spec = models.JSONField(_("specification"))

    class Meta:
        verbose_name = _("queue")
        verbose_name_plural = _("queues")
        ordering = ["cluster", "name"]
        constraints = [models.UniqueConstraint("cluster", "name", name="queue_once")]

    def __str__(self) -> str:
        return self.name


class QuotaLine(models.Model):
    """Flavor x resource of a queue. Milli-CPU, bytes or whole devices; NULL is "not set"."""

    queue = models.ForeignKey(Queue, models.CASCADE, related_name="lines")
    position = models.PositiveSmallIntegerField()
    flavor = models.CharField(_("flavor"), max_length=names.MAX_SUBDOMAIN)
    resource = models.CharField(_("resource"), max_length=names.MAX_LABEL_KEY)
    nominal = models.BigIntegerField(_("nominal"))
    borrowing_limit = models.BigIntegerField(_("borrowing limit"), null=True)
    lending_limit = models.BigIntegerField(_("lending limit"), null=True)

    class Meta:
        verbose_name = _("quota line")
        verbose_name_plural = _("quota lines")
        ordering = ["queue", "position"]
        constraints = [
            models.UniqueConstraint("queue", "flavor", "resource", name="quota_line_once"),
            models.CheckConstraint(condition=Q(nominal__gte=0), name="quota_nominal_not_negative"),
            models.CheckConstraint(
                condition=Q(borrowing_limit__isnull=True) | Q(borrowing_limit__gte=0),
                name="quota_borrowing_not_negative",
            ),
            models.CheckConstraint(
                condition=Q(lending_limit__isnull=True)
                | Q(lending_limit__gte=0, lending_limit__lte=F("nominal")),
                name="quota_lending_within_nominal",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.flavor}/{self.resource}"


class Entry(models.Model):
    """A LocalQueue: the door of a namespace into a queue."""

    queue = models.ForeignKey(Queue, models.CASCADE, related_name="entries")
    cluster = models.ForeignKey(Cluster, models.PROTECT, related_name="+")
    namespace = models.CharField(_("namespace"), max_length=63)
    name = models.CharField(_("name"), max_length=63)

    class Meta:
        verbose_name = _("entry")
        verbose_name_plural = _("entries")
        ordering = ["namespace", "name"]
        constraints = [models.UniqueConstraint("cluster", "namespace", "name", name="entry_once")]

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class Priority(models.Model):
    """A WorkloadPriorityClass with the words of its contract."""

    cluster = models.ForeignKey(Cluster, models.PROTECT, related_name="priorities")
    name = models.CharField(_("name"), max_length=63)
    value = models.IntegerField(_("value"))
    contract = models.TextField(_("contract"), blank=True)
    preemptions_per_day = models.PositiveIntegerField(_("stops in a day"), null=True)
    longest_wait_hours = models.PositiveIntegerField(_("longest wait in hours"), null=True)

    class Meta:
        verbose_name = _("priority")
        verbose_name_plural = _("priorities")
        ordering = ["cluster", "-value"]
        constraints = [models.UniqueConstraint("cluster", "name", name="priority_once")]

    def __str__(self) -> str:
        return self.name
