"""How the portal reaches a cluster."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from tenants.models import Cluster


class Link(models.Model):
    """Address of a cluster, what it can do and what the portal may do there."""

    cluster = models.OneToOneField(Cluster, models.PROTECT, related_name="+", primary_key=True)
    server = models.URLField(_("server"), max_length=300)
    ca_pem = models.TextField(_("certificate authority"))
    namespace = models.CharField(_("portal's namespace"), max_length=63, default="gpuportal-system")
    capabilities = models.JSONField(_("capabilities"), default=dict)
    preflight = models.JSONField(_("preflight"), default=dict)
    checked_at = models.DateTimeField(_("checked"), null=True)
    check_error = models.TextField(blank=True)
    clock_skew_seconds = models.IntegerField(null=True)

    class Meta:
        verbose_name = _("link")
        verbose_name_plural = _("links")

    def __str__(self) -> str:
        return self.server


class Credential(models.Model):
    """A token sealed to the public key: only worker and observer can open it."""

    class Purpose(models.TextChoices):
        READER = "reader", _("reader")
        APPLIER = "applier", _("applier")

    link = models.ForeignKey(Link, models.CASCADE, related_name="credentials")
    purpose = models.CharField(_("purpose"), max_length=16, choices=Purpose)
    sealed = models.BinaryField()
    key_id = models.CharField(_("key"), max_length=16)
    expires_at = models.DateTimeField(_("expires"), null=True)
    renewed_at = models.DateTimeField(_("renewed"), null=True)
    problem = models.TextField(_("problem"), blank=True)

    class Meta:
        verbose_name = _("credential")
        verbose_name_plural = _("credentials")
        constraints = [models.UniqueConstraint("link", "purpose", name="credential_once")]

    def __str__(self) -> str:
        return f"{self.link_id} {self.purpose}"
