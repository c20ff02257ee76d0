"""`manage.py grant`: set the rights of the application's database role again."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from portal.grants import grant


class Command(BaseCommand):
    """Set the rights of the application's database role (migrate does it too)."""

    help = "Set the rights of the application's database role again; connects as the owner."

    def handle(self, *_args: Any, **_options: Any) -> None:
        """Grant, or say which role is missing."""
        role = settings.DATABASE_APP_ROLE
        if not grant():
            message = f"There is no database role {role}. See docs/operations.md."
            raise CommandError(message)
        self.stdout.write(f"Rights of {role} are set.")
