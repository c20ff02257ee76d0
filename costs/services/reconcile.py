"""Reconciles a period: counted hours, bill, prices and policies become statements and findings.

The same inputs give the same lines, and then nothing is written but, at most, that it was run.
A run is one transaction: statements and findings of it are there together, or none of them.
"""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from typing import Final

import structlog
from django.db import connection, transaction
from django.db.models import Q, Sum
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from costs.digest import digest
from costs.models import BillSource, Period, PeriodBill, Reconciliation, StatementLine
from costs.models.states import move
from costs.money import from_grains, rounded, shown
from costs.passing import Tally, mean_rate
from costs.selectors import month_bills
from costs.selectors.inputs import newest_run, of_period
from costs.selectors.reckoning import Given, Outcome, given, reckon
from costs.services import findings, periods
from costs.services.hourly import THINKING
from costs.states import Finding
from portal.web.errors import Refused, Stale
from tenants import access, audit
from tenants.models import User

log = structlog.get_logger(__name__)

_LOCK_CLASS: Final = 0x726563  # "rec": keeps these locks apart from other advisory locks
#: A mean rate is shown; what counts are the amounts.
RATE_PLACES: Final = 4
_STATE = Period.State


class MonthNotOver(Refused):
    """A month that is not over was to be reconciled."""

    code = "GP-5305"


class RunBusy(Stale):
    """Another run of the same period is at work."""

    code = "GP-5308"


class NoSuchBill(Refused):
    """A source was chosen that has nothing to do with this month."""

    code = "GP-5309"


class OtherCurrency(Refused):
    """A bill in one currency was to be added to bills in another one."""

    code = "GP-5315"


def run(
    *, period: Period, actor: User | None = None, now: datetime | None = None
) -> Reconciliation:
    """Reconcile a period and return the run: the one before it, if nothing has changed since.

    ``MonthNotOver``, ``NotOpen`` or ``RunBusy`` if that cannot be; then nothing has changed.
    """
    if actor is not None:
        access.require(actor, "costs.work")
    with transaction.atomic():
        _one_at_a_time(period)
        period.refresh_from_db()
        _may_be_run(period, now or timezone.now())
        using = given(period)
        inputs, last = of_period(period, using), newest_run(period)
        if last is not None and last.inputs == inputs:
            return last
        return _run(period, using, inputs, last, actor)


def _run(
    period: Period, using: Given, inputs: str, last: Reconciliation | None, actor: User | None
) -> Reconciliation:
    outcome = reckon(period, using)
    if of_period(period, using) != inputs:
        raise RunBusy(_("Hours of this month are being counted. Try again in a minute."))
    result = _digest(using, outcome)
    same = last is not None and (last.result, last.written) == (result, using.complete)
    if not same:
        _write(period, using, outcome)
    _on(period, changed=not same, written=using.complete)
    row = _note(period, using, outcome, {"inputs": inputs, "result": result}, actor)
    findings.keep(run=row, found=outcome.findings)
    _record(row, actor)
    return row


def _one_at_a_time(period: Period) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_try_advisory_xact_lock(%s, %s),"
            " set_config('idle_in_transaction_session_timeout', %s, true)",
            [_LOCK_CLASS, period.pk, THINKING],
        )
        got, _set = cursor.fetchone()
    if not got:
        raise RunBusy(_("This month is being reconciled already. Try again in a minute."))


def _may_be_run(period: Period, now: datetime) -> None:
    if period.state == _STATE.CLOSED:
        raise periods.NotOpen(_("This period is closed. Book a correction in an open one."))
    if now < period.ends:
        sentence = _("This month is over at %(ends)s and can be reconciled then.")
        shown_end = f"{period.ends:%FT%RZ}"
        raise MonthNotOver(sentence % {"ends": shown_end}, details={"ends": shown_end})


def _digest(using: Given, outcome: Outcome) -> str:
    """Return the hash of what came out, by which two runs are compared."""
    tally = outcome.tally
    lines = [
        [*key, Fraction(tally.seconds[key]), tally.grains[key]] for key in sorted(tally.grains)
    ]
    return digest([[each.pk for each in using.bills], *lines, *map(_plain, outcome.findings)])


def _plain(finding: Finding) -> list[object]:
    return [
        finding.code, finding.subject, finding.difference, finding.whole,
        finding.allowed or Fraction(0), finding.blocks,
    ]  # fmt: skip


def items(tally: Tally, unwatched: Tally | None = None) -> list[periods.Item]:
    """Return the lines as a period writes them, with the mean rate of each.

    ``unwatched`` is what of them belongs to hours in which nobody listened.
    """
    blind = unwatched.seconds if unwatched else {}
    return [
        periods.Item(
            payer=key.payer, flavor=key.flavor, basis=key.basis, amount=grains,
            seconds=Fraction(tally.seconds[key]),
            rate=_rate(tally.seconds[key], grains),
            unwatched=Fraction(blind.get(key, 0)),
        )
        for key, grains in sorted(tally.grains.items())
        if grains or tally.seconds[key]
    ]  # fmt: skip


def _rate(seconds: Fraction | int, grains: int) -> Decimal | None:
    found = mean_rate(seconds, grains)
    return None if found is None else shown(found * Fraction(from_grains(1)), RATE_PLACES)


def _write(period: Period, using: Given, outcome: Outcome) -> None:
    """Write the statements, if there is all that they need."""
    if using.prices is None or not using.complete:
        return
    periods.write(
        period=period, bills=using.bills, prices=using.prices, policy=using.policies[-1],
        items=items(outcome.tally, outcome.unwatched),
    )  # fmt: skip
    for each in using.due:
        if each.left_out:
            periods.leave_out(period=period, source=each.source)


def _on(period: Period, *, changed: bool, written: bool) -> None:
    """Move the period as far as a run moves it; what was reviewed and has changed goes back."""
    if period.state == _STATE.OPEN:
        move(period, _STATE.COLLECTING)
    if written and period.state == _STATE.COLLECTING:
        move(period, _STATE.PROVISIONAL)
    if changed:
        periods.changed(period)


def _note(
    period: Period, using: Given, outcome: Outcome, hashes: dict[str, str], actor: User | None
) -> Reconciliation:
    sums = _sums(period) if using.complete else {}
    currency = period.book.currency
    return Reconciliation.objects.create(
        period=period, actor=actor, bills=[each.pk for each in using.bills], prices=using.prices,
        policies=[each.pk for each in using.policies], method=outcome.method,
        listed=rounded(outcome.listed, currency) if using.prices else None,
        hours=outcome.hours, missing=outcome.missing, partial=outcome.partial,
        findings=len(outcome.findings),
        written=using.complete, **hashes, **sums,
    )  # fmt: skip


def _sums(period: Period) -> dict[str, object]:
    """Return what the bill, the tenants and the platform come to, without later corrections."""
    lines = StatementLine.objects.filter(statement__period=period, corrects=None)
    theirs = Q(statement__tenant__isnull=False)
    found = lines.aggregate(
        tenants=Sum("amount", filter=theirs), platform=Sum("amount", filter=~theirs)
    )
    sums = {key: value or 0 for key, value in found.items()}
    return {**sums, "billed": sums["tenants"] + sums["platform"]}


def _record(row: Reconciliation, actor: User | None) -> None:
    data = {
        "period": str(row.period), "result": row.result, "findings": row.findings,
        "missing_hours": row.missing, "partial_hours": row.partial, "bill": str(row.billed), "written": row.written,
    }  # fmt: skip
    audit.record("period.run", actor=actor, scope=audit.PLATFORM, obj=row.period, data=data)


@transaction.atomic
def count_source(*, period: Period, source: BillSource, counts: bool, actor: User) -> None:
    """Say whether the bills of a source count in a period; later months follow this one.

    ``NoSuchBill`` if it has nothing to do with the period, ``OtherCurrency`` if it cannot be
    added to the others.
    """
    access.require(actor, "costs.work")
    periods.lock(period)
    found = {each.source.pk: each for each in month_bills.due(period)}
    if source.pk not in found:
        raise NoSuchBill(_("This source has no bill of this month."), field="source")
    if counts:
        others = [each for each in found.values() if each.source.pk != source.pk]
        _refuse_other_currency(source, month_bills.currencies(month_bills.counting(others)))
        row, _new = PeriodBill.objects.get_or_create(period=period, source=source)
        row.left_out = False
        row.save(update_fields=["left_out"])
    else:
        periods.leave_out(period=period, source=source)
    data = {"period": str(period), "source": source.name, "counts": counts}
    audit.record("period.bill", actor=actor, scope=audit.PLATFORM, obj=period, data=data)


def _refuse_other_currency(source: BillSource, known: list[str]) -> None:
    if known and known != [source.currency]:
        sentence = _(
            "%(source)s is in %(currency)s, the other bills of this month are in %(known)s. "
            "Amounts of different currencies are not added up."
        )
        names = {
            "source": source.name, "currency": source.currency, "known": ", ".join(known)
        }  # fmt: skip
        raise OtherCurrency(sentence % names, field="source", details={"known": known})
