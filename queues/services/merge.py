"""Many rows at once: COPY into a table of this session, then one statement that merges them.

A row is written only when it says something else than before (its ``digest`` differs) and is
not older than what stands there (its ``epoch`` is not lower): equal rows cost no write at all,
and an observer that lost its lease without noticing changes nothing newer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, Self

from django.db import Error, connection, models
from psycopg import sql

NUL: Final = ("\0", "\\u0000")
NULL: Final = "\\N"
#: What the text form of COPY reads as something else, the mark of all others first.
ESCAPED: Final = (("\\", "\\\\"), ("\t", "\\t"), ("\n", "\\n"), ("\r", "\\r"))


@dataclass(frozen=True)
class Table:
    """Where rows go; all names are those of columns.

    ``key`` tells a row apart. ``columns`` are written, the key among them, with ``digest`` and
    ``epoch``. ``steady`` names columns that keep their value as long as another one does.
    """

    model: type[models.Model]
    key: tuple[str, ...]
    columns: tuple[str, ...]
    steady: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Return the name of the table."""
        return self.model._meta.db_table

    @cached_property
    def merging(self) -> sql.Composed:
        """Return the statement that merges the rows that came in."""
        changed = [column for column in self.columns if column not in self.key]
        return sql.SQL(
            "INSERT INTO {table} AS here ({columns}) SELECT {columns} FROM {incoming} "
            "ON CONFLICT ({key}) DO UPDATE SET {changes} "
            "WHERE here.epoch <= excluded.epoch AND here.digest <> excluded.digest"
        ).format(
            table=sql.Identifier(self.name),
            incoming=sql.Identifier(f"incoming_{self.name}"),
            columns=_names(self.columns),
            key=_names(self.key),
            changes=sql.SQL(", ").join(self._change(column) for column in changed),
        )

    def _change(self, column: str) -> sql.Composed:
        name = sql.Identifier(column)
        if column not in self.steady:
            return sql.SQL("{0} = excluded.{0}").format(name)
        return sql.SQL(
            "{0} = CASE WHEN here.{1} IS NOT DISTINCT FROM excluded.{1} THEN here.{0} "
            "ELSE excluded.{0} END"
        ).format(name, sql.Identifier(self.steady[column]))

    def sweeping(self, scope: Iterable[str], free: Iterable[str]) -> sql.Composed:
        """Return the statement that deletes what a complete list did not hold."""
        same = [sql.SQL("seen.{0} = here.{0}").format(sql.Identifier(name)) for name in free]
        inside = [sql.SQL("here.{} = %s").format(sql.Identifier(name)) for name in scope]
        return sql.SQL(
            "DELETE FROM {table} AS here WHERE {inside} AND here.epoch < %s "
            "AND NOT EXISTS (SELECT FROM {seen} AS seen WHERE {same}) RETURNING {free}"
        ).format(
            table=sql.Identifier(self.name),
            seen=sql.Identifier(f"seen_{self.name}"),
            inside=sql.SQL(" AND ").join(inside),
            same=sql.SQL(" AND ").join(same),
            free=_names(free),
        )


def merge(table: Table, rows: Iterable[Sequence[Any]]) -> int:
    """Write rows (values in the order of ``columns``) and return how many were new or changed.

    Call it inside a transaction. Rows of one call have different keys. ``None`` is NULL, JSON
    comes as text, and everything else is what PostgreSQL reads as text.
    """
    text = as_text(rows)
    if not text:
        return 0
    with connection.cursor() as cursor:
        return _merge(cursor, table, text)


def _merge(cursor: Any, table: Table, text: str) -> int:
    _make(cursor, table, f"incoming_{table.name}", table.columns)
    return _merge_part(cursor, table, text)


def _merge_part(cursor: Any, table: Table, text: str) -> int:
    """Merge rows through a temporary table that is there."""
    _fill(cursor, f"incoming_{table.name}", table.columns, text)
    cursor.execute(table.merging)
    return int(cursor.rowcount)


class Merging:
    """Merges one part of rows while the caller works out the next, in one transaction.

    The database works on another processor then, and the connection is the caller's own: between
    the first :meth:`add` and the end of the block nobody else may ask the database anything.
    """

    def __init__(self, table: Table) -> None:
        """Take the table that the rows are for."""
        self.table = table
        self.rows = 0
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="merge")
        self._running: Future[int] | None = None
        self._merge = _merge  # the first part finds out whether its temporary table is there

    def __enter__(self) -> Self:
        """Begin; ``rows`` tells after the end how many were new or changed."""
        return self

    def add(self, rows: Iterable[Sequence[Any]], *, last: bool = False) -> None:
        """Hand rows on, when those before are written; their keys differ from all before.

        The ``last`` part is written at once: there is nothing to work out meanwhile.
        """
        text = as_text(rows)
        self._wait()
        if text and last:
            with connection.cursor() as cursor:
                self.rows += self._merge(cursor, self.table, text)
        elif text:
            self._running = self._thread.submit(self._write, connection.connection, text)

    def _write(self, session: Any, text: str) -> int:
        with session.cursor() as cursor:
            rows = self._merge(cursor, self.table, text)
        self._merge = _merge_part
        return rows

    def _wait(self) -> None:
        running, self._running = self._running, None
        if running is not None:
            with connection.wrap_database_errors:
                self.rows += running.result()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Wait for the last part; an error of it is raised here, unless there is one already."""
        try:
            self._wait()
        except Error:
            if kind is None:
                raise
        finally:
            self._thread.shutdown()


def sweep(
    table: Table, scope: Mapping[str, Any], keys: Iterable[Sequence[str]], *, epoch: int
) -> list[tuple[Any, ...]]:
    """Delete the rows of a scope whose key a complete list did not hold; return their keys.

    ``scope`` fixes some columns of the key, ``keys`` are the others. Rows that were written in
    this epoch, or in a later one, stay.
    """
    free = tuple(name for name in table.key if name not in scope)
    with connection.cursor() as cursor:
        _make(cursor, table, f"seen_{table.name}", free)
        _fill(cursor, f"seen_{table.name}", free, as_text(keys))
        cursor.execute(table.sweeping(scope, free), [*scope.values(), epoch])
        return [tuple(row) for row in cursor.fetchall()]


def _make(cursor: Any, table: Table, name: str, columns: Sequence[str]) -> None:
    """Make a temporary table of this session, if it is not there."""
    cursor.execute(
        sql.SQL("CREATE TEMPORARY TABLE IF NOT EXISTS {} AS SELECT {} FROM {} WITH NO DATA").format(
            sql.Identifier(name), _names(columns), sql.Identifier(table.name)
        )
    )


def _fill(cursor: Any, name: str, columns: Sequence[str], text: str) -> None:
    """Fill a temporary table with these rows, and no others."""
    place, names = sql.Identifier(name), _names(columns)
    cursor.execute(sql.SQL("TRUNCATE {}").format(place))
    with cursor.copy(sql.SQL("COPY {} ({}) FROM STDIN").format(place, names)) as copy:
        copy.write(text)


def _names(columns: Iterable[str]) -> sql.Composed:
    return sql.SQL(", ").join(map(sql.Identifier, columns))


def as_text(rows: Iterable[Sequence[Any]]) -> str:
    """Return rows as COPY reads them; the null character, which it cannot hold, is left out."""
    return "\n".join([*map(_row, rows), ""])


def _row(row: Sequence[Any]) -> str:
    """Give a row; nearly none holds anything to be escaped, which one look at all of it tells."""
    texts = [
        value if type(value) is str else None if value is None else str(value) for value in row
    ]
    whole = "".join([text for text in texts if text is not None])
    if whole.isprintable() and "\\" not in whole:
        return "\t".join([NULL if text is None else text for text in texts])
    return "\t".join(map(_field, texts))


def _field(value: Any) -> str:
    if value is None:
        return NULL
    text = value if type(value) is str else str(value)
    # Nearly every text holds none of these; to look for them is faster than to replace them.
    return text if text.isprintable() and "\\" not in text else _escaped(text)


def _escaped(text: str) -> str:
    text = _without_nul(text)
    for plain, written in ESCAPED:
        text = text.replace(plain, written)
    return text


def _without_nul(text: str) -> str:
    """Leave the null character out of a text, also out of one that holds JSON.

    In JSON it is written as an escape; behind an escaped backslash the same letters are text.
    """
    if not any(each in text for each in NUL):
        return text
    parts = text.replace("\0", "").split("\\\\")
    return "\\\\".join(part.replace("\\u0000", "") for part in parts)
