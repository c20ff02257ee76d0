"""Missing is never zero: the times in which nobody listened are rows."""

from datetime import UTC, datetime, timedelta

import pytest
import time_machine

from queues.models import Gap, Interval, Lifetime, Stream
from queues.services import observed_rows as rows
from tests.queues.clusterside import Side, admitted, entry, queue, short, workload

pytestmark = pytest.mark.django_db
START = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)


@pytest.fixture
def clock():
    with time_machine.travel(START, tick=False) as traveller:
        yield traveller


def gaps():
    found = Gap.objects.order_by("starts")
    return [
        ((x.starts - START).seconds, (x.ends - START).seconds, x.cause, x.healed) for x in found
    ]


def listed(lab, kind="Workload"):
    rows.listed(lab.cluster, kind, "5")


def alive(lab, *kinds):
    rows.alive(lab.cluster, kinds or ("Workload",))


def test_a_first_list_ends_no_gap(lab, clock):
    listed(lab)
    assert gaps() == []


def test_signs_of_life_in_time_are_no_gap(lab, clock):
    listed(lab)
    for _ in range(20):
        clock.shift(5)
        alive(lab)
    listed(lab)
    assert gaps() == []


def test_an_observer_that_was_away_left_a_gap_from_its_last_sign_to_the_next_list(lab, clock):
    listed(lab)
    clock.shift(5)
    alive(lab)
    clock.shift(600)
    listed(lab)
    alive(lab)
    assert gaps() == [(5, 605, "silent", "listed")]


def test_a_line_that_was_lost_and_went_on_is_a_gap_too_however_short(lab, clock):
    listed(lab)
    clock.shift(3)
    rows.lost(lab.cluster, "Workload", "connection refused")
    clock.shift(4)
    alive(lab)
    assert gaps() == [(0, 7, "lost", "resumed")]
    assert Gap.objects.get().error == "connection refused"


def test_each_kind_has_its_own_gaps(lab, clock):
    for kind in ("Workload", "Node"):
        listed(lab, kind)
    rows.lost(lab.cluster, "Node", "cut")
    clock.shift(8)
    alive(lab, "Workload")
    clock.shift(8)
    alive(lab, "Workload", "Node")
    assert list(Gap.objects.values_list("kind", flat=True)) == ["Node"]


def test_two_observers_that_take_turns_tell_a_gap_once(lab, clock):
    listed(lab)
    line = Stream.objects.get()
    clock.shift(60)
    listed(lab)
    Stream.objects.update(alive_at=line.alive_at)
    listed(lab)
    assert len(gaps()) == 1


# --- the ledger through the observer's window -----------------------------------------------------


@pytest.fixture
def side(lab):
    found = Side(lab.cluster)
    found.listed(ClusterQueue=[queue(cohortName="research")], LocalQueue=[entry()])
    return found


def test_the_window_notes_a_workload_with_its_queue_and_department(side):
    side.listed(Workload=[workload("a", **admitted())])
    life = Lifetime.objects.get()
    assert (life.phase, life.queue, life.cohort) == ("admitted", "nlp-train", "research")
    assert (life.devices, life.job_uid, life.orphaned) == (8, "job-a", False)


def test_an_entry_that_comes_after_its_workload_names_the_queue(lab):
    side = Side(lab.cluster)
    side.listed(Workload=[workload("a", conditions=[short()])])
    assert Lifetime.objects.get().queue == ""
    side.listed(ClusterQueue=[queue()], LocalQueue=[entry()])
    assert Lifetime.objects.get().queue == "nlp-train"
    assert not Interval.objects.exists()


def test_what_a_fresh_list_no_longer_holds_ended_between_the_looks(clock, side, lab):
    side.listed(Workload=[workload("a", **admitted()), workload("b")])
    clock.shift(600)
    later = Side(lab.cluster)
    later.listed(ClusterQueue=[queue()], LocalQueue=[entry()], Workload=[workload("b")])
    assert {x.name: bool(x.phase) for x in Lifetime.objects.all()} == {"a": False, "b": True}
    ended = Interval.objects.get(lifetime__name="a", phase="admitted")
    assert ended.ended_by == "vanished"
    assert (ended.ends_earliest, ended.ends_latest) == (START, START + timedelta(seconds=600))


def test_the_same_list_once_more_adds_nothing(side, lab):
    items = [workload("a", **admitted()), workload("b", conditions=[short()])]
    side.listed(Workload=items)
    before = list(Lifetime.objects.order_by("pk").values())
    side.list("Workload", *items)
    side.write()
    Side(lab.cluster).listed(ClusterQueue=[queue()], LocalQueue=[entry()], Workload=items)
    assert list(Lifetime.objects.order_by("pk").values()) == before


def test_every_state_between_two_windows_is_noted_not_only_the_last(side):
    side.listed(Workload=[workload("a", conditions=[short()])])
    side.tell("Workload", workload("a", metadata={"resourceVersion": "8"}, **admitted()))
    side.tell(
        "Workload", workload("a", metadata={"resourceVersion": "9"}, **admitted()), change="DELETED"
    )
    side.write()
    life = Lifetime.objects.get()
    assert (life.phase, life.attempt) == ("", 1)
    assert life.gone_at is not None
