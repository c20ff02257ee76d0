"""Forms of a month: its findings, its bill, a correction, a dispute and its answer."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from costs.forms.fields import (
    AmountField,
    LineField,
    MonthField,
    PercentField,
    ReasonField,
    as_part,
    text_field,
)
from costs.models import BillFile, BillSource, Period, PriceBook, StatementLine
from costs.states import Code, Kind, Tolerance
from costs.times import HOUR
from portal.web.forms import OnceForm, field_of
from tenants.models import User

COMPARED = {
    Kind.RUNNING: _("running against admitted"),
    Kind.GAUGE: _("held against what is certain"),
    Kind.BILLED: _("billed against provisioned"),
    Kind.RATE: _("the bill against the price book"),
    Kind.UNATTRIBUTED: _("time of nobody"),
}


class OpenForm(OnceForm):
    """The first month of a price book."""

    book = forms.ModelChoiceField(PriceBook.objects.order_by("name"), label=_("Price book"))
    month = MonthField(label=_("Month"))
    zone = LineField(
        label=_("Time zone of the bill"), max_length=64, initial="UTC",
        help_text=_("Cloud bills are in UTC. Later months follow by themselves."),
    )  # fmt: skip


class ResolveForm(OnceForm):
    """Why a finding is settled."""

    reason = text_field(_("Why it is settled"), help_text=_("Stays with the month for good."))


class BackForm(OnceForm):
    """Why a month that was reviewed is sent back."""

    reason = ReasonField(
        label=_("Why it goes back"), max_length=500,
        widget=forms.Textarea(attrs={"rows": "2"}), help_text=_("Stays in the audit trail."),
    )  # fmt: skip


class AssignForm(OnceForm):
    """Who looks after a finding."""

    to = forms.ModelChoiceField(User.objects.none(), label=_("Assigned to"), required=False)

    def __init__(self, *args: Any, people: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        to = field_of(self, "to", forms.ModelChoiceField)
        to.queryset, to.empty_label = people, _("nobody")


class FindingFilter(forms.Form):
    """Which findings to show; what cannot be understood narrows nothing."""

    state = forms.ChoiceField(
        label=_("State"), required=False,
        choices=[("", _("open")), ("blocks", _("blocks the close")), ("settled", _("settled")),
                 ("all", _("all"))],
    )  # fmt: skip
    code = forms.ChoiceField(label=_("Finding"), required=False)
    who = forms.ChoiceField(
        label=_("Assigned"), required=False,
        choices=[("", _("anybody")), ("me", _("me")), ("none", _("nobody"))],
    )  # fmt: skip

    def __init__(
        self, *args: Any, codes: Iterable[tuple[str, Any]], closed: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        if closed:
            # Nothing of a closed month is open: what was not settled stays as it was.
            field_of(self, "state", forms.ChoiceField).choices = [
                ("", _("kept at the close")), ("settled", _("settled")), ("all", _("all")),
            ]  # fmt: skip
        known = [(code, word) for code, word in codes if code in set(Code)]
        field_of(self, "code", forms.ChoiceField).choices = [("", _("all")), *known]

    def narrow(self, rows: Any, user: User) -> Any:
        """Return the findings that match."""
        self.full_clean()
        wanted = self.cleaned_data
        match wanted.get("state", ""):
            case "settled":
                rows = rows.filter(resolved_at__isnull=False)
            case "blocks":
                rows = rows.filter(resolved_at=None, blocks=True)
            case "all":
                pass
            case _:
                rows = rows.filter(resolved_at=None)
        if wanted.get("code"):
            rows = rows.filter(code=wanted["code"])
        if wanted.get("who") == "me":
            rows = rows.filter(assignee=user)
        if wanted.get("who") == "none":
            rows = rows.filter(assignee=None)
        return rows


class CountForm(OnceForm):
    """Whether the bills of a source count in a month."""

    source = forms.ModelChoiceField(BillSource.objects.all())
    step = forms.ChoiceField(choices=[("out", _("Leave out")), ("in", _("Take in"))])


class CloseForm(OnceForm):
    """The last word before a month is closed for good."""

    sure = forms.BooleanField(
        label=_("I have looked at these numbers, and know that they can not be changed any more."),
        error_messages={"required": _("Tick this to close the month.")},
    )


class CorrectionForm(OnceForm):
    """What a closed month would have had more, or less."""

    period = forms.ModelChoiceField(
        Period.objects.none(), label=_("Booked in"), empty_label=None,
    )  # fmt: skip
    bill = forms.ModelChoiceField(
        BillFile.objects.none(), label=_("Bill that says so"), required=False,
        empty_label=_("none of these"), help_text=_("Its digest stands on every line too."),
    )  # fmt: skip
    reason = ReasonField(
        label=_("Reason"), max_length=500, help_text=_("Stands on every line that is booked."),
    )  # fmt: skip

    def __init__(self, *args: Any, periods: Any, bills: Any, currency: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field_of(self, "bill", forms.ModelChoiceField).queryset = bills
        field_of(self, "period", forms.ModelChoiceField).queryset = periods
        amount = AmountField(
            label=_("Amount"), currency=currency,
            help_text=_("A credit of the provider is negative: -250.00."),
        )  # fmt: skip
        self.fields = {"amount": amount, **self.fields}


class ToleranceForm(OnceForm):
    """How exact one pool must be in one comparison."""

    pool = forms.ChoiceField(label=_("Pool"))
    kind = forms.ChoiceField(
        label=_("Compared"), choices=[(key.value, word) for key, word in COMPARED.items()]
    )
    percent = PercentField(
        label=_("Percent of the whole"), required=False,
        help_text=_("Leave both empty to let what holds everywhere hold again."),
    )  # fmt: skip
    hours = AmountField(label=_("Device hours at least"), required=False, most=2)

    def __init__(self, *args: Any, pools: Iterable[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field_of(self, "pool", forms.ChoiceField).choices = [(each, each) for each in pools]

    def clean_hours(self) -> Any:
        """Refuse what is below 0."""
        found = self.cleaned_data["hours"]
        if found is not None and found < 0:
            raise ValidationError(_("Type a number from 0 on."))
        return found

    @property
    def tolerance(self) -> Tolerance | None:
        """Return what was typed, or nothing."""
        percent, hours = self.cleaned_data["percent"], self.cleaned_data["hours"]
        if percent is None and hours is None:
            return None
        seconds = int(Fraction(hours or 0) * HOUR)
        return Tolerance(Fraction(as_part(percent or Decimal(0))), seconds)


class DisputeForm(OnceForm):
    """What a tenant says against a line."""

    line = forms.ChoiceField(label=_("Line"))
    text = text_field(
        _("What is wrong with it"),
        help_text=_("Say what you expected and why. The platform team answers, and both see it."),
    )

    def __init__(self, *args: Any, lines: Iterable[tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field_of(self, "line", forms.ChoiceField).choices = list(lines)


def line_key(line: StatementLine) -> str:
    """Name a line in a form, by what is the same after the next run too."""
    return f"{line.flavor}/{line.basis}"


class AnswerForm(OnceForm):
    """The answer to a dispute: a credit, or why the line is right."""

    step = forms.ChoiceField(
        label=_("Answer"), widget=forms.RadioSelect,
        choices=[("accept", _("Accept it and book a credit")), ("reject", _("Reject it"))],
    )  # fmt: skip
    answer = text_field(_("Reason"), required=False, help_text=_("The tenant reads it."))

    def __init__(self, *args: Any, currency: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        credit = AmountField(
            label=_("Credit"), currency=currency, required=False,
            help_text=_("What the tenant gets back. The platform pays for it, no other tenant."),
        )  # fmt: skip
        kept = self.fields
        self.fields = {"step": kept["step"], "credit": credit, "answer": kept["answer"]}

    def clean(self) -> dict[str, Any]:
        """Ask for a credit or a reason, whichever the answer needs."""
        found = super().clean() or {}
        if found.get("step") == "accept" and found.get("credit") is None and not self.errors:
            self.add_error("credit", _("Say how much is credited."))
        if found.get("step") == "reject" and not found.get("answer", ""):
            self.add_error("answer", _("Say why the line is right."))
        return found
