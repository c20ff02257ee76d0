"""etcd and an API server with Kueue's kinds, and nothing else: no Kueue, no controllers.

Objects that nobody reconciles can be as many as one likes, and a test may freeze, stop and set
back such a pair without harm to another test. ``filled`` keeps the folder of etcd in the cache;
every run works on a copy of it.
"""

from __future__ import annotations

import base64
import hashlib
import http.client
import json
import os
import shutil
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cluster import build, certs, kueue, manifests, paths, ports, processes
from cluster.api import Api

NAMES = ("etcd", "kube-apiserver")
QUOTA = 8 * 2**30  # bytes that etcd may hold; its own default is 2 GiB
BATCH = 100  # keys of one transaction of etcd, which takes 128
ROOT = "/registry/kueue.x-k8s.io"


class Plane:
    """A running pair of etcd and API server on loopback, with its data in one folder."""

    def __init__(self, data: Path) -> None:
        self.data = paths.make_private(data)
        cache = paths.cache_dir()
        binaries = build.build(cache)
        tools = build.toolchain(cache)
        self.rendered = manifests.rendered(binaries["helm"], tools, cache)
        certs.ensure(data / "pki")
        self.layout = processes.Layout(data, ports.keep(data / "ports.json"), binaries)
        processes.write_kubeconfigs(self.layout, "scale")
        self.kubectl = binaries["kubectl"]
        self.api = Api(self.layout.ports["kube-apiserver"], self.layout.pki)
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, *names: str) -> None:
        commands = processes.commands(self.layout)
        commands["etcd"].append(f"--quota-backend-bytes={QUOTA}")
        for name in names or NAMES:
            with (self.data / f"{name}.log").open("ab") as log:
                # Through the launcher: the process ends with this one, however that ends.
                launcher = [sys.executable, "-I", "-S", str(paths.CHILD), str(os.getpid())]
                self.running[name] = subprocess.Popen(
                    [*launcher, *commands[name]], stdout=log, stderr=log, cwd=self.data,
                    stdin=subprocess.DEVNULL, start_new_session=True,
                )  # fmt: skip
        self.wait(lambda: self.api.raw("GET", "/readyz")[0] == 200, "the API server")

    def cached(self) -> bool:
        """Return whether the API server has read everything: before that it refuses lists."""
        root = "/apis/kueue.x-k8s.io/v1beta2"
        kinds = ("clusterqueues", "localqueues", "cohorts", "resourceflavors", "workloads")
        query = "limit=1&resourceVersion=0"
        return all(self.api.raw("GET", f"{root}/{kind}?{query}")[0] == 200 for kind in kinds)

    def wait(self, check: Callable[[], bool], what: str, patience: float = 300.0) -> None:
        until = time.monotonic() + patience
        while time.monotonic() < until:
            try:
                if check():
                    return
            except (OSError, http.client.HTTPException):
                pass
            time.sleep(0.2)
        raise TimeoutError(f"{what} is not ready, see {self.data}")

    def stop(self, *names: str) -> None:
        for name in names or tuple(reversed(NAMES)):
            process = self.running.pop(name, None)
            if process is not None:
                process.terminate()
                try:
                    process.wait(30)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()

    def cpu(self) -> float:
        """Return the seconds of CPU that both servers have used."""
        return sum(cpu_of(process.pid) for process in self.running.values())

    # -- Kueue's kinds ---------------------------------------------------------------------

    def install(self) -> None:
        """Install the kinds without webhooks; a Workload takes its status with its creation."""
        crds = [self._plain(m) for m in self.rendered.objects if _is_crd(m)]
        for crd in crds:
            self.api.apply(crd)
        kueue.wait_established(self.api, crds)

    def _plain(self, crd: dict[str, Any]) -> dict[str, Any]:
        crd = json.loads(json.dumps(crd))
        crd["spec"].pop("conversion", None)
        for version in crd["spec"]["versions"]:
            version.get("subresources", {}).pop("status", None)
        return crd

    # -- etcd itself -----------------------------------------------------------------------

    @contextmanager
    def etcd(self) -> Iterator[Callable[[str, dict[str, Any]], dict[str, Any]]]:
        """Give a function that calls etcd's HTTP gateway."""
        pem = self.layout.pem
        tls = ssl.create_default_context(cafile=pem("etcd-ca.crt"))
        tls.load_cert_chain(pem("etcd-client.crt"), pem("etcd-client.key"))
        connection = http.client.HTTPSConnection(
            "127.0.0.1", self.layout.ports["etcd"], context=tls, timeout=120
        )

        def call(path: str, body: dict[str, Any]) -> dict[str, Any]:
            text = json.dumps(body).encode()
            connection.request("POST", path, text, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            found = json.loads(answer.read())
            assert answer.status == 200, found
            return dict(found)

        try:
            yield call
        finally:
            connection.close()

    def stored(self, key: str) -> dict[str, Any]:
        """Return an object as the API server has stored it."""
        with self.etcd() as call:
            found = call("/v3/kv/range", {"key": encode(key.encode())})
        return dict(json.loads(base64.b64decode(found["kvs"][0]["value"])))

    def compact(self) -> None:
        """Forget every version but the newest."""
        with self.etcd() as call:
            newest = call("/v3/kv/range", {"key": encode(b"/")})["header"]["revision"]
            call("/v3/kv/compaction", {"revision": newest, "physical": True})

    def drop(self, key: str) -> None:
        """Remove what is stored under a key, whatever would hold it."""
        with self.etcd() as call:
            call("/v3/kv/deleterange", {"key": encode(key.encode())})

    def put(self, objects: Iterable[tuple[str, bytes]]) -> int:
        """Write stored forms, many in one transaction; return how many."""
        count = 0
        batch: list[dict[str, Any]] = []
        with self.etcd() as call:
            for key, value in objects:
                put = {"key": encode(key.encode()), "value": encode(value)}
                batch.append({"requestPut": put})
                if len(batch) == BATCH:
                    call("/v3/kv/txn", {"success": batch})
                    count, batch = count + BATCH, []
            if batch:
                call("/v3/kv/txn", {"success": batch})
        return count + len(batch)


def encode(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _is_crd(manifest: dict[str, Any]) -> bool:
    return manifest["kind"] == "CustomResourceDefinition" and manifest["spec"]["group"] == (
        "kueue.x-k8s.io"
    )


def cpu_of(pid: int) -> float:
    """Return the seconds of CPU, user and system, that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def filled(size: int, fill: Callable[[Plane], None], *seeds: str) -> Iterator[Plane]:
    """Give a plane with its objects, filled once and kept for the next run.

    The kept folder is named by everything that decides what is in it.
    """
    named = json.dumps([size, build.KUBERNETES, build.KUEUE, *seeds]).encode()
    kept = paths.cache_dir() / f"scale-{hashlib.sha256(named).hexdigest()[:16]}"
    with build.locked(kept.with_suffix(".lock")):
        if not (kept / "full").exists():
            shutil.rmtree(kept, ignore_errors=True)
            plane = Plane(kept)
            try:
                plane.start()
                plane.install()
                fill(plane)
            finally:
                plane.stop()
            (kept / "full").touch()
    work = kept.with_name(f"{kept.name}-{os.getpid()}")
    shutil.copytree(kept, work)
    plane = Plane(work)
    try:
        plane.start()
        plane.wait(plane.cached, "the API server's cache")
        yield plane
    finally:
        plane.stop()
        shutil.rmtree(work, ignore_errors=True)
