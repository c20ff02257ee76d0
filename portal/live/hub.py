"""Which stream listens to what, and what each one has not been told yet.

Everything here runs in the event loop and waits for nothing. A stream that reads slowly holds at
most one number for each of its topics: of two moves only the newer one is told.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import orjson

#: How long a request may be on its way to us, and how far clocks may be apart. A page that is told
#: too much asks once too often; one that is told too little shows what is old.
SLACK: Final = 5_000  # ms
#: Seconds between two signs of life of one stream.
BEAT: Final = 15
#: Generations that are remembered here before the older half is dropped.
KEPT: Final = 40_000
RETRY: Final = (1_000, 3_000)  # ms until a browser connects again, spread over its range


class Stream:
    """One open connection. Its coroutine waits in ``chunk`` for what to write next."""

    __slots__ = (
        "_beats",
        "_hub",
        "_pending",
        "_waker",
        "barred",
        "over",
        "session",
        "topics",
        "user_id",
    )

    def __init__(self, hub: Hub, session: str, user_id: int, topics: tuple[str, ...]) -> None:
        """Belong to a person's session; listen to nothing before the hub knows of it."""
        self.session = session
        self.user_id = user_id
        self.topics = topics
        self.over = False
        self.barred = False
        self._hub = hub
        self._pending: dict[str, int] | None = None
        self._beats = False
        self._waker: asyncio.Future[None] | None = None

    def tell(self, topic: str, generation: int) -> None:
        """Note that a topic is at a generation now."""
        if self._pending is None:
            self._pending = {}
        self._pending[topic] = generation
        self._wake()

    def beat(self) -> None:
        """Have a sign of life written."""
        self._beats = True
        self._wake()

    def end(self) -> None:
        """Close the connection as soon as its coroutine runs."""
        self.over = True
        self._wake()

    def bar(self) -> None:
        """Close it and say that coming back is of no use: the page should look for itself."""
        self.barred = True
        self.end()

    def _wake(self) -> None:
        if self._waker is not None and not self._waker.done():
            self._waker.set_result(None)

    async def chunk(self) -> bytes:
        """Wait for something to say and return it; nothing when the stream is over."""
        while (found := self.take()) is None:
            self._waker = asyncio.get_running_loop().create_future()
            await self._waker
        self._waker = None
        return found

    def take(self) -> bytes | None:
        """Return what is to be written now, if anything is; nothing at all is the end."""
        if self.over:
            return b""
        if not (self._beats or (self._pending and self._hub.sees)):
            return None
        self._beats = False
        if not self._hub.sees:
            return BLIND
        told, self._pending = self._pending, None
        return event(self._hub.generation, told or {})


#: What a stream says that cannot hear; without an id, so that nothing counts as told.
BLIND: Final = b"event: blind\ndata: {}\n\n"


#: Last words to somebody who may not listen any more.
BARRED: Final = b"event: barred\ndata: {}\n\n"


def event(generation: int, told: Mapping[str, int]) -> bytes:
    """Write news or, without any, a sign of life.

    Its id is the generation up to which the stream has been told everything.
    """
    head = b"" if told else b"event: beat\n"
    return b"%sid: %d\ndata: %s\n\n" % (head, generation, orjson.dumps(told))


def opening() -> bytes:
    """Write the first lines: a comment that gets through buffers, and when to come back."""
    return b": open\nretry: %d\n\n" % random.SystemRandom().randint(*RETRY)


class Hub:
    """All streams of this process."""

    def __init__(self) -> None:
        """Know no stream and no generation."""
        self.streams: set[Stream] = set()
        self.sees = False
        self.generation = 0
        self._floor = 0
        self._known: dict[str, int] = {}
        self._by_topic: dict[str, set[Stream]] = {}
        self._of_person: Counter[int] = Counter()
        self._buckets: list[set[Stream]] = [set() for _ in range(BEAT)]
        self._turn = 0
        self._clock = 0.0  # Redis' clock minus ours, in microseconds

    # -- streams ---------------------------------------------------------------------------

    def open_of(self, user_id: int) -> int:
        """Count the streams of a person."""
        return self._of_person[user_id]

    def since(self, age: int) -> int:
        """Return a generation that a page knew which was asked for so many ms ago."""
        return int(self._now()) - (age + SLACK) * 1000

    def add(self, stream: Stream, since: int) -> None:
        """Let a stream listen, and tell it what moved since a generation."""
        self.streams.add(stream)
        self._of_person[stream.user_id] += 1
        min(self._buckets, key=len).add(stream)
        for topic in stream.topics:
            self._by_topic.setdefault(topic, set()).add(stream)
        future = since > max(self.generation, self._now() + SLACK * 1000)
        stream.beat()
        for topic in stream.topics:
            at = self._known.get(topic, self._floor)
            # A generation of the future is one of a Redis that has gone back to older data.
            if at > since or future:
                stream.tell(topic, at)

    def remove(self, stream: Stream) -> None:
        """Forget a stream that has ended."""
        if stream not in self.streams:
            return
        self.streams.discard(stream)
        self._of_person[stream.user_id] -= 1
        if not self._of_person[stream.user_id]:
            del self._of_person[stream.user_id]
        for bucket in self._buckets:
            bucket.discard(stream)
        for topic in stream.topics:
            listeners = self._by_topic[topic]
            listeners.discard(stream)
            if not listeners:
                del self._by_topic[topic]

    def of_person(self, user_id: int) -> list[Stream]:
        """Return a person's streams."""
        return [stream for stream in self.streams if stream.user_id == user_id]

    def beat(self) -> None:
        """Give a sign of life to one part of the streams; called once a second."""
        self._turn = (self._turn + 1) % BEAT
        for stream in self._buckets[self._turn]:
            stream.beat()

    def end(self, streams: Iterable[Stream] | None = None) -> None:
        """End these streams, or all of them."""
        for stream in list(self.streams if streams is None else streams):
            stream.end()

    # -- news ------------------------------------------------------------------------------

    def told(self, generation: int, topics: Iterable[str]) -> None:
        """Take an announcement in."""
        self.generation = max(self.generation, generation)
        self._clock = generation - _here()
        for topic in topics:
            self._known[topic] = generation
            for stream in self._by_topic.get(topic, ()):
                stream.tell(topic, generation)
        if len(self._known) > KEPT:
            self._forget_older()

    def loaded(
        self, now: int, generation: int | None, floor: int | None, known: Mapping[str, int]
    ) -> None:
        """Take in what Redis holds after a new connection, and tell what was missed.

        A Redis that knows nothing may have forgotten: what was before ``now`` is unknown then.
        """
        before, self._clock = self.generation, now - _here()
        generation = now - 1 if generation is None else generation
        floor = now - 1 if floor is None else floor
        went_back = generation < before
        self.generation = max(generation, before)
        self._floor = max(floor, before) if went_back else floor
        self._known = dict(known)
        self.sees = True
        for topic, listeners in self._by_topic.items():
            if went_back or self._known.get(topic, self._floor) > before:
                for stream in listeners:
                    stream.tell(topic, self._known.get(topic, self._floor))
        for stream in self.streams:
            stream.beat()

    def blind(self) -> None:
        """Say to every stream that no news can come for now."""
        if self.sees:
            self.sees = False
            for stream in self.streams:
                stream.beat()

    def _forget_older(self) -> None:
        newest = sorted(self._known.items(), key=lambda item: item[1])
        cut = len(newest) // 2
        self._floor = max(self._floor, newest[cut - 1][1])
        self._known = dict(newest[cut:])

    def _now(self) -> float:
        """Return the time of Redis' clock in microseconds."""
        return _here() + self._clock

    def groups(self, size: int) -> Iterator[list[Stream]]:
        """Yield all streams in groups, for those who look at many at once."""
        streams = list(self.streams)
        return (streams[start : start + size] for start in range(0, len(streams), size))


def _here() -> float:
    return time.monotonic() * 1_000_000
