"""The live process for tests, the cast, and a way in for each of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import redis
from django.conf import settings
from django.test import Client

from portal.embedded import places
from queues.services import announce
from tests.cast import Cast
from tests.listener import Listener
from tests.stack import Stack, stack, wait_for


@dataclass
class Live:
    """One process; what is opened through it is closed with ``opened``."""

    processes: Stack
    port: int
    lab: Cast
    opened: ExitStack = field(default_factory=ExitStack)

    def cookie(self, user: Any) -> str:
        """Sign somebody in and return the session's key."""
        client = Client()
        client.force_login(user)
        return client.cookies[settings.SESSION_COOKIE_NAME].value

    def ask(self, path: str, method: str = "GET", **headers: str) -> Listener:
        """Send a request; header names have _ for -."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.opened.enter_context(Listener(self.port, path, named, method))

    def listen(self, user: Any, topics: str, query: str = "", **headers: str) -> Listener:
        """Open a stream as a person, or with a session's key."""
        key = user if isinstance(user, str) else self.cookie(user)
        headers = {"Cookie": f"{settings.SESSION_COOKIE_NAME}={key}", **headers}
        return self.ask(f"/live?topics={topics}{query}", **headers)

    def ready(self) -> bool:
        """Tell whether the process answers that it is."""
        process = self.processes.running["live"]
        assert process.poll() is None, self.processes.log("live")
        try:
            with Listener(self.port, "/readyz") as found:
                return found.status == 200
        except OSError:
            return False


@contextmanager
def process(folder: Path, **environment: str) -> Iterator[tuple[Stack, int]]:
    """Run a live process on the test's database and Redis."""
    port = places.free_port()
    with stack(folder, **environment) as processes:
        start(processes, port)
        yield processes, port


def start(processes: Stack, port: int) -> None:
    """Start it, also a second time on the same port."""
    processes.start("live", "-m", "portal.live", "--host", "127.0.0.1", "--port", str(port))
    wait_for(Live(processes, port, None).ready)


def forget() -> redis.Redis:
    """Empty what Redis knows of generations, and return a client."""
    announce._quiet_until = 0.0
    client = redis.Redis.from_url(settings.REDIS_URL)
    client.delete(announce.GENERATION, announce.TOPICS, announce.FLOOR)
    return client
