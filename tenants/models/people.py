"""Who uses the portal and what they may do."""

from __future__ import annotations

import re
import unicodedata
from importlib import import_module
from typing import TYPE_CHECKING, Final

from django.conf import settings
from django.contrib.auth.models import AbstractUser
from django.contrib.sessions.base_session import AbstractBaseSession
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models.functions import Lower
from django.utils.translation import gettext_lazy as _

if TYPE_CHECKING:
    from django.contrib.sessions.backends.base import SessionBase


_USERNAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9.@+_-]*")


def plain_username(name: str) -> str:
    """Return a name to sign in with; ``ValidationError`` for letters that look like others."""
    if not _USERNAME.fullmatch(name):
        raise ValidationError(
            _("Use letters a to z, digits and . _ @ + -, and begin with a letter or a digit.")
        )
    return name


class User(AbstractUser):
    """A person. Rights come from memberships and platform roles, never from staff flags."""

    display_name = models.CharField(_("display name"), max_length=120, blank=True)

    class Meta:
        verbose_name = _("person")
        verbose_name_plural = _("people")
        constraints = [
            models.UniqueConstraint(
                Lower("username"),
                name="user_username_ci",
                violation_error_message=_("This name is taken."),
            ),
        ]

    @classmethod
    def normalize_username(cls, username: str) -> str:
        """Return the one spelling of a name: NFKC and lower case, so that it cannot exist twice."""
        return unicodedata.normalize("NFKC", str(username)).lower()

    def __str__(self) -> str:
        return self.display_name or self.username


class Membership(models.Model):
    """A person's role in a tenant."""

    class Role(models.TextChoices):
        USER = "user", _("user")
        LEAD = "lead", _("lead")
        FINANCE = "finance", _("finance")

    user = models.ForeignKey(User, models.CASCADE, related_name="memberships")
    tenant = models.ForeignKey("tenants.Tenant", models.CASCADE, related_name="memberships")
    role = models.CharField(_("role"), max_length=16, choices=Role)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = _("membership")
        verbose_name_plural = _("memberships")
        constraints = [
            models.UniqueConstraint("user", "tenant", "role", name="membership_once"),
            models.CheckConstraint(
                condition=models.Q(role__in=["user", "lead", "finance"]), name="membership_role"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user} {self.role} {self.tenant}"


class PlatformRole(models.Model):
    """A person's role for the whole platform."""

    class Role(models.TextChoices):
        APPROVER = "approver", _("approver")
        ADMIN = "admin", _("administrator")
        AUDITOR = "auditor", _("auditor")

    user = models.ForeignKey(User, models.CASCADE, related_name="platform_roles")
    role = models.CharField(_("role"), max_length=16, choices=Role)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = _("platform role")
        verbose_name_plural = _("platform roles")
        constraints = [
            models.UniqueConstraint("user", "role", name="platform_role_once"),
            models.CheckConstraint(
                condition=models.Q(role__in=["approver", "admin", "auditor"]), name="platform_role"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user} {self.role}"


class Session(AbstractBaseSession):
    """A browser that is signed in; its person in a column, so that one query reads both."""

    user = models.ForeignKey(User, models.CASCADE, null=True, related_name="+")

    class Meta:
        verbose_name = _("session")
        verbose_name_plural = _("sessions")

    @classmethod
    def get_session_store_class(cls) -> type[SessionBase]:
        """Give the store that reads and writes these rows."""
        store: type[SessionBase] = import_module(settings.SESSION_ENGINE).SessionStore
        return store


class SignInBrake(models.Model):
    """Tries to sign in from one place: they get slower, and are never locked out for good."""

    key = models.CharField(max_length=64, unique=True)
    tries = models.PositiveIntegerField(default=0)
    last_at = models.DateTimeField()
    until = models.DateTimeField(null=True)

    class Meta:
        verbose_name = _("sign-in brake")
        verbose_name_plural = _("sign-in brakes")
        indexes = [models.Index("last_at", name="brake_last")]

    def __str__(self) -> str:
        return self.key[:8]
