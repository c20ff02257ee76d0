"""Following a kind on a real API server, also through a proxy that breaks the watch."""

import queue
import threading
import time

import pytest

from kube import errors, watch
from kube.kinds import COHORT
from kube.manifest import Ref
from kube.rbac import Identity
from kube.watch import Begun, Bookmark, Changes, Listed, Lost, follow
from kube.wire import Source
from tests.real import faultproxy as fault
from tests.real.objects import cohort

MANAGER = "gpuportal-quota"
EXPIRED = (
    b'{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure",'
    b'"message":"too old resource version: 1 (7120)","reason":"Expired","code":410}}'
)


class Follower:
    """Collects events in a thread; those about one object, when it is named."""

    def __init__(self, client, *, only="", **more):
        self.source = Source(COHORT, fields=f"metadata.name={only}" if only else "")
        self.waiting = []
        self.events = queue.Queue()
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self._run, args=(client, more))
        self.thread.start()

    def _run(self, client, more):
        for event in follow(client, self.source, stop=self.stop, **more):
            self.events.put(event)

    def next(self, kind, *, seconds=10.0, over=(Bookmark,)):
        """Return the next event of one class; bookmarks may come at any time."""
        while True:
            event = self.events.get(timeout=seconds)
            if isinstance(event, kind):
                return event
            assert isinstance(event, over), event

    def list(self, over=(Bookmark,)):
        """Return the names in the next complete list, and its event."""
        found = set()
        self.next(Begun, over=over)
        while isinstance(event := self.next((Begun, Changes, Listed, Lost), over=over), Changes):
            found |= {item["metadata"]["name"] for _, item in event.items}
        assert isinstance(event, Listed), event
        return found, event

    def change(self, kind_of_change, name):
        """Return the next change of one object; other tests' objects are passed over."""
        while True:
            while self.waiting:
                change, item = self.waiting.pop(0)
                if item["metadata"]["name"] == name and change == kind_of_change:
                    return item
            self.waiting = list(self.next(Changes).items)

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


def delete(admin, name):
    admin.delete(Ref("Cohort", "", name), uid=admin.get(Ref("Cohort", "", name))["metadata"]["uid"])


def touch(applier, name, weight):
    body = cohort(name)
    body["spec"]["fairSharing"]["weight"] = weight
    applier.apply(body, manager=MANAGER)


def lists(proxy):
    return [entry for entry in proxy.log if entry.query.get("sendInitialEvents") or paged(entry)]


def paged(entry):
    return "watch" not in entry.query and entry.query.get("limit") != "1"


def test_a_list_then_every_change(connect, admin, applier, following, proxy, name):
    applier.apply(cohort(name), manager=MANAGER)
    seen = following(connect(Identity.READER, through=proxy), silence=3.0)
    names, listed = seen.list()
    assert name in names
    assert listed.kind is COHORT
    assert int(listed.resource_version)
    touch(applier, name, "2")
    assert seen.change("MODIFIED", name)["spec"]["fairSharing"]["weight"] == "2"
    delete(admin, name)
    seen.change("DELETED", name)
    assert not any(map(paged, proxy.log))
    seen.stop.set()


@pytest.mark.fault
@pytest.mark.parametrize(
    "action",
    [
        fault.fail(422, "sendInitialEvents is forbidden for watch", "Invalid"),
        fault.fail(400, "unknown parameter", "BadRequest"),
        fault.watch_line(b'{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"1"}}}'),
    ],
    ids=["refused", "unknown", "ignored"],
)
def test_a_server_without_streamed_lists_is_read_in_pages(
    connect, applier, following, proxy, name, action, monkeypatch
):
    monkeypatch.setattr(watch, "PAGE", 2)
    monkeypatch.setattr(watch, "PART", 1)
    for number in range(3):
        applier.apply(cohort(f"{name}-{number}"), manager=MANAGER)
    proxy.rules.add(watch=True, fresh=True, action=once_without_list(action), times=None)
    seen = following(connect(Identity.READER, through=proxy), silence=3.0)
    seen.next(Begun)
    names, _ = seen.list()
    assert names >= {f"{name}-{number}" for number in range(3)}
    assert sum(map(paged, proxy.log)) >= 2
    touch(applier, f"{name}-1", "2")
    seen.change("MODIFIED", f"{name}-1")
    seen.stop.set()


def once_without_list(action):
    """Let the action stand in for the whole answer, as an old server would give it."""

    def run(exchange):
        exchange.query["sendInitialEvents"] = "no"
        action.run(exchange)

    return fault.Action(action.name, False, run)


@pytest.mark.fault
def test_a_position_that_expires_between_pages_begins_the_list_anew(
    connect, admin, applier, following, proxy, name, monkeypatch
):
    monkeypatch.setattr(watch, "PAGE", 1)
    for number in range(3):
        applier.apply(cohort(f"{name}-{number}"), manager=MANAGER)
    proxy.rules.add(watch=True, fresh=True, action=fault.fail(422, "no", "Invalid"), times=None)
    proxy.rules.add(watch=False, nth=2, action=fault.fail(410, "too old", "Expired"))
    seen = following(connect(Identity.READER, through=proxy), silence=3.0)
    seen.next(Lost, over=(Begun, Changes))
    names, _ = seen.list()
    assert names >= {f"{name}-{number}" for number in range(3)}
    seen.stop.set()


@pytest.mark.fault
def test_a_streamed_list_that_breaks_is_begun_anew_and_then_read_in_pages(
    connect, applier, following, proxy, name
):
    applier.apply(cohort(name), manager=MANAGER)
    broken = fault.cut_watch(0, listed=False)
    proxy.rules.add(watch=True, fresh=True, action=broken, times=2)
    seen = following(connect(Identity.READER, through=proxy), silence=3.0)
    for _ in range(2):
        seen.next(Begun)
        assert isinstance(seen.next((Lost, Listed)), Lost)
    names, _ = seen.list()
    assert name in names
    assert sum(map(paged, proxy.log)) == 1
    seen.stop.set()


@pytest.mark.fault
def test_a_watch_cut_in_the_middle_of_a_line_loses_nothing(
    connect, applier, following, proxy, name
):
    applier.apply(cohort(name), manager=MANAGER)
    proxy.rules.add(watch=True, action=fault.cut_watch(1))
    # Lines are counted: changes that other tests make must not be among them.
    seen = following(connect(Identity.READER, through=proxy), silence=3.0, only=name)
    seen.list()
    touch(applier, name, "2")
    seen.change("MODIFIED", name)
    touch(applier, name, "3")
    lost = seen.next(Lost)
    assert isinstance(lost.error, errors.Unreachable)
    assert abs(lost.since - time.time()) < 5
    assert seen.change("MODIFIED", name)["spec"]["fairSharing"]["weight"] == "3"
    assert len(lists(proxy)) == 1
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
    proxy.rules.add(watch=True, fresh=True, action=fault.cut_watch(0))
    held = proxy.rules.add(watch=True, fresh=False, action=fault.drop(), times=None)
    seen = following(connect(Identity.READER, through=proxy), silence=3.0)
    names, _ = seen.list()
    assert name in names
    touch(applier, name, "2")
    seen.next(Lost)
    delete(admin, name)
    proxy.rules.add(watch=True, fresh=False, action=action)
    held.times = 0
    names, _ = seen.list(over=(Bookmark, Lost))
    assert name not in names
    seen.stop.set()


@pytest.mark.fault
def test_silence_is_a_dead_connection(connect, applier, following, proxy, name):
    applier.apply(cohort(name), manager=MANAGER)
    proxy.rules.add(watch=True, action=fault.silence(30))
    seen = following(connect(Identity.READER, through=proxy), silence=1.0)
    seen.list()
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
    seen.list()
    seen.next(Lost)
    touch(applier, name, "2")
    seen.change("MODIFIED", name)
    seen.stop.set()


@pytest.mark.fault
def test_failures_in_a_row_keep_their_beginning(connect, following, proxy):
    proxy.rules.add(verb="GET", action=fault.fail(503), times=2)
    seen = following(connect(Identity.READER, through=proxy), silence=3.0)
    first = seen.next(Lost, over=(Begun,))
    second = seen.next(Lost, over=(Begun,))
    assert first.since == second.since
    seen.list()
    seen.stop.set()


@pytest.mark.fault
def test_a_missing_right_is_told_and_tried_again(connect, following, proxy):
    text = 'cohorts is forbidden: User "u" cannot list resource "cohorts" in API group "k"'
    proxy.rules.add(verb="GET", action=fault.fail(403, text, "Forbidden"))
    seen = following(connect(Identity.READER, through=proxy), silence=3.0)
    assert isinstance(seen.next(Lost, over=(Begun,)).error, errors.Forbidden)
    seen.list()
    seen.stop.set()
