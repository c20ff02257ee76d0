"""The worked examples about quantities: W1 to W6, W8 to W11 and W17, with exactly these numbers."""

from decimal import Decimal
from fractions import Fraction

import pytest

from costs import units
from costs.facts import Phase
from costs.ledger import ledger
from costs.lending import Quota
from costs.money import shown
from costs.steps import Dated, Step, by_hour, total
from costs.times import HOUR, CutsHours, Span, month
from costs.used import efficiency, sampled, shared, together
from tests.costs.make import A100, fact, grant, hold, one_hour, records, span


def hours_of(seconds):
    return shown(Fraction(seconds, HOUR))


def test_w1_committed_follows_the_quota_through_the_month():
    november = month(2026, 11)
    quota = Dated(
        [
            (november.starts, 16),
            (november.starts + 10 * 24 * HOUR + 12 * HOUR, 24),
            (november.starts + 20 * 24 * HOUR, 8),
        ]
    )
    steps = [Step(part, amount) for part, amount in quota.within(november)]

    assert [part.seconds // HOUR for part, _ in steps] == [252, 228, 240]
    assert total(steps) == 11_424 * HOUR


def test_w2_hours_split_at_the_hour():
    step = Step(span("10:20", "12:05:30"), 8)

    assert list(by_hour([step]).values()) == [19_200, 28_800, 2_640]
    assert hours_of(total([step])) == Decimal("14.066667")


def test_w3_an_eviction_keeps_both_runs():
    reserved, admitted = Phase.RESERVED, Phase.ADMITTED
    held = [
        hold("01:00:00", "01:02:00", 4, phase=reserved),
        hold("01:02:00", "02:31:10", 4, phase=admitted),
        hold("03:00:00", "03:00:30", 4, phase=reserved),
        hold("03:00:30", "04:00:00", 4, phase=admitted),
    ]
    facts = [fact(x, "A") for x in ledger(records(held, a=grant(8)), span("01:00", "04:00"))]
    last = hold("03:00:00", "04:00:00", 4)
    seen = total([Step(last.span, last.amount)])

    assert sum(x.held for x in facts) == 36_280
    assert sum(x.admitted for x in facts) == 35_680
    assert held[1].span.seconds == 5_350
    assert (seen, 36_280 - seen) == (14_400, 21_880)
    assert shown(Fraction(100 * 21_880, 36_280), 1) == Decimal("60.3")


def test_w4_pods_that_are_done_hold_nothing():
    held = [
        hold("00:00", "00:30", 8), hold("00:30", "00:45", 5), hold("00:45", "01:00", 2),
    ]  # fmt: skip
    found = fact(one_hour(records(held, a=grant(8))), "A")

    assert found.held == 20_700
    assert hours_of(found.held) == Decimal("5.750000")


def test_w5_borrowed_is_counted_at_every_instant():
    held = [
        hold("00:00", "00:20", 6), hold("00:20", "00:50", 12), hold("00:50", "01:00", 10),
    ]  # fmt: skip
    found = fact(one_hour(records(held, a=grant(8, "lab"))), "A")
    by_the_mean = Fraction(found.held, HOUR) - 8

    assert (found.own, found.borrowed, found.held) == (26_400, 8_400, 34_800)
    assert hours_of(found.borrowed) == Decimal("2.333333")
    assert shown(by_the_mean) == Decimal("1.666667")


def test_w6_the_pool_lends_first_and_then_who_has_room():
    found = records(
        [hold("00:00", "01:00", n, queue) for queue, n in (("a", 4), ("b", 2), ("c", 5))],
        a=grant(0, "lab"),
        b=grant(8, "lab", lending=4),
        c=grant(8, "lab"),
    )
    found.cohorts[("lab",), A100] = Dated([(0, Quota(2))])
    hour = one_hour(found)

    assert fact(hour, "A").borrowed == 14_400
    assert hour.pools[0].borrowed == 7_200
    assert (fact(hour, "B").lent, fact(hour, "C").lent) == (4_114, 3_086)
    assert hour.pools[0].overdraft == 0


def test_w8_efficiency_is_a_ratio_of_sums():
    ratios = [Decimal(x) for x in ("0.9", "0.8", "0", "0.5")]
    used = together(sampled([ratio] * 120, 30, 120) for ratio in ratios)

    assert hours_of(used.least) == Decimal("2.200000")
    assert efficiency(used, 4 * HOUR) == Fraction(55, 100)
    assert Fraction(sum(ratios)) * Fraction(1, 4 * 4) == Fraction(1375, 10_000)


def test_w9_what_was_not_seen_is_no_zero():
    used = sampled([Decimal("0.8")] * 80, 30, 120)

    assert hours_of(used.least) == Decimal("0.533333")
    assert shown(used.coverage * 100, 2) == Decimal("66.67")
    assert used.busy == Fraction(8, 10)
    assert hours_of(used.most) == Decimal("0.866667")
    assert not used.known
    assert efficiency(used, HOUR) is None


def test_w10_slices_are_parts_of_a_device():
    day = [("1g.5gb", 24), ("3g.20gb", 10), ("2g.10gb", 24)]
    rate = Decimal("2.80")
    sold = sum(units.slices("A100", profile) * hours for profile, hours in day)
    left = 24 - sold

    assert (sold, shown(sold)) == (Fraction(102, 7), Decimal("14.571429"))
    assert left == Fraction(66, 7)
    assert (sold * Fraction(rate), left * Fraction(rate)) == (Fraction("40.80"), Fraction("26.40"))
    assert 24 * Fraction(rate) == Fraction("67.20")


def test_w11_a_shared_device_counts_once():
    series = [Decimal("0.714")] * 3

    assert sum(series) == Decimal("2.142")
    assert max(series) == Decimal("0.714")
    assert shared(series, 3) == Fraction("0.238")
    assert units.replica(4) == Fraction("0.25")


@pytest.mark.parametrize(
    ("number", "zone", "length"),
    [(10, "UTC", 744), (10, "Europe/Berlin", 745), (3, "Europe/Berlin", 743)],
)
def test_w17_a_month_has_the_hours_of_its_zone(number, zone, length):
    assert month(2026, number, zone).seconds == length * HOUR


def test_w17_the_day_of_the_change_and_the_month_in_gpu_hours():
    october = month(2026, 10, "Europe/Berlin")
    day = Span(october.starts + 24 * 24 * HOUR, october.ends - 6 * 24 * HOUR)

    assert day.seconds == 25 * HOUR
    assert total([Step(october, 8)]) == 5_960 * HOUR


def test_w17_a_zone_that_is_half_an_hour_off_is_refused():
    with pytest.raises(CutsHours, match=":30:00"):
        month(2026, 10, "Asia/Kolkata")
