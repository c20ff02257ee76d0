"""A TLS proxy in front of a real API server that breaks chosen requests and passes the rest.

    with FaultProxy(server, ca_pem) as proxy:
        proxy.rules.add(verb="PATCH", dry_run=False, action=drop_answer(), times=1)
        client = ClusterClient(Connection(server=proxy.server, ca_pem=proxy.ca_pem, token=...))
        ...
        assert [entry.status for entry in proxy.log] == [200]

Clients use bearer tokens, so TLS can end here. The log holds no header at all.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.real.proxy_tls import certificate, server_context

INITIAL_END = b'"k8s.io/initial-events-end":"true"'
HOP = ("connection", "keep-alive", "transfer-encoding", "content-length", "te", "upgrade", "host")


@dataclass(frozen=True)
class Action:
    """What happens to a request. ``upstream`` says whether the real server gets it."""

    name: str
    upstream: bool
    run: Callable[[Exchange], None]


@dataclass(frozen=True)
class Entry:
    """One request as seen: what was asked and how it ended; no headers, no body."""

    verb: str
    path: str
    query: dict[str, str]
    dry_run: bool
    field_manager: str
    status: int
    action: str
    upstream: bool


@dataclass
class Rule:
    """Which requests to break: the ``nth`` match and, from there on, ``times`` of them."""

    action: Action
    verb: str | None = None
    path: re.Pattern[str] | None = None
    dry_run: bool | None = None
    watch: bool | None = None
    fresh: bool | None = None
    nth: int = 1
    times: int | None = 1
    seen: int = 0

    def takes(self, exchange: Exchange) -> bool:
        """Count a matching request and return whether it is to be broken."""
        if self.verb not in (None, exchange.verb) or self.dry_run not in (None, exchange.dry_run):
            return False
        if self.watch not in (None, exchange.watch) or self.fresh not in (None, exchange.fresh):
            return False
        if self.path is not None and not self.path.search(exchange.path):
            return False
        self.seen += 1
        last = None if self.times is None else self.nth + self.times
        return self.seen >= self.nth and (last is None or self.seen < last)


class Rules:
    """The rules in force; the first that takes a request decides."""

    def __init__(self) -> None:
        self._rules: list[Rule] = []
        self._lock = threading.Lock()

    def add(self, *, action: Action, path: str | None = None, **more: Any) -> Rule:
        rule = Rule(action=action, path=re.compile(path) if path else None, **more)
        with self._lock:
            self._rules.append(rule)
        return rule

    def replace(self, *, action: Action, path: str | None = None, **more: Any) -> Rule:
        """Put one rule in the place of all; no request falls between the old and the new."""
        rule = Rule(action=action, path=re.compile(path) if path else None, **more)
        with self._lock:
            self._rules[:] = [rule]
        return rule

    def clear(self) -> None:
        with self._lock:
            self._rules.clear()

    def find(self, exchange: Exchange) -> Action | None:
        with self._lock:
            return next((rule.action for rule in self._rules if rule.takes(exchange)), None)


@dataclass
class Exchange:
    """One request on its way through the proxy."""

    handler: Handler
    verb: str
    path: str
    query: dict[str, str]
    body: bytes
    status: int = 0
    lines: int = 0
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def dry_run(self) -> bool:
        return self.query.get("dryRun") == "All"

    @property
    def watch(self) -> bool:
        return self.query.get("watch") in ("true", "1")

    @property
    def fresh(self) -> bool:
        """Whether it asks for a list: in pages, or streamed as the beginning of a watch."""
        return not self.watch or self.query.get("sendInitialEvents") == "true"

    def answer(self, status: int, body: bytes, **headers: str) -> None:
        """Answer in place of the real server."""
        self.status = status
        self.handler.reply(status, {"Content-Type": "application/json"} | headers, body)

    def ask(self) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        """Send the request to the real server."""
        connection = self.handler.proxy.upstream()
        connection.request(
            self.verb, self.handler.path, self.body or None, headers=self.handler.forwarded()
        )
        response = connection.getresponse()
        self.status = response.status
        return connection, response

    def whole(self) -> tuple[int, dict[str, str], bytes]:
        """Send the request and return the complete answer."""
        connection, response = self.ask()
        try:
            return response.status, dict(response.getheaders()), response.read()
        finally:
            connection.close()

    def cut(self) -> None:
        """Break the client's connection without another word."""
        self.handler.close_connection = True
        self.handler.connection.shutdown(socket.SHUT_RDWR)


# --- what can go wrong ------------------------------------------------------------------------


def status_object(code: int, message: str, reason: str = "") -> bytes:
    body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code}
    return json.dumps(body | {"message": message, "reason": reason}).encode()


def fail(code: int, message: str = "made up", reason: str = "", **headers: str) -> Action:
    """Answer with an error; the real server never sees the request."""
    body = status_object(code, message, reason)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Action(f"fail {code}", False, lambda exchange: exchange.answer(code, body, **named))


def webhook_down() -> Action:
    text = (
        'Internal error occurred: failed calling webhook "mclusterqueue.kb.io": failed to call '
        "webhook: connect: connection refused"
    )
    return fail(500, text, "InternalError")


def drop() -> Action:
    """Close the connection before the real server sees the request."""
    return Action("drop", False, lambda exchange: exchange.cut())


def drop_answer() -> Action:
    """Let the real server do it, then lose the answer."""

    def run(exchange: Exchange) -> None:
        exchange.whole()
        exchange.cut()

    return Action("drop answer", True, run)


def delay(seconds: float) -> Action:
    """Let the real server do it and answer late."""

    def run(exchange: Exchange) -> None:
        status, headers, body = exchange.whole()
        time.sleep(seconds)
        exchange.handler.reply(status, headers, body)

    return Action(f"delay {seconds}", True, run)


def truncate(keep: int = 20) -> Action:
    """Promise the whole body and send a part of it."""

    def run(exchange: Exchange) -> None:
        status, headers, body = exchange.whole()
        exchange.handler.reply(status, headers, body[:keep], length=len(body))
        exchange.cut()

    return Action("truncate", True, run)


def garbage(body: bytes = b"\x00\xff{not json") -> Action:
    """Answer 200 with something that is no JSON."""
    return Action("garbage", False, lambda exchange: exchange.answer(200, body))


def slow(seconds: float, pieces: int = 10) -> Action:
    """Send the real answer in pieces with pauses."""

    def run(exchange: Exchange) -> None:
        status, headers, body = exchange.whole()
        size = max(1, len(body) // pieces)
        exchange.handler.start(status, headers, len(body))
        for start in range(0, len(body), size):
            exchange.handler.wfile.write(body[start : start + size])
            exchange.handler.wfile.flush()
            time.sleep(seconds)

    return Action("slow", True, run)


def cut_watch(after: int, *, middle: bool = True, listed: bool = True) -> Action:
    """Stream a watch, then cut it after some lines (in the middle of the next one).

    A list at its beginning passes whole and does not count, unless ``listed`` is false.
    """

    def run(exchange: Exchange) -> None:
        exchange.handler.stream(exchange, limit=after, middle=middle, listed=listed)
        exchange.cut()

    return Action("cut watch", True, run)


def watch_line(line: bytes) -> Action:
    """Answer a watch with one line of our own, after its list, and end it in order."""

    def run(exchange: Exchange) -> None:
        if not exchange.fresh:
            exchange.answer(200, line + b"\n")
            return
        exchange.handler.stream(exchange, limit=0)
        exchange.handler.chunk(line + b"\n")
        exchange.handler.chunk(b"")

    return Action("watch line", False, run)


def silence(seconds: float) -> Action:
    """Open a watch and send nothing, or nothing after its list."""

    def run(exchange: Exchange) -> None:
        if exchange.fresh:
            exchange.handler.stream(exchange, limit=0)
        else:
            exchange.status = 200
            exchange.handler.start(200, {"Content-Type": "application/json"}, None)
        exchange.handler.proxy.closing.wait(seconds)
        exchange.cut()

    return Action("silence", False, run)


# --- the proxy itself -----------------------------------------------------------------------------


class Handler(BaseHTTPRequestHandler):
    """Reads one request, asks the rules, passes it on."""

    protocol_version = "HTTP/1.1"
    proxy: FaultProxy

    def handle_any(self) -> None:
        parts = urlsplit(self.path)
        query = {key: values[-1] for key, values in parse_qs(parts.query).items()}
        length = int(self.headers.get("Content-Length") or 0)
        exchange = Exchange(self, self.command, parts.path, query, self.rfile.read(length))
        action = self.proxy.rules.find(exchange)
        self.proxy.open.add(self.connection)
        try:
            if action is not None:
                action.run(exchange)
            else:
                self.pass_on(exchange)
        except (OSError, http.client.HTTPException):
            self.close_connection = True
        finally:
            self.proxy.open.discard(self.connection)
            self.proxy.note(exchange, action)

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = handle_any  # noqa: N815

    def pass_on(self, exchange: Exchange) -> None:
        if exchange.watch:
            self.stream(exchange)
        else:
            self.reply(*exchange.whole())

    def stream(
        self,
        exchange: Exchange,
        *,
        limit: int | None = None,
        middle: bool = False,
        listed: bool = True,
    ) -> None:
        """Pass a watch on, line by line as it comes; its list does not count when it is whole."""
        connection, response = exchange.ask()
        counts = not (exchange.fresh and listed)
        try:
            self.start(response.status, dict(response.getheaders()), None)
            while line := response.readline():
                if counts and limit is not None and exchange.lines >= limit:
                    if middle:
                        self.chunk(line[: len(line) // 2])
                    return
                self.chunk(line)
                exchange.lines += counts
                if not counts and INITIAL_END in line:
                    counts = True
                    if limit == 0 and not middle:
                        return
            self.chunk(b"")
        finally:
            connection.close()

    def forwarded(self) -> dict[str, str]:
        return {key: value for key, value in self.headers.items() if key.lower() not in HOP}

    def start(self, status: int, headers: dict[str, str], length: int | None) -> None:
        self.send_response_only(status)
        for key, value in headers.items():
            if key.lower() not in HOP:
                self.send_header(key, value)
        if length is None:
            self.send_header("Transfer-Encoding", "chunked")
        else:
            self.send_header("Content-Length", str(length))
        self.end_headers()

    def reply(
        self, status: int, headers: dict[str, str], body: bytes, length: int | None = None
    ) -> None:
        self.start(status, headers, len(body) if length is None else length)
        self.wfile.write(body)
        self.wfile.flush()

    def chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def log_message(self, *_: Any) -> None:
        """Write nothing: the proxy's own log is the record."""


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: Any) -> None:
        """A client that went away is part of the game."""


class FaultProxy:
    """The proxy, running while the ``with`` block does."""

    def __init__(self, upstream: str, upstream_ca: str, *, names: tuple[str, ...] = ()) -> None:
        parts = urlsplit(upstream)
        self._host, self._port = parts.hostname or "", parts.port or 443
        self._upstream_tls = ssl.create_default_context(cadata=upstream_ca)
        self.rules = Rules()
        self.log: list[Entry] = []
        self.open: set[socket.socket] = set()
        self.closing = threading.Event()
        self.ca_pem, key = certificate(names or ("127.0.0.1", "localhost"))
        handler = type("BoundHandler", (Handler,), {"proxy": self})
        self._server = Server(("127.0.0.1", 0), handler)
        self._server.socket = server_context(self.ca_pem, key).wrap_socket(
            self._server.socket, server_side=True, do_handshake_on_connect=False
        )
        self.server = f"https://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> FaultProxy:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()

    def cut(self) -> None:
        """Break every connection on which something is being answered, such as watches."""
        for connection in list(self.open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def upstream(self) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection(
            self._host, self._port, context=self._upstream_tls, timeout=600
        )

    def note(self, exchange: Exchange, action: Action | None) -> None:
        self.log.append(
            Entry(
                verb=exchange.verb,
                path=exchange.path,
                query=exchange.query,
                dry_run=exchange.dry_run,
                field_manager=exchange.query.get("fieldManager", ""),
                status=exchange.status,
                action=action.name if action else "",
                upstream=action.upstream if action else True,
            )
        )

    def writes(self) -> list[Entry]:
        """Return the requests that reached the real server and could change something."""
        verbs = ("POST", "PATCH", "PUT", "DELETE")
        return [e for e in self.log if e.verb in verbs and not e.dry_run and e.upstream]
