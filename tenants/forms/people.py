"""Accounts, roles and members."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from kube.names import says_nothing
from tenants.forms.fields import LineField, PickField, StrictField, StrictForm
from tenants.models import Membership, PlatformRole, User
from tenants.models.people import plain_username
from tenants.services.people import LONGEST_PASSWORD

NEW_PASSWORD = {"autocomplete": "new-password", "maxlength": LONGEST_PASSWORD}
OLD_PASSWORD = {"autocomplete": "current-password", "maxlength": LONGEST_PASSWORD}


class PasswordField(forms.CharField):
    """A password: nothing is cut off, and it is never shown again."""

    def __init__(self, *, attrs: dict[str, Any], **kwargs: Any) -> None:
        super().__init__(
            strip=False,
            max_length=LONGEST_PASSWORD,
            widget=forms.PasswordInput(attrs=attrs),
            **kwargs,
        )


class ChosenField(PasswordField):
    """A password that somebody chooses: one that nobody can see or type again is none."""

    def clean(self, value: Any) -> str:
        """Take spaces and characters that are drawn as nothing for an empty field."""
        text = str(super().clean(value))
        if says_nothing(text):
            raise forms.ValidationError(self.error_messages["required"], code="required")
        return text


class PersonForm(StrictForm):
    """A new account."""

    username = StrictField(
        label=_("Name to sign in with"),
        max_length=150,
        help_text=_("Letters a to z, digits and . _ @ + -, first a letter or a digit."),
    )
    display_name = LineField(label=_("Display name"), required=False)
    email = forms.EmailField(label=_("E-mail"), required=False)
    password = ChosenField(
        label=_("First password"),
        attrs=NEW_PASSWORD,
        help_text=_("At least 12 characters. The person should change it after signing in."),
    )

    def clean_username(self) -> str:
        """Bring the name into its one spelling, if nobody can take it for another one."""
        name: str = self.cleaned_data["username"]
        return User.normalize_username(plain_username(name))


class PasswordForm(StrictForm):
    """A new password for oneself."""

    old = PasswordField(label=_("Old password"), attrs=OLD_PASSWORD)
    new = ChosenField(
        label=_("New password"), attrs=NEW_PASSWORD, help_text=_("At least 12 characters.")
    )


class RoleForm(StrictForm):
    """A platform role to give or to take."""

    role = PickField(label=_("Role"), choices=PlatformRole.Role.choices)
    step = PickField(label=_("Step"), choices=[("give", _("give")), ("take", _("take"))])


class MemberForm(StrictForm):
    """A person and a role in a tenant."""

    username = StrictField(label=_("Name to sign in with"), max_length=150)
    role = PickField(label=_("Role"), choices=Membership.Role.choices)
    step = PickField(label=_("Step"), choices=[("add", _("add")), ("remove", _("remove"))])

    def clean_username(self) -> User:
        """Find the account."""
        name = User.normalize_username(self.cleaned_data["username"])
        user = None if "\0" in name else User.objects.filter(username=name, is_active=True).first()
        if user is None:
            raise forms.ValidationError(_("There is nobody with this name."))
        return user
