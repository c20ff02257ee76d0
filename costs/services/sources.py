"""Where bills come from."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction

from costs.models import BillSource
from tenants import audit
from tenants.models import User


@transaction.atomic
def add_source(
    *, name: str, kind: str, currency: str, accounts: Sequence[str], tenant_tag: str, actor: User
) -> BillSource:
    """Add a source of bills."""
    source = BillSource(
        name=name, kind=kind, currency=currency, accounts=list(accounts), tenant_tag=tenant_tag
    )
    source.full_clean()
    source.save()
    data = {"name": name, "kind": kind, "currency": currency, "accounts": list(accounts)}
    audit.record("bill.source", actor=actor, scope=audit.PLATFORM, obj=source, data=data)
    return source
