"""The order of judgement: ends, switches, evictions, then queues, checks and the text."""

import pytest

from kube.explain import Explanation, Reason, State, explain
from kube.reasons import Change, FreedBy, Stage
from tests.kube import recorded
from tests.kube.waiting import (
    admitted,
    cluster_queue,
    condition,
    entry,
    event,
    flavors,
    for_pod_set,
    line,
    pod,
    short,
    waits,
    workload,
)

T0, T1 = "2026-11-29T10:05:00Z", "2026-11-29T10:06:00Z"


@pytest.mark.parametrize(
    ("word", "code"),
    [
        ("Succeeded", "succeeded"), ("Failed", "failed"), ("OutOfSync", "out_of_sync"),
        ("FailedToStart", "failed_to_start"), ("WorkloadSliceReplaced", "replaced"),
        ("OwnerNotFound", "owner_gone"), ("OfTomorrow", "ended"),
    ],
)  # fmt: skip
def test_a_finished_workload_is_finished_whatever_else_it_shows(word, code):
    done = condition("Finished", "True", word, "done", T1)
    for each in (admitted(done), waits("LocalQueue x is inactive", done), workload(done)):
        found = explain(each, local_queue=entry(stopPolicy="Hold"))
        assert (found.state, found.code, found.raw) == ("finished", code, "done")
    assert explain(admitted(done)).since.minute == 6


def test_a_workload_that_is_deleted():
    gone = {"deletionTimestamp": T1}
    held, free = admitted(), workload()
    held["metadata"] |= gone
    free["metadata"] |= gone
    assert (explain(held).state, explain(free).state) == (State.STOPPING, State.GONE)


def test_what_is_switched_off_is_so_though_its_text_speaks_of_quota():
    found = explain(waits(for_pod_set(short(4)), spec={"active": False}))
    assert (found.state, found.code, found.never) == ("deactivated", "deactivated", True)
    assert found.since is not None


def test_a_mark_for_deactivation_that_is_older_than_the_place_is_history():
    mark = condition("DeactivationTarget", "True", "MaximumExecutionTimeExceeded", "m", T0)
    held = [condition("QuotaReserved", "True", since=T1), condition("Admitted", "True", since=T1)]
    assert explain(workload(*held, mark)).state is State.RUNNING
    held = [condition("QuotaReserved", "True", since=T0), condition("Admitted", "True", since=T0)]
    found = explain(workload(*held, mark))
    assert (found.state, found.code, found.raw) == ("deactivated", "time_limit", "m")


@pytest.mark.parametrize(
    ("text", "events", "kept", "message"),
    [
        ('... in Rejected state: "scan" (No licence)', [], {}, "No licence"),
        (
            "Admission check(s): scan, were rejected",
            [event("AdmissionCheckRejected", "Deactivating workload because AdmissionCheck for scan was Rejected: budget exceeded")],
            {}, "budget exceeded",
        ),
        ("Admission check(s): scan,cost, were rejected", [], {"scan": "kept words"}, "kept words"),
        ("Admission check(s): scan, were rejected", [], {}, None),
        ("something else", [], {"scan": "not asked"}, None),
    ],
)  # fmt: skip
def test_a_refusal_is_told_in_the_words_of_the_check(text, events, kept, message):
    """They stand on the object for a fifth of a second: then an event or the watch has them."""
    evicted = condition("Evicted", "True", "DeactivatedDueToAdmissionCheck", text)
    found = explain(waits(text, evicted, spec={"active": False}), events=events, kept_messages=kept)
    assert (found.code, found.params.get("message")) == ("check_rejected", message)


def test_the_check_itself_speaks_while_it_still_has_its_words():
    checks = [{"name": "scan", "state": "Rejected", "message": "own words"}]
    evicted = condition("Evicted", "True", "DeactivatedDueToAdmissionCheck", '"scan"')
    job = waits("x", evicted, spec={"active": False}, admissionChecks=checks)
    assert explain(job, kept_messages={"scan": "kept"}).params["message"] == "own words"


def test_pods_of_a_job_that_was_switched_off_may_still_hold_devices():
    leaving = pod("Running", deletionTimestamp=T1)
    found = explain(workload(spec={"active": False}), pods=[leaving])
    assert [reason.code for reason in found.reasons] == ["deactivated", "pods_still_stopping"]
    assert len(explain(workload(spec={"active": False}), pods=[pod("Running")]).reasons) == 1


EVICTIONS = [
    ("PodsReadyTimeout", "Exceeded the PodsReady timeout a/b", "pods_ready_timeout", {}),
    ("AdmissionCheck", 'Evicted due to AdmissionCheck in Retry state: "scan" (busy)', "check_retry", {"check": "scan"}),
    ("ClusterQueueStopped", "The ClusterQueue is stopped", "queue_drained", {}),
    ("LocalQueueStopped", "The LocalQueue is stopped", "entry_drained", {}),
    (
        "NodeFailures", "Workload was evicted as there was no replacement for unhealthy node(s): n-1",
        "node_failed", {"nodes": "n-1"},
    ),
    ("FlavorMigration", "x", "flavor_migration", {}),
    ("EvictedOnManagerCluster", "x", "remote_evicted", {}),
    ("OfTomorrow", "x", "evicted", {}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("word", "text", "code", "params"), EVICTIONS, ids=[e[0] for e in EVICTIONS]
)
def test_a_workload_that_is_being_stopped(word, text, code, params):
    evicted = condition("Evicted", "True", word, text, T1)
    found = explain(admitted(evicted))
    assert (found.state, found.code, found.preempted) == ("stopping", code, False)
    assert params.items() <= found.params.items()
    after = condition("Requeued", "False", word, text, T1)
    back = explain(waits(text, evicted, after, requeueState={"count": 2}))
    expected = "back_off" if word == "OfTomorrow" else code
    assert (back.state, back.code, back.params["count"]) == ("waiting", expected, "2")


@pytest.mark.parametrize(
    ("word", "why"),
    [
        ("InClusterQueue", "priority"), ("InCohortReclamation", "reclaimed"),
        ("InCohortFairSharing", "fair_sharing"),
        ("InCohortReclaimWhileBorrowing", "reclaimed_while_borrowing"), ("OfTomorrow", "unknown"),
    ],
)  # fmt: skip
def test_why_a_workload_lost_its_place(word, why):
    lost = [
        condition("Evicted", "True", "Preempted", "e"),
        condition("Preempted", "True", word, "p"),
    ]
    being = explain(admitted(*lost))
    assert (being.state, being.code, being.preempted) == ("stopping", "preempted", True)
    assert being.params == {"preempted_because": why}
    after = explain(waits(for_pod_set(short(2)), *lost))
    assert (after.code, after.preempted) == ("quota_short", True)
    assert after.reasons[1].params == {"preempted_because": why}
    assert (after.params["preempted_because"], after.params["missing"]) == (why, "2")
    assert "preempted_because" not in after.first.params
    backing = explain(waits("x", *lost, condition("Requeued", "False", "Preempted")))
    assert [each.code for each in backing.reasons] == ["preempted"]


def test_a_workload_that_was_evicted_for_a_preemption_without_its_cause():
    lost = condition("Evicted", "True", "Preempted", "e")
    assert explain(admitted(lost)).params == {}


def test_a_stopped_queue_says_nothing_about_a_running_job():
    held = cluster_queue(stopPolicy="Hold")
    assert explain(admitted(), cluster_queue=held).state is State.RUNNING


@pytest.mark.parametrize(
    "odd", [{}, {"conditions": None}, {"conditions": [None, 3]}, [], "x", None]
)
def test_a_workload_without_conditions_was_not_looked_at(odd):
    found = explain({"metadata": {}, "status": odd})
    assert (found.state, found.stage, found.code) == ("waiting", "order", "not_looked_at")


def test_no_conditions_of_kueue_018_and_later_are_none_either():
    """From 0.19 on every new Workload says that its pods are not ready: that is not the reason."""
    found = explain(workload(condition("PodsReady", "False", "WaitForStart")))
    assert found.code == "not_looked_at"


# --- the answer itself ------------------------------------------------------------------------------


def test_the_answer_as_json_has_every_field():
    change = Change("q", "a100", "nvidia.com/gpu", "nominal", 8, 16)
    reason = Reason(
        Stage.QUOTA, "max_capacity", {"capacity": "8"}, never=True, asked=16, free=8, missing=8,
        freed_by=FreedBy.QUOTA, change=change,
    )  # fmt: skip
    found = Explanation(State.WAITING, (reason,)).as_json()
    assert list(found) == ["state", "preempted", "preempting", "reasons"]
    told = found["reasons"][0]
    assert (told["stage"], told["asked"], told["since"], told["raw"]) == ("quota", 16, None, "")
    assert (told["change"]["from"], told["change"]["to"], told["change"]["kind"]) == (
        8,
        16,
        "ClusterQueue",
    )


def test_a_row_keeps_only_what_is_known():
    running = explain(admitted()).first.known()
    assert running == {
        "stage": None, "code": "running", "never": False, "freed_by": "nobody",
        "since": "2026-11-29T10:05:00+00:00",
    }  # fmt: skip
    zero = Reason(Stage.QUOTA, "quota_short", asked=4, free=0, missing=4).known()
    assert zero["free"] == 0


def test_a_text_that_flickers_is_no_news():
    """The resource that is named, and texts that come and go in one look, are not told again."""
    one = explain(waits(for_pod_set(short(2))))
    other = explain(waits(for_pod_set(short(5, resource="cpu"))))
    assert one != other
    assert one.news == other.news
    raced = explain(waits("Workload no longer fits after processing another workload"))
    lapped = explain(waits("Workload has overlapping preemption targets with another workload"))
    assert raced.first.oscillating
    assert raced.news == lapped.news
    assert explain(admitted()).news != one.news


def test_times_are_utc():
    found = explain(recorded.workload("02-quota-wait"))
    assert found.since.utcoffset().total_seconds() == 0
    assert (found.params["resource"], found.params["missing"]) == ("nvidia.com/gpu", "4")


def test_a_queue_that_was_read_before_is_not_read_again():
    from kube.queue_facts import read_entry, read_queue

    queue = read_queue(cluster_queue("q", flavors(a100=line(8)), stopPolicy="Hold"))
    here = read_entry(entry())
    assert read_queue(queue) is queue
    assert read_entry(here) is here
    assert explain(waits("x"), cluster_queue=queue, local_queue=here).code == "queue_stopped"
