"""What keeps a period open: short names with facts for programs, and words for people."""

from __future__ import annotations

from typing import Final, NamedTuple

from django.utils.translation import gettext_lazy, ngettext

from costs.models import Dispute, Period
from costs.models.prices import Purpose
from costs.reason_texts import NAMES
from costs.selectors.inputs import newest_run, of_period
from costs.selectors.reckoning import Given, given
from tenants.models import User

#: Names that do not come from a finding.
NOT_OVER: Final = "not_over"
NO_BILL: Final = "no_bill"
BILL_MISSING: Final = "bill_missing"
CURRENCIES: Final = "bills_in_several_currencies"
BILL_NOT_FINAL: Final = "bill_not_final"
NO_PRICES: Final = "no_prices_or_policy"
NOT_RUN: Final = "not_reconciled"
CHANGED: Final = "changed_since"
NOT_REVIEWED: Final = "not_reviewed"
SECOND_PERSON: Final = "second_person"
DISPUTED: Final = "open_disputes"
#: In words; what is wrong with the bills names a source, or currencies.
SENTENCES: Final = {
    NO_BILL: gettext_lazy("No bill that covers exactly this month was taken."),
    BILL_MISSING: gettext_lazy(
        "%(subject)s has no bill of this month yet, and the month before had one."
    ),
    CURRENCIES: gettext_lazy(
        "Its bills are in %(subject)s, and are not added up. Leave all but one currency out."
    ),
    BILL_NOT_FINAL: gettext_lazy("The bill of %(subject)s is not final: it may still change."),
    NO_PRICES: gettext_lazy("The price book has no active prices or no policy."),
    NOT_RUN: gettext_lazy("The month was not reconciled with a bill yet."),
    CHANGED: gettext_lazy("Hours, bill, prices or policy have changed since the last run."),
    NOT_REVIEWED: gettext_lazy("Nobody has reviewed it."),
    SECOND_PERSON: gettext_lazy("What is charged is closed by somebody else than who reviewed it."),
}
_FINDINGS: Final = {code.value: label for code, label in NAMES.items()}


class Blocker(NamedTuple):
    """One reason: its name, what it is about, the key of a finding, and how many there are."""

    name: str
    subject: str = ""
    pk: int = 0
    number: int = 1

    def __str__(self) -> str:
        """Return it as programs read it."""
        return f"{self.name} {self.subject}".strip()


def sentence(blocker: Blocker) -> str:
    """Say a reason to a person; a finding by its name and what it is about."""
    if blocker.name == DISPUTED:
        said = ngettext("%(n)s dispute is open.", "%(n)s disputes are open.", blocker.number)
        return said % {"n": blocker.number}
    if blocker.name in SENTENCES:
        return str(SENTENCES[blocker.name]) % {"subject": blocker.subject}
    name = _FINDINGS.get(blocker.name, blocker.name)
    return f"{name}: {blocker.subject}." if blocker.subject else f"{name}."


def blockers(period: Period, actor: User | None = None) -> list[Blocker]:
    """Return what keeps a period from being closed, by ``actor`` if somebody is named."""
    if period.state == Period.State.CLOSED:
        return []
    found = [
        Blocker(code, subject, pk)
        for pk, code, subject in period.discrepancies.filter(blocks=True, resolved_at=None)
        .order_by("code", "subject")
        .values_list("pk", "code", "subject")
    ]
    using = given(period)
    found += [*_bills(using), *_run(period, using), *_people(period, actor)]
    return found


def _bills(using: Given) -> list[Blocker]:
    """Return what is wrong with the bills that count; each names its source."""
    found = [Blocker(BILL_MISSING, each.source.name) for each in using.due if each.missing]
    if not using.bills and not found:
        found.append(Blocker(NO_BILL))
    if len(using.currencies) > 1:
        found.append(Blocker(CURRENCIES, ", ".join(using.currencies)))
    open_ones = [each for each in using.bills if not each.finalized]
    names = (f"{each.source.name}: {each.name}" for each in open_ones)
    return [*found, *(Blocker(BILL_NOT_FINAL, name) for name in names)]


def _run(period: Period, using: Given) -> list[Blocker]:
    """Return what a run still needs, or that there is none whose statements hold now."""
    found = []
    if using.prices is None or not using.policies:
        found.append(Blocker(NO_PRICES))
    last = newest_run(period)
    # A month has prices and a policy of its own only from its first statements on.
    fixed = period.prices_id is not None and period.policy_id is not None
    if last is None or not last.written or not fixed:
        found.append(Blocker(NOT_RUN))
    elif last.inputs != of_period(period, using):
        found.append(Blocker(CHANGED))
    return found


def _people(period: Period, actor: User | None) -> list[Blocker]:
    found = []
    disputes = Dispute.objects.filter(statement__period=period, state=Dispute.State.OPEN).count()
    if disputes:
        found.append(Blocker(DISPUTED, number=disputes))
    if period.state != Period.State.REVIEW:
        found.append(Blocker(NOT_REVIEWED))
    elif _alone(period, actor):
        found.append(Blocker(SECOND_PERSON))
    return found


def _alone(period: Period, actor: User | None) -> bool:
    """Return whether the one who would close what is charged has reviewed it too."""
    charged = period.book.purpose == Purpose.CHARGEBACK
    return charged and actor is not None and period.reviewed_by_id in (None, actor.pk)
