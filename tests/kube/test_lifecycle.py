"""Intervals from looks: never an overlap, never a gap, exact where a condition tells the time."""

from dataclasses import dataclass, field
from datetime import timedelta
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from kube.lifecycle import advance, end, joined
from kube.lifecycle_facts import devices, read_sight
from kube.phases import Moment, Quality, Recorded
from tests.kube.kueue_life import START, Life

#: What usually follows each other, so that long lives are likely.
COURSES = (
    ("look_at_it",), ("reserve",), ("admit",), ("evict",), ("release",), ("switch_off",),
    ("switch_on",), ("reclaim",), ("finish",), ("reserve", "admit"), ("evict", "release"),
    ("reserve", "admit", "evict", "release"), ("reserve", "admit", "reclaim", "evict", "release"),
    ("reserve", "evict", "release"), ("switch_off", "release", "switch_on"),
)  # fmt: skip
WAIT = st.sampled_from([0, 0.1, 0.4, 0.9, 1, 3, 60.5, 5000])


ALWAYS_ADMITTED = [
    each for each in COURSES if each[0] != "reserve" or each[:2] == ("reserve", "admit")
]


@st.composite
def lives(draw, courses=COURSES):
    """Draw steps: what is done, how long before that, and whether somebody looks after it."""
    courses = draw(st.lists(st.sampled_from(courses), max_size=10))
    return [(a, draw(WAIT), draw(st.booleans())) for course in courses for a in course]


@dataclass
class Watcher:
    """Keeps what ``advance`` gives, as a database would."""

    record: Recorded | None = None
    spans: list = field(default_factory=list)
    losses: list = field(default_factory=list)
    last: object = START

    def look(self, life, *, live=True):
        since = life.now - timedelta(seconds=2) if live else self.last
        step = advance(self.record, read_sight(life.look()), Moment(life.now, since), queue="q")
        self._keep(step, life)
        return step

    def gone(self, life, *, unseen=False):
        since = self.last if unseen else life.now - timedelta(seconds=2)
        self._keep(end(self.record, Moment(life.now, since), unseen=unseen), life)

    def _keep(self, step, life):
        self.record = step.after
        self.spans += step.spans
        self.losses += step.losses
        self.last = life.now

    def all(self):
        """Return phase, start, end and devices of every span, the open one too."""
        found = [(s.open, s.end.at) for s in self.spans]
        if self.record.open:
            found.append((self.record.open, None))
        return [(str(o.phase), o.start.at, e, devices(o.held)) for o, e in found]


def play(steps):
    """Yield a life after each of its steps, and whether somebody looks at it then."""
    life = Life()
    yield life, True
    for action, seconds, looked in steps:
        life.wait(seconds)
        getattr(life, action)()
        yield life, looked


def merged(rows):
    """Put rows together that follow each other and say the same."""
    found = []
    for phase, start, until, gpus in rows:
        if found and (found[-1][0], found[-1][2], found[-1][3]) == (phase, start, gpus):
            found[-1] = (phase, found[-1][1], until, gpus)
        else:
            found.append((phase, start, until, gpus))
    return found


@settings(max_examples=200, deadline=None)
@given(lives())
def test_who_sees_every_change_has_every_interval_to_the_second(steps):
    watcher = Watcher()
    for life, _ in play(steps):
        watcher.look(life)
    assert merged(watcher.all()) == merged(life.lived())


@settings(max_examples=200, deadline=None)
@given(lives())
def test_whatever_is_missed_phases_never_overlap_and_leave_no_gap(steps):
    watcher = Watcher()
    for life, looked in play(steps):
        if looked:
            watcher.look(life, live=False)
    rows = watcher.all()
    assert all(a[2] == b[1] for a, b in pairwise(rows))
    assert all(until is None or start < until for _, start, until, _ in rows)
    if rows:
        assert rows[0][1] == START


@settings(max_examples=200, deadline=None)
@given(lives())
def test_the_same_look_again_adds_nothing(steps):
    watcher = Watcher()
    for life, looked in play(steps):
        if looked:
            watcher.look(life, live=False)
            life.wait(0.5)
            again = watcher.look(life, live=False)
            assert (again.spans, again.losses) == ((), ())
            assert again.after.open == watcher.record.open


@settings(max_examples=200, deadline=None)
@given(lives())
def test_what_is_called_exact_is_true_and_the_rest_has_its_limits(steps):
    watcher = Watcher()
    for life, looked in play(steps):
        if looked:
            watcher.look(life, live=False)
    edges = {edge for _, start, stop, _ in life.truth for edge in (start, stop)}
    for span in watcher.spans:
        for bound in (span.open.start, span.end):
            if bound.quality is Quality.EXACT:
                assert (bound.earliest, bound.latest) == (None, None)
                assert bound.at in edges
            else:
                assert bound.earliest <= bound.at <= bound.latest


def held_seconds(rows, until):
    held = [each for each in rows if each[0] in ("admitted", "draining")]
    return sum(((stop or until) - start).total_seconds() for _, start, stop, _ in held)


@settings(max_examples=200, deadline=None)
@given(lives(ALWAYS_ADMITTED))
def test_seconds_with_a_place_are_conserved_by_the_counter_of_kueue(steps):
    """Kueue counts from the admission until the quota is free, whoever looks."""
    watcher = Watcher()
    for life, looked in play(steps):
        if looked:
            watcher.look(life, live=False)
    life.wait(0.5)
    watcher.look(life, live=False)
    until = life.now.replace(microsecond=0)
    assert held_seconds(watcher.all(), until) == held_seconds(life.lived(), until)


@settings(max_examples=200, deadline=None)
@given(lives())
def test_the_short_way_for_ordinary_lives_says_the_same(steps):
    nothing = Recorded(open=None)
    for life, looked in play(steps):
        if looked:
            now = life.now.replace(microsecond=0)
            sight, moment = read_sight(life.look()), Moment(now, now)
            short = advance(None, sight, moment, queue="q", cohort="c")
            assert short == joined(nothing, sight, moment, queue="q", cohort="c")
