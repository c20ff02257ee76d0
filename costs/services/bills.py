"""Takes bills: a file becomes the version of its billing period that counts, or is refused.

All of it is one transaction: a file is taken as a whole or not at all. Rows go straight from the
reader into the table, so a file of any size needs the same memory. A file with an error in any
row is refused, and its report stays.
"""

from __future__ import annotations

import codecs
import csv
import hashlib
import json
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO, Final

from django.db import connection, transaction
from django.db.models import Max
from django.utils.translation import gettext_lazy as _
from psycopg import sql

from costs.ingest.focus import TEXTS, Focus, HeaderRefused, Row
from costs.ingest.report import Code, Report
from costs.models import BillFile, BillLine, BillProblem, BillSource
from costs.models.states import move
from portal.web.errors import Refused
from tenants.models import User

_CHUNK: Final = 1 << 20
_LONGEST_LINE: Final = 1 << 20
#: The text columns of a row, as ``focus.TEXTS`` has them.
_TEXT_COLUMNS: Final = (
    "charge_class", "account", "sub_account", "service", "region", "zone", "resource_id", "sku",
    "pricing_category", "commitment_id", "commitment_status", "unit", "invoice",
)  # fmt: skip
COLUMNS: Final = (
    "file_id", "row", "charge_starts", "charge_ends", "category", "billed", "effective", "listed",
    "consumed", "provider", *_TEXT_COLUMNS, "gpus", "instance_type", "allocated_to", "tags",
    "aside",
)  # fmt: skip
assert len(_TEXT_COLUMNS) == len(TEXTS)  # noqa: S101 - two lists of the same columns
#: Rows that divide another row of the same file among those who shared it.
_PARTS: Final = sql.SQL(
    "UPDATE costs_billline AS part SET aside = %(aside)s WHERE part.file_id = %(file)s "
    "AND part.allocated_to <> '' AND part.aside = '' AND EXISTS (SELECT FROM costs_billline AS "
    "whole WHERE whole.file_id = part.file_id AND whole.allocated_to = '' "
    "AND whole.resource_id = part.resource_id AND whole.sku = part.sku "
    "AND whole.charge_starts = part.charge_starts AND whole.charge_ends = part.charge_ends "
    "AND whole.category = part.category AND whole.aside = '') "
    "RETURNING part.billed, part.effective"
)


class SameFile(Refused):
    """The file has been taken before."""

    code = "GP-5101"


class NotABill(Refused):
    """The file is no table with the columns of a bill."""

    code = "GP-5102"


class OlderBill(Refused):
    """The period has a final bill, and this one does not say that it is final too."""

    code = "GP-5103"


class _Broken(Exception):
    """Undoes the rows of a file that has errors."""


def take_focus(
    *, source: BillSource, file: BinaryIO, name: str, actor: User | None, finalized: bool = False
) -> BillFile:
    """Read a FOCUS file and let it count for its billing period, or refuse it with a report.

    ``file`` can be read twice. ``SameFile`` if the same bytes were taken before, ``NotABill`` if
    it is no such table at all; errors of rows are not raised: see the state of what is returned.
    """
    sha256 = hash_of(file)
    with transaction.atomic():
        # One file of a source at a time: the same one twice is seen, and numbers have no gaps.
        BillSource.objects.select_for_update().get(pk=source.pk)
        if BillFile.objects.filter(source=source, sha256=sha256).exclude(state="refused").exists():
            raise SameFile(_("This file was taken before. Nothing has changed."))
        bill = BillFile.objects.create(
            source=source, name=name[:255], sha256=sha256, taken_by=actor, finalized=finalized
        )
        reader, lines = _open(source, file)
        try:
            with transaction.atomic():
                _copy(bill, reader.rows(_guarded(lines, reader.report)))
                _put_parts_aside(bill, reader)
                if reader.report.errors or reader.period is None:
                    raise _Broken
        except _Broken:
            _note(bill, reader.report)
            return move(bill, "refused", rows=reader.sums.rows, errors=max(1, reader.report.errors))
        _note(bill, reader.report)
        return _activate(bill, reader)


def hash_of(file: BinaryIO) -> str:
    """Return the SHA-256 of a file, and go back to its beginning."""
    found = hashlib.sha256()
    file.seek(0)
    while part := file.read(_CHUNK):
        found.update(part)
    file.seek(0)
    return found.hexdigest()


def _open(source: BillSource, file: BinaryIO) -> tuple[Focus, Iterator[list[str]]]:
    lines = csv.reader(codecs.iterdecode(_lines(file), "utf-8-sig"), strict=True)
    try:
        header = next(lines, [])
        return Focus(header, source.currency, source.accounts), lines
    except HeaderRefused as error:
        sentence = _("This is no bill in the FOCUS format. Missing: %(missing)s. Twice: %(twice)s.")
        names = {
            "missing": ", ".join(error.missing) or "-",
            "twice": ", ".join(error.twice) or "-",
        }
        raise NotABill(sentence % names, details={"missing": error.missing}) from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise NotABill(_("This is no table of text in UTF-8 with commas.")) from error


def _lines(file: BinaryIO) -> Iterator[bytes]:
    """Yield lines; what has no end within reason is no table, and would fill the memory."""
    while line := file.readline(_LONGEST_LINE + 1):
        if len(line) > _LONGEST_LINE:
            message = "a line is too long"
            raise csv.Error(message)
        yield line


def _guarded(lines: Iterator[list[str]], report: Report) -> Iterator[list[str]]:
    """Yield rows until one cannot even be cut into fields, which is an error of that row."""
    number = 0
    while True:
        number += 1
        try:
            line = next(lines)
        except StopIteration:
            return
        except (csv.Error, UnicodeDecodeError) as error:
            report.error(number, "", Code.FIELDS, str(error))
            return
        yield line


def _copy(bill: BillFile, rows: Iterable[Row]) -> None:
    names = sql.SQL(", ").join(map(sql.Identifier, COLUMNS))
    statement = sql.SQL("COPY costs_billline ({}) FROM STDIN").format(names)
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        for row in rows:
            copy.write_row(_values(bill.pk, row))


def _values(bill: int, row: Row) -> tuple[Any, ...]:
    return (
        bill, row.number, row.charge_starts, row.charge_ends, row.category, row.billed,
        row.effective, row.listed, row.consumed, row.provider, *row.texts, row.gpus,
        row.instance_type, row.allocated_to, json.dumps(row.tags), row.aside,
    )  # fmt: skip


def _put_parts_aside(bill: BillFile, reader: Focus) -> None:
    """Count a row that the provider has divided once: as the whole."""
    with connection.cursor() as cursor:
        cursor.execute(_PARTS, {"aside": BillLine.Aside.SPLIT.value, "file": bill.pk})
        for billed, effective in cursor:
            reader.sums.billed -= billed
            reader.sums.effective -= effective
            reader.sums.put_aside += effective
        if cursor.rowcount > 0:
            reader.report.warn(0, "AllocatedResourceId", Code.SPLIT, rows=cursor.rowcount)


def _note(bill: BillFile, report: Report) -> None:
    BillProblem.objects.bulk_create(
        BillProblem(
            file=bill, row=each.row, column=each.column, code=each.code.value, value=each.value,
            error=each.error, rows=each.rows,
        )
        for each in report.problems()
    )  # fmt: skip


def _activate(bill: BillFile, reader: Focus) -> BillFile:
    """Let a bill count in place of the one before it."""
    starts, ends = reader.period or (None, None)
    of_period = BillFile.objects.filter(source=bill.source_id, period_starts=starts)
    before = of_period.filter(state="active").first()
    if before and before.finalized and not bill.finalized:
        raise OlderBill(_("The bill of this period is final. Only another final one replaces it."))
    if before:
        move(before, "replaced")
    number = of_period.aggregate(last=Max("number"))["last"] or 0
    sums = reader.sums
    return move(
        bill, "active", period_starts=starts, period_ends=ends, number=number + 1, rows=sums.rows,
        billed=sums.billed, effective=sums.effective, put_aside=sums.put_aside,
    )  # fmt: skip
