"""An apply: one approved plan on its way into the cluster, with a result for each object."""

from __future__ import annotations

import uuid
from typing import ClassVar

from django.db import models
from django.utils.translation import gettext_lazy as _

from queues.models.plans import Claimable, Plan, PlanObject
from tenants.models import Cluster, Request, Revision
from tenants.models.states import StateRow


class Apply(StateRow, Claimable):
    """The row is the queue; a message only wakes somebody up to look at it."""

    class State(models.TextChoices):
        QUEUED = "queued", _("waiting for a worker")
        RUNNING = "running", _("being applied")
        SUCCEEDED = "succeeded", _("in the cluster")
        PARTIAL = "partial", _("partly applied")
        STALE = "stale", _("out of date")
        CONFLICT = "conflict", _("in conflict with another writer")
        UNKNOWN = "unknown", _("result unknown")
        STUCK = "stuck", _("not applied")

    TRANSITIONS: ClassVar = {
        "queued": frozenset({"running"}),
        "running": frozenset(
            {"queued", "running", "succeeded", "partial", "stale", "conflict", "unknown", "stuck"}
        ),
        "unknown": frozenset({"queued", "running"}),
        "partial": frozenset({"queued"}),
        "stuck": frozenset({"queued"}),
    }

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    plan = models.OneToOneField(Plan, models.PROTECT, related_name="apply")
    request = models.ForeignKey(Request, models.PROTECT, related_name="applies")
    cluster = models.ForeignKey(Cluster, models.PROTECT, related_name="+")
    revision = models.ForeignKey(Revision, models.PROTECT, related_name="+")
    force = models.BooleanField(default=False)
    state = models.CharField(_("state"), max_length=16, choices=State, default=State.QUEUED)
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    seen_at = models.DateTimeField(_("seen in the cluster"), null=True)
    touched = models.JSONField(_("queues touched so that Kueue looks again"), default=list)

    class Meta:
        verbose_name = _("apply")
        verbose_name_plural = _("applies")
        ordering = ["-created_at"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(
                    state__in=[
                        "queued",
                        "running",
                        "succeeded",
                        "partial",
                        "stale",
                        "conflict",
                        "unknown",
                        "stuck",
                    ]
                ),
                name="apply_state",
            ),
        ]
        indexes = [models.Index("cluster", "state", "created_at", name="apply_claimable")]

    def __str__(self) -> str:
        return str(self.id)[:8]


class ObjectResult(models.Model):
    """What became of one planned object."""

    class State(models.TextChoices):
        PENDING = "pending", _("not tried yet")
        APPLIED = "applied", _("applied")
        FOUND = "found", _("already as wanted")
        REFUSED = "refused", _("refused by the cluster")
        CONFLICT = "conflict", _("owned by another writer")
        STALE = "stale", _("changed since the plan")
        UNKNOWN = "unknown", _("no answer; will be read back")
        CHANGED = "changed", _("changed by the cluster after writing")

    apply = models.ForeignKey(Apply, models.CASCADE, related_name="results")
    object = models.ForeignKey(PlanObject, models.PROTECT, related_name="+")
    state = models.CharField(_("state"), max_length=16, choices=State, default=State.PENDING)
    message = models.TextField(_("message"), blank=True)
    code = models.CharField(max_length=16, blank=True)
    field_problems = models.JSONField(default=list)
    conflicts = models.JSONField(default=list)
    found = models.JSONField(_("fields found"), null=True)
    uid = models.CharField(max_length=64, blank=True)
    version_before = models.CharField(max_length=32, blank=True)
    resource_version = models.CharField(max_length=32, blank=True)
    manager = models.CharField(_("written as"), max_length=63, blank=True)
    fence = models.PositiveIntegerField(default=0)
    at = models.DateTimeField(null=True)

    class Meta:
        verbose_name = _("result")
        verbose_name_plural = _("results")
        ordering = ["apply", "object__position"]
        constraints = [models.UniqueConstraint("apply", "object", name="result_once")]

    def __str__(self) -> str:
        return f"{self.object} {self.state}"
