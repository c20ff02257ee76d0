"""What a soak reads each second from outside the portal: Kueue's own gauges, a process's memory."""

from __future__ import annotations

import http.client
import re
import ssl
import threading
import time
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from django.utils import timezone

from cluster import Cluster
from cluster.nodes import GPU

GAUGE = "kueue_cluster_queue_resource_reservation"
EVERY = 1.0  # seconds
_LINE = re.compile(rf"^{GAUGE}{{(?P<labels>[^}}]*)}} (?P<value>\S+)$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="([^"]*)"')


@dataclass
class Gauges:
    """Reads the gauge once a second until it is stopped; a gauge holds until it is read again."""

    plane: Cluster
    prefix: str
    observer: int
    samples: list[tuple[float, datetime, dict[str, float]]] = field(default_factory=list)
    memory: list[tuple[float, int]] = field(default_factory=list)
    stop: threading.Event = field(default_factory=threading.Event)
    failures: list[BaseException] = field(default_factory=list)

    def __enter__(self) -> Gauges:
        token = (self.plane.pki / "tokens.csv").read_text().split(",")[0]
        self._headers = {"Authorization": f"Bearer {token}"}
        # The manager makes its own certificate for this port; it is on loopback.
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        port = self.plane.ports["kueue-metrics"]
        self._connection = http.client.HTTPSConnection(
            "127.0.0.1", port, timeout=10, context=context
        )
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop.set()
        self._thread.join(30)
        self._connection.close()

    def _run(self) -> None:
        try:
            due = time.monotonic()
            while not self.stop.wait(max(0.0, due - time.monotonic())):
                due += EVERY
                self.read()
        except BaseException as error:
            self.failures.append(error)

    def read(self) -> None:
        """Take one sample of the queues of this soak, in devices."""
        self._connection.request("GET", "/metrics", headers=self._headers)
        answer = self._connection.getresponse()
        text = answer.read().decode()
        assert answer.status == http.HTTPStatus.OK, text
        held: dict[str, float] = defaultdict(float)
        for line in _LINE.finditer(text):
            labels = dict(_LABEL.findall(line["labels"]))
            if labels["resource"] == GPU and labels["cluster_queue"].startswith(self.prefix):
                held[labels["cluster_queue"]] += float(line["value"])
        at = time.monotonic()
        self.samples.append((at, timezone.now(), held))
        if self.observer:
            self.memory.append((at, resident(self.observer)))

    def integral(self) -> dict[str, float]:
        """Return GPU-seconds by queue between the first and the last sample."""
        total: dict[str, float] = defaultdict(float)
        for (start, _, before), (end, _, after) in zip(
            self.samples, self.samples[1:], strict=False
        ):
            for queue in before.keys() | after.keys():
                mean = (before.get(queue, 0.0) + after.get(queue, 0.0)) / 2
                total[queue] += mean * (end - start)
        return dict(total)

    def slope(self) -> float:
        """Return how much the memory grows in MB an hour, over the second half of the soak."""
        points = self.memory[len(self.memory) // 2 :]
        times = [at - points[0][0] for at, _ in points]
        sizes = [size for _, size in points]
        mean_time, mean_size = sum(times) / len(times), sum(sizes) / len(sizes)
        above = sum((t - mean_time) * (s - mean_size) for t, s in zip(times, sizes, strict=True))
        below = sum((t - mean_time) ** 2 for t in times)
        return above / below * 3600 / 1e6


def resident(pid: int) -> int:
    """Return the resident memory of a process in bytes."""
    found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert found
    return int(found[1]) * 1024
