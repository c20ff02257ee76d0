"""Tasks for the tests of the worker itself."""

import os
import time
from pathlib import Path

import structlog
from celery import shared_task

log = structlog.get_logger(__name__)


@shared_task(name="probe.note")
def note(path: str, text: str) -> None:
    log.info("probe_noted", text=text)
    with Path(path).open("a") as file:
        file.write(f"{text}\n")


@shared_task(name="probe.die_once")
def die_once(path: str) -> None:
    with Path(path).open("a") as file:
        file.write("started\n")
    if Path(path).read_text().count("started") == 1:
        os.kill(os.getpid(), 9)


@shared_task(name="probe.sleep")
def sleep(seconds: float) -> None:
    time.sleep(seconds)
