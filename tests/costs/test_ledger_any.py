"""What holds for every hour of any month: the identities, whatever has happened in the cluster."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from costs.checks import broken
from costs.digest import digest
from costs.facts import Quality
from costs.ledger import ledger
from costs.steps import Dated, Step, by_hour, levels, total
from costs.times import HOUR, Span
from costs.used import Use
from costs.waterfall import OverCapacity, Row, waterfall
from tests.costs.strategies import MONTH, amounts, instants, months, spans

slow = settings(max_examples=20)
WEEK = Span(MONTH.starts, MONTH.starts + 7 * 24 * HOUR)
random = st.randoms(use_true_random=False)


def shifted(records, by):
    """Return the same records at another time."""

    def moved(span):
        return span and Span(span.starts + by, span.ends + by)

    def later(table):
        return {
            key: Dated(zip((at + by for at in dated.starts), dated.values, strict=True))
            for key, dated in table.items()
        }

    return replace(
        records,
        holds=[
            x._replace(span=moved(x.span), least=moved(x.least), most=moved(x.most))
            for x in records.holds
        ],
        pods=[x._replace(span=moved(x.span)) for x in records.pods],
        nodes=[x._replace(span=moved(x.span)) for x in records.nodes],
        uses=[x._replace(hour=x.hour + by) for x in records.uses],
        gaps=[moved(x) for x in records.gaps],
        grants=later(records.grants),
        cohorts=later(records.cohorts),
        owners=later(records.owners),
    )


def parted(hold, at):
    """Return a hold cut in two, without its bounds, which belong to the whole."""
    if not hold.span.starts < at < hold.span.ends:
        return [hold._replace(least=None, most=None)]
    spans = (Span(hold.span.starts, at), Span(at, hold.span.ends))
    return [hold._replace(span=span, least=None, most=None) for span in spans]


@slow
@given(records=months)
def test_the_identities_hold_in_every_hour_of_a_month(records):
    found = list(ledger(records, MONTH))

    assert len(found) == 720
    assert [what for hour in found for what in broken(hour)] == []


@slow
@given(records=months)
def test_the_hours_add_up_to_what_was_recorded(records):
    held = sum(fact.held for hour in ledger(records, MONTH) for fact in hour.facts)

    assert held == total((Step(hold.span, hold.amount) for hold in records.holds), MONTH)


@slow
@given(records=months, random=random)
def test_the_same_records_in_another_order_give_the_same_hash(records, random):
    mixed = replace(
        records,
        **{
            name: random.sample(getattr(records, name), len(getattr(records, name)))
            for name in ("holds", "pods", "nodes", "uses", "gaps")
        },
        grants=dict(random.sample(list(records.grants.items()), len(records.grants))),
    )

    assert digest(ledger(records, WEEK)) == digest(ledger(mixed, WEEK))


@slow
@given(records=months, cut=instants)
def test_cutting_intervals_changes_nothing(records, cut):
    whole = replace(records, holds=[x._replace(least=None, most=None) for x in records.holds])
    cut_up = replace(records, holds=[part for x in records.holds for part in parted(x, cut)])

    assert digest(ledger(whole, WEEK)) == digest(ledger(cut_up, WEEK))


@slow
@given(records=months)
def test_an_hour_later_the_facts_are_an_hour_later(records):
    later = Span(WEEK.starts + HOUR, WEEK.ends + HOUR)
    # Values that hold from the beginning of time are moved with the rest.
    found = [
        (
            hour.hour - HOUR,
            [replace(x, hour=x.hour - HOUR) for x in hour.facts],
            [replace(x, hour=x.hour - HOUR) for x in hour.pools],
        )
        for hour in ledger(shifted(records, HOUR), later)
    ]
    expected = [(x.hour, list(x.facts), list(x.pools)) for x in ledger(records, WEEK)]

    assert found == expected


@slow
@given(records=months, day=st.integers(0, 6))
def test_a_day_rebuilt_alone_is_the_same_as_in_its_week(records, day):
    starts = WEEK.starts + day * 24 * HOUR
    whole = list(ledger(records, WEEK))[day * 24 : (day + 1) * 24]

    assert list(ledger(records, Span(starts, starts + 24 * HOUR))) == whole


@slow
@given(records=months)
def test_what_nobody_watched_is_missing_and_never_nothing(records):
    blind = replace(records, gaps=[WEEK])

    assert {x.quality for hour in ledger(blind, WEEK) for x in hour.facts} <= {Quality.MISSING}
    assert {x.coverage for hour in ledger(blind, WEEK) for x in hour.facts} <= {0}


def falls(hour, pool):
    """Return a waterfall, or what forbids one."""
    facts = [x for x in hour.facts if x.pool == pool.pool]
    try:
        return facts, waterfall(facts, pool, billed=pool.provisioned + 5, orphan=2)
    except OverCapacity:
        return facts, None


@slow
@given(records=months)
def test_every_second_of_a_pool_stands_in_one_row(records):
    for hour in ledger(records, WEEK):
        for pool in hour.pools:
            facts, found = falls(hour, pool)
            taken = sum(x.running + x.terminating + x.unmanaged for x in facts) + pool.down
            assert (found is None) == (taken > pool.provisioned)
            assert found is None or (
                found.total == found.billed == pool.provisioned + 5
                and all(part >= 0 for part in found.rows.values())
                and found.rows[Row.GAP] == 3
            )


@given(st.lists(st.builds(Step, spans(), amounts), max_size=8), instants)
def test_the_sum_of_levels_hours_and_parts_is_the_whole(steps, cut):
    whole = total(steps)
    parts = (Span(0, cut), Span(cut, 2**40))

    assert total(levels(steps)) == whole
    assert sum(by_hour(steps).values()) == whole
    assert sum(total(steps, part) for part in parts) == whole


@pytest.mark.parametrize("many", [1, 3])
def test_sums_of_use_are_sums(many):
    one = Use(500, 1000, 2000)
    found = one
    for _ in range(many - 1):
        found = found.plus(one)
    assert found == Use(500 * many, 1000 * many, 2000 * many)
