"""Check a file against the rules of FOCUS 1.2."""

from __future__ import annotations

import csv
from itertools import islice
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from costs.ingest.focus_rules import Broken, check


class Command(BaseCommand):
    """Name every rule that a file breaks, with its row and column."""

    help = "Check a file in the FOCUS format, ours or a provider's."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        """Read the arguments."""
        parser.add_argument("file", type=Path)
        parser.add_argument(
            "--strict", action="store_true", help="ask for all columns, also conditional ones"
        )
        parser.add_argument("--most", type=int, default=100, help="rules to name (default 100)")

    def handle(self, *args: Any, **options: Any) -> None:
        """Check it; ends with an error if a rule is broken."""
        path: Path = options["file"]
        try:
            with path.open(newline="", encoding="utf-8-sig") as file:
                rows = csv.reader(file, strict=True)
                broken = check(next(rows, []), rows, strict=options["strict"])
                found = list(islice(broken, options["most"]))
                more = sum(1 for _each in broken)
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            message = f"{path} cannot be read: {error}"
            raise CommandError(message) from error
        for each in found:
            self.stdout.write(_line(each))
        if found:
            message = f"{len(found) + more} rules are broken"
            raise CommandError(message)
        self.stdout.write(f"{path}: all rules hold")


def _line(each: Broken) -> str:
    where = f"row {each.row}" if each.row else "header"
    value = f": {each.value!r}" if each.value else ""
    return f"{where}, {each.column or '-'}: {each.rule}{value}"
