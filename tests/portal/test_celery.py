"""Wake-ups: never slow, never fatal; and a worker that comes back from anything."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import structlog
from celery import current_app
from django.db import transaction
from django.test import Client
from kombu import pools

from portal.celery import WakeUp, app
from portal.embedded import Redis
from tests.portal import probe

ROOT = Path(__file__).parents[2]


@pytest.fixture
def broker(monkeypatch):
    """A Redis of this test alone, as the broker of this process."""
    folder = Path(tempfile.mkdtemp(prefix="gpuportal-broker-"))
    folder.chmod(0o711)
    server = Redis.start(folder, durable=False)
    use(server.url)
    yield server
    with suppress(ProcessLookupError):
        os.kill(server.process.pid, signal.SIGCONT)
    server.stop()
    use(os.environ["GPUPORTAL_REDIS_URL"])
    shutil.rmtree(folder, ignore_errors=True)


def use(url: str) -> None:
    WakeUp.paused_until = 0.0
    # Forgets the pools as well: kombu would hand a closed one out again for the same address.
    pools.reset()
    app.amqp._producer_pool = None
    app.conf.broker_url = app.conf.broker_read_url = app.conf.broker_write_url = url
    app._pool = None


def wait_until(what, seconds=30.0):
    deadline = time.monotonic() + seconds
    while not (found := what()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return found


@contextmanager
def worker(url: str, log: Path, *more: str):
    command = [sys.executable, "-m", "celery", "-A", "portal", "worker", "-Q", "plan,apply,read"]
    command += [
        "-c",
        "1",
        "--without-gossip",
        "--without-mingle",
        "-I",
        "tests.portal.probe",
        *more,
    ]
    environment = {**os.environ, "GPUPORTAL_REDIS_URL": url, "GPUPORTAL_LOG_LEVEL": "INFO"}
    environment["DJANGO_SETTINGS_MODULE"] = "portal.settings"
    with log.open("ab") as output:
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=output, stderr=output, start_new_session=True
        )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(5)


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def test_the_app_is_the_current_one_in_every_process():
    assert current_app.main == "portal"


def test_only_json_goes_over_the_wire():
    assert app.conf.accept_content == ["json"]
    assert app.conf.task_serializer == "json"


def test_no_task_can_run_into_its_own_redelivery():
    visibility = app.conf.broker_transport_options["visibility_timeout"]

    assert app.conf.task_soft_time_limit < app.conf.task_time_limit < visibility
    assert app.conf.task_acks_late
    assert app.conf.task_reject_on_worker_lost
    assert app.conf.worker_prefetch_multiplier == 1
    assert app.conf.task_ignore_result


def test_the_schedule_names_known_queues_and_expires():
    for name, entry in app.conf.beat_schedule.items():
        assert entry["options"]["queue"] in {queue.name for queue in app.conf.task_queues}, name
        assert entry["options"]["expires"] <= 60, name


def test_sends_a_wake_up(broker):
    assert probe.note.wake("/nowhere", "x")


@pytest.mark.django_db(transaction=True)
def test_sends_only_after_the_commit(broker, monkeypatch):
    sent = []
    monkeypatch.setattr(WakeUp, "wake", lambda self, *args: sent.append(args))

    with transaction.atomic():
        probe.note.delay_on_commit("a", "b")
        assert sent == []

    assert sent == [("a", "b")]


@pytest.mark.fault
def test_a_broker_that_hangs_costs_less_than_two_seconds_once(broker):
    probe.note.wake("/nowhere", "warm up")
    os.kill(broker.process.pid, signal.SIGSTOP)

    started = time.monotonic()
    first = probe.note.wake("/nowhere", "x")
    after_first = time.monotonic()
    second = probe.note.wake("/nowhere", "x")

    assert (first, second) == (False, False)
    assert after_first - started < 2
    assert time.monotonic() - after_first < 0.1


@pytest.mark.fault
def test_a_broker_that_is_gone_does_no_harm_and_is_found_again(broker):
    broker.process.kill()
    broker.process.wait()
    assert not probe.note.wake("/nowhere", "x")
    broker.lock.close()
    again = Redis.start(broker.folder, durable=False, port=broker.port)
    WakeUp.paused_until = 0.0

    try:
        assert probe.note.wake("/nowhere", "x")
    finally:
        again.stop()


@pytest.mark.fault
@pytest.mark.django_db
def test_pages_and_readiness_answer_in_time_while_redis_hangs(broker, settings):
    settings.REDIS_URL = broker.url
    os.kill(broker.process.pid, signal.SIGSTOP)

    started = time.monotonic()
    response = Client().get("/readyz")

    assert time.monotonic() - started < 2
    assert response.status_code == 503
    assert response.json()["checks"] == {"database": "ok", "migrations": "ok", "redis": "failed"}


@pytest.mark.fault
def test_a_worker_takes_the_request_id_and_survives_death_of_child_and_broker(broker, tmp_path):
    notes, deaths, log = tmp_path / "notes", tmp_path / "deaths", tmp_path / "worker.log"
    with worker(broker.url, log):
        with structlog.contextvars.bound_contextvars(request_id="request-42", user_id=7):
            probe.note.wake(str(notes), "first")
        assert wait_until(lambda: lines(notes) == ["first"]), log.read_text()

        # The child dies in the middle: the task is given out again at once.
        probe.die_once.wake(str(deaths))
        assert wait_until(lambda: lines(deaths) == ["started", "started"]), log.read_text()

        # The broker dies and comes back empty: the worker consumes again.
        broker.process.kill()
        broker.process.wait()
        broker.lock.close()
        again = Redis.start(broker.folder, durable=False, port=broker.port)
        try:
            WakeUp.paused_until = 0.0
            assert wait_until(lambda: probe.note.wake(str(notes), "second"))
            assert wait_until(lambda: lines(notes)[-1] == "second"), log.read_text()
        finally:
            again.stop()

    events = [json.loads(line) for line in lines(log) if line.startswith("{")]
    noted = next(event for event in events if event["event"] == "probe_noted")
    assert (noted["request_id"], noted["user_id"]) == ("request-42", 7)
