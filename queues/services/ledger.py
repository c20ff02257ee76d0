"""Rows of the ledger: added by COPY, lifetimes brought up to date in one statement."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, Final

import msgspec
from django.db import connection, models
from psycopg import sql

from queues.models import (
    ConditionChange,
    Eviction,
    Interval,
    Lifetime,
    NodeChange,
    PodInterval,
    PodRun,
    QuotaChange,
)
from queues.services.lives import COLUMNS
from queues.services.merge import as_text

INTERVAL: Final = (
    "cluster_id", "lifetime_id", "phase", "attempt", "starts", "starts_quality",
    "starts_earliest", "starts_latest", "ends", "ends_quality", "ends_earliest", "ends_latest",
    "ended_by", "queue", "cohort", "priority_class", "priority", "cause", "preemptor_uid",
    "devices", "held",
)  # fmt: skip
EVICTION: Final = (
    "cluster_id", "lifetime_id", "number", "attempt", "at", "quality", "earliest", "latest",
    "cause", "detail", "preemptor_uid", "preemptor_job_uid", "preemptor_path", "preemptee_path",
    "message", "queue", "priority_class", "priority", "devices", "running_since", "checkpoint_at",
    "lost_seconds",
)  # fmt: skip
NOTED: Final = (
    "cluster_id", "name", "removed", "since", "quality", "earliest", "latest", "observed_at",
    "digest", "epoch",
)  # fmt: skip
POD: Final = (
    "cluster_id", "uid", "namespace", "name", "node", "resource", "amount", "workload",
    "workload_uid", "kind", "starts", "starts_quality", "starts_earliest", "starts_latest",
)  # fmt: skip
CHANGE: Final = ("lifetime_id", "type", "status", "reason", "message", "at", "seen_at")
TABLES: Final[dict[type[models.Model], tuple[str, ...]]] = {
    Lifetime: COLUMNS,
    Interval: INTERVAL,
    Eviction: EVICTION,
    ConditionChange: CHANGE,
    QuotaChange: (*NOTED, "kind", "parent", "lines"),
    NodeChange: (*NOTED, "state", "devices", "machines"),
    PodRun: POD,
    PodInterval: (*POD, "ends", "ends_quality", "ends_earliest", "ends_latest", "ended_by"),
}

Row = Sequence[Any]
_LOCK_CLASS: Final = 0x6C6564  # "led": keeps these locks apart from other advisory locks


def append(model: type[models.Model], rows: Sequence[Row]) -> int:
    """Add rows, values in the order of ``TABLES``; JSON comes as text. Returns how many."""
    if not rows:
        return 0
    columns = TABLES[model]
    statement = sql.SQL("COPY {} ({}) FROM STDIN").format(
        sql.Identifier(model._meta.db_table), _names(columns)
    )
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        copy.write(as_text(rows))
    return len(rows)


def lock(cluster_id: int) -> None:
    """Let one writer at a time into the ledger of a cluster, until its transaction ends.

    The observer's lease says the same; this holds for one that has lost it and does not know.
    Locking the rows themselves would write each of them, also those that stay as they are.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [_LOCK_CLASS, cluster_id])


def next_ids(count: int) -> list[int]:
    """Take keys for lifetimes that are about to be added."""
    if not count:
        return []
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT nextval(pg_get_serial_sequence('queues_lifetime', 'id')) "
            "FROM generate_series(1, %s)",
            [count],
        )
        return [row[0] for row in cursor.fetchall()]


def update(rows: Sequence[Row]) -> int:
    """Bring lifetimes up to date, values in the order of ``COLUMNS``; the key tells which."""
    if not rows:
        return 0
    came = msgspec.json.encode([dict(zip(COLUMNS, row, strict=True)) for row in rows])
    with connection.cursor() as cursor:
        cursor.execute(_updating(), [came.decode()])
        return int(cursor.rowcount)


@cache
def _updating() -> sql.Composed:
    """Return the statement, put together once."""
    fields = Lifetime._meta.local_fields
    types = {str(each.column): _type(each) for each in fields}
    changes = [sql.SQL("{0} = came.{0}").format(sql.Identifier(name)) for name in COLUMNS[1:]]
    shape = [
        sql.SQL("{} {}").format(sql.Identifier(name), sql.SQL(types[name])) for name in COLUMNS
    ]
    return sql.SQL(
        "UPDATE queues_lifetime AS here SET {} FROM json_to_recordset(%s::json) AS came({}) "
        "WHERE here.id = came.id"
    ).format(sql.SQL(", ").join(changes), sql.SQL(", ").join(shape))


def _names(columns: Sequence[str]) -> sql.Composed:
    return sql.SQL(", ").join(map(sql.Identifier, columns))


def _type(field: Any) -> str:
    """Return the type of a column's values; a key is a number without its sequence."""
    return str(field.rel_db_type(connection) if field.primary_key else field.db_type(connection))
