"""Which devices of a queue are borrowed: the newest above its quota, to the last second."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from costs.facts import Grant
from costs.lending import Quota
from costs.owning import Reserved, at, borrowed, by_workload, sums
from costs.selectors import owning, workload_hours
from costs.selectors.holdings import owners
from costs.steps import Dated, Step, levels, total
from costs.times import HOUR, Span, instant
from queues.models import Lifetime
from tests.costs.losing import clock, phase, promise, run
from tests.costs.make import A100

NIGHT = Span(0, 10 * HOUR)


def reserved(workload, starts, ends, amount, since=None):
    turn = (starts if since is None else since, workload)
    return Reserved(turn, Span(starts, ends), amount)


def grants(*steps, cohort=("lab",)):
    return Dated([(since, Grant(cohort, Quota(nominal))) for since, nominal in steps])


def found(rows, *steps, **more):
    return dict(sums(borrowed(rows, grants(*steps, **more), NIGHT)))


def test_the_newest_devices_are_the_borrowed_ones():
    rows = [reserved(1, 0, 1000, 6), reserved(2, 100, 1000, 4), reserved(3, 200, 400, 4)]

    # Eight of quota: of the second two are above, of the third all.
    assert found(rows, (0, 8)) == {2: 2 * 900, 3: 4 * 200}


def test_who_was_above_is_within_when_an_older_one_ends():
    rows = [reserved(1, 0, 300, 8), reserved(2, 100, 500, 8)]

    assert found(rows, (0, 8)) == {2: 8 * 200}


def test_a_reservation_keeps_its_turn_when_it_grows_or_goes_on_in_another_phase():
    rows = [
        reserved(1, 0, 50, 8, since=0),
        reserved(1, 50, 500, 8, since=0),
        reserved(2, 10, 500, 8),
    ]

    assert found(rows, (0, 8)) == {2: 8 * 490}


def test_a_quota_that_is_lowered_makes_the_newest_borrow():
    rows = [reserved(1, 0, 1000, 8), reserved(2, 1, 1000, 8)]

    assert found(rows, (0, 16), (400, 10)) == {2: 6 * 600}
    assert found(rows, (0, 16), (400, 4)) == {1: 4 * 600, 2: 8 * 600}


def test_without_a_department_there_is_nobody_to_borrow_from():
    assert found([reserved(1, 0, 100, 8)], (0, 4), cohort=()) == {}
    assert list(borrowed([reserved(1, 0, 100, 8)], None, NIGHT)) == []


def test_two_of_the_same_second_have_an_order():
    rows = [reserved(2, 0, 100, 4), reserved(1, 0, 100, 4)]

    assert found(rows, (0, 4)) == found(rows[::-1], (0, 4)) == {2: 400}


times = st.integers(0, 10 * HOUR)
rows = st.lists(
    st.tuples(st.integers(1, 6), times, times, st.integers(1, 9)).map(
        lambda x: reserved(x[0], min(x[1:3]), max(x[1:3]), x[3])
    ),
    max_size=12,
)
quotas = st.dictionaries(st.integers(0, 10 * HOUR), st.integers(0, 20), max_size=4).map(
    lambda found: sorted(found.items())
)


@given(rows, quotas, st.randoms())
def test_all_workloads_have_borrowed_what_the_queue_has(rows, quotas, order):
    above = list(borrowed(rows, grants(*quotas), NIGHT))
    dated = grants(*quotas)
    queue = sum(
        max(0, amount - (grant.quota.nominal if grant else amount)) * part.seconds
        for span, amount in levels(Step(row.span, row.amount) for row in rows)
        for part, grant in dated.within(span)
    )
    held = Counter()
    for row in rows:
        held[row.turn[1]] += row.span.seconds * row.amount
    mixed = order.sample(rows, len(rows))

    assert sum(sums(above).values()) == queue
    assert all(seconds <= held[key] for key, seconds in sums(above).items())
    assert sums(borrowed(mixed, grants(*quotas), NIGHT)) == sums(above)


@given(rows, quotas, times)
def test_at_an_instant_it_is_the_same(rows, quotas, when):
    above = list(borrowed(rows, grants(*quotas), NIGHT))
    here = total((Step(x.span, x.amount) for x in above), Span(when, when + 1))

    assert sum(at(steps, when) for steps in by_workload(above).values()) == here


# -- from the rows of the observer ---------------------------------------------------------------


@pytest.fixture
def queue(lab):
    promise(lab.cluster, "nlp-train", 8)
    promise(lab.cluster, "cv-train", 8)
    return lab


def test_rows_of_the_observer_give_own_and_borrowed_time_of_each_workload(queue):
    span = Span(instant(clock("22:00")), instant(clock("23:00")))
    old = run(queue.cluster, "old", "nlp-train", 6, clock("22:30"), None)
    # Reserved before the span and admitted in it: its turn is before that of the other one.
    first = Lifetime.objects.create(
        cluster=queue.cluster, uid="first", name="first", namespace="nlp", attempt=1,
        created_at=clock("21:00"), first_seen_at=clock("21:00"), noted_at=clock("21:00"),
        resource_version="1",
    )  # fmt: skip
    phase(first, "nlp-train", 4, clock("21:50"), clock("22:00"), "reserved")
    phase(first, "nlp-train", 4, clock("22:00"), clock("22:40"))
    other = run(queue.cluster, "other", "cv-train", 9, clock("22:50"), clock("23:00"))
    mine = owners(queue.cluster.pk, span).queues

    both = owning.of_tenant(queue.cluster.pk, "nlp", {"nlp-train": mine["nlp-train"]}, span)
    assert both == {(old.pk, "nlp-train", A100): 2 * 600}
    theirs = owning.of_tenant(queue.cluster.pk, "cv", {"cv-train": mine["cv-train"]}, span)
    assert theirs == {(other.pk, "cv-train", A100): 600}
    held = {each.lifetime.pk: each for each in workload_hours.held(queue.cluster.pk, "nlp", span)}
    assert sum(held[old.pk].seconds.values()) == 6 * 1800
