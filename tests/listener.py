"""A browser's ear in a test: one stream of the live process, read as it comes."""

from __future__ import annotations

import json
import socket
import time
from dataclasses import dataclass, field

PATIENCE = 30.0  # seconds: a generous bound, never a measurement


@dataclass
class Event:
    name: str
    id: int | None
    told: dict[str, int]


@dataclass
class Listener:
    """An HTTP request whose answer does not end; a small parser of what it says."""

    port: int
    path: str
    headers: dict[str, str] = field(default_factory=dict)
    method: str = "GET"

    def __post_init__(self) -> None:
        self.socket = socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)
        self.buffer = b""
        self.event_id: int | None = None
        self.last = ""
        self.whole = False
        lines = [f"{self.method} {self.path} HTTP/1.1"]
        lines += [
            f"{k}: {v}" for k, v in ({"Host": f"127.0.0.1:{self.port}"} | self.headers).items()
        ]
        self.socket.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        head = self._until(b"\r\n\r\n").decode()
        first, *rest = head.split("\r\n")
        self.status = int(first.split(" ")[1])
        self.answer = {k.lower(): v for k, _, v in (line.partition(": ") for line in rest)}

    def __enter__(self) -> Listener:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.socket.close()

    def body(self) -> bytes:
        """The whole body of a short answer."""
        length = int(self.answer["content-length"])
        while len(self.buffer) < length:
            self._more()
        return self.buffer[:length]

    def event(self) -> Event | None:
        """The next event; None when the stream has ended."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            block = self._block()
            if block is None:
                return None
            lines = dict(
                line.split(": ", 1) for line in block.split("\n") if line and line[0] != ":"
            )
            if "data" in lines:
                at = int(lines["id"]) if "id" in lines else None
                self.event_id = at or self.event_id
                self.last = lines.get("event", "message")
                return Event(self.last, at, json.loads(lines["data"]))
        raise AssertionError("no event came")

    def news(self) -> dict[str, int]:
        """What the next event that is news says."""
        return self.waits_for("message").told

    def waits_for(self, name: str) -> Event:
        """The next event of a name."""
        until = time.monotonic() + PATIENCE
        while (found := self.event()) is not None and time.monotonic() < until:
            if found.name == name:
                return found
        raise AssertionError(f"no {name} came")

    def end(self) -> None:
        """Read until the stream ends; signs of life alone do not count as one."""
        until = time.monotonic() + PATIENCE
        while self.event() is not None:
            assert time.monotonic() < until, "the stream goes on"

    def _block(self) -> str | None:
        """One event's lines, out of the chunks in which they come."""
        found = ""
        while not found.endswith("\n\n"):
            size = self._until(b"\r\n")
            if size is None:
                return None
            length = int(size, 16)
            while len(self.buffer) < length + 2:
                self._more()
            found += self.buffer[:length].decode()
            self.buffer = self.buffer[length + 2 :]
            if length == 0:
                self.whole = True
                return None
        return found

    def _until(self, mark: bytes) -> bytes | None:
        while mark not in self.buffer:
            if not self._more():
                return None
        found, _, self.buffer = self.buffer.partition(mark)
        return found

    def _more(self) -> bool:
        try:
            data = self.socket.recv(65536)
        except ConnectionResetError:
            data = b""
        self.buffer += data
        return bool(data)
