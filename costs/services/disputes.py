"""Disputes: what a tenant says against a line of its statement, and what comes of it.

An accepted one books a credit: in the statement's own month while that is open, later in the
first open month of the same book. The platform pays for it, so the bill stays what it is.
"""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from django.db import IntegrityError, transaction
from django.db.models import Sum
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from costs.models import Dispute, Period, Statement
from costs.models.states import move
from costs.money import rounded
from costs.policy import Bucket
from costs.selectors.periods import targets
from costs.services import periods
from kube.names import says_nothing
from portal.web.errors import Refused
from tenants import access, audit
from tenants.models import User

_STATE: Final = Dispute.State


class NoSuchLine(Refused):
    """A statement has no such line, or there is a dispute about it already."""

    code = "GP-5311"


class NotThatMuch(Refused):
    """A credit is no amount of the currency, or more than the line."""

    code = "GP-5312"


class NowhereToBook(Refused):
    """No month of the book is open in which a credit could be booked."""

    code = "GP-5313"


class NoAnswer(Refused):
    """A text that has to be there is not."""

    code = "GP-5314"


def amount_of(statement: Statement, flavor: str, basis: str) -> Decimal:
    """Return what a line of a statement comes to; ``NoSuchLine`` if there is none."""
    lines = statement.lines.filter(flavor=flavor, basis=basis, corrects=None)
    found = lines.aggregate(sum=Sum("amount"))["sum"]
    if found is None:
        raise NoSuchLine(_("This statement has no such line."), field="line")
    return Decimal(found)


@transaction.atomic
def dispute(*, statement: Statement, flavor: str, basis: str, text: str, actor: User) -> Dispute:
    """Say that a line is wrong."""
    access.require(actor, "dispute.open", statement)
    if says_nothing(text):
        raise NoAnswer(_("Say what is wrong with this line."), field="text")
    amount = amount_of(statement, flavor, basis)
    try:
        with transaction.atomic():
            row = Dispute.objects.create(
                statement=statement, flavor=flavor, basis=basis, amount=amount, text=text,
                opened_by=actor,
            )  # fmt: skip
    except IntegrityError as error:
        sentence = _("There is an open dispute about this line already.")
        raise NoSuchLine(sentence, field="line") from error
    _record("dispute.open", row, actor, {"amount": str(amount), "text": text})
    return row


@transaction.atomic
def accept(
    *, dispute: Dispute, credit: Decimal, answer: str, actor: User, now: datetime | None = None
) -> Dispute:
    """Grant a credit and book it; what it is booked for is said on the line."""
    access.require(actor, "dispute.answer", dispute)
    row = _locked(dispute)
    currency = row.statement.period.book.currency
    left = abs(row.amount) - credited(row)
    if left <= 0:
        raise NotThatMuch(_("This line has been credited in full already."), field="credit")
    if not 0 < credit <= left or credit != rounded(credit, currency):
        sentence = _(
            "A credit is more than 0, not more than what is left of the line, in whole minor units."
        )
        raise NotThatMuch(sentence, field="credit")
    reason = _("Credit after a dispute: %(answer)s") % {
        "answer": row.text if says_nothing(answer) else answer
    }
    line = periods.credit(
        of=row.statement, period=place(row), amount=credit, reason=str(reason)[:500],
        funded_by=Bucket.GRANTED.value,
    )  # fmt: skip
    found = move(
        row, _STATE.ACCEPTED, credit=credit, booked=line, answer=answer, answered_by=actor,
        answered_at=now or timezone.now(),
    )  # fmt: skip
    _record("dispute.accept", found, actor, {"credit": str(credit), "answer": answer})
    return found


def credited(row: Dispute) -> Decimal:
    """Return what was credited for the line of a dispute so far; call it with that one locked.

    One credit for a statement at a time: its row is locked too.
    """
    Statement.objects.select_for_update().get(pk=row.statement_id)
    before = Dispute.objects.exclude(pk=row.pk).filter(
        statement=row.statement_id, flavor=row.flavor, basis=row.basis, state=_STATE.ACCEPTED
    )
    return Decimal(before.aggregate(sum=Sum("credit"))["sum"] or 0)


@transaction.atomic
def reject(*, dispute: Dispute, answer: str, actor: User, now: datetime | None = None) -> Dispute:
    """Say why a line is right."""
    access.require(actor, "dispute.answer", dispute)
    row = _locked(dispute)
    if says_nothing(answer):
        raise NoAnswer(_("Say why the line is right."), field="answer")
    found = move(
        row, _STATE.REJECTED, answer=answer, answered_by=actor, answered_at=now or timezone.now()
    )
    _record("dispute.reject", found, actor, {"answer": answer})
    return found


def place(row: Dispute) -> Period:
    """Return the month in which a credit would be booked; ``NowhereToBook`` if there is none."""
    own = row.statement.period
    if own.state != Period.State.CLOSED:
        return own
    found = targets(own)
    if not found:
        raise NowhereToBook(_("No later month of this price book is open. Open one first."))
    return found[0]


def _locked(dispute: Dispute) -> Dispute:
    rows = Dispute.objects.select_for_update(of=("self",))
    return rows.select_related("statement__period__book", "statement__tenant").get(pk=dispute.pk)


def _record(action: str, row: Dispute, actor: User, data: dict[str, Any]) -> None:
    """Keep it in the tenant's own chain: both sides may read it there."""
    line = " ".join(filter(None, (row.flavor, row.basis)))
    facts = {"period": f"{row.statement.period.starts:%Y-%m}", "line": line, **data}
    scope = audit.scope_of(row.statement.tenant)
    audit.record(action, actor=actor, scope=scope, obj=row, data=facts)
