"""The loop of an observer: order of the kinds, windows, lost lines, a database that goes away."""

import queue
import threading
import time

import pytest
from django.db import OperationalError

from kube import errors, kinds
from kube.client import ClusterClient
from kube.connection import Connection
from kube.watch import Begun, Bookmark, Changes, Listed, Lost
from queues.models import ObservedObject, Stream, Workload
from queues.services import following, pulse
from queues.services.observer import Observer
from tests.queues.clusterside import KIND, entry, short, workload
from tests.queues.clusterside import queue as cluster_queue
from tests.real.proxy_tls import certificate
from tests.stack import wait_for

pytestmark = pytest.mark.django_db


@pytest.fixture
def client():
    ca_pem, _ = certificate(("127.0.0.1",))
    with ClusterClient(Connection(server="https://127.0.0.1:9", ca_pem=ca_pem, token="t")) as found:
        yield found


@pytest.fixture
def observer(lab, client):
    found = Observer(lab.cluster, client, lease=lambda: True)
    found.memory.load()
    yield found
    found.stop.set()
    found.positions.close()


def tell(observer, *events):
    for event in events:
        observer.following.inbox.put_nowait(event)
    observer._turn()


def listed(kind, *items, version="9"):
    return (
        Begun(KIND[kind]), Changes(KIND[kind], [("ADDED", each) for each in items]),
        Listed(KIND[kind], version),
    )  # fmt: skip


def names():
    return sorted(Workload.objects.values_list("name", flat=True))


# --- the loop ---------------------------------------------------------------------------------


def test_what_comes_is_written(observer):
    tell(observer, *listed("ClusterQueue", cluster_queue()), *listed("LocalQueue", entry()))
    tell(observer, *listed("Workload", workload("a"), workload("b")))
    assert names() == ["a", "b"]
    line = Stream.objects.get(kind="Workload")
    assert (line.epoch, line.needed, line.lost_since) == (1, True, None)


def test_places_wait_for_the_end_of_a_list(observer, monkeypatch):
    """Those that nobody has looked at are written last, and each of them moves the line."""
    marked = []
    monkeypatch.setattr("queues.services.observer.AGAIN", 1)
    monkeypatch.setattr(observer.positions, "mark", marked.append)
    tell(observer, *listed("ClusterQueue", cluster_queue()), *listed("LocalQueue", entry()))
    seen = workload("a", conditions=[short()])
    *came, ended = listed("Workload", seen, workload("b"), workload("c"))
    tell(observer, *came)
    assert names() == ["a"]
    tell(observer, ended)
    while len(names()) < 3:
        assert not any(marked)
        observer._turn()
    observer._turn()
    observer._turn()
    assert [each for each in marked if each] == [{"nlp-train"}]
    tell(observer, Changes(kinds.WORKLOAD, [("ADDED", workload("d"))]))
    assert marked[-1] == {"nlp-train"}


def test_nothing_is_lost_while_the_database_is_away(observer, monkeypatch):
    """The window that could not be written is written later, with what came meanwhile."""
    write, left = observer.window.write, [2]

    def away(**more):
        if left[0]:
            left[0] -= 1
            raise OperationalError("the server closed the connection")
        return write(**more)

    monkeypatch.setattr(observer.window, "write", away)
    monkeypatch.setattr(observer, "_wait_for_database", observer.memory.load)
    tell(observer, *listed("Workload", workload("a")))
    assert names() == []
    tell(observer, Changes(kinds.WORKLOAD, [("ADDED", workload("b"))]))
    assert names() == []
    observer._turn()
    assert names() == ["a", "b"]


def test_a_database_that_goes_away_in_the_middle_of_a_batch(observer, monkeypatch):
    from queues.services import observed_rows

    begun, left = observed_rows.begun, [1]

    def away(*arguments, **more):
        if left[0]:
            left[0] -= 1
            raise OperationalError("gone")
        return begun(*arguments, **more)

    monkeypatch.setattr(observed_rows, "begun", away)
    monkeypatch.setattr(observer, "_wait_for_database", observer.memory.load)
    tell(
        observer,
        Changes(kinds.LOCAL_QUEUE, [("ADDED", entry())]),
        *listed("Workload", workload("a")),
    )
    observer._turn()
    assert names() == ["a"]
    assert ObservedObject.objects.filter(kind="LocalQueue").count() == 1


def test_without_the_lease_nothing_goes_on(observer, monkeypatch):
    """Another observer has taken over: this one waits, and reads what stands there first."""
    answers = iter([False, False, True])
    observer.lease = lambda: next(answers)
    loaded = []
    monkeypatch.setattr(observer.memory, "load", lambda: loaded.append(1))
    monkeypatch.setattr(observer.stop, "wait", lambda _seconds: False)
    monkeypatch.setattr("queues.services.observer.connection.close", lambda: None)
    observer._wait_for_database()
    assert loaded == [1]
    assert next(answers, None) is None


def test_a_lost_line_is_said_and_comes_back(observer):
    tell(observer, *listed("Workload", workload("a")))
    lost = Lost(kinds.WORKLOAD, errors.Unreachable("cut"), time.time())
    tell(observer, lost)
    line = Stream.objects.get(kind="Workload")
    assert (line.lost_since is not None, line.error) == (True, "cut")
    tell(observer, Bookmark(kinds.WORKLOAD, "10"))
    observer._next.clear()
    observer._beat()
    assert Stream.objects.get(kind="Workload").lost_since is None


def test_a_refused_kind_that_is_not_needed_does_not_count_as_lost(observer):
    refused = Lost(kinds.LIMIT_RANGE, errors.Forbidden("no"), time.time())
    tell(observer, refused)
    assert Stream.objects.get(kind="LimitRange").needed is False


def test_an_open_line_to_a_silent_cluster_is_no_sign_of_life(observer, monkeypatch):
    tell(observer, *listed("Workload", workload("a")))
    observer._next.clear()
    observer._beat()
    alive = Stream.objects.get(kind="Workload").alive_at
    monkeypatch.setattr(pulse, "LASTS", -1.0)
    observer.pulse.error = "no answer"
    for _ in range(2):
        observer._next.clear()
        observer._beat()
    line = Stream.objects.get(kind="Workload")
    assert (line.alive_at, line.error) == (alive, "no answer")
    monkeypatch.setattr(pulse, "LASTS", 60.0)
    observer._next.clear()
    observer._beat()
    line = Stream.objects.get(kind="Workload")
    assert line.alive_at > alive
    assert line.lost_since is None


def test_a_kind_that_is_not_served_leaves_no_line(observer):
    tell(observer, *listed("Topology"))
    assert Stream.objects.filter(kind="Topology").exists()
    observer.following.unserved.put("Topology")
    tell(observer, Bookmark(kinds.WORKLOAD, "1"))
    assert not Stream.objects.filter(kind="Topology").exists()


# --- pulse ------------------------------------------------------------------------------------


def test_a_cluster_that_does_not_answer_has_no_pulse(client, monkeypatch):
    found = pulse.Pulse(client, threading.Event())
    assert found.beats
    monkeypatch.setattr(pulse, "LASTS", 0.0)
    found.ask()
    assert not found.beats
    assert found.error.startswith("cannot reach the cluster: ")


@pytest.mark.parametrize(
    ("error", "beats"),
    [
        (errors.Forbidden("no", status=403), True),
        (errors.Credential("expired", status=401), True),
        (errors.Unavailable("starting", status=503), False),
        (errors.Unreachable("cut"), False),
    ],
)
def test_a_refusal_is_an_answer_too(client, monkeypatch, error, beats):
    found = pulse.Pulse(client, threading.Event())
    found._answered -= 100

    def refuse(*_arguments, **_more):
        raise error

    monkeypatch.setattr(found._client.transport, "send", refuse)
    found.ask()
    assert found.beats is beats


# --- the followers ----------------------------------------------------------------------------


class Script:
    """Followers that say what the test wants, when it wants it."""

    def __init__(self, monkeypatch, client):
        self.said = {}
        self.started = []
        self.stop = threading.Event()
        monkeypatch.setattr(following, "follow", self.follow)
        monkeypatch.setattr(following.job_kinds, "served", lambda _client: (kinds.JOB,))
        self.following = following.Following(client, self.stop)

    def follow(self, _client, source, *, stop):
        self.started.append(source.kind.name)
        inbox = self.said.setdefault(source.kind.name, queue.Queue())
        while not stop.is_set():
            try:
                yield inbox.get(timeout=0.05)
            except queue.Empty:
                continue

    def say(self, *events):
        for event in events:
            self.said.setdefault(event.kind.name, queue.Queue()).put(event)

    def collect(self):
        return self.following.collect(window=0.01, most=100, patience=0.05)


@pytest.fixture
def script(monkeypatch, client):
    found = Script(monkeypatch, client)
    yield found
    found.stop.set()
    for thread in found.following.running.values():
        thread.join(10)


def advanced(script):
    script.collect()
    script.following.advance()
    return script.started


def test_workloads_are_followed_when_what_is_around_them_is_known(script):
    script.following.advance()
    queues = {source.kind for source in following.QUEUES}
    wait_for(lambda: len(script.started) == len(queues))
    first, *rest = queues
    script.say(*(Listed(kind, "1") for kind in rest))
    script.collect()
    assert "Pod" not in advanced(script)
    script.say(Lost(first, errors.Forbidden("no"), 0.0))
    wait_for(lambda: {"Pod", "Event"} <= set(advanced(script)))
    assert "Workload" not in script.started
    script.say(Listed(kinds.POD, "1"), Listed(kinds.EVENT, "1"))
    wait_for(lambda: {"Workload", "Job"} <= set(advanced(script)))


def test_a_kind_that_says_nothing_holds_up_the_others_for_a_moment_only(script, monkeypatch):
    monkeypatch.setattr(following, "PATIENCE", 0.0)
    script.following.advance()
    wait_for(lambda: {"Workload", "Pod", "Event"} <= set(advanced(script)))


def test_a_follower_whose_kind_is_not_served_ends(script):
    script.following.advance()
    script.say(Lost(kinds.TOPOLOGY, errors.KindMissing("none"), 0.0))
    wait_for(lambda: not script.following.running["Topology"].is_alive())
    assert script.following.unserved.get() == "Topology"
    assert script.following.running["Cohort"].is_alive()


def test_a_window_ends_by_its_time_or_its_size(script):
    for number in range(following.INBOX):
        part = Changes(kinds.NODE, [("ADDED", {"n": number})] * 30)
        script.following.inbox.put_nowait(part)
    batch = script.following.collect(window=5.0, most=100, patience=1.0)
    assert len(batch) == 4
    began = time.monotonic()
    rest = script.following.collect(window=0.2, most=10_000, patience=1.0)
    assert len(rest) == following.INBOX - 4
    assert 0.1 < time.monotonic() - began < 5
    assert script.following.collect(window=5.0, most=10, patience=0.01) == []


def test_a_full_inbox_slows_the_followers_down_and_drops_nothing(script):
    script.following.advance()
    count = following.INBOX * 3
    script.say(*(Bookmark(kinds.NODE, str(number)) for number in range(count)))
    wait_for(lambda: script.following.inbox.full())
    found = []
    wait_for(lambda: len(found) == count or found.extend(script.collect()))
    assert [event.resource_version for event in found] == [str(n) for n in range(count)]


def test_a_cluster_with_another_address_ends_the_loop(observer):
    """The threads hold connections to the old place: a new loop begins at the new one."""
    moved = []
    observer.moved = lambda: bool(moved)
    observer._beat()
    assert not observer.stop.is_set()
    moved.append(1)
    observer._next.clear()
    observer._beat()
    assert observer.stop.is_set()
