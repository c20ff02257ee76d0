"""Who lends to whom: pools first, near queues before far ones, limits kept, nothing invented."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from costs.lending import Loaned, Member, Quota, leaf

LAB = ("lab",)
NLP = ("lab", "nlp")
VISION = ("lab", "vision")


def member(name, path, nominal, held, limit=None):
    return Member((name, name.upper()), path, Quota(nominal, limit), held)


def leaves(members):
    """Return the queues by their cohorts."""
    paths = {each.path for each in members}
    return {path: leaf(each for each in members if each.path == path) for path in paths}


def loans(members, cohorts=None, seconds=3600):
    found = Loaned()
    found.add(leaves(members), cohorts or {}, seconds)
    return found.sums()


def lent(found):
    return {queue: seconds for (queue, _), seconds in found.lent.items()}


def test_a_sibling_lends_before_a_cousin():
    found = loans([
        member("a", NLP, 4, 8), member("b", NLP, 8, 6), member("c", VISION, 8, 0),
    ])  # fmt: skip

    assert lent(found) == {"b": 2 * 3600, "c": 2 * 3600}


def test_quota_of_the_cohort_itself_comes_before_that_of_its_queues():
    found = loans([member("a", NLP, 4, 8), member("b", NLP, 8, 0)], {NLP: Quota(3)})

    assert (found.pool, lent(found)) == (3 * 3600, {"b": 3600})


def test_quota_of_a_cohort_without_queues_is_lent_too():
    found = loans([member("a", NLP, 4, 8)], {VISION: Quota(3), LAB: Quota(0)})

    assert found.pool == 3 * 3600
    assert found.overdraft == {("a", "A"): 3600}


@pytest.mark.parametrize(("limit", "given"), [(None, 4), (3, 3), (0, 0)])
def test_a_queue_lends_no_more_than_it_may(limit, given):
    found = loans([member("a", LAB, 4, 8), member("b", LAB, 8, 2, limit)])

    assert lent(found) == ({"b": given * 3600} if given else {})
    assert sum(found.overdraft.values()) == (4 - given) * 3600


@pytest.mark.parametrize(("limit", "out"), [(None, 6), (5, 5), (2, 2), (0, 0)])
def test_a_cohort_keeps_what_it_does_not_lend_out(limit, out):
    members = [
        member("a", NLP, 0, 6), member("b", VISION, 4, 0), member("c", VISION, 2, 0),
    ]  # fmt: skip
    found = loans(members, {VISION: Quota(1, limit)})

    assert found.pool == (1 if out else 0) * 3600
    assert found.pool + sum(found.lent.values()) == out * 3600
    assert sum(found.overdraft.values()) == (6 - out) * 3600


def test_what_no_quota_covers_is_shared_by_those_who_borrow():
    found = loans([member("a", LAB, 4, 6), member("b", LAB, 4, 5)], seconds=1)

    assert found.overdraft == {("a", "A"): 2, ("b", "B"): 1}
    assert found.lent == {}


def test_thirds_are_rounded_once_an_hour_and_not_at_every_change():
    found = Loaned()
    members = [
        member("a", LAB, 0, 1), *(member(name, LAB, 1, 0) for name in ("b", "c", "d")),
    ]  # fmt: skip
    for _ in range(3):
        found.add(leaves(members), {}, 1)

    assert lent(found.sums()) == {"b": 1, "c": 1, "d": 1}


paths = st.sampled_from([LAB, NLP, VISION, ("lab", "nlp", "deep")])
limits = st.none() | st.integers(0, 9)
trees = st.lists(
    st.tuples(paths, st.integers(0, 9), st.integers(0, 12), limits), min_size=1, max_size=6
).map(lambda rows: [member(f"q{n}", *row) for n, row in enumerate(rows)])
pools = st.dictionaries(paths, st.builds(Quota, st.integers(0, 5), limits), max_size=3)


@given(trees, pools, st.integers(1, 3600))
def test_both_sides_are_equal_and_nobody_lends_what_is_not_there(members, cohorts, seconds):
    found = loans(members, cohorts, seconds)
    borrowed = sum(found.borrowed.values())
    room = {each.account: each.lendable * seconds for each in members}

    assert borrowed == sum(found.lent.values()) + found.pool + sum(found.overdraft.values())
    assert borrowed == sum(each.above for each in members) * seconds
    assert all(0 < amount <= room[account] for account, amount in found.lent.items())
    assert found.pool <= sum(quota.nominal for quota in cohorts.values()) * seconds


@given(trees, pools, st.lists(st.integers(1, 500), min_size=1, max_size=5), st.randoms())
def test_how_time_is_cut_and_in_which_order_changes_nothing(members, cohorts, parts, random):
    cut = Loaned()
    for seconds in parts:
        cut.add(leaves(random.sample(members, len(members))), cohorts, seconds)

    assert cut.sums() == loans(members, cohorts, sum(parts))


@given(trees)
def test_without_limits_there_is_overdraft_only_when_nothing_is_left(members):
    free = [each._replace(quota=Quota(each.quota.nominal)) for each in members]
    found = loans(free, seconds=1)
    over = sum(found.overdraft.values())

    assert over == max(0, sum(x.above for x in free) - sum(x.lendable for x in free))
    assert Fraction(over) >= 0
