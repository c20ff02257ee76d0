"""The portal's own processes around one test: worker, beat and observer on a real cluster.

The processes use the test's database, so their test needs ``transactional_db``.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from django.conf import settings
from django.db import connection

ROOT = Path(__file__).resolve().parent.parent
PATIENCE = 120.0  # seconds: a generous bound, never a measurement


def wait_for(what: Callable[[], object], seconds: float = PATIENCE, every: float = 0.1) -> object:
    """Return what ``what`` gives as soon as it is true; fail when it stays false."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        found = what()
        if found:
            return found
        time.sleep(every)
    name = getattr(what, "__name__", "condition")
    raise AssertionError(f"{name} did not come true within {seconds:.0f} s")


def database_url() -> str:
    """Return the URL of this test's database for the application's role."""
    base = os.environ["GPUPORTAL_DATABASE_URL"].rsplit("/", 1)[0]
    return f"{base}/{connection.settings_dict['NAME']}"


@dataclass
class Stack:
    """Processes started for one test; ``close`` ends them all."""

    folder: Path
    extra: dict[str, str] = field(default_factory=dict)
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def environment(self) -> dict[str, str]:
        """Return what the portal's processes find in their environment."""
        return {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "portal.settings",
            "GPUPORTAL_DATABASE_URL": database_url(),
            "GPUPORTAL_REDIS_URL": settings.CELERY_BROKER_URL,
            "GPUPORTAL_LOG_LEVEL": "INFO",
            "PYTHONPATH": str(ROOT),
            **self.extra,
        }

    def start(self, name: str, *command: str, **environment: str) -> subprocess.Popen[bytes]:
        """Start a process in a group of its own, with a log file by its name."""
        log = (self.folder / f"{name}.log").open("ab")
        with log:
            process = subprocess.Popen(
                [sys.executable, *command], cwd=ROOT, env=self.environment() | environment,
                stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        self.running[name] = process
        return process

    def worker(self, name: str = "worker", **environment: str) -> subprocess.Popen[bytes]:
        """Start a Celery worker for every queue."""
        queues = ",".join(settings.TASK_QUEUES)
        return self.start(
            name, "-m", "celery", "-A", "portal", "worker", "-Q", queues, "-c", "2",
            "-n", f"{name}-{os.getpid()}@%h", "--without-gossip", "--without-mingle",
            **environment,
        )  # fmt: skip

    def beat(self) -> subprocess.Popen[bytes]:
        """Start Celery beat."""
        schedule = str(self.folder / "beat-schedule")
        return self.start("beat", "-m", "celery", "-A", "portal", "beat", "-s", schedule)

    def observer(self, cluster: str, name: str = "observer") -> subprocess.Popen[bytes]:
        """Start the observer of a registered cluster."""
        return self.start(name, "manage.py", "observe", "--cluster", cluster)

    def log(self, name: str) -> str:
        """Return what a process has printed so far."""
        return (self.folder / f"{name}.log").read_text(errors="replace")

    def kill(self, name: str, number: int = signal.SIGKILL) -> None:
        """Send a signal to a process and its children and, for SIGKILL, wait for the end."""
        process = self.running[name]
        if process.poll() is None:
            os.killpg(process.pid, number)
        if number == signal.SIGKILL:
            process.wait(10)

    def close(self) -> None:
        """End everything."""
        for process in self.running.values():
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGCONT)
                os.killpg(process.pid, signal.SIGTERM)
        for process in self.running.values():
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait(5)


@contextmanager
def stack(folder: Path, **extra: str) -> Iterator[Stack]:
    """Give a stack and end its processes whatever happens."""
    made = Stack(folder, dict(extra))
    try:
        yield made
    finally:
        made.close()
