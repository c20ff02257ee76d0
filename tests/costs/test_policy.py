"""Who pays: every grain of a bill has one payer, and what nobody can pay is named."""

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from costs.facts import Fact, PoolFact, Quality
from costs.policy import (
    Base,
    Bucket,
    CannotReconcile,
    NotAPolicy,
    Policy,
    Rest,
    Spread,
    allocate,
    spread,
    totals,
    weigh,
)
from costs.rates import NotKnown
from costs.statements import statement
from costs.times import HOUR
from costs.used import Use
from tests.costs.make import A100, DAY

NOTHING = Fact(
    DAY, "a", A100, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, HOUR, Quality.OBSERVED, None, HOUR
)


def fact(tenant, **hours):
    """Return a fact of whole device-hours."""
    return replace(NOTHING, tenant=tenant, **{key: n * HOUR for key, n in hours.items()})


def pool(ready, nominal=0, down=0):
    return PoolFact(DAY, A100, ready * HOUR, 0, down * HOUR, nominal * HOUR, 0, 0)


def shares(facts, of, policy):
    return {key: part / HOUR for key, part in weigh(facts, of, policy).items()}


def test_borrowers_pay_what_lenders_get():
    facts = [fact("a", committed=8, borrowed=4), fact("b", committed=8, lent=4)]

    assert shares(facts, pool(16), Policy()) == {"a": 10, "b": 6}
    assert shares(facts, pool(16), Policy(borrow=Fraction(0))) == {"a": 8, "b": 8}
    assert shares(facts, pool(16), Policy(borrow=Fraction(1))) == {"a": 12, "b": 4}


def test_without_credit_the_platform_keeps_what_borrowers_pay():
    facts = [fact("a", committed=4, borrowed=4), fact("b", committed=4, lent=4)]
    found = shares(facts, pool(10), Policy(credit=False))

    assert found == {"a": 6, "b": 4}
    assert shares(facts, pool(12), Policy(credit=False))[Bucket.UNSOLD] == 2


def test_the_platform_names_what_it_pays():
    found = shares(
        [fact("a", committed=8, admitted=2)],
        pool(14, nominal=3, down=2),
        Policy(base=Base.ADMITTED),
    )

    assert found == {"a": 2, Bucket.DOWN: 2, Bucket.UNSOLD: 5, Bucket.IDLE: 7}


def test_devices_without_quota_are_paid_by_whose_pods_have_them():
    facts = [fact("a", committed=4), fact("", unmanaged=2), fact("b", unmanaged=1)]

    assert shares(facts, pool(8), Policy()) == {
        "a": 4, Bucket.UNATTRIBUTED: 2, "b": 1, Bucket.UNSOLD: 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("rest", "a", "b"),
    [(Rest.COMMITTED, "7.75", "4.25"), (Rest.ADMITTED, "4", "8"), (Rest.EVEN, "5.5", "6.5")],
)
def test_what_is_left_is_divided_as_the_rule_says(rest, a, b):
    facts = [fact("a", committed=6, admitted=1), fact("b", committed=2, admitted=2)]
    found = shares(facts, pool(12), Policy(base=Base.ADMITTED, rest=rest))

    assert found == {"a": Fraction(a), "b": Fraction(b)}


def test_a_rule_without_anybody_to_pay_leaves_the_rest_unallocated():
    found = shares([fact("a")], pool(4), Policy(base=Base.HELD, rest=Rest.ADMITTED))

    assert found == {Bucket.UNALLOCATED: 4}


def test_used_time_that_is_not_known_is_no_zero():
    policy = Policy(base=Base.USED)
    dim = replace(fact("a", running=4), use=Use(0, HOUR, 4 * HOUR))

    for unknown in (dim, fact("a", running=4)):
        with pytest.raises(NotKnown, match="what a used of a100"):
            weigh([unknown], pool(8), policy)


def test_a_pool_without_devices_that_is_used_cannot_be_reconciled():
    with pytest.raises(CannotReconcile, match="a100 has no devices"):
        weigh([fact("a", held=1)], pool(0), Policy(base=Base.HELD))


def test_known_units_leave_idle_time_and_never_less_than_none():
    """Half a card for a day at 2.00 an hour: 24.00, and as much is idle."""
    day = [fact("a", held=12)]
    found = allocate(480_000_000_000, weigh(day, pool(24), Policy(base=Base.HELD)))

    assert found == {"a": 240_000_000_000, Bucket.UNSOLD: 240_000_000_000}


@pytest.mark.parametrize("borrow", [Fraction(-1, 2), Fraction(3, 2)])
def test_a_borrower_pays_a_part_of_the_rate(borrow):
    with pytest.raises(NotAPolicy):
        Policy(borrow=borrow)


def test_what_was_billed_for_no_node_has_a_bucket():
    found = allocate(100, {"a": Fraction(6)}, orphan=3, gap=1)

    assert found == {"a": 60, Bucket.ORPHAN: 30, Bucket.GAP: 10}


@pytest.mark.parametrize(("bill", "found"), [(7, {Bucket.UNALLOCATED: 7}), (0, {})])
def test_a_bill_without_anybody_to_pay_is_unallocated(bill, found):
    assert allocate(bill, {}) == found


def test_shared_costs_follow_what_each_pays_already():
    costs = {"a": 300, "b": 100, Bucket.IDLE: 900}

    assert spread(8, costs, Spread.COST, Bucket.SHARED) == {"a": 6, "b": 2}
    assert spread(8, costs, Spread.EVEN, Bucket.SHARED) == {"a": 4, "b": 4}
    assert spread(8, costs, Spread.PLATFORM, Bucket.SHARED) == {Bucket.SHARED: 8}
    assert spread(8, {}, Spread.EVEN, Bucket.SHARED) == {Bucket.UNALLOCATED: 8}


hours = st.integers(0, 20)
amounts = st.integers(-(10**13), 10**13)
tenants = st.lists(
    st.builds(
        fact, st.just("t"), committed=hours, held=hours, admitted=hours, unmanaged=st.integers(0, 3)
    ),
    min_size=1,
    max_size=5,
).map(lambda rows: [replace(x, tenant="abcde"[n]) for n, x in enumerate(rows)])
policies = st.builds(
    Policy,
    base=st.sampled_from([Base.COMMITTED, Base.HELD, Base.ADMITTED]),
    borrow=st.fractions(0, 1, max_denominator=20),
    credit=st.booleans(),
    rest=st.sampled_from(Rest),
)


@given(tenants, st.builds(pool, st.integers(1, 60), hours, hours), policies, amounts, hours)
def test_all_buckets_add_up_to_the_bill_whatever_the_policy(facts, of, policy, bill, orphan):
    parts = allocate(bill, weigh(facts, of, policy), orphan=orphan * HOUR)
    shared = spread(12_345, parts, Spread.COST, Bucket.SHARED)
    found = totals([parts, shared])

    assert sum(parts.values()) == bill
    assert sum(found.values()) == bill + 12_345
    exact = Decimal(bill + 12_345).scaleb(-10)
    assert sum(statement(found, "USD").values()) == round(exact * 100)


@given(tenants, st.builds(pool, st.integers(1, 60), hours, hours), policies, st.randoms())
def test_the_order_of_tenants_changes_nothing(facts, of, policy, random):
    mixed = random.sample(facts, len(facts))

    assert weigh(mixed, of, policy) == weigh(facts, of, policy)


@given(tenants, st.integers(61, 120).map(pool), policies)
def test_shares_add_up_to_the_pool_where_not_more_is_promised(facts, of, policy):
    promised = sum(x.committed + x.held + x.admitted + x.unmanaged for x in facts)
    found = sum(weigh(facts, of, policy).values())

    assert found == of.provisioned or promised > of.provisioned
