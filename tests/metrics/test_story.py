"""What a real Prometheus knows of an hour becomes exactly what the pods used."""

from dataclasses import replace
from fractions import Fraction

import pytest

from costs.metrics import Intervals, TooMany, used
from costs.promql import ACTIVE
from costs.times import HOUR
from costs.used import Use
from tests.metrics.story import BEGIN, STORY

pytestmark = pytest.mark.xdist_group("prometheus")


@pytest.fixture
def found(asked):
    return used(asked)


def use(one):
    return Use(one.milli, one.seen, one.expected)


def test_the_server_says_which_it_is(asking):
    assert asking.version().startswith(("2.", "3."))


def test_a_pod_of_twenty_minutes_used_a_sixth_of_an_hour(found, told):
    one = told.use(found, "part-hour")
    assert use(one) == Use(600_000, 1200, 1200)


def test_a_sample_on_the_edge_is_in_one_hour_alone(asking, found, told):
    """A range of a whole hour has 121 samples on Prometheus 2; then all hours are too long."""
    one = told.use(found, "aligned")
    assert use(one) == Use(900_000, HOUR, HOUR)
    whole = f'sum_over_time({ACTIVE}{{UUID="GPU-b"}}[1h])'
    (series,) = asking.ask(whole, STORY.ends)
    newer = asking.version().startswith("3.")
    assert series.value == (30 if newer else Fraction("30.25"))


def test_gpus_of_a_pod_are_added_up_not_averaged(found, told):
    one = told.use(found, "four")
    assert Fraction(one.milli, 1000 * HOUR) == Fraction("2.2")
    assert one.seen == one.expected == 4 * HOUR


def test_an_outage_of_the_exporter_is_not_idle_time(found, told):
    one = use(told.use(found, "outage"))
    assert one == Use(1_920_000, 2400, HOUR)
    assert one.coverage == Fraction(2, 3)
    assert not one.known
    assert one.busy == Fraction("0.8")
    assert (one.least / HOUR, one.most / HOUR) == (Fraction(8, 15), Fraction(13, 15))


def test_pods_that_share_a_device_use_it_once(found, told):
    three = [told.use(found, f"share-{n}") for n in (1, 2, 3)]
    assert [one.milli for one in three] == [856_800] * 3  # 0.238 each
    assert sum(one.used for one in three) == Fraction("0.714") * HOUR
    assert {one.shared for one in three} == {3}
    assert {(one.seen, one.expected) for one in three} == {(HOUR, HOUR)}


def test_pods_one_after_the_other_do_not_share(found, told):
    for pod in ("first", "second"):
        one = told.use(found, pod)
        assert (use(one), one.shared) == (Use(900_000, 1800, 1800), 1)


def test_labels_that_prometheus_has_renamed_are_those_of_the_pod(found, told):
    assert use(told.use(found, "kept", namespace="cv")) == Use(1_440_000, HOUR, HOUR)
    assert "dcgm-x7" not in {who.pod for who in found}
    assert "monitoring" not in {who.namespace for who in found}


def test_use_without_a_pod_is_nobodys(found, told):
    host = told.use(found, "", node="n1")
    assert use(host) == Use(3_240_000, HOUR, HOUR)
    assert use(told.use(found, "", node="n3")) == Use(0, HOUR, HOUR)


def test_instances_of_a_gpu_are_devices_of_their_own(found, told):
    assert use(told.use(found, "slice", namespace="nlp", profile="1g.10gb")) == Use(
        2_160_000, HOUR, HOUR
    )
    assert use(told.use(found, "slice", namespace="cv", profile="3g.40gb")) == Use(
        900_000, 1800, 1800
    )
    assert not [who for who in found if who.node == "n4" and not who.profile]


def test_utilisation_stands_in_where_nothing_better_is_said(found, told):
    one = told.use(found, "fallback")
    assert (use(one), one.fallback) == (Use(1_800_000, HOUR, HOUR), HOUR)
    assert told.use(found, "aligned").fallback == 0


def test_what_is_beyond_the_whole_is_cut_sample_by_sample(found, told):
    """The mean of 1.4 and 0.2 is below 1, so the sum alone would hide it."""
    one = told.use(found, "clamped")
    assert (use(one), one.clamped) == (Use(2_160_000, HOUR, HOUR), 60)


def test_what_is_no_number_was_expected_and_not_seen(found, told):
    assert use(told.use(found, "odd")) == Use(900_000, 1800, HOUR)


def test_an_exporter_that_is_started_anew_is_the_same(found, told):
    one = told.use(found, "restarted")
    assert (use(one), one.shared) == (Use(1_800_000, HOUR, HOUR), 1)


def test_a_counter_that_begins_anew_goes_on(found, told):
    """300 W for an hour; last less first would be a third of it."""
    joules = told.use(found, "aligned").energy / 1000
    assert 1_060_000 < joules < 1_080_000


def test_scraped_more_often_than_is_said_is_refused(asked):
    with pytest.raises(TooMany):
        used(replace(asked, intervals=Intervals(60, {})))


def test_hours_side_by_side_are_the_whole(asking, source):
    """The pod that runs through both has two hours, the edge in one of them."""
    from costs.services.harvest import ask
    from costs.times import Span

    before = Span(BEGIN - HOUR, BEGIN)
    earlier = used(ask(asking, source, before))
    one = next(each for who, each in earlier.items() if who.pod == "aligned")
    assert one.seen == 21 * 30  # ten minutes, and the sample on the edge
