"""A forecast is the mean of whole days; what is not known of a day says nothing of others."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from costs.spending import Alarm, Spent, alarms, forecast, total

DAY = 24 * 3600


def days(*amounts, ahead=0):
    found = [Spent(n * DAY, Fraction(each), 24, 0) for n, each in enumerate(amounts)]
    return found + [Spent((len(found) + n) * DAY, None, 0, 24) for n in range(ahead)]


def test_the_days_to_come_cost_what_the_last_ones_did():
    """Ten days of 100, twenty to come: 1000 + 2000."""
    month = days(*[100] * 10, ahead=20)

    assert forecast(month, month[:10]) == (10, 3000, 3000, 3000)


def test_the_band_is_the_mean_of_the_quieter_and_of_the_busier_half():
    month = days(60, 80, 120, 140, ahead=2)
    found = forecast(month, month[:4])

    assert (found.low, found.likely, found.high) == (400 + 140, 400 + 200, 400 + 260)


def test_no_more_than_the_last_fourteen_days_count():
    month = days(*[1000] * 6, *[10] * 14, ahead=10)

    assert forecast(month, month[:20]).likely == 6140 + 100


def test_a_day_with_a_gap_says_nothing_of_the_days_to_come():
    whole = days(10, 10, 10, ahead=1)
    broken = [*whole[:3], Spent(3 * DAY, Fraction(900), 20, 0), whole[3]]

    assert forecast(broken, broken[:4]).likely == 930 + 10


@pytest.mark.parametrize("amounts", [(), (5,), (5, 5)])
def test_too_few_days_are_no_forecast(amounts):
    month = days(*amounts, ahead=3)

    assert forecast(month, month[: len(amounts)]) is None


def test_the_rest_of_today_counts_by_the_hour():
    month = [*days(24, 24, 24), Spent(3 * DAY, Fraction(6), 6, 18)]

    assert forecast(month, month[:3]).likely == 78 + 18


@pytest.mark.parametrize(
    ("spent", "mean", "high", "said"),
    [
        (50, 90, 95, []),
        (50, 90, 101, [Alarm.MAYBE]),
        (50, 101, 120, [Alarm.FORECAST]),
        (80, 90, 95, [Alarm.NEAR]),
        (80, 101, 120, [Alarm.NEAR, Alarm.FORECAST]),
        (100, 300, 400, [Alarm.OVER]),
    ],
)
def test_alarms(spent, mean, high, said):
    expected = (14, Fraction(mean), Fraction(mean - 10), Fraction(high))
    month = forecast(days(1, 1, 1, ahead=1), days(1, 1, 1))

    assert alarms(Fraction(100), Fraction(spent), month._make(expected)) == said


@given(st.lists(st.integers(0, 10**9), min_size=3, max_size=40), st.integers(0, 31))
def test_low_mean_and_high_are_in_their_order_and_never_below_what_is_spent(amounts, ahead):
    month = days(*amounts, ahead=ahead)
    found = forecast(month, month[: len(amounts)])

    assert total(month) <= found.low <= found.likely <= found.high
    if not ahead:
        assert found.low == found.high == total(month)
