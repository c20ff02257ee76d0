"""How the positions of a queue's pending workloads were found, and how far to trust them."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from tenants.models import Cluster


class QueueOrder(models.Model):
    """One ClusterQueue's order: where it comes from and when Kueue last agreed.

    The positions themselves are on the Workload rows. ``checked_at`` is when Kueue's own list
    was last compared with the order as it was then; ``differing`` is how many workloads stood
    elsewhere. ``checks`` and ``differed`` count all comparisons since the row was made.
    """

    class Source(models.TextChoices):
        OWN = "own", _("worked out from the cluster's objects")
        KUEUE = "kueue", _("Kueue's own list")

    class Trouble(models.TextChoices):
        """Why Kueue's own list is not there."""

        ABSENT = "absent", _("the cluster has no visibility API")
        FORBIDDEN = "forbidden", _("the portal may not ask Kueue")
        THROTTLED = "throttled", _("Kueue asked to be left alone for a while")
        SILENT = "silent", _("Kueue did not answer")
        UNKNOWN_QUEUE = "unknown_queue", _("Kueue does not know the queue")

    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="+")
    queue = models.CharField(_("queue"), max_length=253)
    strategy = models.CharField(_("strategy"), max_length=16, blank=True)
    by_use = models.BooleanField(_("ordered by past use"), default=False)
    pending = models.PositiveIntegerField(_("pending workloads"), default=0)
    front = models.CharField(_("held in front"), max_length=64, blank=True)
    source = models.CharField(_("source"), max_length=8, choices=Source, default=Source.OWN)
    placed_at = models.DateTimeField(_("last changed"))
    checked_at = models.DateTimeField(_("compared with Kueue"), null=True)
    differing = models.PositiveIntegerField(_("differing workloads"), default=0)
    checks = models.PositiveBigIntegerField(_("comparisons"), default=0)
    differed = models.PositiveBigIntegerField(_("comparisons that differed"), default=0)
    trouble = models.CharField(_("trouble"), max_length=16, choices=Trouble, blank=True)

    class Meta:
        verbose_name = _("order of a queue")
        verbose_name_plural = _("orders of queues")
        constraints = [models.UniqueConstraint("cluster", "queue", name="queue_order_once")]

    def __str__(self) -> str:
        return f"{self.cluster_id} {self.queue}"

    @property
    def agreed(self) -> bool:
        """Say whether Kueue confirmed this very order, or gave it."""
        if self.source == self.Source.KUEUE:
            return True
        return (
            self.checked_at is not None and not self.differing and self.checked_at >= self.placed_at
        )

    @property
    def estimated(self) -> bool:
        """Say whether the order may well be another one in Kueue."""
        return not self.agreed and (self.by_use or self.differing > 0)
