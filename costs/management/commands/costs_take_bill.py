"""Take a bill from a file on disk, of any size."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from costs.models import BillFile, BillSource
from costs.services import bills, matches
from portal.web.errors import DomainError


class Command(BaseCommand):
    """Read a file of a source; what is wrong with it is named by row."""

    help = "Take a bill from a file, and join it with the nodes of its time."

    def add_arguments(self, parser: CommandParser) -> None:
        """Read the arguments."""
        parser.add_argument("source", help="the name of the source")
        parser.add_argument("file", type=Path)
        parser.add_argument("--final", action="store_true", help="this is the final bill")

    def handle(self, *args: Any, **options: Any) -> None:
        """Take it; ends with an error if it is refused."""
        source = BillSource.objects.filter(name=options["source"]).first()
        if source is None:
            message = f"there is no source {options['source']!r}"
            raise CommandError(message)
        path: Path = options["file"]
        try:
            with path.open("rb") as file:
                bill = bills.take(
                    source=source, file=file, name=path.name, actor=None, finalized=options["final"]
                )
        except (OSError, DomainError) as error:
            raise CommandError(str(error)) from error
        self._tell(bill)
        if source.kind in BillSource.PAID:
            matches.match(file=bill)

    def _tell(self, bill: BillFile) -> None:
        for each in bill.problems.all()[:100]:
            kind = "error" if each.error else "warning"
            self.stdout.write(f"{kind}, row {each.row}, {each.column}: {each.code} {each.value!r}")
        if bill.state == BillFile.State.REFUSED:
            message = f"{bill.name} is refused: {bill.errors} errors in {bill.rows} rows"
            raise CommandError(message)
        self.stdout.write(f"{bill.name} counts: {bill.rows} rows, {bill.effective:f} effective")
