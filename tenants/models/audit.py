"""The audit chain. A trigger and the application's role forbid every change of a row."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _


class AuditEvent(models.Model):
    """One decision, refusal or result, chained to the one before it in its scope."""

    class Outcome(models.TextChoices):
        DONE = "done", _("done")
        REFUSED = "refused", _("refused")
        FAILED = "failed", _("failed")

    scope = models.CharField(_("scope"), max_length=80)
    seq = models.PositiveBigIntegerField(_("number"))
    at = models.DateTimeField(_("time"))
    actor = models.ForeignKey("tenants.User", models.PROTECT, related_name="+", null=True)
    actor_name = models.CharField(_("person"), max_length=160)
    action = models.CharField(_("action"), max_length=80)
    outcome = models.CharField(_("outcome"), max_length=8, choices=Outcome, default=Outcome.DONE)
    object_type = models.CharField(_("kind of object"), max_length=40)
    object_id = models.CharField(_("object"), max_length=80)
    request_id = models.CharField(_("request id"), max_length=64, blank=True)
    data = models.JSONField(_("data"))
    previous_hash = models.CharField(max_length=64)
    hash = models.CharField(max_length=64)

    class Meta:
        verbose_name = _("audit event")
        verbose_name_plural = _("audit events")
        ordering = ["scope", "seq"]
        constraints = [
            models.UniqueConstraint("scope", "seq", name="audit_seq_once"),
            models.CheckConstraint(
                condition=models.Q(outcome__in=["done", "refused", "failed"]), name="audit_outcome"
            ),
        ]
        indexes = [models.Index(fields=["-at", "-id"], name="audit_newest")]

    def __str__(self) -> str:
        return f"{self.scope} #{self.seq} {self.action}"
