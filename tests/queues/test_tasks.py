"""Tasks only wake and call; fault points do nothing unless a test asks."""

import os
import signal
import subprocess
import sys
import threading

import pytest

from queues import tasks
from queues.faultpoints import faultpoint
from queues.services import links, reconcile
from tests import stack


@pytest.fixture
def called(monkeypatch):
    """Record what would be done instead of doing it."""
    calls = []
    for service, name in (
        (tasks.plan_service, "make_plan"),
        (tasks.apply_service, "run"),
        (tasks.preflight_service, "run"),
        (links, "renew_due"),
    ):
        label = f"{service.__name__.rpartition('.')[2]}.{name}"
        monkeypatch.setattr(service, name, lambda key, label=label: calls.append((label, key)))
    for task in (tasks.plan, tasks.apply, tasks.preflight, tasks.tick):
        monkeypatch.setattr(
            task, "wake", lambda key, name=task.name: calls.append((name, key)), raising=False
        )
    return calls


def test_a_tick_wakes_a_worker_for_each_step(called, monkeypatch):
    steps = [reconcile.Step("apply", "a"), reconcile.Step("plan", "p")]
    monkeypatch.setattr(reconcile, "next_steps", lambda _cluster: steps)
    monkeypatch.setattr(reconcile, "clusters", lambda: [1, 2])
    tasks.tick_all()
    assert called == [("queues.tasks.apply", "a"), ("queues.tasks.plan", "p")] * 2


def test_a_sweep_renews_tokens_and_looks_again(called, lab, monkeypatch):
    monkeypatch.setattr(reconcile, "clusters", lambda: [lab.cluster.pk])
    monkeypatch.setattr(reconcile, "next_steps", lambda _cluster: [reconcile.Step("plan", "p")])
    tasks.sweep()
    assert called == [("links.renew_due", lab.cluster), ("queues.tasks.plan", "p")]


def test_each_task_calls_one_service(called):
    key = "00000000-0000-0000-0000-000000000001"
    tasks.plan(key)
    tasks.apply(key)
    tasks.preflight(7)
    assert [label for label, _key in called] == ["plan.make_plan", "apply.run", "preflight.run"]


def test_a_finished_apply_wakes_the_next(called, monkeypatch):
    monkeypatch.setattr(tasks.apply_service, "run", lambda _key: 7)
    tasks.apply("00000000-0000-0000-0000-000000000001")
    assert called == [("queues.tasks.tick", 7)]


# --- fault points -------------------------------------------------------------------------------------


def test_a_fault_point_does_nothing_by_itself(settings):
    faultpoint("after_claim")
    settings.FAULTPOINTS = {"before_apply": "raise"}
    faultpoint("after_claim")
    with pytest.raises(RuntimeError):
        faultpoint("before_apply")


def test_once_acts_once_and_sleep_sleeps(settings, tmp_path):
    settings.FAULTPOINTS = {"a": f"once:{tmp_path / 'mark'}:raise", "b": "sleep:0.01"}
    with pytest.raises(RuntimeError):
        faultpoint("a")
    faultpoint("a")
    faultpoint("b")


def test_block_waits_until_the_test_says_go(settings, tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    settings.FAULTPOINTS = {"a": f"block:{fifo}"}
    waiting = threading.Thread(target=faultpoint, args=("a",))
    waiting.start()
    assert waiting.is_alive()
    fifo.write_text("go")
    waiting.join(10)
    assert not waiting.is_alive()


@pytest.mark.parametrize(
    ("action", "number"),
    [("kill9", signal.SIGKILL), ("killgroup", signal.SIGKILL), ("stop", signal.SIGSTOP)],
)
def test_signals_reach_the_process_or_its_group(action, number):
    code = (
        "from django.conf import settings\n"
        f"settings.configure(FAULTPOINTS={{'a': {action!r}}})\n"
        "from queues.faultpoints import faultpoint\n"
        "faultpoint('a')\n"
    )
    child = subprocess.Popen([sys.executable, "-c", code], cwd=stack.ROOT, start_new_session=True)
    try:
        _pid, status = os.waitpid(child.pid, os.WUNTRACED)
        seen = os.WSTOPSIG(status) if os.WIFSTOPPED(status) else os.WTERMSIG(status)
        assert seen == number
    finally:
        end(child.pid)
    child.returncode = 0


def end(pid):
    try:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    except (ProcessLookupError, ChildProcessError):
        return
