"""Instants and periods: whole seconds of UTC, months of a zone, values that hold from a date."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from costs.steps import Dated
from costs.times import HOUR, CutsHours, Span, hour_of, hours, instant, moment, month

NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)


def test_an_instant_is_cut_to_the_second_and_comes_back():
    at = instant(NOON + timedelta(microseconds=999_999))

    assert moment(at) == NOON
    assert instant(NOON.astimezone(timezone(timedelta(hours=5, minutes=30)))) == at
    assert hour_of(at + 59) == at


def test_a_time_without_a_zone_is_nobodys():
    with pytest.raises(ValueError, match="without a zone"):
        instant(NOON.replace(tzinfo=None))


def test_hours_are_whole_and_touch():
    found = list(hours(Span(90, 2 * HOUR + 1)))

    assert found == [Span(0, HOUR), Span(HOUR, 2 * HOUR), Span(2 * HOUR, 3 * HOUR)]
    assert list(hours(Span(HOUR, HOUR))) == []


def test_a_year_ends_in_december():
    assert moment(month(2026, 12).ends) == datetime(2027, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("zone", ["Asia/Kolkata", "Australia/Adelaide", "Asia/Kathmandu"])
def test_months_that_cut_hours_are_refused(zone):
    with pytest.raises(CutsHours):
        month(2026, 11, zone)


def test_a_value_holds_until_the_next_one():
    found = Dated([(20, "b"), (10, "a"), (30, None)])

    assert [found.at(at) for at in (9, 10, 19, 20, 30, 99)] == [None, "a", "a", "b", None, None]
    assert list(found.within(Span(0, 25))) == [
        (Span(0, 10), None), (Span(10, 20), "a"), (Span(20, 25), "b"),
    ]  # fmt: skip
    assert list(found.within(Span(10, 20))) == [(Span(10, 20), "a")]


def test_two_values_cannot_begin_at_the_same_time():
    with pytest.raises(ValueError, match="same time"):
        Dated([(10, "a"), (10, "b")])
