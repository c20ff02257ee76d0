"""The supervisor's program: bring an instance up, answer requests, take it down.

Started as `python -m cluster.server` by `cluster up`, with its settings as JSON on the command
line; its own output goes to logs/supervisor.log.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import http.client
import json
import os
import signal
import socketserver
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cluster import build, certs, kueue, manifests, paths, ports, processes
from cluster import supervisor as sup
from cluster.api import Api, ApiError
from cluster.control import SOCKET
from cluster.settings import ANOTHER_RUNS, Settings

VERSIONS = {"kubernetes": build.KUBERNETES, "kueue": build.KUEUE}


class Instance:
    """One control plane with its state, seen from inside the supervisor."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.data = Path(settings.data)
        self.state = "starting"
        self.error = ""
        self.begun = time.time()
        self.step = ""
        self.steps: dict[str, float] = {}
        cache = Path(settings.cache)
        tools = build.toolchain(cache)
        binaries = build.build(cache)
        self.rendered = manifests.rendered(binaries["helm"], tools, cache)
        certs.ensure(self.data / "pki")
        chosen = ports.keep(self.data / "ports.json")
        self.layout = processes.Layout(self.data, chosen, binaries)
        self._configure()
        commands = processes.commands(self.layout, settings.compaction, settings.kueue.log_level)
        self.api = Api(chosen["kube-apiserver"], self.layout.pki)
        self.supervisor = sup.Supervisor(
            self.data, commands, settings.parent, {"kwok": self._free_nodes}
        )

    def _configure(self) -> None:
        layout = self.layout
        processes.write_kubeconfigs(layout, self.settings.name)
        text = processes.kwok_config(layout.ports["kwok"], self.rendered.stages)
        (layout.conf / "kwok.yaml").write_text(text)
        folder = self.data / "kueue-certs"
        folder.mkdir(exist_ok=True, mode=0o700)
        # Where a pod would find the Secret mounted.
        for name, content in kueue.webhook_certificates(layout.pki).items():
            certs.write_private(folder / name, content)
        kueue.write_config(
            layout.conf / "kueue.yaml", kueue.config(layout.ports, folder, self.settings.kueue)
        )

    def _free_nodes(self) -> None:
        """Take the nodes from a kwok that is gone: a new one waits 40 s for its leases to end."""
        api = Api(self.layout.ports["kube-apiserver"], self.layout.pki, timeout=2)
        with contextlib.suppress(OSError, http.client.HTTPException):
            api.raw("DELETE", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases")

    def _take(self, name: str, action: Callable[[], Any]) -> None:
        self.step, begun = name, time.monotonic()
        action()
        self.steps[name] = round(time.monotonic() - begun, 2)

    def _start(self, *names: str) -> None:
        for name in names:
            self.supervisor.call(functools.partial(self.supervisor.start, name))

    def _wait(self, name: str, check: Callable[[], bool], patience: float = 120.0) -> None:
        until = time.monotonic() + patience
        while not check():
            if self.supervisor.ending:
                msg = "the cluster is being taken down"
                raise InterruptedError(msg)
            if time.monotonic() > until:
                msg = f"{name} is not ready after {patience:.0f} s, see logs/{name}.log"
                raise TimeoutError(msg)
            time.sleep(0.1)

    def _serves(self) -> bool:
        with contextlib.suppress(OSError, http.client.HTTPException, ApiError):
            return self.api.raw("GET", "/readyz")[0] == 200
        return False

    def _apply(self) -> None:
        wanted = kueue.objects(
            self.rendered.objects, self.layout.ports, kueue.webhook_certificates(self.layout.pki)
        )
        mark = hashlib.sha256(json.dumps(wanted, sort_keys=True).encode()).hexdigest()
        kueue.apply_all(self.api, wanted, mark)

    def bring_up(self) -> None:
        """Start everything in order; the state tells how it ended."""
        try:
            self._take("etcd", lambda: self._start("etcd"))
            self._take("kube-apiserver", lambda: self._start("kube-apiserver"))
            self._take("api", lambda: self._wait("kube-apiserver", self._serves))
            self._start("kube-controller-manager", "kube-scheduler", "kwok")
            self._take("objects", self._apply)
            self._take("kueue", lambda: self._start("kueue"))
            self._take("webhooks", lambda: kueue.wait_ready(self.api))
            self.state = "ready"
            print(f"{self.settings.name} is ready: {self.layout.server}", flush=True)
        except Exception as error:  # noqa: BLE001 whatever it is, the person who waits reads it
            if self.supervisor.ending:
                return
            self.state, self.error = "failed", f"{self.step}: {error}"
            print(f"{type(error).__name__}: {self.error}", file=sys.stderr, flush=True)
            self.supervisor.end()

    def status(self) -> dict[str, Any]:
        """Return all that is known about the instance."""
        return {
            "name": self.settings.name,
            "data": str(self.data),
            "state": self.state,
            "ready": self.state == "ready",
            "step": self.step,
            "server": self.layout.server,
            "kubeconfig": str(self.layout.kubeconfig("admin")),
            "kubectl": str(self.layout.binaries["kubectl"]),
            "supervisor": os.getpid(),
            "parent": self.settings.parent,
            "since": self.begun,
            "seconds": self.steps,
            "versions": VERSIONS,
            "ports": dict(self.layout.ports),
            "processes": {n: c.status() for n, c in self.supervisor.children.items()},
        }

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Do what a request asks for."""
        operation, name = request.get("operation"), str(request.get("process", ""))
        worker = self.supervisor
        if operation == "status":
            return self.status()
        if operation == "down":
            self.state = "stopping"
            worker.end()
            return {"state": self.state}
        if name not in worker.children:
            msg = f"{name!r} is not one of {', '.join(worker.children)}"
            raise ValueError(msg)
        if operation == "start":
            worker.call(lambda: worker.start(name))
        elif operation == "stop":
            worker.call(lambda: worker.stop(name))
        elif operation == "signal":
            worker.call(lambda: worker.signal(name, int(request["number"])))
        else:
            msg = f"unknown operation {operation!r}"
            raise ValueError(msg)
        return {name: worker.children[name].status()}


def listen(instance: Instance) -> socketserver.BaseServer:
    """Answer requests on a socket in the data folder, which is the working directory."""

    class Handler(socketserver.StreamRequestHandler):
        timeout = 10

        def handle(self) -> None:
            try:
                answer = instance.answer(json.loads(self.rfile.readline()))
            except Exception as error:  # noqa: BLE001 the asker gets it as the answer
                answer = {"error": str(error) or type(error).__name__}
            self.wfile.write(json.dumps(answer).encode() + b"\n")

    Path(SOCKET).unlink(missing_ok=True)
    server = socketserver.ThreadingUnixStreamServer(SOCKET, Handler)
    server.daemon_threads = True
    os.chmod(SOCKET, 0o600)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def serve(settings: Settings, background: bool = False) -> int:
    """Run one instance until it is taken down; return the exit status.

    In the background this returns as soon as the data folder is locked, so that whoever has
    started it can tell an instance that is coming up from one that has failed.
    """
    os.umask(0o077)
    data = Path(settings.data)
    for folder in (data, data / "logs", data / "tmp"):
        paths.make_private(folder)
    try:
        lock = sup.hold(data)
    except BlockingIOError:
        print(f"another supervisor runs in {data}", file=sys.stderr)
        return ANOTHER_RUNS
    # The lock belongs to the open file, which the copy of this process shares.
    if background and os.fork():
        os._exit(0)
    with lock:
        return _run(settings, data)


def _run(settings: Settings, data: Path) -> int:
    os.chdir(data)
    sup.end_leftovers(data)
    (data / "failure").unlink(missing_ok=True)
    instance = Instance(settings)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: instance.supervisor.end())
    server = listen(instance)
    threading.Thread(target=instance.bring_up, daemon=True).start()
    try:
        instance.supervisor.run()
    finally:
        server.shutdown()
        Path(SOCKET).unlink(missing_ok=True)
        if instance.error:
            (data / "failure").write_text(instance.error + "\n")
    return 1 if instance.error else 0


if __name__ == "__main__":
    sys.exit(serve(Settings.from_json(sys.argv[1]), background=True))
