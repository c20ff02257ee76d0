"""Asks a cluster every few seconds whether it is there: an open line alone does not say so.

A watch of a quiet kind says nothing for a minute, and a server that has stopped keeps its
connections open. What pages show is as old as the last answer.
"""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import Final

from django.db import connection

from kube.client import ClusterClient
from kube.connection import Timeouts
from kube.errors import ClusterError
from kube.transport import Request

EVERY: Final = 5.0  # seconds
TIMEOUTS: Final = Timeouts(connect=2.0, read=4.0, total=6.0)
#: Seconds after the last answer in which the cluster counts as there.
LASTS: Final = 12.0
PATH: Final = "/livez"


class Pulse:
    """The last answer of a cluster, on a connection of its own."""

    def __init__(self, client: ClusterClient, stop: threading.Event) -> None:
        """Start nothing yet; until the first question the cluster counts as there."""
        self._client = ClusterClient(replace(client.connection, timeouts=TIMEOUTS))
        self._stop = stop
        self._answered = time.monotonic()
        self.error = ""

    def start(self) -> None:
        """Ask from now on."""
        threading.Thread(target=self._run, name="pulse", daemon=True).start()

    @property
    def beats(self) -> bool:
        """Return whether the cluster has answered a moment ago."""
        return time.monotonic() - self._answered < LASTS

    def _run(self) -> None:
        while not self._stop.wait(EVERY):
            self.ask()
        self._client.close()

    def ask(self) -> None:
        """Ask once. A refusal is an answer too: somebody is there."""
        request = Request("GET", PATH, accept="*/*")
        try:
            self._client.transport.send(request, limit=4096)
        except ClusterError as error:
            # A refused token was looked up anew: this thread needs no connection for longer.
            connection.close()
            if error.status is None or error.status >= 500:
                self.error = error.message
                return
        self._answered = time.monotonic()
