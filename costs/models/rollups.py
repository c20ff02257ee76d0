"""Days and months of UTC: the sums of the hours in them, for pages that show more than a week.

They follow from the hours and are made anew with them, in the same transaction. Hours that nobody
watched are counted and not added up, as on pages: what they say is a guess. A day may be cut
by the end of a month of another zone, so these rows are never what a closed month rests on.
"""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from costs.facts import Quality
from costs.models.choices import values
from costs.models.facts import PoolSums, TenantSums


class _TenantRollup(TenantSums):
    """Sums of ``hours``, of which ``coverage`` seconds were observed; the worst quality of them.

    ``estimated`` and ``partial`` of them are known less well. ``unwatched`` are hours that nobody
    watched: they are in no sum, and without any other hour the sums of 0 say nothing.
    """

    starts = models.DateField(_("starts"))
    hours = models.PositiveIntegerField(_("hours"))
    estimated = models.PositiveIntegerField(_("estimated"), default=0)
    partial = models.PositiveIntegerField(_("partly observed"), default=0)
    unwatched = models.PositiveIntegerField(_("missing"), default=0)
    coverage = models.PositiveIntegerField(_("coverage"))

    class Meta:
        abstract = True
        constraints = [
            models.UniqueConstraint(
                "starts", "cluster", "tenant", "flavor", "resource",
                name="%(class)s_once", nulls_distinct=False,
            ),
            models.CheckConstraint(
                condition=Q(quality__in=values(Quality)), name="%(class)s_quality"
            ),
        ]  # fmt: skip
        indexes = [models.Index("tenant", "starts", name="%(class)s_of_tenant")]

    def __str__(self) -> str:
        return f"{self.tenant_id} {self.flavor} {self.starts}"


class TenantDay(_TenantRollup):
    """One tenant in one pool for one day of UTC."""

    class Meta(_TenantRollup.Meta):
        verbose_name = _("day of a tenant")
        verbose_name_plural = _("days of tenants")


class TenantMonth(_TenantRollup):
    """One tenant in one pool for one month of UTC, named by its first day."""

    class Meta(_TenantRollup.Meta):
        verbose_name = _("month of a tenant")
        verbose_name_plural = _("months of tenants")


class _PoolRollup(PoolSums):
    """Sums of ``hours``; ``unwatched`` are those that nobody watched, which are in no sum."""

    starts = models.DateField(_("starts"))
    hours = models.PositiveIntegerField(_("hours"))
    unwatched = models.PositiveIntegerField(_("missing"), default=0)

    class Meta:
        abstract = True
        constraints = [
            models.UniqueConstraint(
                "starts", "cluster", "flavor", "resource", name="%(class)s_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.flavor} {self.starts}"


class PoolDay(_PoolRollup):
    """One pool for one day of UTC."""

    class Meta(_PoolRollup.Meta):
        verbose_name = _("day of a pool")
        verbose_name_plural = _("days of pools")


class PoolMonth(_PoolRollup):
    """One pool for one month of UTC, named by its first day."""

    class Meta(_PoolRollup.Meta):
        verbose_name = _("month of a pool")
        verbose_name_plural = _("months of pools")
