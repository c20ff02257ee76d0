"""Following a kind on a real API server, also through a proxy that breaks the watch."""

import queue
import threading
import time

import pytest

from kube import errors
from kube.kinds import COHORT
from kube.manifest import Ref
from kube.rbac import Identity
from kube.watch import Bookmark, Changed, Listed, Lost, follow
from tests.real import faultproxy as fault
from tests.real.objects import cohort

MANAGER = "gpuportal-quota"
EXPIRED = (
    b'{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure",'
    b'"message":"too old resource version: 1 (7120)","reason":"Expired","code":410}}'
)


class Follower:
    """Collects events in a thread."""

    def __init__(self, client, **more):
        self.events = queue.Queue()
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self._run, args=(client, more))
        self.thread.start()

    def _run(self, client, more):
        for event in follow(client, COHORT, stop=self.stop, **more):
            self.events.put(event)

    def next(self, kind, seconds=10.0):
        """Return the next event of one class; bookmarks may come at any time."""
        while True:
            event = self.events.get(timeout=seconds)
            if isinstance(event, kind):
                return event
            assert isinstance(event, Bookmark), event

    def change(self, kind_of_change, name):
        """Return the next change of one object; other tests' objects are passed over."""
        while True:
            event = self.next(Changed)
            if event.object["metadata"]["name"] == name and event.type == kind_of_change:
                return event.object

    def close(self):
        self.stop.set()
        self.thread.join(10)
        assert not self.thread.is_alive()


@pytest.fixture
def following():
    opened = []

    def start(client, **more):
        opened.append(Follower(client, **more))
        return opened[-1]

    yield start
    for each in opened:
        each.stop.set()


def names(event):
    return {item["metadata"]["name"] for item in event.items}


def delete(admin, name):
    admin.delete(Ref("Cohort", "", name), uid=admin.get(Ref("Cohort", "", name))["metadata"]["uid"])


def touch(applier, name, weight):
    body = cohort(name)
    body["spec"]["fairSharing"]["weight"] = weight
    applier.apply(body, manager=MANAGER)


def test_a_list_then_every_change(connect, admin, applier, following, proxy, name):
    applier.apply(cohort(name), manager=MANAGER)
    seen = following(connect(Identity.READER, through=proxy), silence=3.0)
    first = seen.next(Listed)
    assert name in names(first)
    assert first.kind is COHORT
    assert int(first.resource_version)
    touch(applier, name, "2")
    assert seen.change("MODIFIED", name)["spec"]["fairSharing"]["weight"] == "2"
    delete(admin, name)
    seen.change("DELETED", name)
    seen.stop.set()


@pytest.mark.fault
def test_a_watch_cut_in_the_middle_of_a_line_loses_nothing(
    connect, applier, following, proxy, name
):
    applier.apply(cohort(name), manager=MANAGER)
    proxy.rules.add(watch=True, action=fault.cut_watch(1))
    seen = following(connect(Identity.READER, through=proxy), silence=3.0)
    seen.next(Listed)
    touch(applier, name, "2")
    seen.change("MODIFIED", name)
    touch(applier, name, "3")
    lost = seen.next(Lost)
    assert isinstance(lost.error, errors.Unreachable)
    assert abs(lost.since - time.time()) < 5
    assert seen.change("MODIFIED", name)["spec"]["fairSharing"]["weight"] == "3"
    lists = [entry for entry in proxy.log if "watch" not in entry.query]
    assert len(lists) == 1
    seen.stop.set()


@pytest.mark.fault
@pytest.mark.parametrize(
    "action",
    [
        fault.watch_line(EXPIRED),
        fault.fail(410, "The resourceVersion for the provided watch is too old.", "Expired"),
        fault.watch_line(b'{"type":"NEWTYPE","object":{"metadata":{"resourceVersion":"1"}}}'),
    ],
    ids=["error-line", "status-410", "unknown-type"],
)
def test_an_expired_position_brings_a_fresh_list(
    connect, admin, applier, following, proxy, name, action
):
    """Also what was deleted meanwhile is seen: it is not in the new list."""
    applier.apply(cohort(name), manager=MANAGER)
    proxy.rules.add(watch=True, action=action)
    gone = threading.Event()

    class Client:
        """The client, held back between the first list and the watch."""

        def __init__(self, client):
            self.client, self.transport = client, client.transport

        def list_all(self, *args):
            found = self.client.list_all(*args)
            if not gone.is_set():
                delete(admin, name)
                gone.set()
            return found

    seen = following(Client(connect(Identity.READER, through=proxy)), silence=3.0)
    assert name in names(seen.next(Listed))
    fresh = _next_list(seen)
    assert name not in names(fresh)
    seen.stop.set()


def _next_list(seen):
    while True:
        event = seen.events.get(timeout=10)
        if isinstance(event, Listed):
            return event
        assert isinstance(event, Lost | Bookmark)


@pytest.mark.fault
def test_silence_is_a_dead_connection(connect, applier, following, proxy, name):
    applier.apply(cohort(name), manager=MANAGER)
    proxy.rules.add(watch=True, action=fault.silence(30))
    seen = following(connect(Identity.READER, through=proxy), silence=1.0)
    seen.next(Listed)
    touch(applier, name, "2")
    begun = time.monotonic()
    seen.next(Lost)
    seen.change("MODIFIED", name)
    assert time.monotonic() - begun < 5
    seen.stop.set()


@pytest.mark.fault
@pytest.mark.parametrize(
    "line", [b"not json", b"[1]", b'{"type":"ADDED"}', b'{"type":"ADDED","object":{}}']
)
def test_a_broken_line_is_no_change(connect, applier, following, proxy, name, line):
    applier.apply(cohort(name), manager=MANAGER)
    proxy.rules.add(watch=True, action=fault.watch_line(line))
    seen = following(connect(Identity.READER, through=proxy), silence=3.0)
    seen.next(Listed)
    seen.next(Lost)
    touch(applier, name, "2")
    seen.change("MODIFIED", name)
    seen.stop.set()


@pytest.mark.fault
def test_failures_in_a_row_keep_their_beginning(connect, following, proxy):
    proxy.rules.add(verb="GET", action=fault.fail(503), times=2)
    seen = following(connect(Identity.READER, through=proxy), silence=3.0)
    first, second = seen.next(Lost), seen.next(Lost)
    assert first.since == second.since
    seen.next(Listed)
    seen.stop.set()


@pytest.mark.fault
def test_a_missing_right_is_told_and_tried_again(connect, following, proxy):
    text = 'cohorts is forbidden: User "u" cannot list resource "cohorts" in API group "k"'
    proxy.rules.add(verb="GET", action=fault.fail(403, text, "Forbidden"))
    seen = following(connect(Identity.READER, through=proxy), silence=3.0)
    assert isinstance(seen.next(Lost).error, errors.Forbidden)
    seen.next(Listed)
    seen.stop.set()
