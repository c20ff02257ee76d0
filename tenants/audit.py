"""The audit chain: one function writes it, one function proves it.

Each scope (the platform, each tenant) has a chain of its own: numbers without gaps, and in each
row the hash of the row before it. ``record`` runs in the transaction of what it tells about, so
there is no change without its row and no row without its change. A refusal has no transaction
that survives; ``record_refusal`` opens one for it and never stands in the way of business.

A service writes its rows last and at most one per scope, the platform's before a tenant's: the
lock of a chain is held until the commit.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, Final

import structlog
from django.core.exceptions import PermissionDenied
from django.db import DatabaseError, connection, transaction
from django.db.models import Model
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from kube.digest import canonical_json
from portal.web.errors import DomainError
from tenants.access import Person
from tenants.models import AuditEvent, Tenant, User

log = structlog.get_logger(__name__)

PLATFORM: Final = "platform"
SCHEMA: Final = 1
FIRST: Final = "0" * 64
SYSTEM: Final = "gpuportal"
NAME_LIMIT: Final = 160
KEY_LIMIT: Final = 80
TEXT_LIMIT: Final = 4000
_LOCK_CLASS: Final = 0x617564  # "aud": keeps these locks apart from other advisory locks

DONE: Final = str(AuditEvent.Outcome.DONE)
REFUSED: Final = str(AuditEvent.Outcome.REFUSED)
FAILED: Final = str(AuditEvent.Outcome.FAILED)

#: Everything that may stand in the trail, in words. A new action is a new line here.
ACTIONS: Final[Mapping[str, str | Promise]] = {
    "request.submit": _("asked for a change"),
    "request.resubmit": _("corrected a request"),
    "request.withdraw": _("withdrew a request"),
    "request.plan_again": _("asked for a new plan"),
    "request.abandon": _("gave a request up"),
    "plan.made": _("a plan is ready"),
    "plan.refused": _("the checks refused a plan"),
    "plan.superseded": _("a plan was replaced"),
    "plan.approve": _("approved a plan"),
    "plan.reject": _("rejected a plan"),
    "plan.keep_theirs": _("kept what another writer set"),
    "plan.take_back": _("took fields back from another writer"),
    "apply.start": _("began to apply a plan"),
    "apply.retry": _("tried to apply a plan again"),
    "apply.result": _("result of an apply"),
    "revision.commit": _("committed a revision"),
    "catalog.import": _("read a catalog from a file"),
    "cluster.register": _("connected a cluster"),
    "cluster.credential": _("stored a credential"),
    "cluster.preflight": _("checked the rights in a cluster"),
    "cluster.write": _("switched writing on or off"),
    "cluster.disconnect": _("disconnected a cluster"),
    "cluster.metrics": _("set where metrics come from"),
    "budget.set": _("set a budget"),
    "case.look": _("looked for idle devices"),
    "case.ask": _("asked what idle devices are kept for"),
    "case.told": _("told the owner by mail what is asked"),
    "case.justify": _("said what idle devices are kept for"),
    "case.take_back": _("decided to give idle quota back"),
    "case.close": _("closed a case of idle devices"),
    "person.create": _("added a person"),
    "person.sign_in": _("signed in"),
    "person.sign_out": _("signed out"),
    "person.deactivate": _("closed an account"),
    "person.password": _("changed their password"),
    "member.add": _("added a member"),
    "member.remove": _("removed a member"),
    "role.grant": _("gave a platform role"),
    "role.take": _("took a platform role away"),
    "period.open": _("opened a month of costs"),
    "period.bill": _("said whether a source of bills counts in a month"),
    "period.run": _("reconciled a month"),
    "period.review": _("reviewed a month"),
    "period.back": _("sent a month back"),
    "period.close": _("closed a month"),
    "period.correct": _("booked a correction of a closed month"),
    "finding.assign": _("assigned a finding"),
    "finding.resolve": _("settled a finding"),
    "finding.reopen": _("opened a finding again"),
    "tolerance.set": _("set the tolerance of a pool"),
    "dispute.open": _("disputed a line of a statement"),
    "dispute.accept": _("accepted a dispute"),
    "dispute.reject": _("rejected a dispute"),
    "book.create": _("made a price book"),
    "prices.draft": _("began a version of a price book"),
    "prices.set": _("set a price"),
    "prices.activate": _("let a version of a price book count"),
    "policy.propose": _("proposed a policy"),
    "policy.activate": _("let a policy count"),
    "bill.source": _("changed where bills come from"),
    "bill.take": _("handed in a bill"),
    "bill.result": _("result of reading a bill"),
    "audit.verify": _("verified the trail"),
    "access.refused": _("tried something without the right"),
}


def scope_of(tenant: Tenant | None) -> str:
    """Return the chain that an event about ``tenant`` belongs to."""
    return f"tenant:{tenant.slug}" if tenant is not None else PLATFORM


# --- writing --------------------------------------------------------------------------------------


def record(
    action: str,
    *,
    actor: Person | None,
    scope: str,
    obj: Model | None,
    data: Mapping[str, Any] | None = None,
    outcome: str = DONE,
) -> AuditEvent:
    """Append one event to the chain of ``scope``, inside the transaction of what it tells."""
    if action not in ACTIONS:
        message = f"{action!r} is not in tenants.audit.ACTIONS"
        raise ValueError(message)
    if not connection.in_atomic_block:
        message = "an audit event needs its transaction"
        raise transaction.TransactionManagementError(message)
    _lock(scope)
    last = AuditEvent.objects.filter(scope=scope).order_by("-seq").values("seq", "hash").first()
    event = AuditEvent(
        scope=scope,
        seq=last["seq"] + 1 if last else 1,
        # After the lock, so that the times of a chain never run backwards.
        at=timezone.now(),
        actor=actor if isinstance(actor, User) else None,
        actor_name=_name_of(actor),
        action=action,
        outcome=outcome,
        object_type=obj._meta.model_name or "" if obj is not None else "",
        object_id=_key_of(obj)[:KEY_LIMIT],
        request_id=_request_id(),
        data=storable(data or {}),
        previous_hash=last["hash"] if last else FIRST,
    )
    event.hash = hash_of(event)
    event.save(force_insert=True)
    return event


def record_refusal(
    action: str,
    *,
    actor: Person | None,
    scope: str,
    obj: Model | None,
    error: BaseException,
    data: Mapping[str, Any] | None = None,
) -> None:
    """Keep a refused attempt, in a transaction of its own that waits for nobody for long."""
    facts = {
        "code": str(getattr(error, "code", "")),
        "message": str(getattr(error, "message", "")),
        **(data or {}),
    }
    try:
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute("SET LOCAL lock_timeout = '1s'")
            record(action, actor=actor, scope=scope, obj=obj, data=facts, outcome=REFUSED)
    except DatabaseError as problem:
        # A chain that cannot be reached must not turn a clear no into a broken page.
        log.error("refusal_not_recorded", action=action, scope=scope, error=str(problem), **facts)


@contextmanager
def refusals(
    action: str,
    *,
    actor: Person | None,
    scope: str,
    obj: Model | None,
    data: Mapping[str, Any] | None = None,
) -> Iterator[None]:
    """Record the refusal that leaves this block. Stands around the atomic part of a service."""
    try:
        yield
    except (DomainError, PermissionDenied) as error:
        if worth_keeping(error):
            record_refusal(action, actor=actor, scope=scope, obj=obj, error=error, data=data)
            mark_kept(error)
        raise


def worth_keeping(error: BaseException) -> bool:
    """Tell whether a refusal belongs into the trail: typing mistakes do not, twice neither."""
    return not getattr(error, "audited", False) and getattr(error, "keep", True)


def mark_kept(error: BaseException) -> None:
    """Remember that this refusal is in the trail."""
    error.audited = True  # type: ignore[attr-defined]


def _lock(scope: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, hashtext(%s))", [_LOCK_CLASS, scope])


def _name_of(actor: Person | None) -> str:
    if actor is None:
        return SYSTEM
    if not isinstance(actor, User):
        return "anonymous"
    shown = actor.display_name
    return (f"{shown} ({actor.username})" if shown else actor.username)[:NAME_LIMIT]


def _key_of(obj: Model | None) -> str:
    if obj is None:
        return ""
    return str(getattr(obj, "slug", "") or obj.pk)


def _request_id() -> str:
    found = structlog.contextvars.get_contextvars().get("request_id", "")
    return str(found)[:64]


def storable(value: Any) -> Any:
    """Return ``value`` as JSON that PostgreSQL gives back unchanged: no floats, no odd bytes."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Mapping):
        return {_text(str(key)): storable(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        items = [storable(item) for item in value]
        return sorted(items) if isinstance(value, set | frozenset) else items
    if isinstance(value, datetime | date):
        return value.isoformat()
    return _text(str(value))


def _text(text: str) -> str:
    cut = text if len(text) <= TEXT_LIMIT else text[:TEXT_LIMIT] + "..."
    # NUL and lone surrogates are no text for PostgreSQL; they are written as their escapes.
    return "".join(
        ascii(char)[1:-1] if char == "\0" or "\ud800" <= char <= "\udfff" else char for char in cut
    )


# --- proving --------------------------------------------------------------------------------------


def hash_of(event: AuditEvent) -> str:
    """Return the SHA-256 over everything that an event says and the hash of its predecessor."""
    facts = {
        "schema": SCHEMA,
        "scope": event.scope,
        "seq": event.seq,
        "at": event.at.astimezone(UTC).isoformat(timespec="microseconds"),
        "actor": event.actor_id,
        "actor_name": event.actor_name,
        "action": event.action,
        "outcome": event.outcome,
        "object_type": event.object_type,
        "object_id": event.object_id,
        "request_id": event.request_id,
        "data": event.data,
        "previous_hash": event.previous_hash,
    }
    return hashlib.sha256(canonical_json(facts)).hexdigest()


@dataclass(frozen=True, slots=True)
class Report:
    """What a walk along one chain has found."""

    scope: str
    intact_to: int
    head: str
    broken_at: int | None = None
    fault: str | Promise = ""

    @property
    def intact(self) -> bool:
        """Tell whether every row is as it was written and none is missing in between."""
        return self.broken_at is None


def verify(scope: str) -> Report:
    """Recompute a chain row by row; memory stays the same however long it is."""
    seq, head = 0, FIRST
    rows = AuditEvent.objects.filter(scope=scope).order_by("seq")
    for event in rows.iterator(chunk_size=2000):
        fault = _fault(event, seq, head)
        if fault:
            return Report(scope, seq, head, event.seq, fault)
        seq, head = event.seq, event.hash
    return Report(scope, seq, head)


def _fault(event: AuditEvent, seq: int, head: str) -> str | Promise:
    if event.seq != seq + 1:
        return _("an event is missing before this one")
    if event.previous_hash != head:
        return _("it does not follow the event before it")
    if event.hash != hash_of(event):
        return _("it was changed after it was written")
    return ""


def scopes() -> list[str]:
    """Return every chain that has an event."""
    found = AuditEvent.objects.order_by("scope").values_list("scope", flat=True)
    return list(found.distinct())
