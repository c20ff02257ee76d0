"""One writer per cluster: a PostgreSQL advisory lock that lives on a connection of its own.

Server-side apply does not keep two writers of one name apart, so the database does. The lock
ends with its connection, that is also when the worker is killed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from django.db import DatabaseError, connections
from django.db.backends.base.base import BaseDatabaseWrapper

from queues.services.leases import LeaseLost

#: First half of the lock's number, so that other advisory locks never meet it.
SPACE: Final = 0x6775


class Writer:
    """The proof that this process is the only writer of a cluster."""

    def __init__(self, connection: BaseDatabaseWrapper, cluster_id: int) -> None:
        """Remember which lock is held where."""
        self._connection = connection
        self._cluster_id = cluster_id

    def check(self) -> None:
        """Raise ``LeaseLost`` when the connection, and with it the lock, is gone."""
        try:
            with self._connection.cursor() as cursor:
                cursor.execute(
                    "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted"
                    " AND pid = pg_backend_pid() AND classid = %s AND objid = %s",
                    [SPACE, self._cluster_id],
                )
                held = cursor.fetchone()
        except DatabaseError:
            raise LeaseLost from None
        if not held or not held[0]:
            raise LeaseLost


@contextmanager
def only_writer(cluster_id: int) -> Iterator[Writer | None]:
    """Hold the cluster's lock for the length of the block; ``None`` when another one has it."""
    connection = connections.create_connection("default")
    connection.inc_thread_sharing()
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_try_advisory_lock(%s, %s)", [SPACE, cluster_id])
            got = cursor.fetchone()
        yield Writer(connection, cluster_id) if got and got[0] else None
    finally:
        connection.close()
        connection.dec_thread_sharing()
