"""Follow every change of one kind: a fresh list, then a watch, for as long as it takes.

A consumer sees ``Begun``, then ``Changes`` with everything there is, then ``Listed``: what it
knew before and has not seen since ``Begun`` is gone. After that come ``Changes`` as they happen.
After anything that could have hidden a change (an expired position, a restored etcd, an error
line) it begins anew. A cut connection alone loses nothing, the watch goes on from the last
position.

A fresh list is streamed where the server can do that, and read in pages elsewhere; both are
handed on in small parts, so that a large cluster never lies in memory as a whole.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from urllib3 import exceptions as http

from kube import errors
from kube.answers import Object
from kube.client import ClusterClient
from kube.kinds import Kind
from kube.transport import Request, explain_failure
from kube.wire import Change, Line, Mark, Reader, Source, batches

#: The server sends a bookmark every minute; silence for longer is a dead connection.
SILENCE: Final = 90.0
BACK_OFF: Final = (0.2, 30.0)
#: How long the server should keep one watch; spread, so that not all end together.
LIFE: Final = (240, 480)
PAGE: Final = 500
#: Its own source: a thread that waits changes no state that others in the process rely on.
_RANDOM: Final = random.SystemRandom()
#: Objects that are handed on together, at most.
PART: Final = 250
#: Streamed lists that may break in a row before the pages are tried.
CUTS: Final = 2


@dataclass(frozen=True, slots=True)
class Begun:
    """A fresh list begins; one that began before and has not ended is void."""

    kind: Kind


@dataclass(frozen=True, slots=True)
class Changes:
    """Objects that came, changed or went (then with their last state), in their order."""

    kind: Kind
    items: list[Change]


@dataclass(frozen=True, slots=True)
class Listed:
    """The list is complete; what was not in it is gone."""

    kind: Kind
    resource_version: str


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


Event = Begun | Changes | Listed | Bookmark | Lost


def follow(
    client: ClusterClient,
    source: Source,
    *,
    stop: threading.Event,
    namespace: str | None = None,
    silence: float = SILENCE,
) -> Iterator[Event]:
    """Yield the changes of one kind until ``stop`` is set; errors are events, never raised.

    It always begins with a fresh list: a stored position could be older than the server keeps,
    or newer than a restored etcd, and the server would then send nothing, without an error.
    """
    return _Follower(client, source, stop, namespace, silence).run()


class _Follower:
    """Where one watch stands."""

    def __init__(
        self,
        client: ClusterClient,
        source: Source,
        stop: threading.Event,
        namespace: str | None,
        silence: float,
    ) -> None:
        """Know no position yet."""
        self.client, self.source, self.stop = client, source, stop
        self.kind = source.kind
        self.path = self.kind.path(namespace=namespace)
        self.reader = Reader(source)
        self.silence = silence
        self.position = ""
        self.streams = True
        self.cuts = 0
        self.failures = 0
        self.since: float | None = None

    def run(self) -> Iterator[Event]:
        """Alternate between listing and watching."""
        while not self.stop.is_set():
            try:
                yield from self._watch() if self.position else self._list()
                self._well()
            except errors.ClusterError as error:
                if isinstance(error, errors.Gone) and self.position:
                    # Ordinary after a long pause: what is too old is read anew, at once.
                    self.position = ""
                    continue
                if isinstance(error, errors.Protocol | errors.BadRequest):
                    self.position = ""
                yield self._lost(error)
                self._wait(error)

    def _lost(self, error: errors.ClusterError) -> Lost:
        self.since = self.since or time.time()
        return Lost(self.kind, error, self.since)

    def _well(self) -> None:
        self.failures = 0
        self.since = None

    def _wait(self, error: errors.ClusterError) -> None:
        """Wait longer after each failure in a row, by a random part, or as the server asks."""
        least, most = BACK_OFF
        longest = min(most, least * 2.0 ** min(self.failures, 20))
        self.failures += 1
        pause = error.retry_after or _RANDOM.uniform(longest / 2, longest)
        self.stop.wait(pause)

    # -- a fresh list ----------------------------------------------------------------------

    def _list(self) -> Iterator[Event]:
        """Yield everything there is, and go on watching where the list was streamed."""
        yield Begun(self.kind)
        if not self.streams or self.cuts >= CUTS:
            self.cuts = 0
            yield from self._pages()
            return
        try:
            yield from self._stream_list()
        except errors.ClusterError as error:
            if self.position:
                raise
            if isinstance(error, errors.Refused | errors.BadRequest):
                # The server knows the watch, but not the list inside it.
                self.streams = False
                return
            self.cuts += 1
            raise

    def _stream_list(self) -> Iterator[Event]:
        """Yield a list that comes as a watch: everything there is, a mark, and all that follows."""
        query = (
            ("watch", "true"),
            ("allowWatchBookmarks", "true"),
            ("sendInitialEvents", "true"),
            ("resourceVersionMatch", "NotOlderThan"),
        )
        part: list[Change] = []
        for line in self._lines(query):
            if isinstance(line, Mark) and not self.position:
                if not line.complete:
                    # A server that does not know the question sends an ordinary watch.
                    self.streams = False
                    return
                if part:
                    yield Changes(self.kind, part)
                    part = []
                self.position, self.cuts = line.resource_version, 0
                yield Listed(self.kind, self.position)
                self._well()
            elif self.position:
                yield from self._tell(line)
            else:
                part += self.reader.kept(line) if isinstance(line, list) else []
                if len(part) >= PART:
                    yield Changes(self.kind, part)
                    part = []
        if not self.position:
            message = "the streamed list ended before its mark"
            raise errors.Unreachable(message)

    def _pages(self) -> Iterator[Event]:
        position = version = ""
        while True:
            query = (("limit", str(PAGE)), *((("continue", position),) if position else ()))
            request = Request("GET", self.path, (*query, *self.source.selectors))
            items, version, position = self.reader.page(self.client.transport.send(request).body)
            for start in range(0, len(items), PART):
                yield Changes(self.kind, [("ADDED", each) for each in items[start : start + PART]])
            if not position or self.stop.is_set():
                break
        if not version:
            message = "a list came without its resourceVersion"
            raise errors.Protocol(message)
        if not position:
            self.position = version
            yield Listed(self.kind, version)

    # -- the watch -------------------------------------------------------------------------

    def _watch(self) -> Iterator[Event]:
        """Yield what one watch request brings; returns when the server ends it in order."""
        if self.since is not None and self._went_back():
            self.position = ""
            return
        query = (
            ("watch", "true"),
            ("allowWatchBookmarks", "true"),
            ("resourceVersion", self.position),
        )
        for line in self._lines(query):
            yield from self._tell(line)

    def _went_back(self) -> bool:
        """Return whether the cluster is at an older version than was seen of it.

        A restored backup is. A watch from a version that does not exist yet brings nothing at
        all, and no error.
        """
        request = Request("GET", self.path, (("limit", "1"), *self.source.selectors))
        _, version, _ = self.reader.page(self.client.transport.send(request).body)
        numbers = version.isdecimal() and self.position.isdecimal()
        return numbers and int(version) < int(self.position)

    def _tell(self, line: Line) -> Iterator[Event]:
        """Hand on what came; the position moves with it."""
        if isinstance(line, Mark):
            self.position = line.resource_version
            yield Bookmark(self.kind, self.position)
        else:
            kept = self.reader.kept(line)
            if kept:
                yield Changes(self.kind, kept)
            self.position = version_of(line[-1][1])
        self._well()

    def _lines(self, query: Iterable[tuple[str, str]]) -> Iterator[Line]:
        """Yield what a watch sends: marks, and changes that came together as one list."""
        life = _RANDOM.randint(*LIFE)
        asked = (*query, ("timeoutSeconds", str(life)), *self.source.selectors)
        request = Request("GET", self.path, asked)
        response = self.client.transport.stream(request, read=self.silence)
        try:
            if self.since is not None and self.position:
                # The line is back, although a quiet cluster may say nothing for a minute.
                yield Mark(self.position)
            for batch in batches(response, self.stop):
                yield from self.reader.lines(batch)
        except (http.HTTPError, OSError) as error:
            _, reason = explain_failure(error)
            message = f"the watch was cut: {reason}"
            raise errors.Unreachable(message) from None
        finally:
            response.close()


def version_of(item: Object) -> str:
    """Return the resourceVersion of an object."""
    return str(item["metadata"]["resourceVersion"])
