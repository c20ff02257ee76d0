"""Tables as CSV files that spreadsheets open as they are, and never as formulas."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from decimal import Decimal
from typing import Final, TypeVar

from django.http import HttpResponse, StreamingHttpResponse

from portal.web.pages import PERSONAL

Cell = str | int | Decimal | date | None
#: What makes a spreadsheet read text as a formula, also in the forms of East Asian keyboards.
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # noqa: RUF001
_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9._-]+")
_TYPE: Final = "text/csv; charset=utf-8"
_PIECE: Final = 1 << 16
Answer = TypeVar("Answer", HttpResponse, StreamingHttpResponse)
#: The column that says whether figures were made up for a demo.
GENERATED: Final = "generated"
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


def flag(*, made: bool) -> str:
    """Write whether figures of a row were made up for a demo."""
    return str(made).lower()


def response(
    name: Sequence[str],
    head: Sequence[str],
    rows: Iterable[Sequence[Cell]],
    *,
    made: bool | None = None,
) -> HttpResponse:
    """Answer with a file; its name is made of these parts, of ASCII without any quotes.

    ``made``: whether any of the figures may be made up; it stands in a last column of each row.
    """
    if made is not None:
        head, rows = (*head, GENERATED), ([*row, flag(made=made)] for row in rows)
    body = "".join(lines(head, rows))
    return _as_file(HttpResponse(body, content_type=_TYPE), name)


def streamed(
    name: Sequence[str], head: Sequence[str], rows: Iterable[Sequence[Cell]], *, bom: bool = True
) -> StreamingHttpResponse:
    """Answer with a file that is made while it is sent, of any length in the same memory.

    ``bom``: the mark that tells a spreadsheet the encoding; programs do without.
    """
    body = lines(head, rows, bom=bom)
    return _as_file(StreamingHttpResponse(body, content_type=_TYPE), name)


def lines(
    head: Sequence[str], rows: Iterable[Sequence[Cell]], *, bom: bool = True
) -> Iterator[str]:
    """Yield the text of a table, many rows at a time."""
    out = io.StringIO()
    out.write(BOM if bom else "")
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(head)
    for row in rows:
        writer.writerow([cell(value) for value in row])
        if out.tell() > _PIECE:
            yield out.getvalue()
            out.seek(0)
            out.truncate()
    yield out.getvalue()


def _as_file(answer: Answer, name: Sequence[str]) -> Answer:
    safe = "-".join(filter(None, (_NOT_IN_NAMES.sub("-", part).strip("-.") for part in name)))
    answer["Content-Disposition"] = f'attachment; filename="{safe[:120]}.csv"'
    answer["Cache-Control"] = PERSONAL
    return answer
