"""Takes bills: a file becomes the version of its billing period that counts, or is refused.

All of it is one transaction: a file is taken as a whole or not at all. Rows go straight from the
reader into the table, so a file of any size needs the same memory. A file with an error in any
row is refused, and its report stays.

A file that comes over the web is put down first (:func:`receive`) and read later
(:func:`read`), by whoever finds it; both are done at once for a file on disk (:func:`take`).
"""

from __future__ import annotations

import codecs
import csv
import hashlib
import json
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import IO, Any, BinaryIO, Final, TypeAlias

from django.db import connection, transaction
from django.db.models import Max
from django.utils.translation import gettext_lazy as _
from psycopg import sql

from costs.ingest.focus import TEXTS, Focus, HeaderRefused, Part, Row, Sums
from costs.ingest.opinions import Opinion, Split, Usage
from costs.ingest.own import Own
from costs.ingest.report import Code, Report
from costs.models import BillFile, BillLine, BillPart, BillProblem, BillSource
from costs.models.states import move
from costs.services.periods import MOST
from portal.web.errors import Refused
from tenants import audit
from tenants.models import Pool, User

Reader: TypeAlias = Focus | Own | Split | Usage
OPINIONS: Final = (Split, Usage)
_STAGED: Final = BillFile.State.STAGED
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
    "RETURNING part.category, part.billed, part.effective, part.listed"
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


def take(
    *, source: BillSource, file: BinaryIO, name: str, actor: User | None, finalized: bool = False
) -> BillFile:
    """Read a file and let it count for its billing period, or refuse it with a report.

    ``file`` can be read twice. ``SameFile`` if the same bytes were taken before, ``NotABill`` if
    it is no such table at all; errors of rows are not raised: see the state of what is returned.
    """
    with transaction.atomic():
        bill = _begin(source, file, name, actor, finalized=finalized)
        return _told("bill.take", _read(bill, file))


#: The name of the days when FOCUS was the only format.
take_focus = take


@transaction.atomic
def receive(
    *, source: BillSource, file: BinaryIO, name: str, actor: User | None, finalized: bool = False
) -> BillFile:
    """Put a file down to be read; raises what :func:`take` raises of what can be seen at once."""
    bill = _begin(source, file, name, actor, finalized=finalized)
    _open(source, file)
    file.seek(0)
    for number, content in enumerate(iter(lambda: file.read(_CHUNK), b"")):
        BillPart.objects.create(file=bill, number=number, content=content)
    return _told("bill.take", bill)


@transaction.atomic
def read(*, bill_id: int) -> BillFile | None:
    """Read a file that was put down, unless somebody else does or has; it is gone afterwards.

    A bill that may not replace a final one is refused with a report like one with errors.
    """
    waiting = BillFile.objects.select_for_update(skip_locked=True, of=("self",))
    bill = waiting.select_related("source").filter(pk=bill_id, state=_STAGED).first()
    if bill is None:
        return None
    BillSource.objects.select_for_update().get(pk=bill.source_id)
    with tempfile.TemporaryFile() as file:
        _put_together(bill, file)
        try:
            with transaction.atomic():
                found = _read(bill, file)
        except OlderBill:
            report = Report()
            report.error(0, "", Code.OLDER)
            _note(bill, report)
            bill.refresh_from_db()
            found = move(bill, "refused", errors=1)
    BillPart.objects.filter(file=bill).delete()
    return _told("bill.result", found)


def waiting(before: datetime) -> list[int]:
    """Return files that were put down before a time and are not read yet, the first first."""
    rows = BillFile.objects.filter(state=_STAGED, taken_at__lt=before, parts__isnull=False)
    return list(rows.order_by("pk").values_list("pk", flat=True).distinct())


def _begin(
    source: BillSource, file: BinaryIO, name: str, actor: User | None, *, finalized: bool
) -> BillFile:
    """Note a file that is new; one of a source at a time, so that the same one twice is seen."""
    sha256 = hash_of(file)
    BillSource.objects.select_for_update().get(pk=source.pk)
    if BillFile.objects.filter(source=source, sha256=sha256).exclude(state="refused").exists():
        raise SameFile(_("This file was taken before. Nothing has changed."))
    return BillFile.objects.create(
        source=source, name=_named(name), sha256=sha256, taken_by=actor, finalized=finalized
    )


def _named(name: str) -> str:
    """Return the last part of a file's name, without what is not shown on a line."""
    last = re.split(r"[/\\]", name)[-1]
    return "".join(each if each.isprintable() else "_" for each in last)[:255] or "_"


def _read(bill: BillFile, file: IO[bytes]) -> BillFile:
    reader, lines = _open(bill.source, file)
    try:
        with transaction.atomic():
            if isinstance(reader, OPINIONS):
                _copy_opinions(bill, reader.rows(_guarded(lines, reader.report)))
            else:
                _copy(bill, reader.rows(_guarded(lines, reader.report)))
                _put_parts_aside(bill, reader)
            _weigh(reader)
            if reader.report.errors or reader.period is None:
                raise _Broken
    except _Broken:
        _note(bill, reader.report)
        return move(bill, "refused", rows=reader.sums.rows, errors=max(1, reader.report.errors))
    _note(bill, reader.report)
    return _activate(bill, reader)


def _weigh(reader: Reader) -> None:
    """Refuse a file whose rows together are more than a statement can say."""
    if isinstance(reader, OPINIONS):
        return
    for column, found in (
        ("BilledCost", reader.sums.billed),
        ("EffectiveCost", reader.sums.effective),
    ):
        if abs(found) >= MOST:
            reader.report.error(0, column, Code.AMOUNT, f"{found:f}")


def _told(action: str, bill: BillFile) -> BillFile:
    """Write into the trail what was done with a file; last, for its lock lasts to the commit."""
    data = {
        "source": bill.source.name, "file": bill.name, "sha256": bill.sha256,
        "final": bill.finalized, "state": bill.state, "rows": bill.rows, "errors": bill.errors,
        "effective": f"{bill.effective:f}",
    }  # fmt: skip
    audit.record(action, actor=bill.taken_by, scope=audit.PLATFORM, obj=bill, data=data)
    return bill


def _put_together(bill: BillFile, file: IO[bytes]) -> None:
    """Write the pieces of a file to disk: while rows are copied nothing else can be asked."""
    for part in bill.parts.order_by("number").iterator(chunk_size=1):
        file.write(part.content)
    file.seek(0)


def hash_of(file: BinaryIO) -> str:
    """Return the SHA-256 of a file, and go back to its beginning."""
    found = hashlib.sha256()
    file.seek(0)
    while part := file.read(_CHUNK):
        found.update(part)
    file.seek(0)
    return found.hexdigest()


def _open(source: BillSource, file: IO[bytes]) -> tuple[Reader, Iterator[list[str]]]:
    lines = csv.reader(codecs.iterdecode(_lines(file), "utf-8-sig"), strict=True)
    try:
        return _reader(source, lines), lines
    except HeaderRefused as error:
        raise NotABill(_header_words(error), details={"missing": error.missing}) from error
    except (UnicodeDecodeError, csv.Error) as error:
        sentence = _("This is no table of text in UTF-8 with commas. Save it as CSV in UTF-8.")
        raise NotABill(sentence) from error


def _header_words(error: HeaderRefused) -> str:
    """Say which columns are missing and which are there twice, and nothing of none."""
    said = []
    if error.missing:
        words = _("This file has not the columns that it needs. Missing: %(names)s.")
        said.append(words % {"names": ", ".join(error.missing)})
    if error.twice:
        said.append(
            _("Columns that are there twice: %(names)s.") % {"names": ", ".join(error.twice)}
        )
    return " ".join(said)


def _reader(source: BillSource, lines: Iterator[list[str]]) -> Reader:
    """Return what reads the files of a source, after it has read the header."""
    match source.kind:
        case BillSource.Kind.OWN:
            return Own(next(lines, []), source.currency, places())
        case BillSource.Kind.SPLIT:
            return Split(next(lines, []), source.currency)
        case BillSource.Kind.USAGE:
            return Usage(lines)
        case _:
            return Focus(next(lines, []), source.currency, source.accounts)


def places() -> set[tuple[str, str]]:
    """Return the pools of the catalog, by cluster and flavor."""
    return set(Pool.objects.values_list("cluster__slug", "flavor"))


def _lines(file: IO[bytes]) -> Iterator[bytes]:
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
        except UnicodeDecodeError as error:
            # What Python says of it is no help: the byte says which encoding it may have been.
            report.error(number, "", Code.ENCODING, _byte(error))
            return
        except csv.Error:
            report.error(number, "", Code.FIELDS)
            return
        yield line


def _byte(error: UnicodeDecodeError) -> str:
    return f"0x{error.object[error.start]:02X}"


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


def _copy_opinions(bill: BillFile, rows: Iterable[Opinion]) -> None:
    statement = sql.SQL("COPY costs_opinionline (file_id, {}) FROM STDIN").format(
        sql.SQL(", ").join(map(sql.Identifier, Opinion._fields))
    )
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        for row in rows:
            copy.write_row((bill.pk, *row))


def _put_parts_aside(bill: BillFile, reader: Focus | Own) -> None:
    """Count a row that the provider has divided once: as the whole."""
    with connection.cursor() as cursor:
        cursor.execute(_PARTS, {"aside": BillLine.Aside.SPLIT.value, "file": bill.pk})
        for category, billed, effective, listed in cursor:
            _put_aside(reader.sums, category, (billed, effective, listed or 0))
        if cursor.rowcount > 0:
            reader.report.warn(0, "AllocatedResourceId", Code.SPLIT, rows=cursor.rowcount)


def _put_aside(sums: Sums, category: str, amounts: tuple[Any, Any, Any]) -> None:
    """Move a row from those that count to those that do not."""
    billed, effective, listed = amounts
    sums.billed -= billed
    sums.effective -= effective
    sums.put_aside += effective
    for part, sign in (
        (sums.parts[category], -1),
        (sums.aside.setdefault(BillLine.Aside.SPLIT.value, Part()), 1),
    ):
        part.rows += sign
        part.billed += sign * billed
        part.effective += sign * effective
        part.listed += sign * listed


def _note(bill: BillFile, report: Report) -> None:
    BillProblem.objects.bulk_create(
        BillProblem(
            file=bill, row=each.row, column=each.column, code=each.code.value, value=each.value,
            error=each.error, rows=each.rows,
        )
        for each in report.problems()
    )  # fmt: skip


def _activate(bill: BillFile, reader: Reader) -> BillFile:
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
        sums={"parts": _as_texts(sums.parts), "aside": _as_texts(sums.aside)},
    )  # fmt: skip


def _as_texts(parts: Mapping[str, Part]) -> dict[str, dict[str, Any]]:
    """Return sums as they are stored: amounts as exact texts."""
    return {
        key: {
            "rows": part.rows, "billed": f"{part.billed:f}", "effective": f"{part.effective:f}",
            "listed": f"{part.listed:f}",
        }
        for key, part in sorted(parts.items())
    }  # fmt: skip
