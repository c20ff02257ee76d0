"""The observer's process on a played watch. Argument: the player's port."""

from __future__ import annotations

import signal
import sys
from typing import Any

import urllib3


def main(port: int) -> None:
    import django

    django.setup()
    from kube import errors
    from queues.services.observer import Observer
    from tenants.models import Cluster

    class Played:
        """As much of a transport as followers use: watches come from the player."""

        pool = urllib3.PoolManager(maxsize=64, retries=False)

        def stream(self, request: Any, *, read: float) -> urllib3.BaseHTTPResponse:
            query = "&".join(f"{name}={value}" for name, value in request.query)
            url = f"http://127.0.0.1:{port}{request.path}?{query}"
            return self.pool.request("GET", url, preload_content=False, timeout=600)

        def send(self, request: Any) -> Any:
            message = "only watches are played"
            raise errors.KindMissing(message)

    from kube.client import ClusterClient

    class Beating:
        """A cluster that answers: nobody but the player is there to be asked."""

        beats, error = True, ""

        def __init__(self, *_: object) -> None: ...

        def start(self) -> None: ...

    from queues.services import observer as loop

    loop.Pulse = Beating  # type: ignore[assignment,misc]
    client = ClusterClient.__new__(ClusterClient)
    client.transport = Played()  # type: ignore[assignment]
    observer = Observer(Cluster.objects.get(slug="lab"), client, lease=lambda: True)
    signal.signal(signal.SIGTERM, lambda *_: observer.stop.set())
    observer.run()
    sys.stdout.flush()
    # Followers may sit in a read for minutes; nobody waits for them.
    import os

    os._exit(0)


if __name__ == "__main__":
    main(int(sys.argv[1]))
