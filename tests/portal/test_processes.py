"""The supervisor: order, readiness, restart, and no child left behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from portal.embedded import Child, EngineError, Supervisor
from portal.embedded.processes import StoppedError

ROOT = Path(__file__).parents[2]
SLEEP = [sys.executable, "-c", "import time; time.sleep(600)"]


def alive(pid: int) -> bool:
    """A process that ended but was not collected yet counts as gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_until(what, seconds=10.0):
    deadline = time.monotonic() + seconds
    while not what() and time.monotonic() < deadline:
        time.sleep(0.02)
    return what()


def test_waits_until_a_child_is_ready(tmp_path):
    mark = tmp_path / "ready"
    script = (
        f"import pathlib, time; time.sleep(0.3); pathlib.Path({str(mark)!r}).touch(); time.sleep(9)"
    )

    with Supervisor(tmp_path) as supervisor:
        running = supervisor.start(Child("web", [sys.executable, "-c", script], ready=mark.exists))

        assert mark.exists()
        assert running.process.poll() is None


def test_shows_the_log_of_a_child_that_ends_early(tmp_path):
    command = [sys.executable, "-c", "raise SystemExit('no such table')"]

    with Supervisor(tmp_path) as supervisor, pytest.raises(EngineError, match="no such table"):
        supervisor.start(Child("web", command, ready=lambda: False))


def test_gives_up_on_a_child_that_is_never_ready(tmp_path):
    child = Child("web", SLEEP, ready=lambda: False, ready_seconds=0.2)

    with Supervisor(tmp_path) as supervisor, pytest.raises(EngineError, match="not ready after"):
        supervisor.start(child)


def test_starts_a_crashed_child_again(tmp_path):
    said = []
    with Supervisor(tmp_path, said.append) as supervisor:
        running = supervisor.start(Child("worker", SLEEP))
        first = running.process.pid
        running.process.kill()
        running.process.wait()

        assert wait_until(lambda: (supervisor.turn(), running.process.pid != first)[1])

    assert "worker ended with -9" in said[0]


def test_waits_longer_after_each_crash(tmp_path):
    said = []
    with Supervisor(tmp_path, said.append) as supervisor:
        running = supervisor.start(Child("worker", [sys.executable, "-c", "raise SystemExit(3)"]))
        wait_until(lambda: (supervisor.turn(), running.crashes >= 3)[1])

    assert [line.rsplit(" in ")[1] for line in said if "ended" in line] == [
        "0.5 s",
        "1.0 s",
        "2.0 s",
    ]


def test_stops_children_in_reverse_order(tmp_path):
    order = tmp_path / "order"
    script = (
        "import signal, sys, time\n"
        "def end(*_):\n    open({order!r}, 'a').write({name!r} + ' '); sys.exit()\n"
        "signal.signal(signal.SIGTERM, end)\nopen({ready!r}, 'w')\ntime.sleep(60)"
    )
    with Supervisor(tmp_path) as supervisor:
        for name in ("database", "web"):
            ready = tmp_path / name
            text = script.format(order=str(order), name=name, ready=str(ready))
            supervisor.start(Child(name, [sys.executable, "-c", text], ready=ready.exists))

    assert order.read_text() == "web database "


def test_kills_a_child_that_does_not_listen_and_all_it_started(tmp_path):
    note = tmp_path / "pid"
    script = (
        "import pathlib, signal, subprocess, sys, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"pathlib.Path({str(note)!r}).write_text(str(child.pid))\ntime.sleep(600)"
    )
    with Supervisor(tmp_path) as supervisor:
        child = Child("deaf", [sys.executable, "-c", script], ready=note.exists, grace_seconds=0.3)
        supervisor.start(child)
        wait_until(note.read_text)

    assert wait_until(lambda: not alive(int(note.read_text())))


def test_a_signal_during_the_start_stops_it(tmp_path):
    def ready() -> bool:
        os.kill(os.getpid(), signal.SIGTERM)
        return False

    with Supervisor(tmp_path) as supervisor, pytest.raises(StoppedError):
        supervisor.start(Child("web", SLEEP, ready=ready))


@pytest.mark.fault
def test_no_child_outlives_a_supervisor_that_is_killed(tmp_path):
    note = tmp_path / "pid"
    script = (
        "import pathlib, sys, time\n"
        "from portal.embedded import Child, Supervisor\n"
        f"with Supervisor(pathlib.Path({str(tmp_path)!r})) as supervisor:\n"
        "    running = supervisor.start(Child('web', [sys.executable, '-c', 'import time; time.sleep(600)']))\n"
        f"    pathlib.Path({str(note)!r}).write_text(str(running.process.pid))\n"
        "    supervisor.watch()"
    )
    parent = subprocess.Popen([sys.executable, "-c", script], cwd=ROOT)
    assert wait_until(lambda: note.exists() and note.read_text())
    pid = int(note.read_text())
    time.sleep(0.3)
    assert alive(pid)

    parent.kill()
    parent.wait()

    assert wait_until(lambda: not alive(pid))
