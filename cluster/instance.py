"""A control plane as other Python code uses it: start it, look at it, disturb it, stop it."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal as signals
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from cluster import build, control, manifests, paths
from cluster import supervisor as sup
from cluster.api import Api
from cluster.jobs import JobSpec, job_manifest, submit
from cluster.kueue import KueueOptions, wait_ready
from cluster.nodes import NodeSpec, apply_nodes, are_ready
from cluster.settings import ANOTHER_RUNS, Settings

# An idle machine needs 15; one that runs everything else at the same time needs minutes.
START_SECONDS = 400.0


class ClusterError(RuntimeError):
    """A control plane could not be started or does not answer."""


@dataclass(frozen=True)
class Process:
    """One process of the control plane at the moment of asking."""

    name: str
    state: str
    pid: int | None
    restarts: int
    last_exit: int | None


class Cluster:
    """A running control plane: Kubernetes, Kueue and kwok on loopback.

    Used as a context manager it is taken down at the end; its data stays.
    """

    def __init__(self, data: Path) -> None:
        """Attach to the instance of a data folder; NotRunningError where there is none."""
        self.data = data
        first = control.ask(data, "status")
        self.name: str = first["name"]
        self.server: str = first["server"]
        self.ports: dict[str, int] = first["ports"]
        self.supervisor_pid: int = first["supervisor"]
        self.kubectl_path: str = first["kubectl"]
        self.pki = data / "pki"
        self.api = Api(self.ports["kube-apiserver"], self.pki)

    @classmethod
    def start(
        cls,
        name: str = paths.DEFAULT_NAME,
        data: str | os.PathLike[str] | None = None,
        nodes: Iterable[NodeSpec] = (),
        parent_pid: int | None = None,
        kueue: KueueOptions | None = None,
        compaction: str = "5m",
        tell: build.Say = build.say,
        timeout: float = START_SECONDS,
    ) -> Cluster:
        """Start an instance, or attach to the one that runs, and return when it is ready.

        With parent_pid the instance goes down as soon as that process is gone, however it ended.
        """
        folder = paths.data_dir(name, data)
        runs = sup.is_held(folder)
        if not runs:
            launch(prepare(name, data, parent_pid, kueue, compaction, tell))
        try:
            found = cls._wait(folder, timeout)
        except ClusterError:
            if not runs or sup.is_held(folder):
                raise
            # Who held the folder was just ending; that is no failure of the one that is wanted.
            launch(prepare(name, data, parent_pid, kueue, compaction, tell))
            found = cls._wait(folder, timeout)
        found.apply_nodes(nodes)
        return found

    @classmethod
    def attach(
        cls, name: str = paths.DEFAULT_NAME, data: str | os.PathLike[str] | None = None
    ) -> Cluster:
        """Return the running instance of a name or data folder."""
        return cls(paths.data_dir(name, data))

    @classmethod
    def _wait(cls, data: Path, timeout: float) -> Cluster:
        until = time.monotonic() + timeout
        while time.monotonic() < until:
            try:
                status = control.ask(data, "status")
            except control.NotRunningError:
                # The lock is taken before the socket exists, and is gone when it has failed.
                if not sup.is_held(data):
                    raise ClusterError(_failure(data)) from None
            else:
                if status["ready"]:
                    return cls(data)
            time.sleep(0.1)
        msg = f"the cluster in {data} is not ready after {timeout:.0f} s"
        raise ClusterError(msg)

    def __enter__(self) -> Cluster:
        """Return the running instance."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Take the instance down."""
        self.stop()

    # What one needs to talk to it.

    @property
    def kubeconfig_path(self) -> Path:
        """Return the administrator's kubeconfig in the data folder."""
        return self.data / "conf" / "admin.kubeconfig"

    def kubeconfig(self, path: str | os.PathLike[str]) -> Path:
        """Copy the administrator's kubeconfig to a path of your own, readable for you alone."""
        target = Path(path)
        target.touch(mode=0o600)
        target.write_bytes(self.kubeconfig_path.read_bytes())
        return target

    @property
    def ca_pem(self) -> str:
        """Return the certificate authority of the API server."""
        return (self.pki / "ca.crt").read_text()

    @property
    def client_cert(self) -> tuple[str, str]:
        """Return the paths of the administrator's certificate and key."""
        return str(self.pki / "admin.crt"), str(self.pki / "admin.key")

    @property
    def admin_token(self) -> str:
        """Return a bearer token of the administrator."""
        return (self.pki / "admin.token").read_text()

    def kubectl(self, *arguments: str, stdin: str | None = None, check: bool = True) -> str:
        """Run kubectl as the administrator and return what it prints."""
        done = subprocess.run(
            [self.kubectl_path, f"--kubeconfig={self.kubeconfig_path}", *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            env=sup.environment(self.data),
        )
        if check and done.returncode:
            msg = f"kubectl {' '.join(arguments[:3])}: {done.stderr.strip()}"
            raise ClusterError(msg)
        return done.stdout

    # Nodes and jobs.

    def apply_nodes(self, specs: Iterable[NodeSpec], timeout: float = 60.0) -> None:
        """Create or change nodes and wait until pods can be placed on them."""
        wanted = list(specs)
        apply_nodes(self.api, wanted)
        until = time.monotonic() + timeout
        while wanted and not are_ready(self.api, wanted):
            if time.monotonic() > until:
                msg = "the nodes are not ready, see logs/kwok.log"
                raise ClusterError(msg)
            time.sleep(0.1)

    def submit(self, spec: JobSpec) -> dict[str, Any]:
        """Create a job; its namespace is made where it is missing."""
        return submit(self.api, spec.namespace, job_manifest(spec))

    # The processes.

    def status(self) -> dict[str, Any]:
        """Return the state of the instance: ports, processes, versions."""
        return control.ask(self.data, "status")

    @property
    def processes(self) -> dict[str, Process]:
        """Return the processes as they are now."""
        found = self.status()["processes"]
        return {name: Process(name, **values) for name, values in found.items()}

    def stop_process(self, name: str) -> None:
        """Stop one process; it stays stopped."""
        control.ask(self.data, "stop", process=name)

    def start_process(self, name: str, wait: bool = True) -> None:
        """Start one process again and, unless told otherwise, wait until Kueue answers."""
        control.ask(self.data, "start", process=name)
        if wait:
            wait_ready(self.api)

    def signal(self, name: str, number: int) -> None:
        """Send a signal to one process: SIGSTOP freezes it, SIGKILL makes it crash."""
        control.ask(self.data, "signal", process=name, number=int(number))

    def freeze(self, name: str) -> None:
        """Freeze one process: its connections stay open and answer nothing."""
        self.signal(name, signals.SIGSTOP)

    def thaw(self, name: str) -> None:
        """Let a frozen process go on."""
        self.signal(name, signals.SIGCONT)

    def stop(self, delete: bool = False, timeout: float = 30.0) -> None:
        """Take the instance down, and delete its data if asked to."""
        down(self.data, delete, timeout)


def prepare(
    name: str,
    data: str | os.PathLike[str] | None,
    parent_pid: int | None = None,
    kueue: KueueOptions | None = None,
    compaction: str = "5m",
    tell: build.Say = build.say,
) -> Settings:
    """Build what is missing, where its progress can be seen, and return the settings."""
    cache = paths.cache_dir()
    binaries = build.build(cache, tell)
    manifests.rendered(binaries["helm"], build.toolchain(cache, tell), cache, tell)
    return Settings(
        name=name,
        data=str(paths.data_dir(name, data)),
        cache=str(cache),
        parent=parent_pid,
        compaction=compaction,
        kueue=kueue or KueueOptions(),
    )


def launch(settings: Settings) -> None:
    """Start a supervisor that outlives this process."""
    data = paths.make_private(Path(settings.data))
    logs = paths.make_private(data / "logs")
    (data / "failure").unlink(missing_ok=True)
    with (logs / "supervisor.log").open("ab") as log:
        # The program forks once and this returns: the supervisor is nobody's child here, so no
        # zombie and no open handle of it stays with the caller.
        done = subprocess.run(
            [sys.executable, "-m", "cluster.server", settings.to_json()],
            cwd=paths.PINS.parent.parent,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            check=False,
        )
    if done.returncode not in (0, ANOTHER_RUNS):
        raise ClusterError(_failure(data))


def _failure(data: Path) -> str:
    reason = data / "failure"
    if reason.exists():
        return f"the cluster could not be started: {reason.read_text().strip()}"
    log = data / "logs" / "supervisor.log"
    last = log.read_text(errors="replace").strip().splitlines()[-1:] if log.exists() else []
    return f"the cluster could not be started, see {log}: {' '.join(last)}"


def down(data: Path, delete: bool = False, timeout: float = 30.0) -> bool:
    """Take down what runs in a data folder; return whether anything ran."""
    ran = sup.is_held(data)
    if ran:
        with contextlib.suppress(control.NotRunningError):
            control.ask(data, "down")
        until = time.monotonic() + timeout
        while sup.is_held(data):
            if time.monotonic() > until:
                msg = f"the cluster in {data} does not stop"
                raise ClusterError(msg)
            time.sleep(0.05)
    if delete and data.exists():
        if not (data / "supervisor.lock").exists():
            msg = f"{data} is not the data folder of a cluster, nothing is deleted"
            raise ClusterError(msg)
        shutil.rmtree(data)
    return ran
