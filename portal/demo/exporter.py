"""An exporter for the GPUs that the demo's nodes do not have: it names the pods that run there.

``python -m portal.demo.exporter INSTANCE_FOLDER PORT``. Which pod runs on which node is true, it
is asked of the cluster; how busy a device is is made up. Each node has a page of its own.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final, NamedTuple

from cluster import Cluster
from cluster.api import Api, ApiError
from costs.promql import ACTIVE
from portal.demo.past_places import A_NODE, NODES
from portal.demo.readings import labels, level_of, value

GPU: Final = "nvidia.com/gpu"
PODS: Final = "/api/v1/pods?fieldSelector=status.phase%3DRunning"
#: All nodes are read within a minute of each other: one look at the cluster does for them.
KEPT: Final = 5.0


class Pod(NamedTuple):
    """A pod that runs and asks for devices."""

    namespace: str
    name: str
    node: str
    gpus: int


def running(found: Iterable[Mapping[str, Any]]) -> list[Pod]:
    """Return the pods with devices, of the cluster's own list."""
    pods = []
    for each in found:
        meta, spec = each["metadata"], each["spec"]
        asked = [one.get("resources", {}).get("requests", {}) for one in spec["containers"]]
        gpus = sum(int(one.get(GPU, 0)) for one in asked)
        if gpus and not meta.get("deletionTimestamp"):
            pods.append(Pod(meta["namespace"], meta["name"], spec.get("nodeName", ""), gpus))
    return sorted(pods)


class Devices:
    """Which pod has which device; one that has some keeps them."""

    def __init__(self) -> None:
        """Begin with all of them free."""
        self.of: dict[tuple[str, int], Pod] = {}
        self.since: dict[Pod, float] = {}

    def place(self, pods: Iterable[Pod], now: float) -> None:
        """Take the devices of pods that are gone, and give new ones theirs."""
        there = set(pods)
        self.of = {key: pod for key, pod in self.of.items() if pod in there}
        self.since = {pod: self.since.get(pod, now) for pod in there}
        placed = set(self.of.values())
        for pod in sorted(there - placed):
            free = [n for n in range(A_NODE) if (pod.node, n) not in self.of]
            self.of |= {(pod.node, n): pod for n in free[: pod.gpus]}

    def text(self, node: str, now: float) -> str:
        """Return what the exporter of one node says."""
        lines = [f"# TYPE {ACTIVE} gauge"]
        for n in range(A_NODE):
            pod = self.of.get((node, n))
            named = labels(node, n, pod.namespace, pod.name) if pod else labels(node, n)
            level = level_of(pod.name) if pod else 0
            age = int(now - self.since[pod]) if pod else 0
            lines.append(f"{ACTIVE}{{{named}}} {value(level, int(now), n, age)}")
        return "\n".join([*lines, ""])


class Exporter:
    """Looks at the cluster when it is asked, and not more often than is of use."""

    def __init__(self, api: Api) -> None:
        """Begin without any pod."""
        self.api = api
        self.devices = Devices()
        self.looked = 0.0
        self.lock = threading.Lock()

    def say(self, node: str) -> str:
        """Return the page of a node; ``ApiError`` or ``OSError`` if the cluster does not answer."""
        with self.lock:
            now = time.time()
            if now - self.looked > KEPT:
                self.devices.place(running(self.api.get(PODS).get("items", [])), now)
                self.looked = now
            return self.devices.text(node, now)


def server(exporter: Exporter, port: int) -> ThreadingHTTPServer:
    """Return a server with a page for each node; where nothing is known it has no page."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            """Answer, or say that the cluster does not."""
            node = self.path.strip("/").partition("/")[0]
            status, body = 404, b""
            if node in NODES:
                try:
                    status, body = 200, exporter.say(node).encode()
                except (OSError, ApiError):
                    exporter.api.close()
                    status = 503
            self.send_response(status)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Write nothing: a line for each reading is of no use."""

    return ThreadingHTTPServer(("127.0.0.1", port), Handler)


def main(folder: str, port: str) -> None:
    """Serve until killed."""
    server(Exporter(Cluster(Path(folder)).api), int(port)).serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
