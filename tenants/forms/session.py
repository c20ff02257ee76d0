"""Signing in."""

from __future__ import annotations

from django import forms
from django.utils.translation import gettext_lazy as _

from tenants.forms.fields import StrictField, StrictForm
from tenants.services.people import LONGEST_PASSWORD

NAME = {"autocomplete": "username", "autocapitalize": "none", "spellcheck": "false"}


class SignInForm(StrictForm):
    """Name and password; what is wrong with them is not told apart."""

    username = StrictField(
        label=_("Name"), max_length=150, widget=forms.TextInput(attrs={**NAME, "autofocus": True})
    )
    password = forms.CharField(
        label=_("Password"),
        strip=False,
        widget=forms.PasswordInput(
            attrs={"autocomplete": "current-password", "maxlength": LONGEST_PASSWORD}
        ),
    )

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        # NUL bytes and lengths are the service's business: it answers all of them alike.
        self.fields["password"].validators = []
