"""The quota tree gives the numbers that Kueue itself works with."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube.quota_tree import MAX_DEPTH, Bound, QuotaTree
from tests.kube.waiting import GPU, cluster_queue, cohort, flavors, line, used

A100 = ("a100", GPU)


def queue(name, nominal, cohort="", held=0, borrowing=None, lending=None):
    groups = flavors(a100=line(nominal, borrowing, lending))
    return cluster_queue(name, groups, cohort, status=used(a100=held))


def department(name, own=0, parent="", borrowing=None, lending=None):
    return cohort(name, parent, flavors(a100=line(own, borrowing, lending)))


def rooms(tree, name):
    return tree.available(name, A100), tree.potential(name, A100)


def test_a_queue_alone_has_its_own_quota():
    tree = QuotaTree([queue("nlp", 16, held=12)])
    assert rooms(tree, "nlp") == ((4, Bound.OWN_QUOTA), (16, Bound.OWN_QUOTA))


def test_more_in_use_than_there_is_leaves_less_than_nothing():
    tree = QuotaTree([queue("nlp", 4, held=8)])
    assert tree.available("nlp", A100) == (-4, Bound.OWN_QUOTA)


def test_what_others_do_not_use_can_be_borrowed():
    tree = QuotaTree([queue("nlp", 16, "co", held=16), queue("cv", 16, "co")])
    assert rooms(tree, "nlp") == ((16, Bound.COHORT), (32, Bound.COHORT))


def test_a_borrowing_limit_bounds_what_can_be_borrowed():
    tree = QuotaTree([queue("nlp", 16, "co", held=16, borrowing=8), queue("cv", 16, "co")])
    assert rooms(tree, "nlp") == ((8, Bound.BORROWING_LIMIT), (24, Bound.BORROWING_LIMIT))
    assert tree.without_own_limit("nlp", A100) == 32


def test_a_lending_limit_keeps_the_rest_at_home():
    queues = [queue("nlp", 16, "co", held=16), queue("cv", 16, "co", lending=4)]
    tree = QuotaTree(queues)
    assert rooms(tree, "nlp") == ((4, Bound.COHORT), (20, Bound.COHORT))
    assert tree.lends_less("nlp", A100)
    assert not tree.lends_less("cv", A100)
    taken = QuotaTree([queue("nlp", 16, "co", held=20), queues[1]])
    assert taken.available("cv", A100) == (12, Bound.COHORT)


def test_limits_of_departments_bound_their_whole_tree():
    """Root with 8 of its own; org-a may take 4 from above, and is full; org-b is idle."""
    tree = QuotaTree(
        [
            queue("t1", 8, "org-a"), queue("t2", 8, "org-a", held=8), queue("t3", 8, "org-b"),
        ],
        [
            department("root", 8), department("org-a", parent="root", borrowing=4),
            department("org-b", parent="root"),
        ],
    )  # fmt: skip
    assert tree.available("t1", A100) == (12, Bound.COHORT_LIMIT)
    assert tree.available("t3", A100) == (24, Bound.COHORT)


def test_a_department_that_lends_little_keeps_the_rest_in_its_tree():
    tree = QuotaTree(
        [queue("x", 8, "org-a"), queue("y", 0, "org-b")],
        [
            department("root"), department("org-a", 4, "root", lending=5),
            department("org-b", parent="root"),
        ],
    )  # fmt: skip
    assert tree.potential("y", A100) == (5, Bound.COHORT)
    assert tree.potential("x", A100) == (12, Bound.COHORT)


def test_departments_in_a_circle_give_nothing():
    tree = QuotaTree(
        [queue("a", 8, "one"), queue("b", 8)],
        [department("one", 4, "two"), department("two", 4, "one")],
    )
    assert tree.in_circle("a")
    assert rooms(tree, "a") == (None, None)
    assert (tree.beside("a"), tree.without_own_limit("a", A100)) == ([], None)
    assert not tree.in_circle("b")
    assert not tree.in_circle("nobody")


def test_who_keeps_more_at_home_is_not_asked_of_a_broken_tree():
    line_of = ("a100", GPU)
    tree = QuotaTree([queue("nlp", 16, "co", lending=4), queue("cv", 16, "co")])
    circle = QuotaTree([queue("nlp", 16, "a", lending=4)], [department("a", 0, "a")])

    assert tree.lends_less("cv", line_of)
    assert not tree.lends_less("nlp", line_of)
    assert not circle.lends_less("nlp", line_of)
    assert not tree.lends_less("nobody", line_of)


def test_departments_deeper_than_anybody_builds_are_not_followed():
    deep = [department(f"d{n}", 1, f"d{n + 1}") for n in range(MAX_DEPTH + 5)]
    tree = QuotaTree([queue("a", 8, "d0")], deep)
    assert rooms(tree, "a") == (None, None)


def test_what_is_only_partly_known_is_not_guessed():
    alone = QuotaTree([queue("a", 8, "co"), queue("b", 4)], complete=False)
    assert rooms(alone, "a") == (None, None)
    assert alone.potential("b", A100) == (4, Bound.OWN_QUOTA)
    both = QuotaTree([queue("a", 8, "co"), queue("c", 4, "co")], complete=False)
    assert both.potential("a", A100) == (12, Bound.COHORT)


def test_without_a_status_nothing_is_known_to_be_free():
    tree = QuotaTree([cluster_queue("a", flavors(a100=line(8)))])
    assert rooms(tree, "a") == (None, (8, Bound.OWN_QUOTA))
    assert tree.without_own_limit("a", A100) == 8


def test_queues_of_other_trees_are_not_beside():
    tree = QuotaTree(
        [
            queue("a", 1, "x"),
            queue("b", 1, "y", held=7),
            queue("c", 1, "sub", held=2),
            queue("d", 1),
        ],
        [department("sub", parent="x")],
    )
    assert [each.name for each in tree.beside("a")] == ["c"]
    assert [tree.held_by_others(name, A100) for name in "acabd"] == [2, 0, 2, 0, 0]
    assert tree.held_by_others("nobody", A100) == 0
    assert tree.beside("d") == tree.beside("nobody") == []


@pytest.mark.parametrize("odd", [None, 3, [], {"metadata": 1}, {"metadata": {"name": 4}}])
def test_objects_of_odd_form_are_no_queues(odd):
    tree = QuotaTree([odd] if odd is not None else [], [odd] if isinstance(odd, dict) else [])
    assert tree.potential("", A100) is None


NUMBERS = st.integers(min_value=0, max_value=20)
LIMITS = st.none() | NUMBERS


@st.composite
def trees(draw):
    """Up to four queues under three departments, with any limits."""
    departments = [
        department("root", draw(NUMBERS)),
        *(
            department(name, draw(NUMBERS), "root", draw(LIMITS), draw(LIMITS))
            for name in ("one", "two")
        ),
    ]
    queues = [
        queue(
            f"q{number}", draw(NUMBERS), draw(st.sampled_from(["root", "one", "two"])),
            draw(NUMBERS), draw(LIMITS), draw(LIMITS),
        )
        for number in range(draw(st.integers(min_value=1, max_value=4)))
    ]  # fmt: skip
    return queues, departments


@given(trees())
def test_what_is_free_now_is_never_more_than_what_could_ever_be(given_tree):
    tree = QuotaTree(*given_tree)
    for name in tree.queues:
        (free, _), (ever, _) = rooms(tree, name)
        assert free <= ever
        assert tree.without_own_limit(name, A100) >= ever


@given(trees())
def test_where_nothing_is_used_all_that_could_be_had_is_free(given_tree):
    queues, departments = given_tree
    empty = [each | {"status": used(a100=0)} for each in queues]
    tree = QuotaTree(empty, departments)
    for name in tree.queues:
        assert tree.available(name, A100)[0] == tree.potential(name, A100)[0]


@given(trees(), st.integers(min_value=1, max_value=9), st.randoms())
def test_more_of_the_own_quota_gives_that_much_more(given_tree, more, random):
    """What the smallest change rests on: a queue gets what its own line is raised by."""
    queues, departments = given_tree
    tree = QuotaTree(queues, departments)
    shuffled = list(queues)
    random.shuffle(shuffled)
    assert {n: rooms(tree, n) for n in tree.queues} == {
        n: rooms(QuotaTree(shuffled, departments), n) for n in tree.queues
    }
    first = queues[0]
    row = first["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]
    raised = row | {"nominalQuota": str(int(row["nominalQuota"]) + more)}
    twin = first | {"spec": first["spec"] | {"resourceGroups": flavors(a100=raised)}}
    after = QuotaTree([twin, *queues[1:]], departments)
    assert after.potential("q0", A100)[0] == tree.potential("q0", A100)[0] + more
    reach = tree.without_own_limit("q0", A100) + more
    assert after.without_own_limit("q0", A100) == reach
