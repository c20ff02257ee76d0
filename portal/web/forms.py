"""What every form of the portal keeps to."""

from __future__ import annotations

from typing import TypeVar

from django import forms
from django.utils.translation import gettext as _

Field = TypeVar("Field", bound=forms.Field)


def field_of(form: forms.BaseForm, name: str, kind: type[Field]) -> Field:
    """Return a field of a form as what it is; ``TypeError`` if it is of another kind."""
    found = form.fields[name]
    if not isinstance(found, kind):
        raise TypeError(f"{name} is a {type(found).__name__}")
    return found


class OnceForm(forms.Form):
    """A form that refuses a parameter that came twice: nobody knows which of them was meant."""

    def _clean_fields(self) -> None:
        super()._clean_fields()  # type: ignore[misc]
        getlist = getattr(self.data, "getlist", None)
        if getlist is None:
            return
        for name, field in self.fields.items():
            several = isinstance(field, forms.MultipleChoiceField)
            if not several and len(getlist(self.add_prefix(name))) > 1:
                self.errors.pop(name, None)
                self.add_error(name, _("This was sent twice. Reload the page and send it once."))
