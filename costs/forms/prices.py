"""Forms of price books and policies."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from costs.forms.fields import (
    AmountField,
    CurrencyField,
    HourField,
    LineField,
    PercentField,
    WholeField,
    as_part,
    same_name,
)
from costs.lost import Funder, LostRule
from costs.models.prices import LONGEST_MINUTES, PriceBook, Purpose
from costs.policy import Base, Policy, Rest, Spread
from costs.rates import Basis, PriceKey, Purchase
from costs.reason_texts import BASES
from kube.names import subdomain
from portal.web.forms import OnceForm

PURCHASES = {
    Purchase.ON_DEMAND: gettext_lazy("on demand"),
    Purchase.RESERVED: gettext_lazy("reserved"),
    Purchase.SPOT: gettext_lazy("spot"),
}


class BookForm(OnceForm):
    """A new price book."""

    name = LineField(label=gettext_lazy("Name"), max_length=120)
    purpose = forms.ChoiceField(
        label=gettext_lazy("For"), choices=Purpose.choices, widget=forms.RadioSelect,
        help_text=gettext_lazy(
            "What is charged is decided and closed by two people. Showback only informs. "
            "An internal list is for the platform alone."
        ),
    )  # fmt: skip
    currency = CurrencyField(
        any_case=True,
        label=gettext_lazy("Currency"),
        help_text=gettext_lazy("Three letters: USD. It cannot be changed once prices count."),
    )  # fmt: skip

    def clean_name(self) -> str:
        """Take a name that no other book has in some spelling."""
        name: str = self.cleaned_data["name"]
        if same_name(name, PriceBook.objects.values_list("name", flat=True)):
            raise ValidationError(_("There is a price book of this name."))
        return name


class PriceForm(OnceForm):
    """One price of a draft."""

    # A flavor may get its price before it exists, but not one that cannot exist.
    flavor = LineField(label=gettext_lazy("Flavor"), max_length=253, read=subdomain)
    basis = forms.ChoiceField(
        label=gettext_lazy("Basis"), choices=[(key.value, word) for key, word in BASES.items()]
    )
    purchase = forms.ChoiceField(
        label=gettext_lazy("Bought"), choices=[(key.value, word) for key, word in PURCHASES.items()]
    )
    starts = HourField(label=gettext_lazy("From"))
    rate = AmountField(
        label=gettext_lazy("Rate for an hour"), required=False,
        help_text=gettext_lazy("Empty ends the price there: what comes after is unpriced."),
    )  # fmt: skip

    def clean_rate(self) -> Any:
        """Refuse what is below 0."""
        rate = self.cleaned_data["rate"]
        if rate is not None and rate < 0:
            raise ValidationError(_("A price is not below 0."))
        return rate

    @property
    def key(self) -> PriceKey:
        """Return which price it is."""
        found = self.cleaned_data
        return PriceKey(found["flavor"], Basis(found["basis"]), Purchase(found["purchase"]))


def _radio(label: Any, choices: list[tuple[str, Any]], help_text: Any = "") -> forms.ChoiceField:
    return forms.ChoiceField(
        label=label, choices=choices, widget=forms.RadioSelect, help_text=help_text
    )


class PolicyForm(OnceForm):
    """A policy: seven switches, each with what it means."""

    starts = HourField(label=gettext_lazy("Holds from"))
    base = _radio(
        gettext_lazy("What tenants pay first"),
        [
            (Base.COMMITTED.value, gettext_lazy("Quota that is committed to them, used or not")),
            (
                Base.HELD.value,
                gettext_lazy("Time for which they held quota, also before a job was admitted"),
            ),
            (
                Base.ADMITTED.value,
                gettext_lazy(
                    "Time from admission until the quota is free, also while evicted jobs stop"
                ),
            ),
            (Base.USED.value, gettext_lazy("Time that devices measured as used")),
        ],
        gettext_lazy("Committed is the one that makes quota nobody uses expensive to keep."),
    )
    borrow = PercentField(
        label=gettext_lazy("Borrowers pay (percent of the rate)"), required=False, initial="50",
        help_text=gettext_lazy(
            "50 is half of the rate, 0 is free. Counts only where committed quota is paid; "
            "otherwise borrowed time is held time like any other."
        ),
    )  # fmt: skip
    credit = _radio(
        gettext_lazy("Lenders"),
        [
            ("yes", gettext_lazy("get what their borrowers pay")),
            ("no", gettext_lazy("get nothing; the platform keeps it")),
        ],
        gettext_lazy("Credits and charges for borrowing are then the same sum."),
    )
    rest = _radio(
        gettext_lazy("Who pays what is left of a pool"),
        [
            (Rest.PLATFORM.value, gettext_lazy("The platform: idle, unsold and down are its rows")),
            (Rest.COMMITTED.value, gettext_lazy("Tenants, in proportion to their quota")),
            (Rest.ADMITTED.value, gettext_lazy("Tenants, in proportion to admitted time")),
            (Rest.EVEN.value, gettext_lazy("Tenants, in equal parts")),
        ],
        gettext_lazy("With tenants paying the rest, one team's idle quota costs every other team."),
    )
    shared = _radio(
        gettext_lazy("Shared costs (control planes, storage, tax)"),
        [
            (Spread.COST.value, gettext_lazy("Tenants, in proportion to what each pays")),
            (Spread.EVEN.value, gettext_lazy("Tenants, in equal parts")),
            (Spread.PLATFORM.value, gettext_lazy("The platform")),
        ],
    )
    unused = _radio(
        gettext_lazy("Commitments that nobody used"),
        [
            (Spread.PLATFORM.value, gettext_lazy("The platform, which bought them")),
            (Spread.COST.value, gettext_lazy("Tenants, in proportion to what each pays")),
            (Spread.EVEN.value, gettext_lazy("Tenants, in equal parts")),
        ],
    )

    lost = _radio(
        gettext_lazy("Work that is lost to a preemption"),
        [
            (Funder.NOBODY.value, gettext_lazy("The tenant bears it")),
            (Funder.TAKER.value, gettext_lazy("Given back by the tenant whose job took the place")),
            (Funder.PLATFORM.value, gettext_lazy("Given back by the platform")),
        ],
        gettext_lazy(
            "Of devices within the quota alone: who borrows gets nothing, and nobody gets anything "
            "for what its own jobs have stopped."
        ),
    )
    failures = _radio(
        gettext_lazy("Work that is lost to machines and stopped queues"),
        [
            ("no", gettext_lazy("The tenant bears it")),
            ("yes", gettext_lazy("Given back by the platform")),
        ],
    )
    lost_minutes = WholeField(
        label=gettext_lazy("Given back are at most (minutes of a run)"), required=False, initial=60,
        least=1, most=LONGEST_MINUTES,
        help_text=gettext_lazy(
            "Counted back to the last checkpoint, or to the start where none is known. So nobody "
            "is paid for hours without a checkpoint."
        ),
    )  # fmt: skip

    def clean(self) -> dict[str, Any]:
        """Ask for the numbers that count with what was chosen."""
        found = super().clean() or {}
        gives = found.get("lost") != Funder.NOBODY or found.get("failures") == "yes"
        if gives and found.get("lost_minutes") is None and "lost_minutes" not in self.errors:
            self.add_error("lost_minutes", _("Say how many minutes of a run are given back."))
        if found.get("base") == Base.COMMITTED and found.get("borrow") is None and not self.errors:
            self.add_error("borrow", _("Say how much of the rate borrowers pay: 0 is free."))
        return found

    @property
    def policy(self) -> Policy:
        """Return the switches."""
        found = self.cleaned_data
        borrow = found["borrow"]
        return Policy(
            base=Base(found["base"]),
            borrow=Fraction(as_part(borrow)) if borrow is not None else Fraction(1, 2),
            credit=found["credit"] == "yes",
            rest=Rest(found["rest"]),
            shared=Spread(found["shared"]),
            unused=Spread(found["unused"]),
            lost=LostRule(
                Funder(found["lost"]),
                60 * (found["lost_minutes"] or 60),
                found["failures"] == "yes",
            ),
        )
