"""A bill passed on: lines that are its hours, whatever the facts, the policy and the order."""

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from costs.comparing import Comparison, Place
from costs.facts import NOBODY, PoolFact, Quality
from costs.passing import Key, PoolBill, Tally, beyond, by_tenant, consists, divide, mean_rate
from costs.policy import Base, Bucket, Policy, Rest, Spread, weigh
from costs.states import Code, Kind, Tolerance
from costs.times import HOUR, Span
from costs.used import Use
from tests.costs.make import A100, DAY
from tests.costs.test_policy import NOTHING

TENANTS = ("alpha", "beta", "gamma", NOBODY)
seconds = st.integers(0, 8 * HOUR)


@st.composite
def facts(draw):
    """Facts of some tenants that keep to their own identities."""
    found = []
    for tenant in draw(st.lists(st.sampled_from(TENANTS), unique=True, max_size=4)):
        own, borrowed, unmanaged = draw(seconds), draw(seconds), draw(seconds)
        lent = draw(seconds)
        held = own + borrowed
        admitted = draw(st.integers(0, held))
        use = draw(st.none() | st.integers(0, held).map(lambda s: Use(500 * s, s, s)))
        found.append(replace(
            NOTHING, tenant=tenant, committed=own + lent + draw(seconds), held=held, own=own,
            borrowed=borrowed, lent=lent, admitted=admitted, reserved=held - admitted,
            unmanaged=unmanaged, use=use, held_least=held, held_most=held,
        ))  # fmt: skip
    return found


policies = st.builds(
    Policy, st.sampled_from(Base), st.fractions(0, 1, max_denominator=8), st.booleans(),
    st.sampled_from(Rest), st.sampled_from(Spread), st.sampled_from(Spread),
)  # fmt: skip
pools = st.builds(
    lambda ready, down, nominal: PoolFact(DAY, A100, ready, 0, down, nominal, 0, 0),
    st.integers(0, 64 * HOUR), seconds, seconds,
)  # fmt: skip
bills = st.builds(PoolBill, st.integers(-(10**13), 10**13), seconds, seconds)


@given(facts(), pools, policies, bills, st.permutations(range(len(TENANTS))))
@example(
    [replace(NOTHING, tenant="alpha", committed=1)],
    PoolFact(DAY, A100, 0, 0, 0, 0, 0, 0),
    Policy(Base.COMMITTED, Fraction(0), False, Rest.PLATFORM, Spread.PLATFORM, Spread.PLATFORM),
    PoolBill(1, 0, 1),
    range(len(TENANTS)),
)
def test_the_lines_of_an_hour_are_its_bill_in_any_order(found, pool, policy, bill, order):
    tally, again = Tally(), Tally()
    followed = divide(tally, found, pool, policy, bill)
    shuffled = [found[n] for n in order if n < len(found)]
    divide(again, shuffled, pool, policy, bill)

    assert tally.total == bill.grains
    assert (tally.grains, tally.seconds) == (again.grains, again.seconds)
    if not followed:
        # Nobody is charged; what was billed of nodes that were not there has its bucket.
        beside = {Bucket.ORPHAN: bill.orphan, Bucket.GAP: bill.gap}
        named = {bucket for bucket, seconds in beside.items() if seconds}
        assert set(tally.payers()) <= {Bucket.UNALLOCATED, *named}
    tenants, platform = by_tenant(tally.payers())
    assert tenants + platform == bill.grains


@given(facts(), pools, policies, bills)
def test_the_lines_of_a_tenant_are_what_its_share_was_given(found, pool, policy, bill):
    tally = Tally()
    if not divide(tally, found, pool, policy, bill):
        return
    shares = weigh(found, pool, policy)
    for fact in found:
        if fact.tenant == NOBODY:
            continue
        own = sum((weight for _basis, _had, weight in consists(fact, policy)), Fraction(0))
        assert own <= shares.get(fact.tenant, Fraction(0))
        for key, grains in tally.grains.items():
            if key.payer == fact.tenant and key.basis == "lent_credit":
                assert grains * bill.grains <= 0  # a credit is paid out, of a refund it is taken


@given(
    st.dictionaries(st.sampled_from([*TENANTS[:3], "*idle"]), st.integers(-50, 10**6)),
    st.integers(-(10**6), 10**6), st.sampled_from(Spread),
)  # fmt: skip
def test_what_belongs_to_no_pool_is_spread_without_loss(costs, amount, rule):
    tally = Tally()
    for payer, grains in costs.items():
        tally.add(Key(payer, "a100", "committed"), 0, grains)
    before = tally.total
    beyond(tally, amount, rule, Bucket.SHARED)

    assert tally.total == before + amount


def test_a_rate_is_the_mean_of_an_hour():
    assert mean_rate(2 * HOUR, 7) == Fraction(7, 2)
    assert mean_rate(0, 7) is None


LAB = Place("lab", A100)


def compared(*hours, tolerances=None, span=None):
    """Return findings of hours, each with its facts; the pool has eight devices."""
    found = Comparison(tolerances or {})
    for n, each in enumerate(hours):
        if each is not None:
            pool = PoolFact(DAY + n * HOUR, A100, 8 * HOUR, 0, 0, 0, 0, 0)
            found.add("lab", pool, each)
    expected = {"lab": span or Span(DAY, DAY + len(hours) * HOUR)}
    return {(each.code, each.subject): each for each in found.findings(expected)}


def one(**counted):
    return [replace(NOTHING, tenant="a", **{key: n * HOUR for key, n in counted.items()})]


def test_hours_without_news_are_one_finding_as_long_as_they_follow_each_other():
    half = [replace(NOTHING, tenant="a", coverage=1800)]
    found = compared(one(), half, None, one(), None, one())

    assert [each.facts["hours"] for each in found.values()] == [2, 1]
    assert [each.difference for each in found.values()] == [HOUR + 1800, HOUR]
    assert all(each.blocks and each.code is Code.HARVEST_GAP for each in found.values())


@pytest.mark.parametrize(
    ("counted", "code"),
    [
        ({"held": 10, "own": 8, "borrowed": 2}, Code.OVER_CAPACITY),
        ({"held": 4, "own": 4, "excess": 2, "admitted": 4, "running": 4}, Code.OVERDRAFT),
        ({"unmanaged": 1}, Code.UNMANAGED),
        ({"held": 2, "own": 2, "admitted": 2, "running": 3}, Code.RUN_OVER_ADMIT),
        ({"held": 4, "own": 4, "admitted": 4, "running": 3}, Code.ADMIT_NOT_RUNNING),
    ],
)
def test_what_does_not_fit_is_named_once_for_all_hours(counted, code):
    found = [
        each for each in compared(one(**counted), one(**counted)).values() if each.code is code
    ]

    assert len(found) == 1
    assert found[0].difference >= 2 * HOUR


def test_pods_that_nobody_noted_are_no_finding():
    (fact,) = one(held=4, own=4, admitted=4)

    assert compared([replace(fact, pods=0)]) == {}


def test_a_tolerance_of_a_pool_takes_the_place_of_the_common_one():
    hour = one(held=4, own=4, admitted=4, running=3)
    wide = {(LAB, Kind.RUNNING): Tolerance(Fraction(1, 4))}

    assert compared(hour)[Code.ADMIT_NOT_RUNNING, f"{LAB} a"].allowed == 4 * HOUR * Fraction(2, 100)
    assert compared(hour, tolerances=wide) == {}


def test_bounds_of_ends_are_a_finding_beyond_an_hour():
    unsure = [replace(
        NOTHING, tenant="a", quality=Quality.ESTIMATED, held=8 * HOUR, own=8 * HOUR,
        held_least=6 * HOUR, held_most=8 * HOUR,
    )]  # fmt: skip

    assert compared(unsure)[Code.STUCK_OPEN, f"{LAB} a"].difference == 2 * HOUR
    assert compared([replace(unsure[0], held_least=7 * HOUR)]) == {}


def test_use_that_was_not_measured_is_named_and_use_that_was_not_asked_for_is_not():
    assert compared([replace(NOTHING, tenant="a", running=HOUR, admitted=HOUR)]) == {}
    badly = replace(NOTHING, tenant="a", running=HOUR, admitted=HOUR, use=Use(0, 1800, HOUR))
    assert compared([badly])[Code.USED_UNKNOWN, f"{LAB} a"].difference == 1800


def test_nobodys_time_blocks_above_half_a_percent_alone():
    little, much = ([replace(NOTHING, tenant=NOBODY, unmanaged=n)] for n in (100, 200))

    assert not compared(little)[Code.UNATTRIBUTED, str(LAB)].blocks
    assert compared(much)[Code.UNATTRIBUTED, str(LAB)].blocks
