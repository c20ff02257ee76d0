"""Tables as CSV files that spreadsheets open as they are, and never as formulas."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from datetime import date
from decimal import Decimal
from typing import Final

from django.http import HttpResponse

from portal.web.pages import PERSONAL

Cell = str | int | Decimal | date | None
#: What makes a spreadsheet read text as a formula, also in the forms of East Asian keyboards.
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # noqa: RUF001
_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9._-]+")
BOM: Final = "\N{ZERO WIDTH NO-BREAK SPACE}"


def cell(value: Cell) -> str:
    """Write one cell: numbers as they are, nothing as nothing, text that no program runs."""
    if value is None:
        return ""
    if isinstance(value, int):
        return str(value)
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, date):
        return value.isoformat()
    # Some programs leave out blanks before they look.
    runs = value.startswith(_FORMULA) or value.lstrip().startswith(_FORMULA)
    return f"'{value}" if runs else value


def response(
    name: Sequence[str], head: Sequence[str], rows: Iterable[Sequence[Cell]]
) -> HttpResponse:
    """Answer with a file; its name is made of these parts, of ASCII without any quotes."""
    out = io.StringIO()
    out.write(BOM)
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(head)
    writer.writerows([cell(value) for value in row] for row in rows)
    safe = "-".join(filter(None, (_NOT_IN_NAMES.sub("-", part).strip("-.") for part in name)))
    answer = HttpResponse(out.getvalue(), content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{safe[:120]}.csv"'
    answer["Cache-Control"] = PERSONAL
    return answer
