"""Cases of idle devices: found by the portal, asked and decided by people.

What is found opens a case once; what is not found any more closes it by itself. Nothing is taken
from anybody here: to take back means that a person asks for a smaller quota, which others decide.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import connection, transaction
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from costs.models import Case
from costs.models.states import move
from costs.selectors.idle import Found, idle
from kube.names import says_nothing
from portal.web.errors import Refused
from tenants import access, audit
from tenants.models import Cluster, Tenant, User

_LOCK_CLASS = 0x636173  # "cas": keeps these locks apart from other advisory locks
LONGEST = 2000
Key = tuple[str, str, str, str, str]


class SayWhy(Refused):
    """An answer without words, or with too many."""

    code = "GP-5702"
    keep = False


def look(cluster: Cluster, now: datetime | None = None) -> tuple[int, int]:
    """Open cases for what is idle, bring open ones up to date, close what is over.

    A case of which nobody can say now whether it is still so stays as it was. Returns how many were opened and closed. One look of a cluster at a time.
    """
    now = now or timezone.now()
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [_LOCK_CLASS, cluster.pk])
        looked = idle(cluster.pk, now)
        found = {_key(each): each for each in looked.found}
        known = {
            (row.tenant.slug, row.kind, row.subject, row.flavor, row.resource): row
            for row in Case.objects.filter(cluster=cluster)
            .exclude(state=Case.State.CLOSED)
            .select_related("tenant")
        }
        tenants = Tenant.objects.in_bulk(
            {each.tenant for each in found.values()}, field_name="slug"
        )
        new = [each for key, each in found.items() if key not in known and each.tenant in tenants]
        gone = [row for key, row in known.items() if key not in found]
        over = [row for row in gone if looked.over(row.kind, row.subject)]
        _seen([(row, found[key]) for key, row in known.items() if key in found], now)
        for row in over:
            move(row, Case.State.CLOSED, closed_at=now)
        rows = Case.objects.bulk_create(_case(cluster, tenants, each, now) for each in new)
        _record(rows, over)
        return len(rows), len(over)


def _key(found: Found) -> Key:
    return (found.tenant, found.kind, found.subject, found.pool.flavor, found.pool.resource)


def _case(cluster: Cluster, tenants: Mapping[str, Tenant], found: Found, now: datetime) -> Case:
    return Case(
        cluster=cluster, tenant=tenants[found.tenant], kind=found.kind, subject=found.subject,
        queue=found.queue, namespace=found.namespace, workload=found.workload,
        flavor=found.pool.flavor, resource=found.pool.resource, devices=found.devices,
        nominal=found.nominal, since=found.since, found_at=now, seen_at=now,
    )  # fmt: skip


def _seen(rows: list[tuple[Case, Found]], now: datetime) -> None:
    """Note that cases are still so, and of how many devices."""
    for row, found in rows:
        row.devices, row.nominal, row.seen_at = found.devices, found.nominal, now
    Case.objects.bulk_update([row for row, _found in rows], ["devices", "nominal", "seen_at"])


def _record(opened: list[Case], over: list[Case]) -> None:
    """Write one row for each tenant, in one order, so that two looks cannot wait for each other."""
    facts: dict[str, dict[str, list[str]]] = {}
    for word, rows in (("opened", opened), ("over", over)):
        for row in rows:
            facts.setdefault(audit.scope_of(row.tenant), {}).setdefault(word, []).append(str(row))
    for scope in sorted(facts):
        audit.record("case.look", actor=None, scope=scope, obj=None, data=facts[scope])


def ask(*, actor: User, case: Case) -> Case:
    """Ask the owner what the devices are kept for."""
    now = timezone.now()
    # A question that is asked again is told again.
    told: dict[str, Any] = {"tell_after": now, "tell_tries": 0, "told_at": None, "told_to": 0}
    return _step("case.ask", actor, case, Case.State.ASKED, asked_by=actor, asked_at=now, **told)


def justify(*, actor: User, case: Case, text: str) -> Case:
    """Say what they are kept for."""
    text = _said(text)
    now = timezone.now()
    fields = {"answer": text, "answered_by": actor, "answered_at": now}
    return _step("case.justify", actor, case, Case.State.JUSTIFIED, text=text, **fields)


def take_back(*, actor: User, case: Case) -> Case:
    """Decide that the quota shall be smaller; the request for it is made and decided elsewhere."""
    now = timezone.now()
    return _step("case.take_back", actor, case, Case.State.TAKE_BACK, taken_by=actor, taken_at=now)


def close(*, actor: User, case: Case, why: str) -> Case:
    """Close a case although it is still so."""
    why = _said(why)
    now = timezone.now()
    fields = {"closed_by": actor, "closed_at": now, "closed_why": why}
    return _step("case.close", actor, case, Case.State.CLOSED, text=why, **fields)


def _step(action: str, actor: User, case: Case, to: str, *, text: str = "", **fields: Any) -> Case:
    scope = audit.scope_of(case.tenant)
    facts = {"case": str(case), "was": case.state} | ({"text": text} if text else {})
    with audit.refusals(action, actor=actor, scope=scope, obj=case, data=facts):
        access.require(actor, action, case)
        with transaction.atomic():
            row = move(case, to, **fields)
            audit.record(action, actor=actor, scope=scope, obj=row, data=facts)
            return row


def _said(text: str) -> str:
    text = text.strip()
    if says_nothing(text) or len(text) > LONGEST or "\0" in text:
        sentence = _("Say why, in at most %(n)d characters.") % {"n": LONGEST}
        raise SayWhy(sentence, field="text")
    return text
