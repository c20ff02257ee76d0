"""Prove the audit trail, and say in it that this was done."""

from __future__ import annotations

from django.db import transaction

from tenants import access, audit
from tenants.audit import Report
from tenants.models import User


def verify(*, actor: User) -> list[Report]:
    """Recompute every chain. The walk itself takes no lock; its result is recorded."""
    with audit.refusals("audit.verify", actor=actor, scope=audit.PLATFORM, obj=None):
        access.require(actor, "audit.verify")
        reports = [audit.verify(scope) for scope in audit.scopes()]
        broken = [report.scope for report in reports if not report.intact]
        with transaction.atomic():
            audit.record(
                "audit.verify",
                actor=actor,
                scope=audit.PLATFORM,
                obj=None,
                data={"chains": len(reports), "broken": broken},
                outcome=audit.FAILED if broken else audit.DONE,
            )
    return reports
