"""A real Prometheus with a history that is made, or with exporters that it scrapes.

With PORTAL_TEST_PROMETHEUS set to a folder with ``prometheus`` and ``promtool`` the same tests run
on that server, such as the 2.42 of Debian; else on the one that is built along.
"""

from __future__ import annotations

import os
import socket
import ssl
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cluster import build, paths
from tests.real.proxy_tls import certificate

OUTSIDE = "PORTAL_TEST_PROMETHEUS"
PATIENCE = 120.0  # seconds: a generous bound, never a measurement
Samples = Iterable[tuple[float, float | str]]


def binaries() -> Mapping[str, Path]:
    """Return the programs, built if they are missing."""
    outside = os.environ.get(OUTSIDE)
    if outside:
        return {name: Path(outside) / name for name in ("prometheus", "promtool")}
    return build.build(of=build.METRICS)


class History:
    """Samples to be written as blocks, by metric and labels."""

    def __init__(self) -> None:
        self.lines: dict[str, list[str]] = {}

    def add(self, metric: str, labels: Mapping[str, str], samples: Samples) -> None:
        named = ",".join(f'{key}="{value}"' for key, value in labels.items())
        found = self.lines.setdefault(metric, [])
        found.extend(f"{metric}{{{named}}} {value} {at}" for at, value in samples)

    def write(self, folder: Path) -> Path:
        """Make blocks of all samples; return the folder of the database."""
        text = "\n".join(line for lines in self.lines.values() for line in lines)
        source, data = folder / "history.om", folder / "data"
        source.write_text(f"{text}\n# EOF\n")
        command = [str(binaries()["promtool"]), "tsdb", "create-blocks-from", "openmetrics"]
        done = subprocess.run(
            [*command, str(source), str(data)], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr[-2000:]
        return data


class Running:
    """Where a server is, and what its certificate is vouched for by."""

    def __init__(self, port: int, ca_pem: str) -> None:
        self.server, self.ca_pem = f"https://127.0.0.1:{port}", ca_pem

    def answers(self) -> bool:
        context = ssl.create_default_context(cadata=self.ca_pem)
        try:
            with urllib.request.urlopen(f"{self.server}/-/ready", context=context) as answer:  # noqa: S310 - an address of this test
                return bool(answer.status == 200)
        except OSError:
            return False


@contextmanager
def prometheus(folder: Path, *, data: Path | None = None, scrape: str = "") -> Iterator[Running]:
    """Run a server over TLS until the block ends."""
    ca_pem, key = certificate(("127.0.0.1",))
    (folder / "tls.crt").write_text(ca_pem)
    (folder / "tls.key").write_text(key)
    (folder / "web.yml").write_text(
        f"tls_server_config:\n  cert_file: {folder}/tls.crt\n  key_file: {folder}/tls.key\n"
    )
    (folder / "prometheus.yml").write_text(scrape or "global: {}\n")
    port = free_port()
    # Through the launcher, so that no server is left behind by a run that is killed.
    command = [
        sys.executable, str(paths.CHILD), str(os.getpid()), str(binaries()["prometheus"]), f"--config.file={folder}/prometheus.yml",
        f"--web.config.file={folder}/web.yml", f"--web.listen-address=127.0.0.1:{port}",
        f"--storage.tsdb.path={data or folder / 'data'}", "--storage.tsdb.retention.time=100y",
    ]  # fmt: skip
    with (folder / "prometheus.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
    try:
        found = Running(port, ca_pem)
        wait_for(found.answers, process, folder / "prometheus.log")
        yield found
    finally:
        process.terminate()
        process.wait(30)


def wait_for(what: Any, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + PATIENCE
    while not what():
        assert process.poll() is None, log.read_text()[-2000:]
        assert time.monotonic() < until, log.read_text()[-2000:]
        time.sleep(0.1)


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
