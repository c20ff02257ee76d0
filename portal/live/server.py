"""uvicorn for streams: limits on what a request may send and how slowly, and an orderly end."""

from __future__ import annotations

import asyncio
import resource
import socket
from contextlib import suppress
from typing import Any, Final

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from portal.live.app import Live

HEAD: Final = 16_384  # bytes of a request's line and headers
PATIENCE: Final = 10.0  # seconds for them to arrive
#: Seconds after which a connection is given up whose other end does not take what was sent.
DEAD: Final = 45
ENDING: Final = 10  # seconds for the streams to end when the process is asked to


class Guarded(HttpToolsProtocol):
    """One connection that cannot hold memory without asking anything."""

    _timer: asyncio.TimerHandle | None = None
    _received = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Have the kernel notice a dead other end, and wait for a request, but not for ever."""
        super().connection_made(transport)
        connected = transport.get_extra_info("socket")
        if connected is not None:
            with suppress(OSError, AttributeError):
                connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, DEAD * 1000)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Count what comes before a request is whole."""
        if self._asking():
            self._received += len(data)
            if self._received > HEAD:
                self._drop()
                return
            if self._timer is None:
                self._wait()
        super().data_received(data)

    def on_headers_complete(self) -> None:
        """A request is whole: from here on the application decides how long it lasts."""
        self._stop_waiting()
        self._received = 0
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Leave no timer behind."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _asking(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _wait(self) -> None:
        self._timer = self.loop.call_later(PATIENCE, self._drop)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _drop(self) -> None:
        self._stop_waiting()
        if not self.transport.is_closing():
            self.transport.abort()


class Server(uvicorn.Server):
    """A server that ends its streams first: they would never end by themselves."""

    def __init__(self, live: Live, **options: Any) -> None:
        """Serve ``live`` with the options of ``uvicorn.Config``."""
        self.live = live
        config = uvicorn.Config(
            live, http=Guarded, ws="none", lifespan="on", loop="asyncio", log_config=None,
            access_log=False, server_header=False, date_header=False, proxy_headers=False,
            backlog=4096, timeout_keep_alive=5, timeout_graceful_shutdown=ENDING, **options,
        )  # fmt: skip
        super().__init__(config)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the streams, then everything else."""
        self.live.stop()
        await super().shutdown(sockets)


def serve(host: str, port: int) -> None:
    """Run until SIGTERM or SIGINT."""
    allow_many_files()
    Server(Live(), host=host, port=port).run()


def allow_many_files() -> None:
    """Take as many file descriptors as this process may have: one stream needs one."""
    _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
