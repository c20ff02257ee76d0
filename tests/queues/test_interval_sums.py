"""What was held within a time: intervals that are over and those that last, cut to the second."""

from datetime import timedelta
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from queues.models import Gap, Interval
from queues.selectors.intervals import Holding, gaps, held_seconds, overlapping
from queues.services.intervals import Change, note
from tests.kube.kueue_life import GPU, START, Life

pytestmark = pytest.mark.django_db


def at(seconds):
    return START + timedelta(seconds=seconds)


def tell(cluster, life, uid="uid-a"):
    body = life.look()
    body["metadata"]["uid"] = uid
    note(cluster, [Change(uid, body, queue="nlp-train", cohort="research")], life.now)


def ran(cluster, uid="uid-a"):
    """600 s in the queue, admitted for 2 h, stopped, and admitted again since."""
    life = Life()
    for wait, actions in (
        (600, ("reserve", "admit")),
        (7200, ("evict", "release")),
        (60, ("reserve", "admit")),
    ):
        life.wait(wait)
        for action in actions:
            getattr(life, action)()
        tell(cluster, life, uid)
    return life


def devices(cluster, lo, hi):
    total = held_seconds(cluster.pk, at(lo), at(hi))
    assert {(x.queue, x.flavor, x.resource) for x in total} <= {("nlp-train", "a100", GPU)}
    return sum(total.values())


@pytest.mark.parametrize(
    ("lo", "hi", "seconds"),
    [
        (0, 600, 0), (0, 601, 1), (600, 7800, 7200), (7000, 7900, 800 + 40), (7800, 7860, 0),
        (8000, 9000, 1000), (0, 9000, 7200 + 1140),
    ],
)  # fmt: skip
def test_what_is_over_and_what_lasts_is_cut_to_the_asked_time(lab, lo, hi, seconds):
    ran(lab.cluster)
    assert devices(lab.cluster, lo, hi) == 8 * seconds


def test_a_sum_is_told_by_queue_flavor_resource_and_phase(lab):
    ran(lab.cluster)
    found = held_seconds(lab.cluster.pk, at(0), at(8000))
    assert found == {Holding("nlp-train", "a100", GPU, "admitted"): 8 * (7200 + 140)}


def test_a_bound_that_the_question_set_is_exact(lab):
    ran(lab.cluster)
    (found,) = overlapping(lab.cluster.pk, at(1000), at(2000))
    assert (found.starts_quality, found.ends_quality, found.seconds) == ("exact", "exact", 1000)


@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(cuts=st.lists(st.integers(1, 9999), max_size=6))
def test_parts_of_a_time_add_up_to_the_whole(lab, cuts):
    if not Interval.objects.exists():
        ran(lab.cluster, "uid-a")
        ran(lab.cluster, "uid-b")
    edges = [0, *sorted(set(cuts)), 10_000]
    parts = sum(devices(lab.cluster, a, b) for a, b in pairwise(edges))
    assert parts == devices(lab.cluster, 0, 10_000) == 2 * 8 * (7200 + 2140)


def test_gaps_of_a_time_are_found_by_kind(lab):
    for kind, lo, hi in (("Workload", 0, 10), ("Workload", 100, 200), ("Node", 120, 130)):
        Gap.objects.create(
            cluster=lab.cluster,
            kind=kind,
            starts=at(lo),
            ends=at(hi),
            cause="lost",
            healed="listed",
        )
    assert [x.starts for x in gaps(lab.cluster.pk, at(10), at(150))] == [at(100)]
