"""Cases of the history of places: worked examples, real objects, clocks that are wrong."""

import json
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from kube.evictions import Cause
from kube.lifecycle import advance, end
from kube.lifecycle_facts import asked, devices, read_sight
from kube.phases import HOLDING, Moment, Phase, Quality, Recorded
from tests.kube.kueue_life import PODS, START, Life
from tests.kube.test_lifecycle import Watcher

FIXTURES = Path(__file__).parent / "fixtures"
REAL = {
    f"{file.stem.removeprefix('workloads-')}/{name}": item
    for file in sorted(FIXTURES.glob("workloads-*.json"))
    for name, item in json.loads(file.read_text()).items()
}


def seconds(watcher, *phases):
    rows = [each for each in watcher.all() if each[0] in phases]
    return sum((stop - start).total_seconds() * gpus for _, start, stop, gpus in rows)


def first_look(item, later=timedelta(hours=1)):
    sight = read_sight(item)
    now = max([sight.created, *(c.since for c in sight.conditions.values() if c.since)]) + later
    return advance(None, sight, Moment(now, now - timedelta(seconds=2)), queue="q"), sight, now


def test_the_worked_example_of_an_eviction():
    """Reserved 60:00, admitted 62:00, given back 91:10 later, back at 120:00, done at 180:00."""
    life, watcher = Life(), Watcher()
    watcher.look(life)
    for second, action in (
        (3600, "reserve"), (3720, "admit"), (9070, "evict"), (9070, "release"), (10_800, "reserve"),
        (10_830, "admit"), (14_400, "finish"),
    ):  # fmt: skip
        life.wait(second - (life.now - START).total_seconds())
        getattr(life, action)()
        watcher.look(life)
    assert seconds(watcher, "reserved", "admitted", "draining") == 8 * (5470 + 3600)
    assert seconds(watcher, "admitted") == 8 * (5350 + 3570)
    assert life.status["accumulatedPastExecutionTimeSeconds"] == 5350
    loss = watcher.losses[0]
    assert (loss.evicted.cause, loss.evicted.preemptor_uid) == (Cause.PREEMPTED_IN_QUEUE, "u-1")
    assert (loss.at.quality, loss.running_since) == (Quality.EXACT, START + timedelta(seconds=3720))


def test_pods_that_are_done_give_their_quota_back():
    life, watcher = Life(), Watcher()
    watcher.look(life)
    life.reserve()
    life.admit()
    watcher.look(life)
    for wait, done in ((1800, 3), (900, 3)):
        life.wait(wait)
        for _ in range(done):
            life.reclaim()
        watcher.look(life)
    life.wait(900)
    life.finish()
    watcher.look(life)
    assert seconds(watcher, "admitted") == 20_700
    assert life.gpus == PODS - 6


@pytest.mark.parametrize("again", ["same second", "same window"])
def test_an_eviction_and_its_return_within_one_second_are_two_attempts(again):
    life, watcher = Life(), Watcher()
    life.reserve()
    life.admit()
    watcher.look(life)
    life.evict()
    if again == "same second":
        watcher.look(life)
    life.release()
    life.reserve()
    life.admit()
    watcher.look(life)
    assert (watcher.record.attempt, len(watcher.losses)) == (2, 1)
    assert watcher.record.open.phase is Phase.ADMITTED
    assert watcher.losses[0].evicted.cause is Cause.PREEMPTED_IN_QUEUE


def test_a_deletion_on_a_live_line_ends_what_is_held_within_two_seconds():
    life, watcher = Life(), Watcher()
    life.reserve()
    life.admit()
    watcher.look(life)
    life.wait(100.7)
    watcher.gone(life)
    span = watcher.spans[-1]
    assert (span.ended_by, span.end.quality) == ("deleted", Quality.SEEN)
    assert span.end.at == START + timedelta(seconds=100)
    assert span.end.latest - span.end.earliest <= timedelta(seconds=2)


def test_what_ended_unseen_ends_between_the_two_looks():
    life, watcher = Life(), Watcher()
    life.reserve()
    life.admit()
    watcher.look(life)
    life.wait(600)
    watcher.gone(life, unseen=True)
    span = watcher.spans[-1]
    assert (span.ended_by, span.end.quality) == ("vanished", Quality.BOUNDED)
    assert (span.end.earliest, span.end.latest) == (START, START + timedelta(seconds=600))
    assert watcher.record.open is None


def test_the_end_is_not_before_the_deletion_was_asked_for():
    life, watcher = Life(), Watcher()
    watcher.look(life)
    life.wait(600)
    asked = life.now - timedelta(seconds=10)
    step = end(watcher.record, Moment(life.now, START), unseen=True, deleting=asked)
    assert step.spans[0].end.earliest == asked


def test_times_that_run_backwards_are_moved_and_no_longer_called_exact():
    life, watcher = Life(), Watcher()
    watcher.look(life)
    life.wait(100)
    life.reserve()
    watcher.look(life)
    life.admit()
    back = life._find("Admitted")
    back["lastTransitionTime"] = "2026-11-02T09:00:30Z"
    life.wait(50)
    watcher.look(life)
    opened = watcher.record.open
    assert (opened.phase, opened.start.at) == (Phase.ADMITTED, START + timedelta(seconds=100))
    assert opened.start.quality is Quality.BOUNDED
    assert opened.start.earliest == START + timedelta(seconds=30)


def test_a_clock_far_ahead_is_reported_and_not_believed():
    life = Life()
    life.wait(3600)
    life.reserve()
    looked = life.now - timedelta(minutes=10)
    step = advance(None, read_sight(life.look()), Moment(looked, looked), queue="q")
    assert step.skewed
    assert step.after.open.start.at == looked
    again = advance(step.after, read_sight(life.look()), Moment(looked, looked), queue="q")
    assert (again.spans, again.after.open) == ((), step.after.open)


def test_a_wait_is_split_when_its_entry_points_elsewhere():
    life = Life()
    first = advance(None, read_sight(life.look()), Moment(START, START))
    life.wait(50)
    named = advance(first.after, read_sight(life.look()), Moment(life.now, START), queue="a")
    assert (named.spans, named.after.open.queue) == ((), "a")
    life.wait(50)
    moved = advance(named.after, read_sight(life.look()), Moment(life.now, life.now), queue="b")
    assert [(s.open.queue, s.ended_by) for s in moved.spans] == [("a", "moved")]
    assert (moved.after.open.queue, moved.after.open.start.at) == ("b", life.now)


def test_a_workload_that_is_back_after_a_restore_goes_on():
    life, watcher = Life(), Watcher()
    life.reserve()
    watcher.look(life)
    life.wait(60)
    watcher.gone(life)
    life.wait(60)
    watcher.look(life)
    assert watcher.record.open.phase is Phase.RESERVED
    rows = watcher.all()
    assert all(a[2] <= b[1] for a, b in pairwise(rows))


@pytest.mark.parametrize("name", REAL)
def test_the_first_look_at_a_real_object_covers_its_life(name):
    step, sight, now = first_look(REAL[name])
    spans = step.spans
    edges = [sight.created, *(s.end.at for s in spans)]
    assert [s.open.start.at for s in spans] == edges[:-1]
    finished = sight.condition("Finished").true
    assert (step.after.open is None) == finished
    if step.after.open:
        assert step.after.open.start.at == edges[-1]
        assert (step.after.open.phase in HOLDING) == sight.condition("QuotaReserved").true
        assert not step.skewed
    again = advance(step.after, sight, Moment(now + timedelta(minutes=5), now), queue="q")
    assert (again.spans, again.losses, again.after.open) == ((), (), step.after.open)


def test_an_end_without_a_time_is_as_it_was_seen():
    life, watcher = Life(), Watcher()
    life.reserve()
    life.admit()
    watcher.look(life)
    life.wait(600)
    life.finish()
    for each in life.status["conditions"]:
        if each["type"] == "Finished":
            del each["lastTransitionTime"]
    watcher.look(life)
    assert watcher.record.open is None
    assert watcher.spans[-1].end.quality is Quality.SEEN


def test_a_check_that_takes_its_word_back_leaves_the_quota():
    life, watcher = Life(), Watcher()
    life.reserve()
    life.admit()
    watcher.look(life)
    life.wait(60)
    life._set("Admitted", "False", "NotReady", "a check is pending again")
    watcher.look(life)
    assert watcher.record.open.phase is Phase.RESERVED
    assert devices(watcher.record.open.held) == 8


def test_resources_that_are_neither_devices_nor_sized_are_left_out():
    life = Life()
    life.reserve()
    life.status["admission"]["podSetAssignments"][0]["resourceUsage"]["ephemeral-storage"] = "1Gi"
    pods = life.body["spec"]["podSets"][0]["template"]["spec"]["containers"][0]
    pods["resources"]["requests"]["ephemeral-storage"] = "1Gi"
    sight = read_sight(life.look())
    assert [resource for _, resource, _ in sight.held] == ["nvidia.com/gpu"]
    assert [resource for _, resource, _ in asked(sight)] == ["nvidia.com/gpu"]


@pytest.mark.parametrize("released", [False, True])
def test_what_is_switched_off_holds_nothing_more_and_loses_its_work_later(released):
    """Kueue's sums leave it out from the moment that nobody wants it to run, not from the end."""
    life, watcher = Life(), Watcher()
    watcher.look(life)
    life.reserve()
    life.admit()
    watcher.look(life)
    life.wait(600)
    life.body["spec"]["active"] = False
    life.version += 1
    watcher.look(life)
    assert devices(watcher.record.open.held) == 0
    life.body["spec"]["active"] = True  # as the model wants it for what follows
    life.wait(30)
    life.switch_off()
    if released:
        life.release()
    watcher.look(life)
    held = [(x.end.at - x.open.start.at) * devices(x.open.held) for x in watcher.spans]
    assert sum(held, timedelta()) == timedelta(seconds=8 * 600)
    [loss] = watcher.losses
    assert (devices(loss.held), loss.running_since) == (8, START)
    assert loss.evicted.cause == Cause.DEACTIVATED


@pytest.mark.parametrize(
    ("name", "phase", "attempt", "held", "cause"),
    [
        ("0.17.0/74-readmitted-after-preemption", "admitted", 2, 4, "preempted_in_queue"),
        ("0.17.0/95-preempted-message-copied", "evicted", 1, 0, "preempted_in_queue"),
        ("0.17.0/71-victim-being-stopped", "draining", 1, 4, "preempted_in_queue"),
        ("0.17.0/104-podsready-timeout-backoff", "evicted", 1, 0, "pods_ready_timeout"),
        ("0.17.0/94-check-retry-evicted", "evicted", 1, 0, "check"),
        ("0.17.0/79-max-execution-time", "deactivated", 1, 0, "deactivated_time_limit"),
        ("0.17.0/98-orphaned-workload", "admitted", 1, 2, None),
        ("0.17.0/83-reclaimable-pods", "admitted", 1, 2, None),
        ("0.17.0/40-check-pending", "reserved", 1, None, None),
        ("0.17.0/02-quota-wait", "queued", 0, 0, None),
    ],
)
def test_where_real_objects_stand(name, phase, attempt, held, cause):
    step, sight, _ = first_look(REAL[name])
    opened = step.after.open
    assert (str(opened.phase), opened.attempt) == (phase, attempt)
    if held is not None:
        assert devices(opened.held) == held
    assert [str(loss.evicted.cause) for loss in step.losses] == ([cause] if cause else [])
    assert sight.orphaned == ("orphaned" in name)


def test_what_is_on_record_needs_nothing_else():
    assert Recorded(open=None).condition("Evicted").status == ""


# --- courses that are seldom seen ---------------------------------------------------------------------


def test_a_reservation_that_did_not_last_goes_back_to_the_queue():
    life, watcher = Life(), Watcher()
    life.reserve()
    watcher.look(life)
    life.wait(30)
    life.status.pop("admission")
    life._set("QuotaReserved", "False", "Pending", "the flavor is gone")
    watcher.look(life)

    assert watcher.record.open.phase is Phase.QUEUED
    assert watcher.losses[0].evicted.cause is Cause.RESERVATION_LOST
    assert seconds(watcher, "reserved") == 30 * 8


def test_quota_that_was_given_back_at_an_unknown_time_has_bounds():
    life, watcher = Life(), Watcher()
    life.reserve()
    watcher.look(life)
    life.wait(30)
    life.status.pop("admission")
    life.status["conditions"] = []
    watcher.look(life)

    [reserved] = [span for span in watcher.spans if span.open.phase is Phase.RESERVED]
    assert reserved.end.quality is Quality.SEEN
    assert reserved.end.earliest == life.now - timedelta(seconds=2)
    assert reserved.end.latest == life.now


def test_switched_off_after_an_eviction_and_before_a_condition_says_so():
    life, watcher = Life(), Watcher()
    for action in ("reserve", "admit", "evict", "release"):
        getattr(life, action)()
    watcher.look(life)
    life.wait(30)
    life.body["spec"]["active"] = False
    watcher.look(life)

    assert watcher.record.open.phase is Phase.DEACTIVATED
    assert watcher.record.open.start.quality is Quality.SEEN


def test_a_second_eviction_while_it_waits_is_no_new_phase():
    life, watcher = Life(), Watcher()
    for action in ("reserve", "admit", "evict", "release"):
        getattr(life, action)()
    watcher.look(life)
    before = watcher.record.open
    life.wait(30)
    life._set("Evicted", "", "Preempted", "")
    life._set("Evicted", "True", "PodsReadyTimeout", "the pods were not ready in time")
    watcher.look(life)

    assert watcher.record.open == before


def test_an_end_that_is_on_record_is_not_written_twice():
    life, watcher = Life(), Watcher()
    life.finish()
    watcher.look(life)
    spans = len(watcher.spans)
    life.wait(30)
    watcher.gone(life)

    assert len(watcher.spans) == spans
    assert watcher.record.open is None


def test_another_queue_in_the_second_of_its_creation_leaves_no_span():
    life = Life()
    moment = Moment(life.now, life.now)
    first = advance(None, read_sight(life.look()), moment, queue="old")
    moved = advance(first.after, read_sight(life.look()), moment, queue="new")

    assert first.spans == moved.spans == ()
    assert moved.after.open.queue == "new"


def test_a_run_between_two_looks_at_a_reservation_is_placed_between_them():
    life, watcher = Life(), Watcher()
    life.reserve()
    watcher.look(life)
    for seconds_, action in ((10, "admit"), (100, "evict"), (0, "release"), (50, "reserve")):
        life.wait(seconds_)
        getattr(life, action)()
    watcher.look(life, live=False)

    [admitted] = [span for span in watcher.spans if span.open.phase is Phase.ADMITTED]
    assert admitted.open.start.quality is Quality.BOUNDED
    assert seconds(watcher, "admitted") == 100 * 8
    assert watcher.record.attempt == 2


def came_and_went(created_after):
    """Return the spans of who came that long after the last delivery, ran, and was evicted."""
    life, watcher = Life(), Watcher()
    watcher.last = life.now - timedelta(seconds=created_after)
    life.wait(10)
    for action in ("reserve", "admit"):
        getattr(life, action)()
    life.wait(20)
    for action in ("evict", "release"):
        getattr(life, action)()
    life.wait(10)
    watcher.look(life, live=False)
    return watcher


@pytest.mark.parametrize(
    ("created_after", "quality"),
    [(0, Quality.BOUNDED), (5, Quality.BOUNDED), (-5, Quality.UNKNOWN)],
)
def test_who_came_while_nobody_listened_has_a_past_with_bounds(created_after, quality):
    """What began before the observation is not known; what began in a gap lies within it."""
    watcher = came_and_went(created_after)
    qualities = {b.quality for s in watcher.spans for b in (s.open.start, s.end)}
    assert qualities - {Quality.EXACT} == {quality}
    run = next(span for span in watcher.spans if span.open.phase is Phase.ADMITTED)
    assert run.open.start.earliest >= START
    assert (run.end.at - run.open.start.at).total_seconds() == 20
