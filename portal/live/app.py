"""The ASGI application: streams under one path, and the two probes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from http import HTTPStatus
from typing import Any, Final

import orjson
import structlog
from django.conf import settings

from portal.live import gate
from portal.live.feed import Feed
from portal.live.gate import Question, Refused
from portal.live.hub import BARRED, Hub, Stream, opening
from portal.live.people import People, Unsure, Wish
from portal.web import health

log = structlog.get_logger(__name__)

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]

PER_PERSON: Final = 20  # streams; a person has one for each visible tab
IN_ALL: Final = 5_000  # streams of one process
STUCK: Final = 30.0  # seconds after which a browser that takes nothing is let go

COMMON: Final = [
    (b"cache-control", b"no-store"),
    (b"vary", b"Cookie, Origin"),
    (b"x-content-type-options", b"nosniff"),
]
STREAM: Final = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    # A proxy that collects answers would hold the news back.
    (b"x-accel-buffering", b"no"),
    # A stream that has ended leaves no open connection behind.
    (b"connection", b"close"),
    *COMMON,
]


class Live:
    """``async def __call__``: what uvicorn runs."""

    def __init__(self) -> None:
        """Prepare everything; ``lifespan`` starts what runs beside the streams."""
        self.hub = Hub()
        self.people = People(self.hub)
        self.feed = Feed(settings.REDIS_URL, self.hub, self.people)
        self.path = gate.path()
        self._beside: list[asyncio.Task[None]] = []

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer one request, or run for the server's life."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["path"] in PROBES:
            await PROBES[scope["path"]](self, send)
        elif scope["path"].rstrip("/") == self.path:
            await self._stream(scope, receive, send)
        else:
            await answer(send, HTTPStatus.NOT_FOUND, b"not found")

    # -- life ------------------------------------------------------------------------------

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        loops = (self.feed.run(), self.people.let_in(), self.people.watch(), self._beat())
        self._beside = [asyncio.create_task(each) for each in loops]
        await send({"type": "lifespan.startup.complete"})
        await receive()
        self.stop()
        for task in self._beside:
            task.cancel()
        await asyncio.gather(*self._beside, return_exceptions=True)
        await self.feed.close()
        self.people.close()
        await send({"type": "lifespan.shutdown.complete"})

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(1.0)
            self.hub.beat()

    def stop(self) -> None:
        """End all streams; their browsers come back, to another process or to the next one."""
        self.hub.end()

    # -- streams ---------------------------------------------------------------------------

    async def _stream(self, scope: Message, receive: Receive, send: Send) -> None:
        headers: Headers = []
        try:
            named = gate.headers_of(scope)
            headers = cross_origin(gate.other_origin(named))
            asked = gate.question(scope, named)
            # Now, not when the database has answered: that is the moment its age is about.
            since = self.hub.since(asked.age) if asked.since is None else asked.since
            stream = await self._admit(asked, since)
        except Refused as error:
            log.info("stream_refused", status=int(error.status))
            await answer(send, error.status, error.text.encode(), headers)
            return
        gone = asyncio.ensure_future(_gone(receive))
        gone.add_done_callback(lambda _: stream.end())
        try:
            await self._serve(stream, send, [*STREAM, *headers])
        finally:
            self.hub.remove(stream)
            gone.cancel()

    async def _admit(self, asked: Question, since: int) -> Stream:
        if len(self.hub.streams) >= IN_ALL:
            raise Refused(HTTPStatus.SERVICE_UNAVAILABLE, "full")
        try:
            found = await self.people.ask(Wish(asked.session, asked.topics))
        except Unsure:
            raise Refused(HTTPStatus.SERVICE_UNAVAILABLE, "try again later") from None
        if found.user_id is None:
            raise Refused(HTTPStatus.UNAUTHORIZED, "not signed in")
        if not found.allowed:
            raise Refused(HTTPStatus.NOT_FOUND, "no such topic")
        if self.hub.open_of(found.user_id) >= PER_PERSON:
            raise Refused(HTTPStatus.TOO_MANY_REQUESTS, "too many streams")
        stream = Stream(self.hub, asked.session, found.user_id, asked.topics)
        self.hub.add(stream, since)
        return stream

    @staticmethod
    async def _serve(stream: Stream, send: Send, headers: Headers) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": opening(), "more_body": True})
        # OSError and TimeoutError: the browser is gone, or takes nothing any more.
        with suppress(OSError, TimeoutError):
            while chunk := await stream.chunk():
                async with asyncio.timeout(STUCK):
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})
            await send({"type": "http.response.body", "body": BARRED if stream.barred else b""})


async def _gone(receive: Receive) -> None:
    """Wait until the browser has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass


def cross_origin(origin: str) -> Headers:
    """Let another of the portal's own origins read the answer: web and live on two ports."""
    if not origin:
        return []
    return [
        (b"access-control-allow-origin", origin.encode()),
        (b"access-control-allow-credentials", b"true"),
    ]


async def answer(
    send: Send, status: HTTPStatus, body: bytes, headers: Headers | None = None
) -> None:
    """Send a short text."""
    kind = b"application/json" if body[:1] == b"{" else b"text/plain"
    length = (b"content-length", str(len(body)).encode())
    every = [(b"content-type", kind), length, *COMMON, *(headers or [])]
    await send({"type": "http.response.start", "status": int(status), "headers": every})
    await send({"type": "http.response.body", "body": body})


async def healthz(_live: Live, send: Send) -> None:
    """Answer that the process is alive."""
    await answer(send, HTTPStatus.OK, b'{"status":"ok"}')


async def readyz(live: Live, send: Send) -> None:
    """Answer whether streams should be sent here: as the web process does, and the feed."""
    parts = await asyncio.to_thread(_parts)
    parts["feed"] = "ok" if live.hub.sees else "failed"
    ready = all(value == "ok" for value in parts.values())
    body = {"status": "ok" if ready else "unavailable", "checks": parts}
    status = HTTPStatus.OK if ready else HTTPStatus.SERVICE_UNAVAILABLE
    await answer(send, status, orjson.dumps(body))


def _parts() -> dict[str, str]:
    from django.db import close_old_connections

    close_old_connections()
    try:
        return {name: health.state(name, check) for name, check in health.CHECKS.items()}
    finally:
        close_old_connections()


PROBES: Final[dict[str, Callable[[Live, Send], Awaitable[None]]]] = {
    "/healthz": healthz,
    "/readyz": readyz,
}
