"""The supervisor with programs that do nothing in the place of the control plane."""

import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from cluster import instance, paths
from cluster.processes import ORDER
from cluster.supervisor import Supervisor, end_leftovers, environment, hold, is_held
from tests.cluster.watching import processes_of, until

SLEEP = ["/bin/sleep", "600"]


def command_of(pid):
    return Path(f"/proc/{pid}/cmdline").read_text()


@pytest.fixture
def data(tmp_path):
    (tmp_path / "logs").mkdir()
    return tmp_path


def supervised(data, work, commands=None, parent=None):
    """Run a supervisor in this thread while another one works with it; return what that saw."""
    supervisor = Supervisor(data, dict.fromkeys(ORDER, SLEEP) | (commands or {}), parent)
    seen = []

    def body():
        try:
            seen.append(work(supervisor))
        except Exception as error:
            seen.append(error)
        finally:
            supervisor.end()

    thread = threading.Thread(target=body)
    thread.start()
    supervisor.run()
    thread.join()
    if isinstance(seen[0], Exception):
        raise seen[0]
    assert not processes_of(data)
    return seen[0]


def test_a_program_becomes_what_it_was_told_and_is_stopped_at_the_end(data):
    def work(supervisor):
        supervisor.call(lambda: supervisor.start("etcd"))
        pid = supervisor.children["etcd"].process.pid
        return until(lambda: command_of(pid).startswith("/bin/sleep"), 10)

    assert supervised(data, work)


def test_what_crashes_at_once_is_started_again_with_growing_pauses(data):
    def work(supervisor):
        supervisor.call(lambda: supervisor.start("kwok"))
        child = supervisor.children["kwok"]
        begun = time.monotonic()
        until(lambda: child.restarts >= 3, 20)
        return time.monotonic() - begun, child.status()

    seconds, status = supervised(data, work, {"kwok": ["/bin/false"]})
    assert seconds > 1.5
    assert status["last_exit"] == 1


def test_what_was_stopped_stays_stopped_even_when_it_was_frozen(data):
    def work(supervisor):
        supervisor.call(lambda: supervisor.start("kueue"))
        supervisor.call(lambda: supervisor.signal("kueue", signal.SIGSTOP))
        begun = time.monotonic()
        supervisor.call(lambda: supervisor.stop("kueue"))
        took = time.monotonic() - begun
        time.sleep(1.2)
        return took, supervisor.children["kueue"].status()

    took, status = supervised(data, work)
    assert took < 5
    assert (status["state"], status["restarts"]) == ("stopped", 0)


def test_errors_go_to_the_thread_that_asked(data):
    def work(supervisor):
        with pytest.raises(ProcessLookupError, match="etcd is not running"):
            supervisor.call(lambda: supervisor.signal("etcd", signal.SIGTERM))
        return True

    assert supervised(data, work)


def test_it_ends_with_the_process_that_it_watches(data):
    owner = subprocess.Popen(SLEEP)
    supervisor = Supervisor(data, dict.fromkeys(ORDER, SLEEP), owner.pid)
    threading.Timer(0.5, owner.kill).start()
    supervisor.start("etcd")
    supervisor.run()
    owner.wait()
    assert not processes_of(data)


def test_a_watched_process_that_is_gone_already_ends_it_at_once(data):
    owner = subprocess.Popen(["/bin/true"])
    owner.wait()
    Supervisor(data, dict.fromkeys(ORDER, SLEEP), owner.pid).run()


def test_a_child_dies_with_a_parent_that_is_killed(tmp_path):
    code = (
        "import os, subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, sys.argv[1], str(os.getpid()), *sys.argv[2:]])\n"
        "print(child.pid, flush=True); child.wait()"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", code, str(paths.CHILD), *SLEEP],
        stdout=subprocess.PIPE,
        text=True,
        env=environment(tmp_path),
    )
    pid = int(parent.stdout.readline())
    until(lambda: command_of(pid).startswith("/bin/sleep"), 10)
    parent.kill()
    parent.communicate()
    until(lambda: pid not in processes_of(tmp_path), 5)


def test_a_child_whose_parent_is_gone_already_never_becomes_anything():
    done = subprocess.run(
        [sys.executable, str(paths.CHILD), "1", "/bin/echo", "orphan"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")


def test_left_over_processes_are_found_by_their_folder_alone(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    mine = subprocess.Popen(SLEEP, env=environment(one))
    other = subprocess.Popen(SLEEP, env=environment(two))
    try:
        assert end_leftovers(one) == [mine.pid]
        assert mine.wait(5) == -signal.SIGKILL
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_one_supervisor_per_folder(tmp_path):
    assert not is_held(tmp_path)
    with hold(tmp_path):
        assert is_held(tmp_path)
        with pytest.raises(BlockingIOError):
            hold(tmp_path, patience=0.1)
    assert not is_held(tmp_path)


def test_children_see_no_secrets_and_no_proxy(tmp_path, monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.invalid")
    monkeypatch.setenv("DATABASE_PASSWORD", "x")
    assert set(environment(tmp_path)) <= {
        "PATH",
        "LANG",
        "TZ",
        "HOME",
        "TMPDIR",
        "GPUPORTAL_CLUSTER_DATA",
    }
    assert environment(tmp_path)["HOME"] == str(tmp_path)
    assert os.environ["HTTPS_PROXY"]


def test_one_that_was_just_ending_is_started_anew(tmp_path, monkeypatch):
    class LaunchedError(Exception):
        pass

    def launch(settings):
        raise LaunchedError

    monkeypatch.setattr(instance, "prepare", lambda *_: None)
    monkeypatch.setattr(instance, "launch", launch)
    lock = (tmp_path / "supervisor.lock").open("a+")
    fcntl.flock(lock, fcntl.LOCK_EX)
    threading.Timer(0.5, lock.close).start()
    with pytest.raises(LaunchedError):
        instance.Cluster.start("own", tmp_path)
