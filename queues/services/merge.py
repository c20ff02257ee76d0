"""Many rows at once: COPY into a table of this session, then one statement that merges them.

A row is written only when it says something else than before (its ``digest`` differs) and is
not older than what stands there (its ``epoch`` is not lower): equal rows cost no write at all,
and an observer that lost its lease without noticing changes nothing newer.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from django.db import connection, models
from psycopg import sql

NUL: Final = ("\0", "\\u0000")


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
    text = as_csv(rows)
    if not text:
        return 0
    with connection.cursor() as cursor:
        _take_in(cursor, table, f"incoming_{table.name}", table.columns, text)
        cursor.execute(table.merging)
        return int(cursor.rowcount)


def sweep(
    table: Table, scope: Mapping[str, Any], keys: Iterable[Sequence[str]], *, epoch: int
) -> list[tuple[Any, ...]]:
    """Delete the rows of a scope whose key a complete list did not hold; return their keys.

    ``scope`` fixes some columns of the key, ``keys`` are the others. Rows that were written in
    this epoch, or in a later one, stay.
    """
    free = tuple(name for name in table.key if name not in scope)
    with connection.cursor() as cursor:
        _take_in(cursor, table, f"seen_{table.name}", free, as_csv(keys))
        cursor.execute(table.sweeping(scope, free), [*scope.values(), epoch])
        return [tuple(row) for row in cursor.fetchall()]


def _take_in(cursor: Any, table: Table, name: str, columns: Sequence[str], text: str) -> None:
    """Fill a temporary table of this session, which is made when it is not there."""
    place, names = sql.Identifier(name), _names(columns)
    cursor.execute(
        sql.SQL("CREATE TEMPORARY TABLE IF NOT EXISTS {} AS SELECT {} FROM {} WITH NO DATA").format(
            place, names, sql.Identifier(table.name)
        )
    )
    cursor.execute(sql.SQL("TRUNCATE {}").format(place))
    fields = {each.column: each for each in table.model._meta.local_fields}
    filled = [column for column in columns if not fields[column].null]
    statement = sql.SQL("COPY {} ({}) FROM STDIN WITH (FORMAT csv, FORCE_NOT_NULL ({}))")
    with cursor.copy(statement.format(place, names, _names(filled))) as copy:
        copy.write(text)


def _names(columns: Iterable[str]) -> sql.Composed:
    return sql.SQL(", ").join(map(sql.Identifier, columns))


def as_csv(rows: Iterable[Sequence[Any]]) -> str:
    """Return rows as CSV; the null character, which PostgreSQL cannot hold, is left out."""
    rows = list(rows)
    text = _written(rows)
    if any(each in text for each in NUL):
        text = _written([[_without_nul(value) for value in row] for row in rows])
    return text


def _written(rows: Iterable[Sequence[Any]]) -> str:
    out = io.StringIO()
    # Both characters of the line's end, so that a text with either of them is quoted.
    csv.writer(out, lineterminator="\r\n").writerows(rows)
    return out.getvalue()


def _without_nul(value: Any) -> Any:
    """Leave the null character out of a text, also out of one that holds JSON.

    In JSON it is written as an escape; behind an escaped backslash the same letters are text.
    """
    if not isinstance(value, str) or not any(each in value for each in NUL):
        return value
    parts = value.replace("\0", "").split("\\\\")
    return "\\\\".join(part.replace("\\u0000", "") for part in parts)
