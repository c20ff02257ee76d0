"""Strict fields: what two people could read in two ways is refused, never guessed.

Each field asks the same function of ``kube`` that the catalog's rules ask, so a form and a
service give the same answer. Spaces of a keyboard around a value are cut off; every other
character counts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy

from kube import names, quantity, weight
from kube.problems import Problem, Refused
from portal.web.forms import OnceForm
from tenants.sentences import sentence

# Longer input is cut off before anything looks at it.
LONGEST_INPUT = 20_000


class StrictForm(OnceForm):
    """A form that speaks of the problems of the catalog by field."""

    #: Where a problem of the catalog belongs: the end of its path -> the field's name.
    places: dict[str, str] = {}

    def take(self, problems: Sequence[Problem]) -> None:
        """Put what the rules found beside the fields that it is about."""
        for each in problems:
            if each.severity == "error":
                self.add_error(self.place_of(each), sentence(each))

    def place_of(self, problem: Problem) -> str | None:
        """Return the field for a problem, or None for the form as a whole."""
        for ending, name in self.places.items():
            if problem.field.endswith(ending) and name in self.fields:
                return name
        last = problem.field.rpartition(".")[2].partition("[")[0]
        return last if last in self.fields else None


class StrictField(forms.CharField):
    """One line of text that a function of ``kube`` reads or refuses."""

    def __init__(self, *, read: Callable[[str], Any] | None = None, **kwargs: Any) -> None:
        kwargs.setdefault("strip", False)
        kwargs.setdefault("widget", forms.TextInput(attrs={"autocomplete": "off"}))
        super().__init__(**kwargs)
        self.read = read
        # NUL is refused with the other invisible characters, in the same words.
        self.validators = []

    def to_python(self, value: Any) -> str:
        """Cut off spaces, refuse what is too long to look at."""
        text = (super().to_python(value) or "").strip(" ")
        if len(text) > LONGEST_INPUT:
            raise refusal(Refused(code="GP-2143", length=len(text), limit=names.MAX_LONG_TEXT))
        return text

    def clean(self, value: Any) -> Any:
        """Read the value, or say what is wrong with it."""
        text = self.to_python(value)
        if text in self.empty_values:
            self.validate(text)
            return self.nothing()
        return self.understand(text)

    def nothing(self) -> Any:
        """Return what an empty field means."""
        return ""

    def understand(self, text: str) -> Any:
        """Return the value that ``text`` stands for."""
        try:
            return self.read(text) if self.read else text
        except Refused as error:
            raise refusal(error) from None


class DevicesField(StrictField):
    """A whole number of devices."""

    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("widget", forms.TextInput(attrs=DIGITS))
        super().__init__(read=quantity.parse_devices, **kwargs)

    def nothing(self) -> Any:
        """Not set is not zero."""
        return None


DIGITS = {"inputmode": "numeric", "autocomplete": "off", "size": "8", "class": "num"}


class LimitField(DevicesField):
    """A number, or a word for "no limit". Empty is neither: 0 and no limit are far apart."""

    def __init__(self, *, word: Any, **kwargs: Any) -> None:
        self.word = word
        super().__init__(**kwargs)

    def understand(self, text: str) -> int | None:
        """Read the word in the viewer's language or in English, or a number."""
        if text.casefold() in {str(self.word).casefold(), *WORDS}:
            return None
        return int(super().understand(text))

    def prepare_value(self, value: Any) -> Any:
        """Show no limit as its word."""
        return str(self.word) if value is None else value


UNLIMITED = gettext_lazy("unlimited")
EVERYTHING = gettext_lazy("everything")
WORDS = frozenset({"unlimited", "everything"})


class CpuField(StrictField):
    """CPUs, as milli-CPU."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(read=quantity.parse_cpu, **kwargs)

    def nothing(self) -> Any:
        """Not set is not zero."""
        return None

    def prepare_value(self, value: Any) -> Any:
        """Show a number in the form that can be read again."""
        return quantity.plain("cpu", value) if isinstance(value, int) else value


class MemoryField(StrictField):
    """Memory, as bytes."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(read=quantity.parse_memory, **kwargs)

    def nothing(self) -> Any:
        """Not set is not zero."""
        return None

    def prepare_value(self, value: Any) -> Any:
        """Show a number in the form that can be read again."""
        return quantity.plain("memory", value) if isinstance(value, int) else value


class WholeField(StrictField):
    """A whole number that may be negative: the value of a priority."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(read=read_whole, **kwargs)

    def nothing(self) -> Any:
        """Not set is not zero."""
        return None


def read_whole(text: str) -> int:
    """Read a number with an optional minus: a sign is allowed here, and only here.

    What is beyond 32 bits but still a number is left to the rules, which name the limit.
    """
    if re.fullmatch(r"-?[1-9][0-9]{7,200}", text, re.ASCII):
        return int(text)
    digits = text.removeprefix("-")
    number = quantity.parse_devices(text if digits == "0" else digits)
    return -number if text.startswith("-") else number


class SlugField(StrictField):
    """The short name of a tenant."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(read=names.slug, **kwargs)


class TextField(StrictField):
    """Text for people. Where it has to be there, it has to say something."""

    def understand(self, text: str) -> str:
        """Take no text whose characters are all drawn as nothing for one that was asked for."""
        found = str(super().understand(text))
        if self.required and names.says_nothing(found):
            raise ValidationError(self.error_messages["required"], code="required")
        return found


class LineField(TextField):
    """One line for people."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(read=names.display_text, **kwargs)


class LongField(TextField):
    """Several lines for people. A browser sends CR LF; only LF is kept."""

    def __init__(self, *, rows: int = 4, **kwargs: Any) -> None:
        kwargs.setdefault("widget", forms.Textarea(attrs={"rows": rows}))
        super().__init__(read=names.long_text, **kwargs)

    def to_python(self, value: Any) -> str:
        """Cut off spaces and line ends around the text."""
        if isinstance(value, str):
            value = value.replace("\r\n", "\n").strip(" \n")
        return super().to_python(value)


class WeightField(StrictField):
    """A fair-sharing weight, kept as it was written."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(read=read_weight, **kwargs)

    def nothing(self) -> Any:
        """Everybody weighs the same unless said otherwise."""
        return "1"


def read_weight(text: str) -> str:
    """Accept a weight and give it back."""
    weight.parse_weight(text)
    return text


class PickField(forms.ChoiceField):
    """A choice whose refusal does not repeat what was sent."""

    default_error_messages = {"invalid_choice": gettext_lazy("Choose one of the list.")}


def refusal(error: Refused) -> ValidationError:
    """Return a refusal of ``kube`` as a form's error, in the viewer's language."""
    return ValidationError(sentence(error.at("")), code=error.code)
