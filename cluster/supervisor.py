"""The process that starts the control plane, keeps it running and takes it down.

One thread, the main one, starts and watches every child, for the kernel ties a child's life to
the thread that made it. A second brings the control plane up step by step, a third answers
requests on a socket; both hand their wishes to the first.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import queue
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from cluster import paths
from cluster.processes import ORDER

MARK = "GPUPORTAL_CLUSTER_DATA"
LOG_LIMIT = 32 * 1024 * 1024
STOP_SECONDS = 8.0
LONGEST_PAUSE = 30.0

Wish = tuple[Callable[[], Any], "Future[Any]"]


@dataclass
class Child:
    """One process of the control plane."""

    name: str
    command: list[str]
    process: subprocess.Popen[bytes] | None = None
    wanted: bool = False
    restarts: int = 0
    begun: float = 0.0
    due: float = 0.0
    last_exit: int | None = None

    @property
    def alive(self) -> bool:
        """Return whether the process exists."""
        return self.process is not None and self.process.poll() is None

    def status(self) -> dict[str, Any]:
        """Return what a person wants to know about the process."""
        state = "running" if self.alive else "waiting" if self.wanted else "stopped"
        pid = self.process.pid if self.process is not None and self.alive else None
        return {
            "state": state,
            "pid": pid,
            "restarts": self.restarts,
            "last_exit": self.last_exit,
        }


@dataclass
class Supervisor:
    """Start, watch and stop the processes of one instance."""

    data: Path
    commands: dict[str, list[str]]
    parent: int | None = None
    before: dict[str, Callable[[], None]] = field(default_factory=dict)
    children: dict[str, Child] = field(default_factory=dict)
    wishes: queue.SimpleQueue[Wish] = field(default_factory=queue.SimpleQueue)
    ending: bool = False

    def __post_init__(self) -> None:
        """Make an entry for every process; none is started yet."""
        self.children = {name: Child(name, self.commands[name]) for name in ORDER}
        self._wake_read, self._wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    # What other threads may call.

    def call(self, action: Callable[[], Any], timeout: float = 60.0) -> Any:
        """Run an action in the main thread and return its result."""
        if threading.current_thread() is threading.main_thread():
            return action()
        future: Future[Any] = Future()
        self.wishes.put((action, future))
        self._wake()
        return future.result(timeout)

    def end(self) -> None:
        """Ask the main thread to take everything down."""
        self.ending = True
        self._wake()

    def _wake(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.write(self._wake_write, b"x")

    # What only the main thread does.

    def start(self, name: str) -> None:
        """Start a process and keep it running from now on."""
        child = self.children[name]
        child.wanted = True
        if not child.alive:
            self._spawn(child)

    def stop(self, name: str, grace: float = STOP_SECONDS) -> None:
        """Stop a process and leave it stopped."""
        child = self.children[name]
        child.wanted = False
        self._terminate([child], grace)

    def signal(self, name: str, number: int) -> None:
        """Send a signal to a process; one that dies of it is started again."""
        child = self.children[name]
        if child.process is None or not child.alive:
            msg = f"{name} is not running"
            raise ProcessLookupError(msg)
        child.process.send_signal(number)

    def _spawn(self, child: Child) -> None:
        if child.name in self.before:
            self.before[child.name]()
        launcher = [sys.executable, "-I", "-S", str(paths.CHILD), str(os.getpid())]
        with _open_log(self.data / "logs" / f"{child.name}.log") as log:
            child.process = subprocess.Popen(
                [*launcher, *child.command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.data,
                env=environment(self.data),
                # A Ctrl-C at the terminal is for the supervisor, which stops things in order.
                start_new_session=True,
            )
        child.begun = time.monotonic()

    def _look_after(self) -> None:
        """Start again what has crashed, with a pause that grows as long as it crashes at once."""
        now = time.monotonic()
        for child in self.children.values():
            if not child.wanted or child.process is None or child.alive:
                continue
            if child.due < child.begun:
                child.last_exit = child.process.returncode
                calm = now - child.begun > 60
                child.restarts = 1 if calm else child.restarts + 1
                child.due = now + min(0.5 * 2 ** (child.restarts - 1), LONGEST_PAUSE)
            elif now >= child.due:
                self._spawn(child)

    def _terminate(self, children: list[Child], grace: float) -> None:
        running = [(c, c.process) for c in children if c.process is not None and c.alive]
        for _, process in running:
            process.terminate()
            # A process that a test has frozen must wake up to hear that it shall stop.
            process.send_signal(signal.SIGCONT)
        until = time.monotonic() + grace
        for child, process in running:
            try:
                process.wait(max(0.05, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            child.last_exit = process.returncode

    def shut_down(self) -> None:
        """Stop everything, the storage last."""
        for child in self.children.values():
            child.wanted = False
        etcd, apiserver = self.children["etcd"], self.children["kube-apiserver"]
        rest = [c for c in self.children.values() if c not in (etcd, apiserver)]
        self._terminate(rest, 3.0)
        self._terminate([apiserver], 3.0)
        self._terminate([etcd], 3.0)

    def _grant(self) -> None:
        while True:
            try:
                action, future = self.wishes.get_nowait()
            except queue.Empty:
                return
            try:
                future.set_result(action())
            except Exception as error:  # noqa: BLE001 it belongs to the thread that asked
                future.set_exception(error)

    def run(self) -> None:
        """Serve until asked to end or until the process that is watched is gone."""
        watch = select.poll()
        watch.register(self._wake_read, select.POLLIN)
        pidfd = None
        try:
            if self.parent:
                pidfd = os.pidfd_open(self.parent)
                watch.register(pidfd, select.POLLIN)
            while not self.ending:
                ready = {handle for handle, _ in watch.poll(500)}
                if pidfd in ready:
                    break
                if self._wake_read in ready:
                    os.read(self._wake_read, 4096)
                self._grant()
                self._look_after()
        except ProcessLookupError:
            print(f"process {self.parent}, which this cluster belongs to, is gone", flush=True)
        finally:
            self.shut_down()


def environment(data: Path) -> dict[str, str]:
    """Return what a child sees: no proxy settings and no secrets of the person who starts it."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TZ") if name in os.environ}
    return kept | {"HOME": str(data), "TMPDIR": str(data / "tmp"), MARK: str(data)}


def _open_log(path: Path) -> IO[bytes]:
    if path.exists() and path.stat().st_size > LOG_LIMIT:
        path.replace(path.with_suffix(".log.old"))
    return path.open("ab")


def hold(data: Path, patience: float = 2.0) -> IO[str]:
    """Lock the data folder for this process; BlockingIOError where another one runs in it.

    With some patience: whoever only looks holds the lock as well, for a moment.
    """
    handle = (data / "supervisor.lock").open("a+")
    until = time.monotonic() + patience
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                handle.close()
                raise
            time.sleep(0.02)
        else:
            return handle


def is_held(data: Path) -> bool:
    """Return whether a supervisor runs in the data folder."""
    try:
        with (data / "supervisor.lock").open() as handle:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def end_leftovers(data: Path) -> list[int]:
    """Kill processes that an earlier supervisor of this folder has left, and return their ids.

    The kernel kills children together with their supervisor; this is for the case that it could
    not, and looks only at processes that carry this folder in their environment.
    """
    mark = f"{MARK}={data}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            if mark in (entry / "environ").read_bytes().split(b"\0"):
                os.kill(int(entry.name), signal.SIGKILL)
                found.append(int(entry.name))
        except OSError:
            continue
    return found
