"""What an eviction costs: since the last checkpoint, or since the run began."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube.checkpoints import Checkpoints, duration, lost_seconds, read_checkpoints, saved_until

BEGAN = datetime(2026, 11, 2, 9, 0, tzinfo=UTC)
AT, EVERY = "gpuportal.io/checkpointed-at", "gpuportal.io/checkpoint-every"


def after(**more):
    return BEGAN + timedelta(**more)


def lost(known, ended, devices=16):
    return lost_seconds(devices, saved_until(known, BEGAN, ended), ended)


def test_sixteen_devices_ten_minutes_after_the_last_of_half_hourly_checkpoints():
    assert lost(Checkpoints(every=timedelta(minutes=30)), after(hours=2, minutes=10)) == 9600


def test_without_a_checkpoint_everything_since_the_beginning_is_lost():
    assert lost(Checkpoints(), after(hours=2)) == 16 * 7200


def test_a_checkpoint_that_was_told_goes_before_the_rhythm():
    known = Checkpoints(last=after(minutes=50), every=timedelta(minutes=7))
    assert lost(known, after(minutes=55), devices=1) == 300


@pytest.mark.parametrize("last", [after(hours=-1), BEGAN, after(hours=3)])
def test_a_checkpoint_outside_the_run_counts_for_nothing(last):
    assert lost(Checkpoints(last=last), after(hours=2), devices=1) == 7200


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30m", 1800), ("1h30m", 5400), ("45s", 45), ("2h", 7200), ("1h2m3s", 3723)],
)
def test_reads_durations(text, seconds):
    assert duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["", "0m", "30", "-5m", "5m1h", "m", "999h99999m", "5 m", None, 5])
def test_what_is_no_duration_is_none(text):
    assert duration(text) is None


def test_the_first_map_that_says_it_counts():
    found = read_checkpoints(
        [{AT: "yesterday", EVERY: "soon"}, {AT: "2026-11-02T10:00:00Z"}, {AT: "x", EVERY: "5m"}]
    )
    assert found == Checkpoints(after(hours=1), timedelta(minutes=5))


def test_a_time_without_a_zone_is_nobodys():
    assert read_checkpoints([{AT: "2026-11-02T10:00:00"}]).last is None
    assert read_checkpoints([{AT: "2026-11-02T10:00:00+02:00"}]).last == after(hours=-1)


@given(st.integers(-10_000, 10_000), st.integers(1, 5000), st.integers(0, 9000))
def test_never_loses_more_than_the_run_nor_less_than_nothing(last, every, ran):
    known = Checkpoints(after(seconds=last), timedelta(seconds=every))
    assert 0 <= lost(known, after(seconds=ran), devices=1) <= ran
