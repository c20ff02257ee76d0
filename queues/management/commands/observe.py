"""Follows one cluster, or every registered one, and keeps the observed rows up to date."""

from __future__ import annotations

import signal
import time
from types import FrameType
from typing import Any

import structlog
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection

from kube import errors
from queues.services import links
from queues.services.observer import Observer
from tenants.models import Cluster

log = structlog.get_logger(__name__)
LEASE = 0x6F627365  # namespace of the advisory locks that keep one observer per cluster


class Command(BaseCommand):
    """One long-running process per cluster; a second one waits for the first to end."""

    help = "List and watch a cluster until stopped."
    stopped = False
    observer: Observer | None = None

    def add_arguments(self, parser: CommandParser) -> None:
        """Take the cluster's name."""
        parser.add_argument("--cluster", required=True, help="name of a registered cluster")

    def handle(self, *args: Any, **options: Any) -> None:
        """Observe until SIGTERM or SIGINT, whenever the cluster is connected."""
        cluster = Cluster.objects.filter(slug=options["cluster"]).first()
        if cluster is None:
            raise CommandError(f"no cluster is registered as {options['cluster']!r}")
        signal.signal(signal.SIGTERM, self._end)
        signal.signal(signal.SIGINT, self._end)
        while self._wait(cluster):
            self._observe(cluster)
        log.info("observer_stopped", cluster=cluster.slug)

    def _end(self, signum: int, frame: FrameType | None) -> None:
        self.stopped = True
        if self.observer is not None:
            self.observer.stop.set()

    def _wait(self, cluster: Cluster) -> bool:
        """Wait until the cluster is connected and nobody else observes it; False to end."""
        while not self.stopped:
            if links.place_of(cluster) is None:
                if not Cluster.objects.filter(pk=cluster.pk).exists():
                    return False
                log.info("observer_waiting_for_connection", cluster=cluster.slug)
            elif _take_lease(cluster.pk):
                return True
            else:
                log.info("observer_waiting_for_lease", cluster=cluster.slug)
            time.sleep(2.0)
        return False

    def _observe(self, cluster: Cluster) -> None:
        place = links.place_of(cluster)
        try:
            client = links.client(cluster=cluster, purpose="reader")
        except errors.Credential as error:
            log.warning("observer_has_no_token", cluster=cluster.slug, error=error.message)
            time.sleep(2.0)
            return
        with client:
            self.observer = Observer(
                cluster, client, lease=lambda: _take_lease(cluster.pk),
                moved=lambda: links.place_of(cluster) != place,
            )  # fmt: skip
            if self.stopped:
                return
            log.info("observer_started", cluster=cluster.slug)
            self.observer.run()


def _take_lease(cluster_id: int) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s, %s)", [LEASE, cluster_id])
        row = cursor.fetchone()
    return bool(row and row[0])
