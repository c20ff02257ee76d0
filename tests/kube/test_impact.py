"""What a pool has left, and what a reduction hits."""

from dataclasses import replace

import pytest
from hypothesis import given

from kube.catalog import Catalog, CohortSpec
from kube.edits import apply, proportional
from kube.impact import CapacityRow, capacity, reductions
from tests.kube.make import GPU, catalog, flavor, lines, queue, tenant
from tests.kube.strategies import catalogs


def two_queues(cv_limits=None, **nlp):
    """Make two queues of 8 GPUs in one department."""
    first = queue(**{"cohort": "research", **nlp})
    second = queue("cv-train", cohort="research", entries=(), quotas=lines(8, **(cv_limits or {})))
    return catalog(tenants=(tenant(first), tenant(second, slug="cv")))


def lowered(before, devices, **limits):
    return apply(before, proportional(before, "nlp-train", "a100", devices, **limits))


def gpu_row(before, after, usage=None):
    rows = reductions(before, after, usage or {})
    return next(each for each in rows if each.resource == GPU)


# Capacity


def test_shows_what_is_promised_and_what_is_left():
    made = catalog(
        flavors=(flavor(capacity=32),), cohorts=(CohortSpec(name="research", quotas=lines(4)),)
    )
    assert capacity(made) == (CapacityRow("a100", GPU, 32, 12, 20),)


def test_an_unknown_pool_has_an_unknown_rest():
    assert capacity(catalog()) == (CapacityRow("a100", GPU, None, 8, None),)
    known = catalog(flavors=(flavor(capacity=32),))
    assert capacity(known, {"a100": None}) == (CapacityRow("a100", GPU, None, 8, None),)


def test_a_pool_that_is_too_small_shows_a_negative_rest():
    assert capacity(catalog(), {"a100": 5})[0].free == -3


def test_flavors_without_devices_have_no_row():
    assert capacity(catalog(flavors=(flavor(resource=""),))) == ()


# Reductions


@given(catalogs())
def test_no_change_is_no_reduction(made):
    assert reductions(made, made, {}) == ()


def test_more_quota_is_no_reduction():
    assert reductions(catalog(), lowered(catalog(), 9), {}) == ()


def test_every_lowered_line_has_a_row():
    rows = reductions(catalog(), lowered(catalog(), 4), {})
    assert [(each.resource, each.before, each.after) for each in rows] == [
        ("cpu", 96_000, 48_000),
        ("memory", 8 << 37, 4 << 37),
        (GPU, 8, 4),
    ]


@pytest.mark.parametrize(("held", "over"), [(0, 0), (4, 0), (5, 1), (8, 4), (12, 8)])
def test_counts_what_is_held_above_the_new_nominal(held, over):
    usage = {("nlp-train", "a100", GPU): held}
    row = gpu_row(catalog(), lowered(catalog(), 4), usage)
    assert (row.held, row.over) == (held, over)


def test_unknown_use_is_not_zero_use():
    row = gpu_row(catalog(), lowered(catalog(), 4))
    assert (row.held, row.over) == (None, None)


def test_a_line_that_goes_is_a_reduction_to_nothing():
    after = catalog(tenants=(tenant(queue(cohort="research", quotas=lines(8)[:2])),))
    (row,) = reductions(catalog(), after, {("nlp-train", "a100", GPU): 3})
    assert (row.before, row.after, row.over) == (8, 0, 3)


def test_a_queue_that_goes_is_a_reduction_to_nothing():
    rows = reductions(catalog(), Catalog(), {})
    assert {each.after for each in rows} == {0}
    assert len(rows) == 3


def test_others_lose_room_to_borrow():
    row = gpu_row(two_queues(), lowered(two_queues(), 4))
    assert (row.borrowers, row.room_lost) == (1, 4)


def test_alone_in_a_department_nobody_loses_room():
    row = gpu_row(catalog(), lowered(catalog(), 4))
    assert (row.borrowers, row.room_lost) == (0, 0)


def test_without_a_department_nobody_loses_room():
    before = two_queues(cohort="")
    row = gpu_row(before, lowered(before, 4))
    assert (row.borrowers, row.room_lost) == (0, 0)


def test_queues_that_may_not_borrow_lose_nothing():
    before = two_queues({"borrowing_limit": 0})
    assert gpu_row(before, lowered(before, 4)).borrowers == 0


def test_what_was_never_lent_is_not_lost():
    before = two_queues(quotas=lines(8, lending_limit=2))
    row = gpu_row(before, lowered(before, 4, lending_limit=2))
    assert (row.after, row.room_lost) == (4, 0)


def test_a_lower_lending_limit_alone_is_a_loss_for_others():
    row = gpu_row(two_queues(), lowered(two_queues(), 8, lending_limit=3))
    assert (row.before, row.after, row.room_lost) == (8, 8, 5)


def test_leaving_the_department_is_a_loss_for_others():
    row = gpu_row(two_queues(), two_queues(cohort=""))
    assert (row.before, row.after, row.borrowers, row.room_lost) == (8, 8, 1, 8)


def test_queues_in_other_branches_of_the_tree_count():
    tree = (
        CohortSpec(name="research", parent="company"),
        CohortSpec(name="products", parent="company"),
        CohortSpec(name="company"),
    )
    other = queue("shop", cohort="products", entries=())
    before = catalog(
        cohorts=tree, tenants=(tenant(queue(cohort="research")), tenant(other, slug="shop"))
    )
    assert gpu_row(before, lowered(before, 4)).borrowers == 1
    apart = replace(before, cohorts=(replace(tree[0], parent=""), *tree[1:]))
    assert gpu_row(apart, lowered(apart, 4)).borrowers == 0


def test_queues_of_other_flavors_do_not_count():
    other = queue("other", cohort="research", entries=(), quotas=lines(8, "h100"))
    before = catalog(tenants=(tenant(queue(cohort="research"), other),))
    assert gpu_row(before, lowered(before, 4)).borrowers == 0


def test_a_circle_of_departments_does_not_hang():
    circle = (CohortSpec(name="research", parent="b"), CohortSpec(name="b", parent="research"))
    before = replace(two_queues(), cohorts=circle)
    assert gpu_row(before, lowered(before, 4)).borrowers == 1


# Departments


def departments(research, *, parent="", **limits):
    """Make two queues below a department with quota of its own, and one beside it."""
    own = lines(research, **limits)
    tree = (
        CohortSpec(name="research", parent=parent, quotas=own),
        CohortSpec(name="company"),
    )
    shop = queue("shop", cohort="company", entries=(), quotas=lines(8))
    made = two_queues()
    return replace(made, cohorts=tree, tenants=(*made.tenants, tenant(shop, slug="shop")))


def department_row(before, after):
    rows = reductions(before, after, {})
    return [each for each in rows if each.resource == GPU and each.queue == "research"]


def test_quota_of_a_department_that_goes_down_is_room_lost_for_its_queues():
    (row,) = department_row(departments(8), departments(2))
    assert (row.before, row.after, row.held, row.over) == (8, 2, 0, 0)
    assert (row.borrowers, row.room_lost) == (2, 6)


def test_a_department_that_goes_takes_its_quota_along():
    after = replace(departments(8), cohorts=departments(8).cohorts[1:])
    (row,) = department_row(departments(8), after)
    assert (row.after, row.room_lost) == (0, 8)


def test_the_whole_tree_borrows_from_a_department():
    (row,) = department_row(departments(8, parent="company"), departments(2, parent="company"))
    assert (row.borrowers, row.room_lost) == (3, 6)


def test_what_a_department_lends_no_more_is_lost_outside_of_it():
    before = departments(8, parent="company")
    (row,) = department_row(before, departments(8, parent="company", lending_limit=3))
    assert (row.before, row.after, row.borrowers, row.room_lost) == (8, 8, 1, 5)


def test_a_department_that_leaves_its_tree_is_lost_outside_of_it():
    (row,) = department_row(departments(8, parent="company"), departments(8))
    assert (row.borrowers, row.room_lost) == (1, 8)


def test_quota_of_a_department_without_borrowers_is_no_room_lost():
    empty = replace(departments(8), tenants=())
    (row,) = department_row(empty, replace(departments(2), tenants=()))
    assert (row.borrowers, row.room_lost) == (0, 0)


def test_more_quota_for_a_department_is_no_reduction():
    assert department_row(departments(2), departments(8)) == []
