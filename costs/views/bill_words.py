"""What the pages of bills say: states, problems of rows, findings, amounts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, NamedTuple

from django.urls import reverse
from django.utils.formats import date_format, number_format
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from costs.billing import Category
from costs.ingest.report import Code as Problem
from costs.matching import Method
from costs.models import BillFile, BillFinding, BillLine, BillProblem, BillSource
from costs.policy import Bucket
from costs.selectors.bills import Change, Months, Report, Total
from costs.selectors.opinions import Beside
from costs.states import Code
from costs.times import HOUR
from costs.views.words import hours_text, money_text, share_text
from portal.web.wording import DASH

Text = str | Promise

_LOOKS: Final = {
    BillFile.State.STAGED: "planning", BillFile.State.ACTIVE: "succeeded",
    BillFile.State.REPLACED: "withdrawn", BillFile.State.REFUSED: "refused",
}  # fmt: skip
PROBLEMS: Final[Mapping[str, Text]] = {
    Problem.FIELDS: gettext_lazy("The row cannot be cut into the columns of the header."),
    Problem.ENCODING: gettext_lazy(
        "This row is not in UTF-8. Save the file as CSV in UTF-8 and hand it in again."
    ),
    Problem.MISSING: gettext_lazy("A value is missing that each row needs."),
    Problem.AMOUNT: gettext_lazy("Not an amount. Write 1234.56, without other signs."),
    Problem.TIME: gettext_lazy("Not a time. Write 2026-11-01T00:00:00Z, or a month as 2026-11."),
    Problem.ORDER: gettext_lazy("The end is not after the beginning."),
    Problem.CATEGORY: gettext_lazy("Not one of Usage, Purchase, Tax, Credit and Adjustment."),
    Problem.CURRENCY: gettext_lazy("Not the currency of this source."),
    Problem.ACCOUNT: gettext_lazy("Not one of the accounts of this source."),
    Problem.TOO_LONG: gettext_lazy("Longer than can be kept, or with a NUL in it."),
    Problem.ROUNDED: gettext_lazy("More than 12 decimal places; the last ones were rounded."),
    Problem.ZONE: gettext_lazy("A time without its zone; it was read as UTC."),
    Problem.TAGS: gettext_lazy("The tags are no JSON object and were left out."),
    Problem.DETAILS: gettext_lazy("The price details are no JSON object and were left out."),
    Problem.NO_RESOURCE: gettext_lazy("No resource, so the row is of no machine."),
    Problem.OTHER_PERIOD: gettext_lazy("Of another billing period; kept, and not counted in this one."),
    Problem.CORRECTION: gettext_lazy("Corrects a period that was invoiced; kept, and not counted in this one."),
    Problem.SPLIT: gettext_lazy("A part of a row that stands in the file too; the whole is counted."),
    Problem.LOW_EFFECTIVE: gettext_lazy("Effective cost is below 90 % of the billed one, and there are no commitments."),
    Problem.NO_ROWS: gettext_lazy("Nothing is billed for a day, or the report has no data for a time."),
    Problem.MONTH: gettext_lazy("Another month than that of the file."),
    Problem.PLACE: gettext_lazy("No such pool: the catalog has no flavor of this name in this cluster."),
    Problem.KIND: gettext_lazy("Not one of amortisation, power, staff, space, network, licence and other."),
    Problem.OLDER: gettext_lazy("The bill of this month is final. Only another final one replaces it."),
    Problem.SUM: gettext_lazy("Allocated and borrowed are not the total."),
}  # fmt: skip
FINDINGS: Final[Mapping[str, tuple[Text, Text]]] = {
    Code.MATCHED: (gettext_lazy("Agrees"), ""),
    Code.WITHIN_TOLERANCE: (gettext_lazy("Agrees within the tolerance"), ""),
    Code.PROVISIONAL: (gettext_lazy("Not counted yet"), gettext_lazy("nobody knows yet who was there in these hours")),
    Code.ORPHAN_NODE: (gettext_lazy("Billed, not in the cluster"), gettext_lazy("it never joined, or has left")),
    Code.CLUSTER_NOT_BILLED: (gettext_lazy("In the cluster, not billed"), gettext_lazy("a late bill, another account, or free")),
    Code.OVER_BILLED: (gettext_lazy("Billed for longer than seen"), gettext_lazy("billed while it was stopped, or partial hours")),
    Code.UNDER_BILLED: (gettext_lazy("Seen for longer than billed"), gettext_lazy("rows are missing, or partial hours")),
    Code.DOUBLE_SPLIT: (gettext_lazy("Divided twice"), gettext_lazy("the parts of divided rows are not their whole")),
    Code.LATE_CORRECTION: (gettext_lazy("Corrects an earlier period"), gettext_lazy("to be booked in the open month")),
    Code.FLAVOR_CONFLICT: (gettext_lazy("Of no flavor, or of several"), gettext_lazy("its money can be divided among no pools")),
    Code.UNTAGGED: (gettext_lazy("Without the tag of a tenant"), ""),
    Code.MISTAGGED: (gettext_lazy("Tagged for another tenant"), gettext_lazy("the tag names no tenant, or another one than who had most of it")),
    Code.MIG_MISMATCH: (gettext_lazy("More slices than its GPUs have"), gettext_lazy("the bill counts fewer GPUs, or a profile is counted twice")),
    Code.UNATTRIBUTED: (gettext_lazy("Unknown to the portal"), ""),
    Code.INTERVAL_GAP: (gettext_lazy("Differs"), ""),
}  # fmt: skip
BUCKETS: Final[Mapping[str, Text]] = {
    Bucket.SHARED: gettext_lazy("Shared: disks, networks, support, purchases"),
    Bucket.UNUSED: gettext_lazy("Unused commitments"),
    Bucket.ORPHAN: gettext_lazy("Unmatched nodes: billed, in no cluster"),
    Bucket.UNATTRIBUTED: gettext_lazy("Unattributed: nodes of no flavor, or of several"),
}  # fmt: skip
METHODS: Final[Mapping[str, Text]] = {
    Method.MACHINE: gettext_lazy("by the machine of a node"),
    Method.GROUP: gettext_lazy("by the scale set of nodes"),
    Method.TAG: gettext_lazy("by a tag that names the pool"),
    Method.KIND: gettext_lazy("by account, SKU and zone of the pool's machines"),
    Method.NONE: gettext_lazy("by none of these"),
}  # fmt: skip
_ASIDE: Final = dict(BillLine.Aside.choices)
_CATEGORIES: Final[Mapping[str, Text]] = {
    Category.USAGE: gettext_lazy("Usage"), Category.PURCHASE: gettext_lazy("Purchases"),
    Category.TAX: gettext_lazy("Taxes"), Category.CREDIT: gettext_lazy("Credits"),
    Category.ADJUSTMENT: gettext_lazy("Adjustments"),
}  # fmt: skip


class State(NamedTuple):
    """How the state of a file looks, and its word."""

    look: str
    word: str


def state(file: BillFile) -> State:
    """Return the look of a file's state."""
    return State(_LOOKS[BillFile.State(file.state)], file.get_state_display())


def month(file: BillFile) -> str:
    """Name the period of a file by its month, or by nothing if it was never read."""
    return date_format(file.period_starts, "F Y") if file.period_starts else ""


def source(found: Months) -> dict[str, Any]:
    """Return a source with its months."""
    row = found.source
    return {
        "row": row, "kind": row.get_kind_display(), "url": reverse("bill-source", args=[row.pk]),
        "months": [
            {
                "file": each, "month": month(each), "url": reverse("bill-file", args=[each.pk]),
                "billed": money_text(each.billed, row.currency),
                "effective": money_text(each.effective, row.currency),
                "aside": money_text(each.put_aside, row.currency) if each.put_aside else "",
            }
            for each in found.files
        ],
    }  # fmt: skip


class ProblemShown(NamedTuple):
    """One error, or equal warnings, in words."""

    row: int
    column: str
    sentence: str
    value: str
    rows: int


def _problem(each: BillProblem) -> ProblemShown:
    sentence = PROBLEMS.get(each.code, each.code)
    return ProblemShown(each.row, each.column, str(sentence), each.value, each.rows)


class FindingShown(NamedTuple):
    """One finding in words, hours of the machine."""

    subject: str
    node: str
    cluster: str
    label: str
    note: str
    hours: str
    money: str


def _finding(each: BillFinding, currency: str) -> FindingShown:
    label, note = FINDINGS.get(each.code, (each.code, ""))
    return FindingShown(
        each.subject, each.node if each.node != each.subject else "", str(each.cluster or ""),
        str(label), str(note), hours_text(Fraction(each.difference)) if each.difference else DASH,
        money_text(each.money, currency),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Shown:
    """A report in words."""

    figures: list[tuple[str, str, str]]
    errors: list[ProblemShown]
    warnings: list[ProblemShown]
    parts: list[list[str]]
    aside: list[list[str]]
    places: list[dict[str, str]]
    buckets: list[tuple[str, str]]
    methods: list[tuple[str, str]]
    findings: list[FindingShown]
    more: int
    agree: int
    joined: Any


def report(file: BillFile, found: Report) -> Shown:
    """Put a report into words."""
    currency = file.source.currency
    fine = sum(found.counts[each.value] for each in (Code.MATCHED, Code.WITHIN_TOLERANCE))
    open_ = found.counts.total() - fine - found.counts[Code.PROVISIONAL.value]
    return Shown(
        figures=_figures(file, found, currency),
        errors=[_problem(each) for each in found.errors],
        warnings=[_problem(each) for each in found.warnings],
        parts=[_total(each, _CATEGORIES, currency) for each in found.parts],
        aside=[_total(each, _ASIDE, currency) for each in found.aside],
        places=[_place(each, currency) for each in found.places],
        buckets=[
            (str(BUCKETS.get(each["bucket"], each["bucket"])), money_text(each["cost"], currency))
            for each in found.buckets
        ],
        methods=[
            (str(METHODS.get(name, name)), money_text(amount, currency))
            for name, amount in found.methods
        ],
        findings=[_finding(each, currency) for each in found.findings],
        more=max(0, open_ - len(found.findings)),
        agree=fine,
        joined=found.joined,
    )


def _figures(file: BillFile, found: Report, currency: str) -> list[tuple[str, str, str]]:
    """Return the numbers of a file: label, amount, and what it is."""
    listed, adjusted, rest = (money_text(each, currency) for each in found.net)
    return [
        (_("Billed"), money_text(file.billed, currency), _("what the invoice asks for")),
        (_("Charges"), listed, _("effective cost, before what is taken off")),
        (_("Credits and adjustments"), adjusted, _("taken off, or put on later")),
        (_("Effective"), rest, _("what is left, and what is allocated")),
    ]


def _total(each: Total, names: Mapping[Any, Text], currency: str) -> list[str]:
    return [
        str(names.get(each.name, each.name)), number_format(each.rows, force_grouping=True),
        *(money_text(amount, currency) for amount in (each.listed, each.billed, each.effective)),
    ]  # fmt: skip


def _place(each: Mapping[str, Any], currency: str) -> dict[str, str]:
    seconds = each["seconds"]
    rate = Fraction(Fraction(each["cost"] * HOUR), int(seconds)) if seconds else None
    return {
        "cluster": each["cluster__display_name"], "flavor": each["flavor"] or _("of no flavor"),
        "resource": each["resource"],
        "hours": hours_text(int(seconds)) if seconds is not None else DASH,
        "orphan": hours_text(int(each["orphan"])) if each["orphan"] else DASH,
        "unknown": hours_text(int(each["unknown"])) if each["unknown"] else "",
        "rate": money_text(rate, currency) if rate is not None else DASH,
        "cost": money_text(each["cost"], currency), "spread": _("spread") if each["spread"] else "",
        "url": reverse("cluster-costs", args=[each["cluster__slug"]]),
    }  # fmt: skip


def changes(found: Iterable[Change], currency: str) -> list[list[str]]:
    """Return changes in words: resource, before, now, difference."""
    return [
        [
            each.resource or _("no resource"),
            *(DASH if one is None else money_text(one, currency) for one in (each.before, each.now)),
            money_text(each.difference, currency),
        ]
        for each in found
    ]  # fmt: skip


def beside(file: BillFile, found: Iterable[Beside]) -> list[list[str]]:
    """Return a comparison in words: subject, what it says, what we say, difference, state."""
    money = file.source.kind == BillSource.Kind.SPLIT

    def text(amount: Fraction) -> str:
        return money_text(amount, file.source.currency) if money else hours_text(amount * HOUR)

    return [
        [
            each.subject or DASH, text(each.theirs), DASH if each.ours is None else text(each.ours),
            DASH if each.ours is None else text(each.theirs - each.ours),
            DASH if not each.ours else share_text(Fraction(each.theirs - each.ours, each.ours)),
            str(FINDINGS[each.code][0]),
        ]
        for each in found
    ]  # fmt: skip
