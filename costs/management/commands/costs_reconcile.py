"""Reconciles months by hand: those that have news, or one that is named."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from costs.models import Period
from costs.services import progress, reconcile
from portal.web.errors import DomainError


class Command(BaseCommand):
    """Reconciles, and prints one line for each month."""

    help = (
        "Reconcile every month that is over and has news since its last run, or the month "
        "--period (a number from its page). The same inputs print the same hash again."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Take the month."""
        parser.add_argument("--period", type=int, metavar="NUMBER", help="one month alone")

    def handle(self, *args: Any, **options: Any) -> None:
        """Reconcile, and print hash, findings and the bill."""
        wanted = options["period"]
        for pk in progress.due() if wanted is None else [wanted]:
            period = Period.objects.filter(pk=pk).first()
            if period is None:
                raise CommandError(f"there is no period {pk}")
            try:
                run = reconcile.run(period=period)
            except DomainError as error:
                raise CommandError(str(error)) from error
            said = f"bill {run.billed}" if run.written else "no statements"
            self.stdout.write(f"{period} {run.result} {run.findings} findings, {said}")
