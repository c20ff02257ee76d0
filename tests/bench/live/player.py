"""Plays a watch: recorded objects over HTTP at any rate, as an API server would send them.

A loaded machine of two cores cannot write 500 objects a second to a real API server beside
everything else; how fast news travels from the watch on can be measured all the same.
"""

from __future__ import annotations

import json
import queue
import re
import socket
import threading
import time
import uuid
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.kube.recorded import workload

Object = dict[str, Any]
MESSAGE = (
    "couldn't assign flavors to pod set main: insufficient unused quota for nvidia.com/gpu in "
    "flavor a100, {n} more needed"
)
API = "kueue.x-k8s.io/v1beta2"


class Player:
    """A server on loopback; ``play`` sends changes at a rate and returns when each was sent."""

    def __init__(self, workloads: int, queues: int) -> None:
        self.queues = queues
        self.model = workload("17-strictfifo-head", "0.19.2")
        self.uids = [str(uuid.UUID(int=n + 1)) for n in range(workloads)]
        self.version = 1000
        self.turn = 0
        self.lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self.watched = threading.Event()
        self.server = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.server.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def queue_of(self, n: int) -> int:
        return n % self.queues

    def item(self, n: int, more: int) -> Object:
        """The workload number ``n``, waiting for ``more`` devices."""
        at = self.queue_of(n)
        item = json.loads(json.dumps(self.model))
        self.version += 1
        item["metadata"] |= {
            "name": f"job-train-{n}", "namespace": f"team-{at}", "uid": self.uids[n],
            "resourceVersion": str(self.version),
        }  # fmt: skip
        for owner in item["metadata"].get("ownerReferences", ()):
            owner["name"] = f"train-{n}"
        item["spec"]["queueName"] = "main"
        for each in item["status"]["conditions"]:
            if each["type"] == "QuotaReserved":
                each["message"] = MESSAGE.format(n=more)
        return item

    def play(self, rate: float, seconds: float) -> list[tuple[str, float]]:
        """Send a change of one workload after the other; return (uid, time of sending)."""
        sent = []
        began = time.monotonic()
        for k in range(int(rate * seconds)):
            n = self.turn % len(self.uids)
            self.turn += 1
            line = _line("MODIFIED", self.item(n, 1 + self.turn % 1000))
            pause = began + k / rate - time.monotonic()
            if pause > 0:
                time.sleep(pause)
            sent.append((self.uids[n], time.time()))
            self.lines.put(line)
        return sent

    # -- HTTP ------------------------------------------------------------------------------

    def _accept(self) -> None:
        while True:
            connection, _ = self.server.accept()
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rwb") as file:
            target = urlsplit(file.readline().split(b" ")[1].decode())
            while file.readline().strip():
                pass
            if "watch" not in parse_qs(target.query):
                file.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}")
                return
            file.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
            kind = target.path.rsplit("/", 1)[-1]
            for item in self._there(kind):
                file.write(_line("ADDED", item))
            file.write(_line("BOOKMARK", _mark(self.version)))
            file.flush()
            if kind == "workloads":
                self.watched.set()
                while True:
                    file.write(self.lines.get())
                    file.flush()
            threading.Event().wait()

    def _there(self, kind: str) -> list[Object]:
        if kind == "workloads":
            return [self.item(n, 0) for n in range(len(self.uids))]
        named = {"clusterqueues": _queue, "localqueues": _entry}.get(kind)
        return [named(n) for n in range(self.queues)] if named else []


def _line(change: str, item: Object) -> bytes:
    return json.dumps({"type": change, "object": item}).encode() + b"\n"


def _mark(version: int) -> Object:
    note = {"k8s.io/initial-events-end": "true"}
    return {"metadata": {"resourceVersion": str(version), "annotations": note}}


def _meta(name: str, **more: str) -> Object:
    uid = str(uuid.uuid5(uuid.NAMESPACE_DNS, name))
    return {"name": name, "uid": uid, "resourceVersion": "1000", **more}


def _queue(n: int) -> Object:
    resources = [{"name": "nvidia.com/gpu", "nominalQuota": "64"}]
    groups = [
        {
            "coveredResources": ["nvidia.com/gpu"],
            "flavors": [{"name": "a100", "resources": resources}],
        }
    ]
    active = {"type": "Active", "status": "True", "reason": "Ready", "message": "Can admit"}
    return {
        "apiVersion": API, "kind": "ClusterQueue", "metadata": _meta(f"queue-{n}"),
        "spec": {"cohortName": f"dept-{n % 10}", "resourceGroups": groups, "namespaceSelector": {}},
        "status": {"conditions": [active]},
    }  # fmt: skip


def _entry(n: int) -> Object:
    meta = _meta(f"main-{n}", namespace=f"team-{n}") | {"name": "main"}
    return {
        "apiVersion": API, "kind": "LocalQueue", "metadata": meta,
        "spec": {"clusterQueue": f"queue-{n}"},
    }  # fmt: skip


def number_of(uid: str) -> int:
    """The number of a workload."""
    return uuid.UUID(uid).int - 1


TOPIC = re.compile(r"job:lab/([0-9a-f-]{36})")
