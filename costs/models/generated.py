"""Where figures come from that no cluster has given: a demo is filled before anything has run."""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from tenants.models import Cluster


class GeneratedTime(models.Model):
    """All of a cluster in [starts, until) was made up; pages with it say so.

    ``hours`` are its hours, ``counted`` how many of them are counted by now. With ``lasting`` the
    use of devices goes on being made up after that; ``unmeasured`` says why nothing is known of it.
    """

    cluster = models.OneToOneField(Cluster, models.PROTECT, related_name="+")
    starts = models.DateTimeField(_("starts"))
    until = models.DateTimeField(_("until"))
    hours = models.PositiveIntegerField(_("hours"))
    counted = models.PositiveIntegerField(_("counted"), default=0)
    lasting = models.BooleanField(_("use is generated to this day"), default=False)
    unmeasured = models.CharField(_("why use is not known"), max_length=500, blank=True)
    finished_at = models.DateTimeField(_("finished"), null=True)

    class Meta:
        verbose_name = _("generated time")
        verbose_name_plural = _("generated times")
        constraints = [
            models.CheckConstraint(condition=Q(until__gt=F("starts")), name="generated_has_length"),
        ]

    def __str__(self) -> str:
        return f"{self.cluster_id} {self.starts:%F} {self.until:%F}"

    @property
    def percent(self) -> int:
        """Return how much of it is counted, without rounding up to 100."""
        return 100 * self.counted // self.hours if self.hours else 100
