"""Follows one cluster, or every registered one, and keeps the observed rows up to date."""

from __future__ import annotations

import signal
import time
from types import FrameType
from typing import Any

import structlog
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection

from queues.services import links
from queues.services.observer import Observer
from tenants.models import Cluster

log = structlog.get_logger(__name__)
LEASE = 0x6F627365  # namespace of the advisory locks that keep one observer per cluster


class Command(BaseCommand):
    """One long-running process per cluster; a second one waits for the first to end."""

    help = "List and watch a cluster until stopped."

    def add_arguments(self, parser: CommandParser) -> None:
        """Take the cluster's name."""
        parser.add_argument("--cluster", required=True, help="name of a registered cluster")

    def handle(self, *args: Any, **options: Any) -> None:
        """Wait for the lease, then observe until SIGTERM or SIGINT."""
        cluster = Cluster.objects.filter(slug=options["cluster"]).first()
        if cluster is None:
            raise CommandError(f"no cluster is registered as {options['cluster']!r}")
        stopped = False

        def end(signum: int, frame: FrameType | None) -> None:
            nonlocal stopped
            stopped = True
            if observer is not None:
                observer.stop.set()

        observer: Observer | None = None
        signal.signal(signal.SIGTERM, end)
        signal.signal(signal.SIGINT, end)
        while not stopped and not _take_lease(cluster.pk):
            log.info("observer_waiting_for_lease", cluster=cluster.slug)
            time.sleep(2.0)
        if stopped:
            return
        with links.client(cluster=cluster, purpose="reader") as client:
            observer = Observer(cluster, client, lease=lambda: _take_lease(cluster.pk))
            log.info("observer_started", cluster=cluster.slug)
            observer.run()
        log.info("observer_stopped", cluster=cluster.slug)


def _take_lease(cluster_id: int) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s, %s)", [LEASE, cluster_id])
        row = cursor.fetchone()
    return bool(row and row[0])
