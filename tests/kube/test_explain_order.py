"""Whose turn it is: back-off, equal jobs, the head of a strict queue, a job that makes room."""

import copy
from datetime import UTC, datetime

import pytest

from kube.explain import explain
from kube.explain_order import gravity
from kube.line_facts import Line
from kube.manager_facts import Manager
from kube.reasons import Reason, Stage
from tests.kube.waiting import (
    cluster_queue,
    condition,
    flavors,
    for_pod_set,
    line,
    pod_set,
    short,
    too_much,
    used,
    waits,
    workload,
)

EQUAL = "Bypassed scheduling evaluation because an equivalent workload recently failed"


def aged(job, minute, priority=0):
    made = copy.deepcopy(job)
    made["metadata"]["creationTimestamp"] = f"2026-11-29T09:{minute:02}:00Z"
    made["spec"]["priority"] = priority
    return made


def codes(found):
    return [reason.code for reason in found.reasons]


def test_a_text_that_is_no_longer_so_is_the_least_of_all_reasons():
    now = Reason(Stage.TOPOLOGY, "topology_too_small")
    once = Reason(Stage.QUOTA, "quota_short", stale=True)

    assert gravity(once) == gravity(now) == 0
    assert gravity(once._replace(stale=False)) == 1


# --- back-off ---------------------------------------------------------------------------------------


def test_a_back_off_tells_until_when_and_how_often():
    state = {"requeueAt": "2026-11-29T11:00:00Z", "count": 2}
    found = explain(waits(for_pod_set(short(4)), requeueState=state))
    assert (found.code, found.stage) == ("back_off", "order")
    assert found.params == {"requeue_at": "2026-11-29T11:00:00Z", "count": "2"}


def test_a_back_off_that_has_passed_is_over():
    job = waits(for_pod_set(short(4)), requeueState={"requeueAt": "2026-11-29T11:00:00Z"})
    before, after = (
        datetime(2026, 11, 29, 10, 59, tzinfo=UTC),
        datetime(2026, 11, 29, 11, 1, tzinfo=UTC),
    )
    assert explain(job, now=before).code == "back_off"
    assert explain(job, now=after).code == "quota_short"
    odd = waits(for_pod_set(short(4)), requeueState={"requeueAt": "soon"})
    assert explain(odd, now=after).params["requeue_at"] == "soon"


def test_a_count_alone_is_history():
    assert explain(waits(for_pod_set(short(4)), requeueState={"count": 2})).code == "quota_short"


@pytest.mark.parametrize("word", ["Inadmissible", "DeactivatedDueToAdmissionCheck"])
def test_a_text_that_says_more_than_the_back_off(word):
    text = (
        'spec.podSets[0].template.spec.resourceClaims[0].x: Not found: "DeviceClass a.b is not '
        'mapped in DRA configuration for podset main"'
    )
    found = explain(waits(text, condition("Requeued", "False", word, text), reason="Inadmissible"))
    assert (found.code, found.never) == ("device_class_unmapped", True)


# --- nothing was said -------------------------------------------------------------------------------


def test_a_job_behind_the_head_of_a_strict_queue():
    """Its own flavor is free, and it is not even looked at: one order for the whole queue."""
    head = aged(waits(for_pod_set(short(8, "b")), name="head"), 0)
    mine = aged(workload(name="mine"), 1)
    later = aged(workload(name="later"), 2)
    queue = cluster_queue("q", queueingStrategy="StrictFIFO")
    found = explain(mine, cluster_queue=queue, others=[head, later])
    assert (found.code, found.stage, found.never) == ("behind_head", "order", False)
    assert found.params == {"ahead": "1"}
    assert "head" not in str(found.first.params.values())
    assert explain(head, cluster_queue=queue, others=[mine, later]).code == "quota_short"
    assert explain(later, cluster_queue=queue, others=[head, mine]).params == {"ahead": "2"}
    easy = cluster_queue("q", queueingStrategy="BestEffortFIFO")
    assert explain(mine, cluster_queue=easy, others=[head]).code == "not_looked_at"


def test_a_strict_queue_in_which_others_wait_by_its_own_count():
    def strict(pending):
        status = {} if pending is None else {"pendingWorkloads": pending}
        return cluster_queue("q", status=status, queueingStrategy="StrictFIFO")

    assert explain(workload(), cluster_queue=strict(3)).code == "behind_head"
    for pending in (1, 0, None):
        assert explain(workload(), cluster_queue=strict(pending)).code == "not_looked_at"


def test_a_job_that_backs_off_is_not_ahead():
    state = {"requeueAt": "2026-11-29T11:00:00Z"}
    resting = aged(waits(for_pod_set(short(1)), name="resting", requeueState=state), 0)
    strict = Line([resting], strict=True)
    assert explain(aged(workload(name="mine"), 1), line=strict).code == "not_looked_at"


def test_higher_priority_and_age_go_first_and_equal_times_by_uid():
    mine = aged(workload(name="m"), 5)
    before = [
        aged(workload(name="old"), 1),
        aged(workload(name="high"), 9, 5),
        aged(workload(name="a"), 5),
    ]
    after = [
        aged(workload(name="new"), 6),
        aged(workload(name="low"), 1, -5),
        aged(workload(name="z"), 5),
    ]
    found = explain(mine, line=Line([*after, *before, mine], strict=True))
    assert found.params == {"ahead": "3"}


def test_a_job_that_makes_room_for_itself_goes_first():
    making = aged(
        waits(for_pod_set(short(3)) + ". Pending the preemption of 1 workload(s)", name="p"), 9
    )
    assert explain(aged(workload(name="m"), 1), others=[making]).code == "behind_preemptor"


def test_what_does_not_wait_is_not_in_the_line():
    held = workload(condition("QuotaReserved", "True"), name="runs")
    done = workload(condition("Finished", "True"), name="done")
    line = Line([held, done, aged(workload(name="off", spec={"active": False}), 0)], strict=True)
    assert explain(aged(workload(name="m"), 59), line=line).code == "not_looked_at"


# --- equal jobs -------------------------------------------------------------------------------------


def equals(text, **more):
    pods = [pod_set(gpus=16)]
    first = aged(waits(text, name="first", pods=pods), 0)
    second = aged(workload(name="second", pods=pods), 1)
    return first, second


@pytest.mark.parametrize("said", ["", EQUAL])
def test_an_equal_job_is_told_what_the_first_was_told(said):
    """Kueue looks at one of them and writes nothing, or only that, at the others."""
    first, second = equals(for_pod_set(too_much(16, 8)))
    if said:
        second = aged(
            waits(said, name="second", pods=[pod_set(gpus=16)], reason="ExceedsMaxQuota"), 1
        )
    found = explain(second, others=[first])
    assert codes(found) == ["max_capacity", "same_as_another"]
    assert (found.never, found.first.asked) == (True, 16)


def test_only_an_equal_job_is_an_equal_job():
    first, second = equals(for_pod_set(short(4)))
    assert codes(explain(second, others=[first])) == ["quota_short", "same_as_another"]
    smaller = copy.deepcopy(second)
    smaller["spec"]["podSets"] = [pod_set(gpus=8)]
    urgent = aged(second, 1, 100)
    choosy = copy.deepcopy(second)
    choosy["spec"]["podSets"][0]["template"]["spec"]["nodeSelector"] = {"a": "b"}
    for other in (smaller, urgent, choosy):
        assert codes(explain(other, others=[first])) == ["not_looked_at"]


@pytest.mark.parametrize(
    "text",
    [EQUAL, "words of a later release", for_pod_set(short(3)) + ". Pending the preemption of 1 workload(s)"],
)  # fmt: skip
def test_an_equal_job_of_which_nothing_is_known_is_no_help(text):
    first, second = equals(text)
    assert "same_as_another" not in codes(explain(second, others=[first]))


def test_without_the_equal_job_the_quota_lines_still_tell():
    queue = cluster_queue("q", flavors(a100=line(8)), status=used(a100=0))
    job = waits(EQUAL, pods=[pod_set(gpus=16)], reason="Pending")
    assert codes(explain(job, cluster_queue=queue)) == ["max_capacity", "same_as_another"]


# --- pods of others ---------------------------------------------------------------------------------


def alone(pending=1, held=0, **more):
    status = used(a100=held) | {"pendingWorkloads": pending}
    return cluster_queue("q", flavors(a100=line(8)), status=status, **more)


WAITS_FOR_PODS = condition("PodsReady", "False", "WaitForStart")


def test_a_job_alone_in_its_queue_that_would_fit_is_held_up_by_pods_elsewhere():
    job = workload(WAITS_FOR_PODS, pods=[pod_set(gpus=4)])
    assert codes(explain(job, cluster_queue=alone())) == ["other_pods_not_ready"]
    others = {"manager": Manager(block_admission=False), "cluster_queue": alone()}
    assert explain(job, **others).code == "not_looked_at"


@pytest.mark.parametrize(
    ("job", "queue"),
    [
        (workload(pods=[pod_set(gpus=4)]), alone()),
        (workload(WAITS_FOR_PODS), alone()),
        (workload(WAITS_FOR_PODS, pods=[pod_set(gpus=4)]), alone(held=6)),
        (workload(WAITS_FOR_PODS, pods=[pod_set(gpus=4)]), alone(pending=2)),
        (workload(WAITS_FOR_PODS, pods=[pod_set(gpus=4)]), alone(pending=0)),
        (workload(WAITS_FOR_PODS, pods=[pod_set(cpu=4)]), alone()),
        (workload(WAITS_FOR_PODS, pods=[pod_set(gpus=4)]), None),
    ],
    ids=["no-pods-condition", "no-pods", "no-room", "not-alone", "new", "uncovered", "no-queue"],
)
def test_where_anything_else_may_hold_it_up_nothing_is_guessed(job, queue):
    assert explain(job, cluster_queue=queue).code == "not_looked_at"


# --- corrected by what is around --------------------------------------------------------------------


def test_a_limit_range_that_is_gone_no_longer_refuses():
    """Its deletion wakes nobody: the job is looked at at the next event."""
    text = "resources didn't satisfy LimitRange constraints: spec.podSets[0]: Invalid value"
    gone = explain(waits(text), limit_ranges=[])
    assert (gone.code, gone.never, gone.first.stale) == ("limit_range", False, True)
    assert explain(waits(text), limit_ranges=[{}]).never
    assert explain(waits(text)).never


def test_a_flavor_that_was_made_since_is_not_missing():
    text = for_pod_set("flavor h100 not found")
    here = [{"metadata": {"name": "h100"}}]
    assert explain(waits(text), flavors=here).first.stale
    assert explain(waits(text), flavors=[]).never
