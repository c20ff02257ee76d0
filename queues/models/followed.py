"""What the observer keeps beside the objects themselves: events and unknown texts."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from tenants.models import Cluster


class ObservedEvent(models.Model):
    """An event of the cluster that says something about a workload, its job or its pods.

    The cluster forgets its events after an hour; a row goes after ``happened.KEPT``.
    """

    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="+")
    uid = models.CharField(max_length=64)
    kind = models.CharField(_("kind"), max_length=63)
    namespace = models.CharField(_("namespace"), max_length=63, blank=True)
    name = models.CharField(_("name"), max_length=253)
    object_uid = models.CharField(max_length=64, blank=True)
    reason = models.CharField(_("reason"), max_length=128, blank=True)
    warning = models.BooleanField(_("warning"), default=False)
    message = models.TextField(_("text of the cluster"), blank=True)
    times = models.PositiveIntegerField(_("times"), default=1)
    first_at = models.DateTimeField(_("first"))
    last_at = models.DateTimeField(_("last"))
    digest = models.BigIntegerField(default=0)
    epoch = models.BigIntegerField(default=0)

    class Meta:
        verbose_name = _("event")
        verbose_name_plural = _("events")
        constraints = [models.UniqueConstraint("cluster", "uid", name="observed_event_once")]
        indexes = [
            models.Index("cluster", "object_uid", "last_at", name="observed_event_object"),
            models.Index("cluster", "namespace", "last_at", name="observed_event_namespace"),
            models.Index("cluster", "last_at", name="observed_event_age"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.name} {self.reason}"


class UnknownText(models.Model):
    """A text of the cluster that no rule knows, once for each form it takes.

    ``form`` is the text without its names and numbers, ``example`` one text as it came: it may
    name what tenants own, and is for the platform's administrators.
    """

    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="+")
    form = models.CharField(_("form"), max_length=500)
    example = models.TextField(_("example"))
    times = models.PositiveBigIntegerField(_("workloads"), default=0)
    first_at = models.DateTimeField(_("first"))
    last_at = models.DateTimeField(_("last"))

    class Meta:
        verbose_name = _("unknown text")
        verbose_name_plural = _("unknown texts")
        constraints = [models.UniqueConstraint("cluster", "form", name="unknown_text_once")]

    def __str__(self) -> str:
        return self.form
