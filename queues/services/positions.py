"""Positions of waiting workloads, asked from Kueue's visibility API a queue at a time."""

from __future__ import annotations

import time

import structlog

from kube.client import ClusterClient
from kube.errors import ClusterError
from kube.visibility import PAGE, pending
from queues.services.observed_rows import set_positions
from tenants.models import Cluster

log = structlog.get_logger(__name__)

INTERVAL = 1.0  # seconds between two questions about one queue, for each page of its list
DEPTH = 10_000  # jobs of one queue whose places are told
BACK_OFF = 15.0  # seconds of silence after an answer that was not a list


class Positions:
    """Knows which queues changed and asks about them, each at most once per interval."""

    def __init__(self, cluster: Cluster, client: ClusterClient) -> None:
        """Start with nothing to ask."""
        self.cluster = cluster
        self.client = client
        self.dirty: set[str] = set()
        self._not_before: dict[str, float] = {}

    def mark(self, queues: set[str]) -> None:
        """Note queues whose order may have changed."""
        self.dirty |= queues - {""}

    def refresh(self) -> None:
        """Ask about the queues that are due; what fails is asked again later."""
        now = time.monotonic()
        due = sorted(q for q in self.dirty if self._not_before.get(q, 0.0) <= now)
        for queue in due:
            self.dirty.discard(queue)
            self._not_before[queue] = now + self._ask(queue)

    def _ask(self, queue: str) -> float:
        try:
            answer = pending(self.client, queue, limit=DEPTH)
        except ClusterError as error:
            log.warning("positions_unknown", queue=queue, code=error.code)
            self.dirty.add(queue)
            return max(BACK_OFF, error.retry_after or 0.0)
        places = {(i.namespace, i.name): i.position + 1 for i in answer.items}
        set_positions(self.cluster, queue, places)
        return INTERVAL * (1 + len(answer.items) // PAGE)
