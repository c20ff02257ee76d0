"""The history of a long list comes behind its rows, and misses nothing for that."""

import pytest

from queues.models import Lifetime, Workload
from queues.services import intervals, noting
from tests.queues.clusterside import KIND, Side, admitted, short, stream, workload

pytestmark = pytest.mark.django_db

NAMES = ("a", "b", "c")


@pytest.fixture
def side(lab):
    return Side(lab.cluster)


@pytest.fixture
def noted(monkeypatch):
    """What the history was told: names, and whether they went."""
    found, note = [], intervals.note

    def told(cluster, changes, now, *, since=None):
        found.extend((each.uid.rpartition("-")[2], each.gone) for each in changes)
        return note(cluster, changes, now, since=since)

    monkeypatch.setattr(intervals, "note", told)
    return found


def made(*names):
    return [workload(name, conditions=[short()]) for name in names]


def lives():
    return sorted(Lifetime.objects.values_list("name", flat=True))


def test_rows_of_a_list_come_first(side, noted):
    side.begin("Workload")
    side.tell("Workload", *made(*NAMES))
    side.write()
    assert Workload.objects.count() == 3
    assert noted == []

    side.memory.end(KIND["Workload"], "9")
    side.write()
    assert sorted(noted) == [(name, False) for name in NAMES]
    assert lives() == list(NAMES)


def test_a_long_list_is_noted_in_parts(side, noted, lab, monkeypatch):
    monkeypatch.setattr(noting, "AT_ONCE", 2)
    side.listed(Workload=made(*NAMES))
    assert len(noted) == 2
    assert side.memory.waiting
    assert stream(lab.cluster, "Workload").noted_epoch == 0

    side.write()
    assert len(noted) == 3
    assert not side.memory.waiting
    line = stream(lab.cluster, "Workload")
    assert line.noted_epoch == line.epoch == 1


def test_what_happens_to_one_that_waits_is_noted_at_once(side, noted):
    side.begin("Workload")
    side.tell("Workload", *made("a", "b"))
    side.write()
    side.memory.end(KIND["Workload"], "9")
    side.tell("Workload", workload("a", **admitted()), change="MODIFIED")
    side.write()
    assert sorted(noted) == [("a", False), ("b", False)]
    assert Lifetime.objects.get(name="a").phase == "admitted"


def test_what_a_list_said_comes_before_what_came_after_it(side, noted):
    side.begin("Workload")
    side.tell("Workload", *made("a"))
    side.memory.end(KIND["Workload"], "9")
    side.tell("Workload", workload("a", **admitted()), change="MODIFIED")
    side.write()
    assert noted == [("a", False), ("a", False)]


def test_one_that_went_unseen_before_it_was_noted(side, noted, monkeypatch):
    monkeypatch.setattr(noting, "AT_ONCE", 1)
    side.listed(Workload=made("a", "b"))
    assert noted == [("a", False)]
    side.listed(Workload=made("a"))
    assert noted[1:] == [("b", False), ("b", True)]
    assert Lifetime.objects.get(name="b").gone_at


def test_one_that_went_before_it_was_noted(side, noted, monkeypatch):
    monkeypatch.setattr(noting, "AT_ONCE", 1)
    side.listed(Workload=made("a", "b"))
    side.tell("Workload", *made("b"), change="DELETED")
    side.write()
    assert noted[1:] == [("b", True)]
    assert Lifetime.objects.get(name="b").gone_at


def test_a_restart_goes_on_where_the_history_was(side, noted, lab, monkeypatch):
    """The rows are equal, so only the line can tell that something is missing."""
    monkeypatch.setattr(noting, "AT_ONCE", 1)
    side.listed(Workload=made(*NAMES))
    assert lives() == ["a"]
    noted.clear()

    monkeypatch.setattr(noting, "AT_ONCE", 500)
    second = Side(lab.cluster)
    done = second.listed(Workload=made(*NAMES))
    assert done.rows == 0
    assert lives() == list(NAMES)
    line = stream(lab.cluster, "Workload")
    assert line.noted_epoch == line.epoch == 2

    noted.clear()
    third = Side(lab.cluster)
    third.listed(Workload=made(*NAMES))
    assert noted == []
    assert stream(lab.cluster, "Workload").noted_epoch == 3


def test_a_window_that_was_not_committed_forgets_nothing(side, noted, monkeypatch):
    from django.db import OperationalError

    def away(*_arguments, **_more):
        raise OperationalError("gone")

    with monkeypatch.context() as broken:
        broken.setattr(intervals, "note", away)
        with pytest.raises(OperationalError):
            side.listed(Workload=made("a"))
    side.write()
    assert noted == [("a", False)]
    assert lives() == ["a"]


def test_a_cluster_without_workloads_is_up_to_date(side, lab):
    side.listed(Workload=[])
    assert not side.memory.waiting
    assert stream(lab.cluster, "Workload").noted_epoch == 1
