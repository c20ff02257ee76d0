"""Sets what a tenant's months may cost."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from costs.models import Budget, PriceBook
from costs.money import places
from portal.web.errors import Refused
from tenants import access, audit
from tenants.models import Tenant, User

#: More than any bill; so that a slip of the hand is told from a budget.
MOST = Decimal(10) ** 12


class NotABudget(Refused):
    """An amount that is none, or a month that is over."""

    code = "GP-5701"
    # What somebody mistypes is between them and the form.
    keep = False


def set_budget(
    *, actor: User, tenant: Tenant, month: date, book: PriceBook | None, amount: Decimal | None
) -> Budget:
    """Let a budget hold from a month on; ``None`` ends the one before.

    Months that are over keep what they had: ``NotABudget``.
    """
    scope = audit.scope_of(tenant)
    facts = {"month": month, "book": book.name if book else None, "amount": amount}
    with audit.refusals("budget.set", actor=actor, scope=scope, obj=tenant, data=facts):
        access.require(actor, "tenant.budget", tenant)
        _check(month, book, amount)
        with transaction.atomic():
            before = Budget.objects.select_for_update().filter(tenant=tenant, month=month).first()
            was = before.amount if before else None
            found, _new = Budget.objects.update_or_create(
                tenant=tenant,
                month=month,
                defaults={
                    "book": book, "amount": amount, "set_by": actor, "set_at": timezone.now()
                },
            )  # fmt: skip
            audit.record(
                "budget.set", actor=actor, scope=scope, obj=tenant, data={**facts, "was": was}
            )
            return found


def _check(month: date, book: PriceBook | None, amount: Decimal | None) -> None:
    today = timezone.now().date()
    if month.day != 1 or month < today.replace(day=1):
        raise NotABudget(_("A month that is over keeps its budget."), field="month")
    if amount is None:
        return
    decimals = places(book.currency) if book else 1
    if amount <= 0:
        raise NotABudget(_("Type an amount above 0."), field="amount")
    if amount >= MOST:
        raise NotABudget(_("This number is too large."), field="amount")
    if amount != round(amount, decimals):
        said = ngettext("At most %(n)s decimal place.", "At most %(n)s decimal places.", decimals)
        raise NotABudget(said % {"n": decimals}, field="amount")
