"""Fields that read amounts and months as people type them, and refuse what could be another."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from costs.currencies import CODES
from costs.money import NotMoney, places, rounded, typed
from costs.selectors.months import Month
from kube import names
from kube.problems import Refused, shown
from tenants.sentences import sentence

LONGEST_TEXT: Final = 2000
_MONTH: Final = re.compile(r"(20[0-9]{2}|21[0-9]{2})-(0[1-9]|1[0-2])")
DIGITS: Final = {"inputmode": "decimal", "autocomplete": "off", "size": "14", "class": "num"}
WHOLE: Final = DIGITS | {"inputmode": "numeric", "size": "8"}
_WHOLE: Final = re.compile(r"0|[1-9][0-9]{0,8}")
#: No amount that is typed is of this size; it keeps within what is stored.
BEYOND: Final = Decimal(10) ** 13
AREA: Final = {"rows": "3"}


class StrictField(forms.CharField):
    """Text of which only spaces of a keyboard are cut off; every other character counts."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(strip=False, **kwargs)

    def to_python(self, value: Any) -> str:
        """Cut off spaces; a text area also has line ends, of which only LF is kept."""
        text = super().to_python(value) or ""
        if isinstance(self.widget, forms.Textarea):
            return text.replace("\r\n", "\n").strip(" \n")
        return text.strip(" ")


class LineField(StrictField):
    """A name or another line: nothing in it is hidden or looks like a space that is none.

    ``read`` is a function of ``kube.names`` that accepts the line or raises ``Refused``.
    """

    def __init__(self, *, read: Callable[[str], str] = names.display_text, **kwargs: Any) -> None:
        kwargs.setdefault("widget", forms.TextInput({"autocomplete": "off"}))
        super().__init__(**kwargs)
        self.read = read

    def clean(self, value: Any) -> str:
        """Return the line as it was typed, or say which characters are wrong with it."""
        text = str(super().clean(value))
        if not text:
            return ""
        if self.required and names.says_nothing(text):
            raise ValidationError(self.error_messages["required"], code="required")
        return visible(understood(self.read, text))


def understood(read: Callable[[str], str], text: str) -> str:
    """Return what ``read`` makes of a text; its refusal is the error of the field."""
    try:
        return read(text)
    except Refused as error:
        raise ValidationError(sentence(error.at("")), code=error.code) from None


def visible(text: str) -> str:
    """Return a text without fillers and spaces that no keyboard has, or refuse it."""
    drawn = (each for each in text if each != " " and unicodedata.category(each)[0] != "M")
    if any(names.says_nothing(each) for each in drawn):
        raise ValidationError(sentence(Refused(code="GP-2142", value=shown(text)).at("")))
    return text


def same_name(name: str, others: Iterable[str]) -> bool:
    """Tell whether a name is taken, in whatever case and width it is written."""
    return _folded(name) in map(_folded, others)


def _folded(name: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


class AmountField(StrictField):
    """An amount with a point, without separators: 1250.50, or -250.00 where it may be negative."""

    def __init__(self, *, currency: str = "", most: int = 10, **kwargs: Any) -> None:
        self.currency, self.decimals = currency, places(currency) if currency else most
        super().__init__(widget=forms.TextInput(attrs=DIGITS), max_length=40, **kwargs)

    def clean(self, value: Any) -> Any:
        """Return the amount, or ``None`` for an empty field that may be empty."""
        text = super().clean(value)
        if not text:
            return None
        try:
            amount = typed(text)
        except NotMoney:
            raise ValidationError(_("Type a number like 1250.50, without separators.")) from None
        if abs(amount) >= BEYOND:
            raise ValidationError(_("This number is too large."))
        if self.currency and amount != rounded(amount, self.currency):
            said = _("This currency has %(n)s decimal places.") % {"n": self.decimals}
            raise ValidationError(said)
        if -int(amount.as_tuple().exponent) > self.decimals:
            said = ngettext(
                "At most %(n)s decimal place.", "At most %(n)s decimal places.", self.decimals
            )
            raise ValidationError(said % {"n": self.decimals})
        return amount


class WholeField(StrictField):
    """A whole number in digits of ASCII: no sign, no separators, no zeros before it."""

    def __init__(self, *, least: int, most: int, **kwargs: Any) -> None:
        self.least, self.most = least, most
        super().__init__(widget=forms.TextInput(attrs=WHOLE), **kwargs)

    def clean(self, value: Any) -> Any:
        """Return the number, or ``None`` for an empty field that may be empty."""
        text = super().clean(value)
        if not text:
            return None
        # Longer ones are too large for sure, and reading them would cost time.
        number = int(text) if _WHOLE.fullmatch(text) else None
        if number is None or not self.least <= number <= self.most:
            said = _("Type a whole number from %(least)s to %(most)s, digits only.")
            raise ValidationError(said % {"least": self.least, "most": self.most})
        return number


class CurrencyField(StrictField):
    """A currency by its code of ISO 4217: as bills write it, or typed in any case."""

    def __init__(self, *, any_case: bool = False, **kwargs: Any) -> None:
        self.any_case = any_case
        widget = forms.TextInput(attrs={"autocomplete": "off", "size": "5", "maxlength": "3"})
        super().__init__(widget=widget, max_length=20, **kwargs)

    def clean(self, value: Any) -> Any:
        """Return the code in capital letters."""
        code = str(super().clean(value))
        if self.any_case and code.isascii():
            code = code.upper()
        if code not in CODES:
            raise ValidationError(_("This is no currency of ISO 4217. Type a code such as USD."))
        return code


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


class MonthField(StrictField):
    """A month like 2026-11."""

    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("help_text", gettext_lazy("A month like 2026-11."))
        widget = forms.TextInput(attrs={"placeholder": "2026-11", "size": "9"})
        super().__init__(widget=widget, max_length=20, **kwargs)

    def clean(self, value: Any) -> Any:
        """Return the month."""
        match = _MONTH.fullmatch(super().clean(value))
        if match is None:
            raise ValidationError(_("Type a month like 2026-11."))
        return Month(int(match[1]), int(match[2]))


class HourField(StrictField):
    """A whole hour of UTC like 2026-11-01 00:00; a day alone is its first hour."""

    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("help_text", gettext_lazy("A whole hour of UTC: 2026-11-01 00:00."))
        super().__init__(widget=forms.TextInput(attrs={"size": "18"}), max_length=30, **kwargs)

    def clean(self, value: Any) -> Any:
        """Return the time."""
        text = super().clean(value)
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


class ReasonField(StrictField):
    """Words that others read. Where they have to be there, they have to say something."""

    def clean(self, value: Any) -> str:
        """Take no text whose characters are all drawn as nothing for an answer."""
        text = str(super().clean(value))
        if not names.says_nothing(text):
            several = isinstance(self.widget, forms.Textarea)
            return understood(names.long_text if several else names.display_text, text)
        if self.required:
            raise ValidationError(self.error_messages["required"], code="required")
        return ""


def text_field(label: Any, *, required: bool = True, help_text: Any = "") -> forms.CharField:
    """Return a field of a few lines."""
    return ReasonField(
        label=label, required=required, help_text=help_text, max_length=LONGEST_TEXT,
        widget=forms.Textarea(attrs=AREA),
    )  # fmt: skip


def as_part(percent: Decimal) -> Decimal:
    """Return a percentage as a part of one, exactly."""
    return percent.scaleb(-2)
