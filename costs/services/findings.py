"""Findings of a period: kept from run to run, settled by people with a reason."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from costs.models import Discrepancy, Period, PoolTolerance, Reconciliation
from costs.money import shown
from costs.states import Finding, Kind, Tolerance, Unit
from kube.names import says_nothing
from portal.web.errors import Refused
from tenants import access, audit
from tenants.models import Cluster, User

Key = tuple[str, str]
#: What of a subject is kept, with room for a number.
LONGEST: Final = 1100
_NAMES: Final = ("unit", "difference", "whole", "allowed", "money", "facts", "blocks")


class Settled(Refused):
    """A finding of a closed period, or one that is settled already."""

    code = "GP-5306"


class NoReason(Refused):
    """A finding was to be settled without saying why."""

    code = "GP-5307"


def keep(*, run: Reconciliation, found: Iterable[Finding]) -> int:
    """Store what a run has found, and settle what it did not find any more; returns how many.

    A resolution stays, as long as the difference did not grow beyond what it was given for.
    Call it inside the transaction of the run.
    """
    clusters = dict(Cluster.objects.values_list("slug", "pk"))
    before = {(each.code, each.subject): each for each in run.period.discrepancies.all()}
    seen: set[Key] = set()
    for finding in found:
        key = _key(finding, seen)
        seen.add(key)
        values = _values(finding)
        row = before.get(key)
        if row is None:
            Discrepancy.objects.create(
                period=run.period, code=key[0], subject=key[1], run=run,
                cluster_id=clusters.get(finding.cluster), **values,
            )  # fmt: skip
        else:
            _again(row, values, run)
    gone = [row for key, row in before.items() if key not in seen and row.resolved_at is None]
    for row in gone:
        row.resolved_at, row.settled_by = run.at, run
        row.save(update_fields=["resolved_at", "settled_by"])
    return len(seen)


def _key(finding: Finding, taken: set[Key]) -> Key:
    """Return by what a finding is known again; two of one name are told apart by their order."""
    code, subject = finding.code.value, finding.subject[:LONGEST]
    found, number = (code, subject), 1
    while found in taken:
        number += 1
        found = (code, f"{subject} ({number})")
    return found


def _values(finding: Finding) -> dict[str, Any]:
    worth = finding.difference if finding.unit is Unit.MONEY else finding.money
    allowed = finding.allowed or Fraction(0)
    return {
        "unit": finding.unit.value,
        "difference": shown(finding.difference),
        "whole": shown(finding.whole),
        "allowed": shown(allowed),
        "money": None if worth is None else shown(worth, 4),
        "facts": dict(finding.facts),
        "blocks": finding.blocks,
    }


def _again(row: Discrepancy, values: dict[str, Any], run: Reconciliation) -> None:
    """Bring a finding up to date; one that was settled opens again if it is there or has grown."""
    grown = abs(values["difference"]) > abs(row.difference)
    for name in _NAMES:
        setattr(row, name, values[name])
    row.run = run
    if row.settled_by_id or (row.resolved_at and grown):
        row.resolved_at = row.resolved_by = row.settled_by = None
    row.save(update_fields=[*_NAMES, "run", "resolved_at", "resolved_by", "settled_by"])


@transaction.atomic
def resolve(
    *, finding: Discrepancy, actor: User, reason: str, now: datetime | None = None
) -> Discrepancy:
    """Settle a finding with a reason, which stays with it."""
    access.require(actor, "costs.work")
    row = _open(finding)
    if says_nothing(reason):
        raise NoReason(_("Say why this is settled."), field="reason")
    row.resolution, row.resolved_by, row.resolved_at = reason, actor, now or timezone.now()
    row.save(update_fields=["resolution", "resolved_by", "resolved_at"])
    _record("finding.resolve", row, actor, {"reason": reason})
    return row


@transaction.atomic
def reopen(*, finding: Discrepancy, actor: User) -> Discrepancy:
    """Take a resolution back; its reason stays readable in the trail."""
    access.require(actor, "costs.work")
    row = Discrepancy.objects.select_for_update(of=("self",)).get(pk=finding.pk)
    if row.resolved_by_id is None or row.period.state == Period.State.CLOSED:
        raise Settled(_("Only what a person has settled can be opened again, before the close."))
    row.resolved_at = row.resolved_by = None
    row.save(update_fields=["resolved_at", "resolved_by"])
    _record("finding.reopen", row, actor, {"reason": row.resolution})
    return row


@transaction.atomic
def assign(*, finding: Discrepancy, actor: User, to: User | None) -> Discrepancy:
    """Say who looks after a finding."""
    access.require(actor, "costs.work")
    row = _open(finding)
    row.assignee = to
    row.save(update_fields=["assignee"])
    _record("finding.assign", row, actor, {"to": to.username if to else ""})
    return row


def _open(finding: Discrepancy) -> Discrepancy:
    row = Discrepancy.objects.select_for_update(of=("self",)).get(pk=finding.pk)
    if row.resolved_at is not None or row.period.state == Period.State.CLOSED:
        raise Settled(_("This is settled already, or its month is closed. Reload the page."))
    return row


def _record(action: str, row: Discrepancy, actor: User, data: dict[str, Any]) -> None:
    facts = {"period": str(row.period), "finding": row.code, "about": row.subject, **data}
    audit.record(action, actor=actor, scope=audit.PLATFORM, obj=row, data=facts)


@transaction.atomic
def set_tolerance(
    *, cluster: Cluster, flavor: str, resource: str, kind: Kind, to: Tolerance | None, actor: User
) -> None:
    """Set how exact a pool must be; ``None`` lets what holds everywhere hold again."""
    access.require(actor, "costs.work")
    place: dict[str, Any] = {
        "cluster": cluster,
        "flavor": flavor,
        "resource": resource,
        "kind": kind.value,
    }
    data = {"pool": f"{cluster.slug}/{flavor}/{resource}", "kind": kind.value}
    if to is None:
        PoolTolerance.objects.filter(**place).delete()
    else:
        relative: Decimal = shown(to.relative)
        values: dict[str, Any] = {"relative": relative, "absolute": to.absolute, "set_by": actor}
        PoolTolerance.objects.update_or_create(**place, defaults=values)
        data |= {"relative": str(relative), "absolute": str(to.absolute)}
    audit.record("tolerance.set", actor=actor, scope=audit.PLATFORM, obj=cluster, data=data)
