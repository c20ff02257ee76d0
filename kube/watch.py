"""Follow every change of one kind: a fresh list, then a watch, for as long as it takes.

A consumer sees first ``Listed`` with everything there is, then ``Changed`` one by one. After
anything that could have hidden a change (an expired position, a restored etcd, an error line)
another ``Listed`` comes: what it does not hold is gone. A cut connection alone loses nothing,
the watch goes on from the last position.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal

import msgspec
import orjson
import urllib3
from urllib3 import exceptions as http

from kube import errors
from kube.answers import Object
from kube.classify import classify
from kube.client import ClusterClient
from kube.kinds import Kind
from kube.transport import Request, explain_failure, pieces

#: The server sends a bookmark every minute; silence for longer is a dead connection.
SILENCE: Final = 90.0
MAX_LINE: Final = 16 * 1024 * 1024
BACK_OFF: Final = (0.2, 30.0)
#: How long the server should keep one watch; spread, so that not all end together.
LIFE: Final = (240, 480)

ChangeType = Literal["ADDED", "MODIFIED", "DELETED"]
_CHANGES: Final = ("ADDED", "MODIFIED", "DELETED")


@dataclass(frozen=True, slots=True)
class Listed:
    """Everything there is; whatever was known before and is not in it is gone."""

    kind: Kind
    items: list[Object]
    resource_version: str


@dataclass(frozen=True, slots=True)
class Changed:
    """One object came, changed or went (then ``object`` is its last state)."""

    kind: Kind
    type: ChangeType
    object: Object


@dataclass(frozen=True, slots=True)
class Bookmark:
    """Nothing changed up to this position."""

    kind: Kind
    resource_version: str


@dataclass(frozen=True, slots=True)
class Lost:
    """The connection is lost since ``since`` (seconds since the epoch); another try follows."""

    kind: Kind
    error: errors.ClusterError
    since: float


Event = Listed | Changed | Bookmark | Lost


class _Line(msgspec.Struct):
    """The frame of one line; the object inside is decoded only when it is wanted."""

    type: str
    object: msgspec.Raw


_frame = msgspec.json.Decoder(_Line)


def follow(
    client: ClusterClient,
    kind: Kind,
    *,
    stop: threading.Event,
    namespace: str | None = None,
    silence: float = SILENCE,
) -> Iterator[Event]:
    """Yield the changes of one kind until ``stop`` is set; errors are events, never raised.

    It always begins with a fresh list: a stored position could be older than the server keeps,
    or newer than a restored etcd, and the server would then send nothing, without an error.
    """
    return _Follower(client, kind, stop, namespace, silence).run()


class _Follower:
    """Where one watch stands."""

    def __init__(
        self,
        client: ClusterClient,
        kind: Kind,
        stop: threading.Event,
        namespace: str | None,
        silence: float,
    ) -> None:
        """Know no position yet."""
        self.client, self.kind, self.stop = client, kind, stop
        self.path = kind.path(namespace=namespace)
        self.namespace = namespace
        self.silence = silence
        self.position = ""
        self.failures = 0
        self.since: float | None = None

    def run(self) -> Iterator[Event]:
        """Alternate between listing and watching."""
        while not self.stop.is_set():
            try:
                if not self.position:
                    yield self._list()
                    self._well()
                    continue
                yield from self._watch()
                self._well()
            except errors.Gone:
                self.position = ""
            except errors.ClusterError as error:
                if isinstance(error, errors.Protocol | errors.BadRequest):
                    self.position = ""
                self.since = self.since or time.time()
                yield Lost(self.kind, error, self.since)
                self._wait(error)

    def _well(self) -> None:
        self.failures = 0
        self.since = None

    def _wait(self, error: errors.ClusterError) -> None:
        """Wait longer after each failure in a row, by a random part, or as the server asks."""
        least, most = BACK_OFF
        longest = min(most, least * 2.0 ** min(self.failures, 20))
        self.failures += 1
        pause = error.retry_after or random.uniform(longest / 2, longest)  # noqa: S311 - no secret
        self.stop.wait(pause)

    def _list(self) -> Listed:
        """Return a complete list. The seam for a streamed first list (``sendInitialEvents``)."""
        items, version = self.client.list_all(self.kind.name, self.namespace)
        if not version:
            message = "a list came without its resourceVersion"
            raise errors.Protocol(message)
        self.position = version
        return Listed(self.kind, items, version)

    def _watch(self) -> Iterator[Event]:
        """Yield what one watch request brings; returns when the server ends it in order."""
        response = self.client.transport.stream(self._request(), read=self.silence)
        try:
            if self.since is not None:
                # The line is back, although a quiet cluster may say nothing for a minute.
                yield Bookmark(self.kind, self.position)
            for line in lines(response, self.stop):
                yield from self._read(line)
                self._well()
        except (http.HTTPError, OSError) as error:
            _, reason = explain_failure(error)
            message = f"the watch was cut: {reason}"
            raise errors.Unreachable(message) from None
        finally:
            response.close()

    def _request(self) -> Request:
        life = random.randint(*LIFE)  # noqa: S311 - spreads load, no secret
        query = (
            ("watch", "true"),
            ("allowWatchBookmarks", "true"),
            ("resourceVersion", self.position),
            ("timeoutSeconds", str(life)),
        )
        return Request("GET", self.path, query)

    def _read(self, line: bytes) -> Iterator[Event]:
        try:
            frame = _frame.decode(line)
            found: Any = orjson.loads(bytes(frame.object))
            if frame.type == "ERROR":
                raise classify(int(found.get("code") or 500), {}, bytes(frame.object))
            version = str(found["metadata"]["resourceVersion"])
        except (msgspec.DecodeError, orjson.JSONDecodeError, KeyError, TypeError, ValueError):
            message = "a line of the watch is broken"
            raise errors.Unreachable(message) from None
        if frame.type == "BOOKMARK":
            yield Bookmark(self.kind, version)
        elif frame.type in _CHANGES:
            yield Changed(self.kind, frame.type, found)  # type: ignore[arg-type]
        else:
            message = f"a watch line has an unknown type: {frame.type}"
            raise errors.Protocol(message)
        self.position = version


def lines(response: urllib3.BaseHTTPResponse, stop: threading.Event) -> Iterator[bytes]:
    """Yield the complete lines of an answer as they arrive; a cut last line is dropped."""
    rest = bytearray()
    for part in pieces(response):
        if stop.is_set():
            return
        rest += part
        *whole, tail = rest.split(b"\n")
        yield from (bytes(line) for line in whole if line.strip())
        rest = bytearray(tail)
        if len(rest) > MAX_LINE:
            message = "a line of the watch is too long"
            raise errors.Protocol(message)
