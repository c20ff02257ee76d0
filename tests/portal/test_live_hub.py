"""No news is missed, whatever is lost in between: the hub against a real Redis."""

import json
import re

import pytest
import redis
from django.conf import settings
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from portal.live import hub as hubs
from portal.live.hub import BLIND, Hub, Stream
from queues.services import announce

EVENT = re.compile(rb"(?:event: (\w+)\n)?id: (\d+)\ndata: (.*)\n\n")
TOPICS = ("tenant:a", "tenant:b", "queue:lab/c")


class World:
    """One Redis, one live process, one page; the page fetches whatever it is told of."""

    def __init__(self, client):
        self.client = client
        client.delete(announce.GENERATION, announce.TOPICS, announce.FLOOR)
        announce._quiet_until = 0.0
        self.said = dict.fromkeys(TOPICS, 0)
        self.fetched = dict(self.said)
        self.last = None
        self.start()

    def start(self):
        """A fresh process; the page's browser connects to it."""
        self.hub = Hub()
        self.connected = False
        self.mend()
        self.join()

    def join(self):
        """The browser connects, with the last id that it has seen."""
        self.stream = Stream(self.hub, "key", 1, TOPICS)
        self.hub.add(self.stream, self.hub.since(0) if self.last is None else self.last)
        self.read()

    def leave(self):
        self.hub.remove(self.stream)
        self.stream = None

    def say(self, topic):
        """Somebody changes a row, commits and announces."""
        if not announce.say([topic]):
            # A busy machine: pages ask by themselves now and then for just this case.
            announce._quiet_until = 0.0
            return
        self.said[topic] += 1
        if self.connected:
            self.hub.told(int(self.client.get(announce.GENERATION)), [topic])

    def cut(self):
        """The process loses its connection to Redis."""
        self.connected = False
        self.hub.blind()

    def mend(self):
        """It is back and reads what Redis holds, as the feed does."""
        if self.connected:
            return
        now = self.client.time()
        at = now[0] * 1_000_000 + now[1]
        generation, floor = self.client.get(announce.GENERATION), self.client.get(announce.FLOOR)
        known = self.client.zrange(announce.TOPICS, 0, -1, withscores=True)
        found = {name.decode(): int(at) for name, at in known}
        self.hub.loaded(
            at, int(generation) if generation else None, int(float(floor)) if floor else None, found
        )
        self.connected = True

    def lose(self):
        """Redis forgets everything, and every connection to it is cut."""
        self.cut()
        self.client.delete(announce.GENERATION, announce.TOPICS, announce.FLOOR)

    def read(self):
        """The browser reads what there is and fetches what it is told of."""
        while self.stream and (chunk := self.stream.take()):
            if chunk == BLIND:
                continue
            _, generation, told = EVENT.fullmatch(chunk).groups()
            self.last = int(generation)
            for topic in json.loads(told):
                self.fetched[topic] = self.said[topic]


STEPS = st.one_of(
    st.tuples(st.just("say"), st.sampled_from(TOPICS)),
    st.tuples(st.sampled_from(["read", "cut", "mend", "lose", "leave", "join", "start"])),
)


@pytest.fixture(scope="module")
def client():
    found = redis.Redis.from_url(settings.REDIS_URL)
    yield found
    found.close()


@examples(deadline=None, max_examples=200)
@given(steps=st.lists(STEPS, max_size=40))
def test_a_page_has_fetched_everything_in_the_end(client, steps):
    world = World(client)
    for name, *arguments in steps:
        if name == "leave" and world.stream is None:
            continue
        if name == "join" and world.stream is not None:
            world.leave()
        getattr(world, name)(*arguments)
    world.mend()
    if world.stream is None:
        world.join()
    world.read()

    assert world.fetched == world.said


@examples(deadline=None, max_examples=50)
@given(told=st.lists(st.sampled_from(TOPICS), max_size=200))
def test_a_stream_holds_at_most_one_number_for_each_topic(told):
    hub = Hub()
    hub.loaded(1000, 1000, 1000, {})
    stream = Stream(hub, "key", 1, TOPICS)
    hub.add(stream, 1000)
    while stream.take():
        pass
    for generation, topic in enumerate(told, 2000):
        hub.told(generation, [topic])

    chunk = stream.take()
    newest = {topic: generation for generation, topic in enumerate(told, 2000)}
    assert (json.loads(EVENT.fullmatch(chunk)[3]) if chunk else {}) == newest
    assert stream.take() is None


def test_old_generations_are_dropped_and_who_is_older_is_told_everything(monkeypatch):
    monkeypatch.setattr(hubs, "KEPT", 10)
    hub = Hub()
    hub.loaded(10_000, 1000, 1000, {})
    hub.told(2000, ["tenant:a"])
    for number in range(12):
        hub.told(3000 + number, [f"tenant:other-{number}"])
    old, new = (Stream(hub, "key", 1, ("tenant:a",)) for _ in range(2))
    hub.add(old, 1500)
    hub.add(new, 3011)

    assert b"tenant:a" in old.take()
    assert b"tenant:a" not in new.take()


def test_streams_that_end_leave_nothing_behind():
    hub = Hub()
    streams = [Stream(hub, f"key-{n}", n % 3, TOPICS) for n in range(30)]
    for stream in streams:
        hub.add(stream, 0)
    assert hub.open_of(1) == 10
    for stream in streams:
        hub.remove(stream)
        hub.remove(stream)

    assert (hub.streams, hub._by_topic, hub._of_person) == (set(), {}, {})
    assert not any(hub._buckets)


def test_a_page_that_was_asked_for_before_is_told_and_a_later_one_is_not():
    hub = Hub()
    second = 1_000_000
    known = {"tenant:a": 50 * second, "tenant:b": 20 * second}
    hub.loaded(100 * second, 50 * second, second, known)
    old, new = (Stream(hub, "key", 1, TOPICS) for _ in range(2))
    hub.add(old, hub.since(age=60_000))
    hub.add(new, hub.since(age=0))

    assert json.loads(EVENT.fullmatch(old.take())[3]) == {"tenant:a": 50 * second}
    assert json.loads(EVENT.fullmatch(new.take())[3]) == {}
