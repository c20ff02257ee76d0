"""In which times a pod has its devices: exact where the pod tells it, bounded where it does not."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube.pod_life import Glance, Kind, advance

START = datetime(2026, 11, 29, 10, 0, tzinfo=UTC)


def at(seconds):
    return START + timedelta(seconds=seconds)


def stamp(seconds):
    return at(seconds).strftime("%Y-%m-%dT%H:%M:%SZ")


def pod(started=None, *, phase="Running", asked=None, grace=30, restarts=0, ended=None, **status):
    """A pod whose container started so many seconds after the story began."""
    state = {"running": {"startedAt": stamp(started)}} if started is not None else {}
    if ended is not None:
        state = {"terminated": {"startedAt": stamp(started), "finishedAt": stamp(ended)}}
    meta = {"name": "p", "creationTimestamp": stamp(0)}
    if asked is not None:
        meta |= {"deletionTimestamp": stamp(asked + grace), "deletionGracePeriodSeconds": grace}
    containers = [{"name": "c", "restartCount": restarts, "state": state}] if state else []
    return {
        "metadata": meta, "spec": {"nodeName": "n1"},
        "status": {"phase": phase, "startTime": stamp(1), "containerStatuses": containers, **status},
    }  # fmt: skip


def glance(now, since=None, live=True):
    return Glance(at(now), at(now - 2 if live and since is None else since or 0))


def times(life):
    return [(x.begun.kind, x.begun.start.at, x.end.at, x.ended_by) for x in life.over]


def test_it_runs_since_its_containers_were_started_however_late_it_is_seen():
    for look in (glance(9), glance(4000, 8), Glance(at(4000), None)):
        life = advance(None, pod(8), look, gone=False)
        assert (life.open.kind, life.open.start, life.over) == (
            Kind.RUNNING, (at(8), "exact", None, None), (),
        )  # fmt: skip


def test_the_last_of_its_containers_decides():
    item = pod(8)
    more = [{"name": "d", "state": {"running": {"startedAt": stamp(11)}}}]
    item["status"]["containerStatuses"] += more
    assert advance(None, item, glance(12), gone=False).open.start.at == at(11)


@pytest.mark.parametrize(
    "item", [pod(phase="Pending"), pod(8, phase="Succeeded"), {"metadata": {}}, {}]
)
def test_a_pod_that_does_not_run_has_nothing(item):
    assert advance(None, item, glance(9), gone=False) == (None, ())
    assert advance(None, item, glance(9), gone=True) == (None, ())
    assert advance(None, None, glance(9), gone=True) == (None, ())


def test_containers_that_were_started_again_tell_only_of_the_last_time():
    life = advance(None, pod(500, restarts=2), Glance(at(900), None), gone=False)
    start = life.open.start
    assert (start.quality, start.earliest, start.latest) == ("bounded", at(1), at(500))
    assert start.earliest < start.at < start.latest


def test_a_pod_that_says_nothing_of_its_containers_began_before_it_was_seen():
    life = advance(None, pod(), glance(60), gone=False)
    assert life.open.start == (at(60), "seen", at(58), at(60))
    life = advance(None, pod(), Glance(at(60), None), gone=False)
    assert (life.open.start.earliest, life.open.start.latest) == (at(1), at(60))


def test_it_is_terminating_from_the_moment_in_which_its_deletion_was_asked_for():
    running = advance(None, pod(8), glance(9), gone=False).open
    life = advance(running, pod(8, asked=100), glance(101), gone=False)
    assert times(life) == [("running", at(8), at(100), "terminating")]
    assert life.open == (Kind.TERMINATING, (at(100), "exact", None, None))
    end = advance(life.open, pod(8, asked=100), glance(117), gone=True)
    assert times(end) == [("terminating", at(100), at(117), "deleted")]
    assert end.over[0].end == (at(117), "seen", at(115), at(117))


def test_a_shorter_time_to_end_does_not_move_the_request():
    """The API server takes the deadline back by as much as the time that is given."""
    running = advance(None, pod(8), glance(9), gone=False).open
    first = advance(running, pod(8, asked=100, grace=600), glance(101), gone=False)
    again = advance(running, pod(8, asked=100, grace=0), glance(101), gone=False)
    assert first == again


def test_one_that_was_seen_only_when_it_had_gone_has_both_times():
    running = advance(None, pod(8), glance(9), gone=False).open
    life = advance(running, pod(8, asked=100), glance(131), gone=True)
    assert times(life) == [
        ("running", at(8), at(100), "terminating"), ("terminating", at(100), at(131), "deleted"),
    ]  # fmt: skip


def test_an_end_that_the_pod_tells_is_exact():
    running = advance(None, pod(8), glance(9), gone=False).open
    life = advance(running, pod(8, phase="Succeeded", ended=77), glance(4000, 60), gone=False)
    assert times(life) == [("running", at(8), at(77), "ended")]
    assert life.over[0].end.quality == "exact"


def test_one_that_vanished_ended_between_two_looks():
    running = advance(None, pod(8), glance(9), gone=False).open
    life = advance(running, None, glance(1000, 400), gone=True)
    end = life.over[0].end
    assert times(life) == [("running", at(8), at(700), "vanished")]
    assert (end.quality, end.earliest, end.latest) == ("bounded", at(400), at(1000))


def test_a_deadline_without_the_time_that_was_given_is_between_two_looks():
    item = pod(8, asked=100)
    del item["metadata"]["deletionGracePeriodSeconds"]
    running = advance(None, pod(8), glance(9), gone=False).open
    end = advance(running, item, glance(103), gone=False).over[0].end
    assert end == (at(103), "seen", at(101), at(103))


def test_what_begins_again_begins_after_what_is_over():
    life = advance(None, pod(8), glance(300), gone=False, least=at(200))
    assert (life.open.start.at, life.open.start.quality) == (at(200), "bounded")


def test_a_clock_that_is_ahead_moves_nothing_into_the_future():
    life = advance(None, pod(500), glance(100), gone=False)
    assert (life.open.start.at, life.open.start.quality) == (at(100), "bounded")


# --- any life, any looks ----------------------------------------------------------------------------


@st.composite
def lives(draw):
    """Draw a life, and looks at it; nobody listens for the time before some of them."""
    started = draw(st.integers(2, 50))
    asked = draw(st.none() | st.integers(started, started + 100))
    ended = draw(st.integers((asked or started) + 1, (asked or started) + 200))
    looks = draw(st.lists(st.integers(1, ended - 1), max_size=6, unique=True))
    return started, asked, ended, sorted(looks), draw(st.integers(0, 60)), draw(st.booleans())


def told(life):
    """Return the times that an observer keeps of a life."""
    started, asked, ended, looks, later, seen = life
    spans, now, last = [], None, 0
    for when in looks:
        item = pod(phase="Pending")
        if when >= started:
            item = pod(started, asked=asked if asked is not None and when >= asked else None)
        step = advance(now, item, Glance(at(when), at(last)), gone=False)
        now, last, spans = step.open, when, [*spans, *step.over]
    item = pod(started, asked=asked) if seen else None
    step = advance(now, item, Glance(at(ended + later), at(last)), gone=True)
    assert step.open is None
    return [*spans, *step.over]


@given(lives())
def test_times_follow_each_other_and_hold_the_truth(life):
    started, asked, ended, _, _, seen = life
    spans = told(life)
    assert all(each.end.at > each.begun.start.at for each in spans)
    for one, following in pairwise(spans):
        assert one.end.at == following.begun.start.at
        assert (one.begun.kind, following.begun.kind) == (Kind.RUNNING, Kind.TERMINATING)
    if spans:
        assert spans[0].begun.start.at == at(started)
        end = spans[-1].end
        assert (end.earliest or end.at) <= at(ended) <= (end.latest or end.at)
    if spans and seen and asked is not None:
        assert sum((x.end.at - x.begun.start.at for x in spans if x.begun.kind is Kind.RUNNING),
                   timedelta()) == at(asked) - at(started)  # fmt: skip


@given(lives())
def test_the_same_look_again_adds_nothing(life):
    started, asked, *_ = life
    item = pod(started, asked=asked)
    first = advance(None, item, glance(300), gone=False)
    again = advance(first.open, item, glance(301), gone=False)
    assert again == (first.open, ())
