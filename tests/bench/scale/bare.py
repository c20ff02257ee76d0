"""The same exchange with the API server, and the bytes thrown away. Prints one line of JSON.

Arguments: the kubeconfig; with a second one the lines about workloads are kept in that file.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from pathlib import Path
from typing import Any, BinaryIO

from kube.client import ClusterClient
from kube.credentials import read_kubeconfig
from kube.errors import Throttled
from kube.transport import Request, pieces
from kube.wire import Source

END = b'"k8s.io/initial-events-end"'
QUERY = (
    ("watch", "true"),
    ("allowWatchBookmarks", "true"),
    ("sendInitialEvents", "true"),
    ("resourceVersionMatch", "NotOlderThan"),
    ("timeoutSeconds", "300"),
)


def drain(client: ClusterClient, source: Source, keep: BinaryIO | None = None) -> int:
    """Read a streamed list to its end; return how many bytes it had."""
    request = Request("GET", source.kind.path(), (*QUERY, *source.selectors))
    response = opened(client, request)
    size, tail = 0, b""
    try:
        for part in pieces(response):
            size += len(part)
            if keep is not None:
                keep.write(part)
            if END in tail + part:
                break
            tail = part[-len(END) :]
    finally:
        response.close()
    return size


def opened(client: ClusterClient, request: Request) -> Any:
    """Open the stream; a server that has just been started refuses it until it has read all."""
    while True:
        try:
            return client.transport.stream(request, read=90.0)
        except Throttled:
            time.sleep(1)


def main(kubeconfig: str, kept: str = "") -> None:
    import django

    django.setup()
    from queues.services.following import QUEUES, WORKLOADS

    with ClusterClient(read_kubeconfig(Path(kubeconfig).read_text())) as client:
        began, used = time.monotonic(), time.process_time()
        threads = [threading.Thread(target=drain, args=(client, each)) for each in QUEUES]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if kept:
            with Path(kept).open("wb") as file:
                size = drain(client, WORKLOADS[0], file)
        else:
            size = drain(client, WORKLOADS[0])
        found = {
            "seconds": time.monotonic() - began,
            "cpu": time.process_time() - used,
            "bytes": size,
        }
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
