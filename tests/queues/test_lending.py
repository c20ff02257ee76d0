"""Who lends to whom: what is borrowed is exact, what is lent is a range that holds."""

from hypothesis import given
from hypothesis import strategies as st

from queues.selectors import lending
from queues.selectors.lending import Side
from tests.queues.test_selectors import GPU, tree


def only(rows, named=None):
    [found] = lending.pools(rows, [GPU], named)
    return found


def test_one_lender_is_certain():
    found = only(tree(a=(16, 24, "D"), b=(8, 0, "D"), D=(0, 0, "")))

    assert found.borrowers == (Side("queue", "a", 8, 8),)
    assert found.lenders == (Side("queue", "b", 8, 8),)
    assert (found.department, found.borrowed) == ("D", 8)


def test_of_two_lenders_each_gives_a_range():
    found = only(tree(a=(0, 10, "D"), b=(8, 0, "D"), c=(6, 0, "D"), D=(0, 0, "")))

    assert found.lenders == (Side("queue", "b", 4, 8), Side("queue", "c", 2, 6))


def test_quota_of_the_department_lends_first_or_last_nobody_knows():
    found = only(tree(a=(4, 8, "D"), b=(4, 0, "D"), D=(4, 0, "")))

    assert found.lenders == (Side("own", "D", 0, 4), Side("queue", "b", 0, 4))


def test_what_is_kept_back_is_not_lent():
    limits = {"lendingLimit": 2}
    found = only(tree(a=(0, 5, "D"), b=(8, 0, "D", limits), c=(8, 0, "D"), D=(0, 0, "")))

    assert found.lenders == (Side("queue", "b", 0, 2), Side("queue", "c", 3, 5))


def test_a_department_borrows_from_above():
    rows = tree(
        a=(4, 10, "D"), b=(2, 0, "D"), D=(0, 0, "TOP"), c=(8, 0, "E"), E=(0, 0, "TOP"),
        TOP=(0, 0, ""),
    )  # fmt: skip
    below, top = lending.pools(rows, [GPU])

    assert below.lenders == (Side("queue", "b", 2, 2), Side("above", "TOP", 4, 4))
    assert top.borrowers == (Side("department", "D", 4, 4),)
    assert top.lenders == (Side("department", "E", 4, 4),)


def test_more_than_there_is_comes_from_nowhere():
    """After a quota was lowered, more may be held than the whole department has."""
    found = only(tree(a=(4, 12, "D"), b=(2, 0, "D"), D=(0, 0, "")))

    assert found.lenders == (Side("queue", "b", 2, 2), Side("above", "", 6, 6))


def test_nothing_borrowed_is_no_pool():
    assert lending.pools(tree(a=(16, 16, "D"), b=(8, 0, "D"), D=(0, 0, "")), [GPU]) == []
    assert lending.pools(tree(), [GPU]) == []
    assert lending.pools(tree(a=(1, 5, "")), [GPU]) == []


def test_queues_of_others_are_one_side_without_a_name():
    rows = tree(
        a=(0, 10, "D"), x=(0, 3, "D"), b=(8, 0, "D"), y=(6, 0, "D"), z=(6, 0, "D"), D=(0, 0, "")
    )
    found = only(rows, named={"a", "b"})

    assert found.borrowers == (Side("queue", "a", 10, 10), Side("hidden", "1", 3, 3))
    assert found.lenders == (Side("queue", "b", 1, 8), Side("hidden", "2", 5, 12))


lines = st.tuples(st.integers(0, 12), st.integers(0, 16), st.none() | st.integers(0, 12))


@given(st.lists(lines, min_size=1, max_size=5), st.integers(0, 8))
def test_the_ranges_hold_whoever_lends(queues, own):
    rows = {
        f"q{n}": (nominal, held, "D", *([{"lendingLimit": min(limit, nominal)}] if limit is not None else []))
        for n, (nominal, held, limit) in enumerate(queues)
    }  # fmt: skip
    for pool in lending.pools(tree(**rows, D=(own, 0, "")), [GPU]):
        least, most = (
            sum(getattr(each, end) for each in pool.lenders) for end in ("least", "most")
        )
        assert least <= pool.borrowed <= most
        assert all(0 <= each.least <= each.most for each in pool.lenders)
        assert not {each.name for each in pool.lenders if each.kind == "queue"} & {
            each.name for each in pool.borrowers
        }
