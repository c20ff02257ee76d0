"""What a tenant may spend by the month. A budget holds until the next one of the same tenant."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from costs.models.prices import PriceBook
from tenants.models import Tenant, User


class Budget(models.Model):
    """What a month may cost from ``month`` on; an amount of NULL ends the one before.

    With a ``book`` it is money as the book's policy charges it, without one held GPU-hours.
    """

    tenant = models.ForeignKey(Tenant, models.PROTECT, related_name="+")
    month = models.DateField(_("from the month"))
    book = models.ForeignKey(PriceBook, models.PROTECT, related_name="+", null=True, blank=True)
    amount = models.DecimalField(_("amount"), max_digits=18, decimal_places=4, null=True)
    set_by = models.ForeignKey(User, models.PROTECT, related_name="+")
    set_at = models.DateTimeField(_("set"))

    class Meta:
        verbose_name = _("budget")
        verbose_name_plural = _("budgets")
        constraints = [
            models.UniqueConstraint("tenant", "month", name="budget_once"),
            models.CheckConstraint(condition=Q(month__day=1), name="budget_of_a_month"),
            models.CheckConstraint(
                condition=Q(amount__isnull=True) | Q(amount__gt=0), name="budget_above_nothing"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.tenant_id} {self.month:%Y-%m}"
