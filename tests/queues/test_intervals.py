"""The ledger in the database: restarts, replays, batches, deletions, names that come back."""

import copy
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings

from queues.models import ConditionChange, Eviction, Interval, Lifetime, Stream
from queues.services.intervals import Change, note
from tests.kube.kueue_life import START, Life
from tests.kube.test_lifecycle import Watcher, lives, play

pytestmark = pytest.mark.django_db
EVERY = "gpuportal.io/checkpoint-every"


def tell(cluster, life, uid="uid-a", *, gone=False, since=None, **more):
    """Note a life as it stands, as a process would that knows nothing but the database."""
    body = life.look()
    body["metadata"]["uid"] = uid
    change = Change(uid, body, gone, "nlp-train", "research", **more)
    return note(cluster, [change], life.now, since=since)


def rows(uid="uid-a"):
    found = Interval.objects.filter(lifetime__uid=uid).order_by("starts")
    return [(x.phase, x.starts, x.ends, x.devices) for x in found]


def running():
    life = Life()
    life.reserve()
    life.admit()
    return life


@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(lives())
def test_who_forgets_everything_between_two_looks_writes_the_same(lab, steps):
    """A restart after every look: what the pure function keeps in memory is in the rows."""
    watcher, uid = Watcher(), f"uid-{Lifetime.objects.count()}"
    for life, looked in play(steps):
        if looked:
            tell(lab.cluster, life, uid, since=watcher.last)
            watcher.look(life, live=False)
    record = Lifetime.objects.get(uid=uid)
    found = rows(uid) + ([(record.phase, record.starts, None, record.devices)] * bool(record.phase))
    assert found == watcher.all()
    assert record.evictions == Eviction.objects.filter(lifetime=record).count()
    assert record.evictions == len(watcher.losses)


def test_the_same_list_again_writes_nothing(lab):
    life = running()
    assert tell(lab.cluster, life) > 0
    life.wait(60)
    with CaptureQueriesContext(
        connection,
    ) as queries:
        assert tell(lab.cluster, life) == 0
    assert len(queries) == 2


def test_a_new_version_that_says_nothing_new_writes_nothing(lab):
    life = running()
    tell(lab.cluster, life)
    life.wait(60)
    life.version += 1
    assert tell(lab.cluster, life) == 0


@pytest.mark.parametrize("number", [1, 200])
def test_a_few_statements_serve_any_number_of_changes(lab, number):
    def batch(life):
        for n in range(number):
            body = life.look()
            body["metadata"]["uid"] = f"u-{n}"
            yield Change(f"u-{n}", body, queue="nlp-train")

    life = running()
    with CaptureQueriesContext(connection) as first:
        note(lab.cluster, batch(life), life.now)
    life.wait(60)
    life.evict()
    life.release()
    with CaptureQueriesContext(connection) as second:
        note(lab.cluster, batch(life), life.now)
    assert (len(first), len(second)) == (4, 6)
    assert Interval.objects.count() == number
    assert Eviction.objects.count() == number


def test_several_changes_of_one_workload_come_in_one_batch(lab):
    life, found = Life(), []
    for action in ("look_at_it", "reserve", "admit", "evict", "release", "reserve"):
        life.wait(10)
        getattr(life, action)()
        found.append(Change("uid-a", life.look(), queue="nlp-train"))
    note(lab.cluster, [*found, Change("uid-a", life.look(), gone=True)], life.now)
    assert [phase for phase, *_ in rows()] == [
        "queued",
        "reserved",
        "admitted",
        "draining",
        "evicted",
    ]
    record = Lifetime.objects.get()
    assert (record.phase, record.attempt, record.gone_at) == ("", 2, life.now)


def test_a_workload_that_came_and_went_unseen_in_one_window_is_on_record(lab):
    life = running()
    life.wait(5)
    tell(lab.cluster, life, gone=True)
    assert rows() == [("admitted", START, START + timedelta(seconds=5), 8)]


def test_a_name_that_comes_back_is_another_workload(lab):
    life = running()
    tell(lab.cluster, life, "uid-1")
    life.wait(60)
    tell(lab.cluster, life, "uid-1", gone=True)
    tell(lab.cluster, Life(), "uid-2")
    first, second = Lifetime.objects.order_by("pk")
    assert (first.name, second.name) == ("job-a", "job-a")
    assert (first.phase, second.phase) == ("", "queued")


def test_what_ended_unseen_has_the_bounds_of_the_two_looks(lab):
    life = running()
    tell(lab.cluster, life)
    life.wait(600)
    changes = [Change("uid-a", None, gone=True), Change("never-seen", None, gone=True)]
    assert note(lab.cluster, changes, life.now, since=START + timedelta(seconds=100)) == 2
    found = Interval.objects.get()
    assert (found.ended_by, found.ends_quality) == ("vanished", "bounded")
    assert found.ends_earliest == START + timedelta(seconds=100)
    assert found.ends_latest == START + timedelta(seconds=600)
    assert note(lab.cluster, changes, life.now) == 0


def test_an_orphan_holds_on_and_says_so(lab):
    life = running()
    tell(lab.cluster, life)
    life.body["metadata"]["ownerReferences"] = []
    life.version += 1
    life.wait(60)
    tell(lab.cluster, life)
    record = Lifetime.objects.get()
    assert (record.orphaned, record.phase, record.devices) == (True, "admitted", 8)
    assert rows() == []


def test_a_finished_workload_ends_at_its_condition_and_is_kept(lab):
    life = running()
    tell(lab.cluster, life)
    life.wait(30)
    life.finish()
    tell(lab.cluster, life)
    life.wait(900)
    tell(lab.cluster, life, gone=True)
    record = Lifetime.objects.get()
    assert rows() == [("admitted", START, START + timedelta(seconds=30), 8)]
    assert Interval.objects.get().ended_by == "finished"
    assert (record.outcome, record.finished_at) == ("Succeeded", START + timedelta(seconds=30))
    assert record.gone_at == life.now


def test_an_eviction_says_who_why_and_what_it_cost(lab):
    life = running()
    template = life.body["spec"]["podSets"][0]["template"]
    template["metadata"] = {"annotations": {EVERY: "30m"}}
    tell(lab.cluster, life)
    life.wait(7800)
    life.evict()
    tell(lab.cluster, life)
    found = Eviction.objects.get()
    assert (found.cause, found.preemptor_uid, found.devices) == ("preempted_in_queue", "u-1", 8)
    assert found.checkpoint_at == START + timedelta(hours=2)
    assert found.lost_seconds == 600 * 8
    assert Lifetime.objects.get().cause == "preempted_in_queue"


def test_the_annotation_of_the_job_goes_before_the_one_of_its_pods(lab):
    life = running()
    tell(lab.cluster, life)
    life.wait(7800)
    life.evict()
    tell(lab.cluster, life, annotations={"gpuportal.io/checkpointed-at": "2026-11-02T11:09:00Z"})
    assert Eviction.objects.get().lost_seconds == 60 * 8


def test_an_older_state_changes_nothing_unless_a_list_brings_it(lab):
    life = running()
    old = life.look()
    life.wait(60)
    life.evict()
    tell(lab.cluster, life)
    before = Lifetime.objects.values().get()
    stale = Change("uid-a", old, queue="nlp-train")
    assert note(lab.cluster, [stale], life.now) == 0
    assert Lifetime.objects.values().get() == before
    listed = Change("uid-a", old, queue="nlp-train", listed=True)
    assert note(lab.cluster, [listed], life.now) > 0


def test_versions_that_began_anew_count_after_a_restored_backup(lab):
    life = running()
    old = life.look()
    life.wait(60)
    life.evict()
    tell(lab.cluster, life)
    Stream.objects.create(cluster=lab.cluster, kind="Workload", went_back_at=life.now)
    assert note(lab.cluster, [Change("uid-a", old, queue="x")], life.now) > 0


def test_a_queue_that_was_not_known_at_first_is_filled_in(lab):
    life = Life()
    unknown, known = (Change("uid-a", life.look(), queue=queue) for queue in ("", "nlp-train"))
    note(lab.cluster, [unknown], life.now)
    life.wait(60)
    assert note(lab.cluster, [known], life.now) == 1
    assert note(lab.cluster, [known, unknown], life.now) == 0
    assert (Lifetime.objects.get().queue, rows()) == ("nlp-train", [])


def test_every_change_of_a_condition_is_a_line(lab):
    life = Life()
    life.look_at_it()
    tell(lab.cluster, life)
    assert not ConditionChange.objects.exists()
    life.wait(60)
    life.reserve()
    tell(lab.cluster, life)
    found = ConditionChange.objects.order_by("pk").values_list("type", "status")
    assert list(found) == [("QuotaReserved", "False"), ("QuotaReserved", "True")]


def test_text_of_any_kind_fits(lab):
    life = Life()
    life._set(
        "QuotaReserved", "False", "R" * 300, 'nul \0 \\u0000 \N{SNOWMAN} "quoted", ' + "x" * 9000
    )
    life.body["spec"]["queueName"] = "q" * 300
    tell(lab.cluster, life)
    life.wait(60)
    life._set("QuotaReserved", "False", "Other", "nul \0 again")
    tell(lab.cluster, life)
    assert ConditionChange.objects.get(reason="Other").message == "nul  again"


def test_a_clock_far_ahead_is_logged(lab, caplog):
    life = Life()
    ahead = copy.deepcopy(life)
    ahead.wait(3600)
    ahead.reserve()
    note(lab.cluster, [Change("uid-a", ahead.look(), queue="q")], life.now)
    assert "observer_clock_skew" in caplog.text
    assert Lifetime.objects.get().starts == START
