"""Which hours are counted by themselves: missing ones, and those of which more is known by now."""

from datetime import timedelta
from itertools import pairwise

import pytest
from celery import current_app
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from costs import tasks
from costs.models import Run
from costs.selectors import due
from costs.services import hourly
from costs.times import HOUR, Span, instant, moment
from queues.models import Gap, Interval, Lifetime, NodeChange, QuotaChange, Stream
from tenants.models import Cluster, Revision
from tests import cast
from tests.costs.ledger_rows import ITEMS, book_of, closed
from tests.costs.watched import HOUR as BEGIN
from tests.costs.watched import Watched, after

pytestmark = pytest.mark.django_db
FIRST = instant(BEGIN)


@pytest.fixture
def lab(db, monkeypatch):
    """The cast, whose catalog is as old as the story."""
    monkeypatch.setattr("django.utils.timezone.now", lambda: after(-60))
    return cast.make()


@pytest.fixture
def watched(lab, monkeypatch):
    """A cluster that is watched from minute 5 of the first hour on."""
    found = Watched(lab.cluster, monkeypatch)
    found.begin(after(5), ClusterQueue=[found.queue("nlp-train", 16)])
    return found


def hours_due(lab, at):
    """The hours that are due, numbered from the first one, together as they are counted."""
    return [
        list(range((each.starts - FIRST) // HOUR, (each.ends - FIRST) // HOUR))
        for each in due.spans(lab.cluster.pk, at)
    ]


def counted(lab, *numbers, at):
    for n in numbers:
        Run.objects.create(cluster=lab.cluster, starts=after(60 * n), ends=after(60 * n + 60),
                           result="r", at=at)  # fmt: skip


def interval(lab, starts, ends, noted_at, **more):
    life, _ = Lifetime.objects.get_or_create(
        cluster=lab.cluster, uid="u",
        defaults={"namespace": "nlp", "name": "a", "created_at": after(), "noted_at": after(),
                  "first_seen_at": after(), "resource_version": "1"},
    )  # fmt: skip
    return Interval.objects.create(
        cluster=lab.cluster, lifetime=life, phase="admitted", attempt=1, starts=starts,
        starts_quality="exact", ends=ends, ends_quality="exact", ended_by="finished",
        priority=0, devices=0, noted_at=noted_at, **more,
    )  # fmt: skip


# --- missing hours --------------------------------------------------------------------------------


def test_an_hour_is_due_when_it_has_settled(lab, watched):
    watched.alive(after(60, 1))
    assert hours_due(lab, after(69)) == []
    assert hours_due(lab, after(70)) == [[0]]


def test_hours_that_were_never_counted_are_due_some_at_a_time(lab, watched):
    watched.alive(after(8 * 60))
    assert hours_due(lab, after(8 * 60 + 10)) == [[0, 1, 2, 3, 4, 5], [6, 7]]
    counted(lab, 0, 1, 3, at=after(8 * 60))
    assert hours_due(lab, after(8 * 60 + 10)) == [[2], [4, 5, 6, 7]]


def test_one_run_may_stand_for_several_hours(lab, watched):
    watched.alive(after(240))
    Run.objects.create(cluster=lab.cluster, starts=after(-60), ends=after(180), result="r",
                       at=after(190))  # fmt: skip
    assert hours_due(lab, after(250)) == [[3]]


def test_what_is_not_heard_of_yet_is_not_due(lab, watched):
    watched.alive(after(119, 59))
    assert hours_due(lab, after(600)) == [[0]]
    Stream.objects.filter(kind="ClusterQueue").update(lost_since=after(50))
    assert hours_due(lab, after(600)) == []


def test_nothing_is_due_while_the_history_is_behind(lab, watched):
    watched.alive(after(130))
    Stream.objects.filter(kind="Workload").update(epoch=7)
    assert hours_due(lab, after(130)) == []


def test_nothing_is_due_in_a_cluster_that_was_never_watched(lab):
    assert hours_due(lab, after(600)) == []


def test_hours_of_a_closed_period_are_not_due(lab, watched, monkeypatch):
    october = closed(lab, book_of(lab), 10, *ITEMS)
    begun = october.ends - timedelta(minutes=90)
    monkeypatch.setattr(due.listening, "begun", lambda _cluster: begun)
    now = october.ends + timedelta(hours=3)
    watched.alive(now)
    assert due.spans(lab.cluster.pk, now) == [
        Span(instant(october.ends), instant(october.ends) + 2 * HOUR)
    ]


def test_only_the_last_week_is_looked_at(lab, watched):
    now = after(60 * 24 * 30)
    watched.alive(now)
    found = due.spans(lab.cluster.pk, now)
    assert found[0].starts == instant(now) - 7 * 24 * HOUR
    assert sum(each.seconds for each in found) == (7 * 24 - 1) * HOUR


# --- what is known better by now ------------------------------------------------------------------


@pytest.fixture
def all_counted(lab, watched):
    """Hours 0 to 3 were counted at minute 250."""
    watched.alive(after(300))
    counted(lab, 0, 1, 2, 3, at=after(250))
    assert hours_due(lab, after(300)) == []


def test_an_interval_that_ended_in_its_own_time_changes_nothing(lab, all_counted):
    interval(lab, after(30), after(90), noted_at=after(90, 1))
    interval(lab, after(90), after(255), noted_at=after(255, 1))
    assert hours_due(lab, after(300)) == []


def test_an_end_that_is_noted_late_changes_its_hour_and_those_after_it(lab, all_counted):
    interval(lab, after(30), after(90), noted_at=after(260))
    assert hours_due(lab, after(300)) == [[1, 2, 3]]
    counted(lab, 1, 2, 3, at=after(310))
    assert hours_due(lab, after(300)) == []


def test_an_end_counts_from_the_earliest_time_at_which_it_can_have_been(lab, all_counted):
    interval(lab, after(30), after(260), noted_at=after(270), ends_earliest=after(130),
             ends_latest=after(270))  # fmt: skip
    assert hours_due(lab, after(300)) == [[2, 3]]


def test_what_was_written_while_an_hour_was_counted_makes_it_due(lab, all_counted):
    interval(lab, after(30), after(90), noted_at=after(249, 30))
    assert hours_due(lab, after(300)) == [[1, 2, 3]]


def test_what_was_on_record_when_an_hour_was_counted_does_not(lab, all_counted):
    interval(lab, after(30), after(90), noted_at=after(240))
    assert hours_due(lab, after(300)) == []


@pytest.mark.parametrize("model", [QuotaChange, NodeChange])
def test_a_quota_or_a_node_that_is_noted_late(lab, all_counted, model):
    more = {"kind": "ClusterQueue"} if model is QuotaChange else {"state": "ready"}
    model.objects.create(cluster=lab.cluster, name="x", since=after(200), quality="bounded",
                         earliest=after(130), latest=after(270), observed_at=after(270), digest=1,
                         **more)  # fmt: skip
    assert hours_due(lab, after(300)) == [[2, 3]]


def test_a_gap_that_ends_late(lab, all_counted):
    for kind, starts in (("Workload", 190), ("Event", 10)):
        Gap.objects.create(cluster=lab.cluster, kind=kind, starts=after(starts), ends=after(260),
                           cause="lost", healed="listed")  # fmt: skip
    assert hours_due(lab, after(300)) == [[3]]


def test_the_first_revision_says_whose_everything_was_before_it(lab, all_counted, monkeypatch):
    """Revisions are only added, so the story is told of a cluster that has none yet."""
    other = Cluster.objects.create(slug="other", display_name="Other")
    for model in (QuotaChange, Stream, Run):
        for row in model.objects.filter(cluster=lab.cluster):
            row.pk, row.cluster = None, other
            row.save(force_insert=True)
    assert due.spans(other.pk, after(300)) == []
    monkeypatch.setattr("django.utils.timezone.now", lambda: after(260))
    Revision.objects.create(cluster=other, number=1, catalog={}, digest="d", summary="s")
    assert due.spans(other.pk, after(300)) == [Span(FIRST, FIRST + 4 * HOUR)]


def test_what_another_cluster_notes_changes_nothing_here(lab, all_counted):
    other = Cluster.objects.create(slug="other", display_name="Other")
    QuotaChange.objects.create(cluster=other, name="x", kind="Cohort", since=after(130), digest=1,
                               quality="exact", observed_at=after(270))  # fmt: skip
    assert hours_due(lab, after(300)) == []


def test_it_takes_the_same_queries_for_any_number_of_rows(lab, all_counted,
                                                          django_assert_num_queries):  # fmt: skip
    for n in range(20):
        interval(lab, after(30 + n), after(31 + n), noted_at=after(260))
    with django_assert_num_queries(12):
        assert hours_due(lab, after(300)) == [[0, 1, 2, 3]]


@given(st.sets(st.integers(0, 60)))
def test_hours_are_put_together_without_loss(numbers):
    hours = sorted(FIRST + n * HOUR for n in numbers)
    spans = list(due._together(hours))
    assert [at for each in spans for at in range(each.starts, each.ends, HOUR)] == hours
    assert all(HOUR <= each.seconds <= due.TOGETHER * HOUR for each in spans)
    # None that could have been one: where one ends and the next begins, the first is full.
    for one, following in pairwise(spans):
        assert one.ends < following.starts or one.seconds == due.TOGETHER * HOUR


# --- counting them --------------------------------------------------------------------------------


def test_counting_what_is_due_leaves_nothing_due(lab, watched):
    watched.alive(after(8 * 60))
    now = after(8 * 60 + 10)
    assert hourly.count_due(cluster=lab.cluster, seconds=60, now=now) is False
    assert hours_due(lab, now) == []
    found = Run.objects.order_by("starts").values_list("starts", "ends")
    assert list(found) == [(after(), after(360)), (after(360), after(480))]
    assert hourly.count_due(cluster=lab.cluster, seconds=60, now=now) is False
    assert Run.objects.count() == 2


def test_what_takes_too_long_is_left_for_the_next_one(lab, watched):
    watched.alive(after(8 * 60))
    now = after(8 * 60 + 10)
    assert hourly.count_due(cluster=lab.cluster, seconds=0, now=now) is True
    assert Run.objects.count() == 0


def test_facts_that_contradict_each_other_are_not_stored(lab, watched, monkeypatch):
    first = instant(after(360))
    monkeypatch.setattr(hourly, "broken", lambda hour: ["odd"] if hour.hour < first else [])
    watched.alive(after(8 * 60))
    assert hourly.count_due(cluster=lab.cluster, seconds=60, now=after(8 * 60 + 10)) is False
    assert list(Run.objects.values_list("starts", flat=True)) == [after(360)]
    with pytest.raises(hourly.DoesNotAddUp, match="odd"):
        hourly.count(cluster=lab.cluster, span=Span(FIRST, FIRST + HOUR), now=after(90))


def test_a_task_wakes_the_next_one_for_what_is_left(lab, watched, monkeypatch):
    woken = []
    monkeypatch.setattr(tasks.count, "wake", woken.append)
    tasks.count_all()
    assert woken == [lab.cluster.pk]
    watched.alive(after(480))
    watched.now = after(490)
    monkeypatch.setattr(tasks, "BUDGET", 0)
    tasks.count(lab.cluster.pk)
    assert woken == [lab.cluster.pk] * 2
    monkeypatch.undo()
    monkeypatch.setattr(timezone, "now", lambda: after(490))
    monkeypatch.setattr(tasks.count, "wake", woken.append)
    tasks.count(lab.cluster.pk)
    assert (len(woken), moment(due.instant(Run.objects.latest("ends").ends))) == (2, after(480))


def test_the_schedule_names_tasks_that_there_are(settings):
    """A name that is wrong would be sent for ever, and nothing would be counted."""
    current_app.loader.import_default_modules()
    names = {each["task"] for each in settings.BEAT_SCHEDULE.values()}
    assert "costs.tasks.count_all" in names
    assert names | {"costs.tasks.count"} <= {*current_app.tasks} & {*settings.CELERY_TASK_ROUTES}


def test_a_task_gives_way_to_another_count(lab, monkeypatch):
    def busy(**_):
        raise hourly.Busy("busy")

    monkeypatch.setattr(hourly, "count_due", busy)
    tasks.count(lab.cluster.pk)
    tasks.count(lab.cluster.pk + 1)
