"""Start several programs, keep them running, and stop them all together.

    with Supervisor(folder) as supervisor:
        supervisor.start(Child("web", [...], ready=lambda: answers(url)))
        supervisor.watch()          # until Ctrl-C or SIGTERM

Children are stopped in reverse order. They are asked to end by the kernel when this process is
killed, so it has to be one thread, the main one, that starts them.
"""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType, TracebackType
from typing import Self

from portal.embedded import places
from portal.embedded.places import EngineError

LARGEST_LOG = 5 * 1024 * 1024
FIRST_PAUSE = 0.5
LONGEST_PAUSE = 30.0
# A child that ran this long has recovered: its next crash is a first one again.
STEADY_SECONDS = 60.0
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StoppedError(EngineError):
    """A signal arrived while something was still being started."""


@dataclass(frozen=True)
class Child:
    """A program to run. `ready` tells when it does its work; `env` is added to ours.

    One that is to run `once` stays ended when its exit code is 0.
    """

    name: str
    command: Sequence[str]
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: Path | None = None
    ready: Callable[[], bool] | None = None
    ready_seconds: float = 60.0
    grace_seconds: float = 15.0
    once: bool = False


@dataclass
class Running:
    """A child's process, and how often it had to be started again."""

    child: Child
    process: "subprocess.Popen[bytes]"
    started: float
    crashes: int = 0
    retry_at: float | None = None


class Supervisor:
    """Runs children with their logs in `folder`, one file each."""

    def __init__(self, folder: Path, say: Callable[[str], None] = lambda _text: None) -> None:
        self.folder = folder
        self.say = say
        self.running: dict[str, Running] = {}
        self.stopping = False
        self._previous: dict[int, object] = {}

    def __enter__(self) -> Self:
        """Take over the signals that mean "stop"."""
        for number in SIGNALS:
            self._previous[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop everything, whatever happened, and give the signals back."""
        self.stop()
        for number, handler in self._previous.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        self.stopping = True

    def log_of(self, name: str) -> Path:
        """Return the log file of a child."""
        return self.folder / f"{name}.log"

    def start(self, child: Child) -> Running:
        """Start one child and wait until it is ready; an error shows the end of its log."""
        self.folder.mkdir(parents=True, exist_ok=True)
        log = self.log_of(child.name)
        if log.exists() and log.stat().st_size > LARGEST_LOG:
            log.replace(log.with_suffix(".log.1"))
        running = Running(child, self._spawn(child), time.monotonic())
        self.running[child.name] = running
        self._wait_ready(running)
        return running

    def _spawn(self, child: Child) -> "subprocess.Popen[bytes]":
        with self.log_of(child.name).open("ab") as output:
            return subprocess.Popen(
                places.guarded(child.command),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=child.cwd,
                env={**os.environ, **child.env},
                start_new_session=True,
            )

    def _wait_ready(self, running: Running) -> None:
        child = running.child
        deadline = time.monotonic() + child.ready_seconds
        while child.ready is not None and not child.ready():
            if self.stopping:
                message = f"stopped while {child.name} was starting"
                raise StoppedError(message)
            ended = running.process.poll() is not None
            if ended or time.monotonic() > deadline:
                why = "ended" if ended else f"was not ready after {child.ready_seconds:.0f} s"
                log = self.log_of(child.name)
                message = f"{child.name} {why}. The end of {log}:\n{places.tail(log)}"
                raise EngineError(message)
            time.sleep(0.1)

    def watch(self, every: float = 0.5, first: Callable[[], None] = lambda: None) -> None:
        """Start again what crashes, until a signal says stop; `first` comes before each look."""
        while not self.stopping:
            first()
            self.turn()
            time.sleep(every)

    def turn(self) -> None:
        """Look at each child once."""
        now = time.monotonic()
        for name, running in self.running.items():
            code = running.process.poll()
            if code is None or (running.child.once and code == 0):
                continue
            if running.retry_at is None:
                self._plan_retry(name, running, now)
            elif now >= running.retry_at:
                running.process = self._spawn(running.child)
                running.started, running.retry_at = now, None
                self.say(f"{name} started again")

    def _plan_retry(self, name: str, running: Running, now: float) -> None:
        steady = now - running.started > STEADY_SECONDS
        running.crashes = 1 if steady else running.crashes + 1
        pause = min(FIRST_PAUSE * 2 ** (running.crashes - 1), LONGEST_PAUSE)
        running.retry_at = now + pause
        code = running.process.returncode
        self.say(f"{name} ended with {code}; starting again in {pause:.1f} s")

    def stop_child(self, name: str) -> None:
        """Stop one child and forget it."""
        running = self.running.pop(name)
        end(running.process, running.child.grace_seconds)

    def stop(self) -> None:
        """Stop all children, the last one first."""
        self.stopping = True
        for name in reversed(list(self.running)):
            self.stop_child(name)


def end(process: "subprocess.Popen[bytes]", grace: float) -> None:
    """Ask a child to end; after `grace` seconds kill it and all that it started."""
    if process.poll() is None:
        process.terminate()
    try:
        process.wait(grace)
    except subprocess.TimeoutExpired:
        kill_group(process.pid)
        process.wait(5)


def kill_group(pid: int) -> None:
    """Kill a child's whole process group; it leads one of its own."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
