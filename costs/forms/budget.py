"""What people type on pages of costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, cast

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from costs.forms.fields import AmountField
from costs.models import PriceBook
from portal.web.forms import OnceForm

TIME: Final = "gpu_hours"


class BudgetForm(OnceForm):
    """A budget: in what it is counted, and how much; no amount means none."""

    unit = forms.ChoiceField(label=gettext_lazy("Counted in"))
    amount = AmountField(
        label=gettext_lazy("By the month"),
        required=False,
        most=40,  # How many there may be depends on what it is counted in: the service knows.
        help_text=gettext_lazy("Holds until another one is set. Leave it empty to end the budget."),
    )

    def __init__(self, *args: Any, offered: Sequence[PriceBook], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.offered: dict[str, PriceBook] = {str(each.pk): each for each in offered}
        unit = cast(forms.ChoiceField, self.fields["unit"])
        unit.choices = [
            (TIME, _("GPU-hours held")),
            *((key, _named(of)) for key, of in self.offered.items()),
        ]

    @property
    def book(self) -> PriceBook | None:
        """Return the book that was chosen; none for time."""
        return self.offered.get(self.cleaned_data["unit"])


def _named(book: PriceBook) -> str:
    words = {"currency": book.currency, "book": book.name}
    return _("%(currency)s, as %(book)s charges it") % words
