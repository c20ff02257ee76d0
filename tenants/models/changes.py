"""What people ask for and where it stands."""

from __future__ import annotations

import uuid
from typing import ClassVar

from django.db import models
from django.utils.translation import gettext_lazy as _

from tenants.models.catalog import Cluster, Revision, Tenant
from tenants.models.states import StateRow


class Request(StateRow):
    """A wish to change the catalog of one cluster, as a list of edits (``kube.edits``)."""

    class Kind(models.TextChoices):
        QUOTA = "quota", _("quota")
        CATALOG = "catalog", _("catalog")

    class State(models.TextChoices):
        SUBMITTED = "submitted", _("the plan is being made")
        PLANNED = "planned", _("waiting for a decision")
        REFUSED = "refused", _("refused by the checks")
        APPROVED = "approved", _("approved")
        APPLYING = "applying", _("being applied")
        APPLIED = "applied", _("in the cluster")
        PARTIAL = "partial", _("partly applied")
        STALE = "stale", _("out of date")
        CONFLICT = "conflict", _("in conflict with another writer")
        UNKNOWN = "unknown", _("result unknown")
        STUCK = "stuck", _("not applied")
        REJECTED = "rejected", _("rejected")
        WITHDRAWN = "withdrawn", _("withdrawn")
        ABANDONED = "abandoned", _("abandoned")

    TRANSITIONS: ClassVar = {
        "submitted": frozenset({"planned", "refused", "withdrawn"}),
        "planned": frozenset(
            {"submitted", "refused", "approved", "rejected", "withdrawn", "abandoned"}
        ),
        "refused": frozenset({"submitted", "withdrawn", "abandoned"}),
        "approved": frozenset({"applying", "stale", "conflict", "stuck"}),
        "applying": frozenset(
            {"approved", "applied", "partial", "stale", "conflict", "unknown", "stuck"}
        ),
        "partial": frozenset({"submitted", "approved", "abandoned"}),
        "stale": frozenset({"submitted", "abandoned"}),
        "conflict": frozenset({"submitted", "approved", "abandoned"}),
        "unknown": frozenset({"approved", "applying", "submitted"}),
        "stuck": frozenset({"approved", "submitted", "abandoned"}),
    }
    OPEN: ClassVar = frozenset(TRANSITIONS)

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    cluster = models.ForeignKey(Cluster, models.PROTECT, related_name="requests")
    tenant = models.ForeignKey(Tenant, models.PROTECT, related_name="requests", null=True)
    kind = models.CharField(_("kind"), max_length=16, choices=Kind)
    state = models.CharField(_("state"), max_length=16, choices=State, default=State.SUBMITTED)
    author = models.ForeignKey("tenants.User", models.PROTECT, related_name="+")
    reason = models.TextField(_("reason"), max_length=2000)
    edits = models.JSONField(_("edits"))
    targets = models.JSONField(_("targets"), default=list)
    problems = models.JSONField(_("problems"), default=list)
    revision = models.ForeignKey(Revision, models.PROTECT, related_name="+", null=True)
    key = models.CharField(max_length=64, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name = _("request")
        verbose_name_plural = _("requests")
        ordering = ["-created_at"]
        constraints = [
            models.UniqueConstraint("author", "key", name="request_key_once"),
            models.CheckConstraint(
                condition=models.Q(
                    state__in=[
                        "submitted",
                        "planned",
                        "refused",
                        "approved",
                        "applying",
                        "applied",
                        "partial",
                        "stale",
                        "conflict",
                        "unknown",
                        "stuck",
                        "rejected",
                        "withdrawn",
                        "abandoned",
                    ]
                ),
                name="request_state",
            ),
        ]
        indexes = [models.Index("cluster", "state", name="request_cluster_state")]

    def __str__(self) -> str:
        return str(self.id)[:8]


class OpenTarget(models.Model):
    """What an open request touches; unique, so that one thing has one open request."""

    request = models.ForeignKey(Request, models.CASCADE, related_name="open_targets")
    cluster = models.ForeignKey(Cluster, models.PROTECT, related_name="+")
    target = models.CharField(max_length=200)

    class Meta:
        verbose_name = _("open target")
        verbose_name_plural = _("open targets")
        constraints = [
            models.UniqueConstraint("cluster", "target", name="one_open_request_per_target")
        ]

    def __str__(self) -> str:
        return self.target
