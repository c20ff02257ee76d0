"""Fields that read amounts and months as people type them, and refuse what could be another."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from costs.money import NotMoney, places, rounded, typed
from costs.selectors.months import Month

LONGEST_TEXT: Final = 2000
_MONTH: Final = re.compile(r"(20[0-9]{2}|21[0-9]{2})-(0[1-9]|1[0-2])")
DIGITS: Final = {"inputmode": "decimal", "autocomplete": "off", "size": "14", "class": "num"}
AREA: Final = {"rows": "3"}


class AmountField(forms.CharField):
    """An amount with a point, without separators: 1250.50, or -250.00 where it may be negative."""

    def __init__(self, *, currency: str = "", most: int = 10, **kwargs: Any) -> None:
        self.currency, self.decimals = currency, places(currency) if currency else most
        super().__init__(widget=forms.TextInput(attrs=DIGITS), max_length=40, **kwargs)

    def clean(self, value: Any) -> Any:
        """Return the amount, or ``None`` for an empty field that may be empty."""
        text = super().clean(value).strip()
        if not text:
            return None
        try:
            amount = typed(text)
        except NotMoney:
            raise ValidationError(_("Type a number like 1250.50, without separators.")) from None
        if self.currency and amount != rounded(amount, self.currency):
            sentence = _("This currency has %(n)s decimal places.") % {"n": self.decimals}
            raise ValidationError(sentence)
        if amount.adjusted() > 12 or -int(amount.as_tuple().exponent) > self.decimals:
            raise ValidationError(_("At most %(n)s decimal places.") % {"n": self.decimals})
        return amount


class PercentField(AmountField):
    """A part of the whole, typed in percent."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(most=2, **kwargs)

    def clean(self, value: Any) -> Any:
        """Return the percentage, 0 to 100."""
        found = super().clean(value)
        if found is not None and not 0 <= found <= 100:
            raise ValidationError(_("Type a percentage from 0 to 100."))
        return found


class MonthField(forms.CharField):
    """A month like 2026-11."""

    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("help_text", gettext_lazy("A month like 2026-11."))
        widget = forms.TextInput(attrs={"placeholder": "2026-11", "size": "9"})
        super().__init__(widget=widget, max_length=20, **kwargs)

    def clean(self, value: Any) -> Any:
        """Return the month."""
        match = _MONTH.fullmatch(super().clean(value).strip())
        if match is None:
            raise ValidationError(_("Type a month like 2026-11."))
        return Month(int(match[1]), int(match[2]))


class HourField(forms.CharField):
    """A whole hour of UTC like 2026-11-01 00:00; a day alone is its first hour."""

    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("help_text", gettext_lazy("A whole hour of UTC: 2026-11-01 00:00."))
        super().__init__(widget=forms.TextInput(attrs={"size": "18"}), max_length=30, **kwargs)

    def clean(self, value: Any) -> Any:
        """Return the time."""
        text = super().clean(value).strip()
        if not text:
            return None
        match = _HOUR.fullmatch(text)
        try:
            found = datetime.fromisoformat(f"{match[1]}T{match[3] or '00'}:00") if match else None
        except ValueError:
            found = None
        if found is None:
            raise ValidationError(_("Type a whole hour of UTC like 2026-11-01 00:00."))
        return found.replace(tzinfo=UTC)


_HOUR: Final = re.compile(r"(2[01][0-9]{2}-[0-9]{2}-[0-9]{2})([ T]([0-9]{2})(:00)?Z?)?")


def text_field(label: Any, *, required: bool = True, help_text: Any = "") -> forms.CharField:
    """Return a field of a few lines."""
    return forms.CharField(
        label=label, required=required, help_text=help_text, max_length=LONGEST_TEXT,
        widget=forms.Textarea(attrs=AREA),
    )  # fmt: skip


def as_part(percent: Decimal) -> Decimal:
    """Return a percentage as a part of one, exactly."""
    return percent.scaleb(-2)
