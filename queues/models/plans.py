"""A plan: the difference between today and a proposal, bound to what it was computed from."""

from __future__ import annotations

import uuid
from typing import ClassVar

from django.db import models
from django.utils.translation import gettext_lazy as _

from tenants.models import Cluster, Request, Revision
from tenants.models.states import StateRow


class Claimable(models.Model):
    """A row that is its own place in the queue: claimed with a lease, fenced by a number.

    ``attempts`` counts claims before work starts, ``returns`` those that ended in good order
    because the cluster had trouble; the difference are claims whose worker was lost.
    """

    fence = models.PositiveIntegerField(default=0)
    lease_until = models.DateTimeField(null=True)
    attempts = models.PositiveIntegerField(default=0)
    returns = models.PositiveIntegerField(default=0)
    next_try_at = models.DateTimeField(_("next try"), null=True)
    error = models.TextField(_("what holds it up"), blank=True)
    error_code = models.CharField(max_length=16, blank=True)
    held_since = models.DateTimeField(_("held up since"), null=True)

    class Meta:
        abstract = True


class Plan(StateRow, Claimable):
    """What a reviewer sees and approves. ``digest`` covers objects and their bases."""

    class State(models.TextChoices):
        WAITING = "waiting", _("being made")
        READY = "ready", _("ready")
        REFUSED = "refused", _("refused")
        APPROVED = "approved", _("approved")
        REJECTED = "rejected", _("rejected")
        SUPERSEDED = "superseded", _("replaced by a newer plan")

    TRANSITIONS: ClassVar = {
        "waiting": frozenset({"ready", "refused", "superseded"}),
        "ready": frozenset({"approved", "rejected", "superseded"}),
        "refused": frozenset({"superseded"}),
        "approved": frozenset({"superseded"}),
    }

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    request = models.ForeignKey(Request, models.PROTECT, related_name="plans")
    cluster = models.ForeignKey(Cluster, models.PROTECT, related_name="+")
    state = models.CharField(_("state"), max_length=16, choices=State, default=State.WAITING)
    base = models.ForeignKey(Revision, models.PROTECT, related_name="+", null=True)
    proposed = models.JSONField(_("proposed catalog"), null=True)
    digest = models.CharField(_("digest"), max_length=64, blank=True)
    impact = models.JSONField(_("impact"), default=dict)
    problems = models.JSONField(_("problems"), default=list)
    created_at = models.DateTimeField(auto_now_add=True)
    made_at = models.DateTimeField(_("made"), null=True)

    class Meta:
        verbose_name = _("plan")
        verbose_name_plural = _("plans")
        ordering = ["-created_at"]
        constraints = [
            models.UniqueConstraint(
                "request",
                condition=models.Q(state__in=["waiting", "ready", "approved"]),
                name="one_live_plan_per_request",
            ),
            models.CheckConstraint(
                condition=models.Q(
                    state__in=["waiting", "ready", "refused", "approved", "rejected", "superseded"]
                ),
                name="plan_state",
            ),
        ]
        indexes = [models.Index("state", "next_try_at", name="plan_claimable")]

    def __str__(self) -> str:
        return str(self.id)[:8]


class PlanObject(models.Model):
    """One object of a plan: what is wanted, what it was compared with, what the cluster said."""

    class Operation(models.TextChoices):
        CREATE = "create", _("create")
        UPDATE = "update", _("change")
        SAME = "same", _("unchanged")

    class Tried(models.TextChoices):
        ACCEPTED = "accepted", _("tried by the cluster")
        REFUSED = "refused", _("refused by the cluster")
        CONFLICT = "conflict", _("owned by another writer")
        NOT_YET = "not_yet", _("cannot be tried before its namespace exists")
        READ_ONLY = "read_only", _("checked by us, not by the cluster")

    plan = models.ForeignKey(Plan, models.CASCADE, related_name="planned")
    position = models.PositiveIntegerField()
    wave = models.PositiveSmallIntegerField()
    kind = models.CharField(_("kind"), max_length=63)
    namespace = models.CharField(_("namespace"), max_length=63, blank=True)
    name = models.CharField(_("name"), max_length=253)
    operation = models.CharField(_("operation"), max_length=16, choices=Operation)
    wanted = models.JSONField(_("wanted"))
    wanted_digest = models.CharField(max_length=64)
    base_uid = models.CharField(max_length=64, blank=True)
    base_digest = models.CharField(max_length=64, blank=True)
    base = models.JSONField(_("owned fields found"), null=True)
    changes = models.JSONField(_("changes"), default=list)
    tried = models.CharField(_("tried"), max_length=16, choices=Tried)
    message = models.TextField(_("message"), blank=True)
    field_problems = models.JSONField(default=list)
    conflicts = models.JSONField(_("conflicts"), default=list)

    class Meta:
        verbose_name = _("planned object")
        verbose_name_plural = _("planned objects")
        ordering = ["plan", "position"]
        constraints = [models.UniqueConstraint("plan", "position", name="plan_object_once")]

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


class Decision(models.Model):
    """An approval or a rejection, bound to the digest that the reviewer saw."""

    class Verdict(models.TextChoices):
        APPROVE = "approve", _("approved")
        REJECT = "reject", _("rejected")

    plan = models.OneToOneField(Plan, models.PROTECT, related_name="decision")
    verdict = models.CharField(_("decision"), max_length=16, choices=Verdict)
    actor = models.ForeignKey("tenants.User", models.PROTECT, related_name="+")
    digest = models.CharField(_("digest"), max_length=64)
    reason = models.TextField(_("reason"), blank=True)
    take_back = models.BooleanField(_("take fields back"), default=False)
    evidence = models.JSONField(_("numbers seen"), default=dict)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = _("decision")
        verbose_name_plural = _("decisions")

    def __str__(self) -> str:
        return f"{self.verdict} {self.plan_id}"
