"""The demo's Prometheus as the demo runs it, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cluster import paths
from portal.demo import prometheus
from portal.embedded import places
from tests.metrics.server import PATIENCE, wait_for

ROOT = Path(__file__).parents[2]


@contextmanager
def serving(store: prometheus.Store, exporter: int | None = None) -> Iterator[str]:
    """Run the program that waits for the history and becomes the server; give its address."""
    port = places.free_port()
    store.folder.mkdir(parents=True, exist_ok=True)
    command = [
        sys.executable, str(paths.CHILD), str(os.getpid()), sys.executable, "-m",
        "portal.demo.prometheus", str(store.folder), str(port),
        str(exporter or places.free_port()),
    ]  # fmt: skip
    log = store.folder / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT)
    server = f"http://127.0.0.1:{port}"
    try:
        if store.read():
            wait_for(lambda: prometheus.is_ready(server), process, log)
        yield server
    finally:
        process.terminate()
        process.wait(PATIENCE)


def until(what, seconds: float = PATIENCE) -> None:
    """Wait until something holds."""
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end
        time.sleep(0.1)
