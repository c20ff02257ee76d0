"""`manage.py bootstrap_admin NAME`: the first administrator of a new portal."""

from __future__ import annotations

import getpass
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from portal.web.errors import DomainError
from tenants.models import PlatformRole
from tenants.services import people


class Command(BaseCommand):
    """There is no account that everybody knows: the first one is made here, by hand."""

    help = "Add the first administrator. Refused when there is one."

    def add_arguments(self, parser: CommandParser) -> None:
        """Take the name, and the password from a file or from the terminal."""
        parser.add_argument("username")
        parser.add_argument("--display-name", default="")
        parser.add_argument(
            "--password-file", type=Path, help="a file with the password; without it you are asked"
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        """Make the account, or say why not."""
        admins = PlatformRole.objects.filter(role=PlatformRole.Role.ADMIN, user__is_active=True)
        if admins.exists():
            message = "There is an administrator already; they can add others in the portal."
            raise CommandError(message)
        password = read_password(options["password_file"])
        try:
            with transaction.atomic():
                user = people.create_person(
                    actor=None,
                    username=options["username"],
                    password=password,
                    display_name=options["display_name"],
                )
                people.grant_role(actor=None, user=user, role=PlatformRole.Role.ADMIN)
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from None
        except DomainError as error:
            raise CommandError(str(error.message)) from None
        self.stdout.write(f"{user.username} is the administrator.")


def read_password(file: Path | None) -> str:
    """Return the password without showing it anywhere."""
    if file is not None:
        try:
            return file.read_text(encoding="utf-8").strip("\r\n")
        except (OSError, UnicodeDecodeError) as error:
            message = f"The password file cannot be read: {error}."
            raise CommandError(message) from None
    first = getpass.getpass("Password: ")
    if first != getpass.getpass("Again: "):
        message = "The two are not the same."
        raise CommandError(message)
    return first
