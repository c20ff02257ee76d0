"""What real releases of Kueue wrote gets the answer that a person would give."""

import pytest

from kube import pending_texts
from kube.explain import explain
from tests.kube import recorded

CATEGORIES = {
    (release, name): category for release, name, category in recorded.lines("categories.txt")
}
EXPECTED = recorded.lines("explanations.txt")

#: state, stages of the deciding reason, never; ``None`` is not asked.
ANSWERS = {
    "waiting-quota": ({"waiting"}, {"quota", "order"}, False),
    "max-capacity": ({"waiting"}, {"quota"}, True),
    "request": ({"waiting"}, {"request"}, True),
    "topology": ({"waiting"}, {"topology"}, None),
    "admission-check": ({"waiting"}, {"check"}, False),
    "gated": ({"waiting"}, {"check"}, False),
    "queue-config": ({"waiting"}, {"routing"}, None),
    "namespace": ({"waiting"}, {"routing"}, True),
    "stopped": ({"waiting"}, {"routing"}, False),
    "preempting": ({"waiting"}, {"quota"}, False),
    "preempted": ({"waiting", "stopping"}, None, False),
    "evicted-node-failure": ({"waiting", "stopping"}, {"pods"}, None),
    "pods": ({"waiting", "starting", "running"}, {"pods"}, False),
    "deactivated": ({"deactivated"}, None, True),
    "running": ({"running"}, None, False),
    "finished": ({"finished"}, None, False),
}
#: Of these the Workload alone does not tell: the queue, a pod or the order must be known.
NEEDS_CONTEXT = {
    ("0.17.0", "97-admitted-pod-not-started"),
    ("0.19.2", "116b-block-admission-other-queue"),
    ("0.19.2", "120-equivalent-to-above-maximum"),
    ("0.19.2-granular", "36-clusterqueue-drained-was-pending"),
    # Its ClusterQueue was held after it had been told to wait, and nothing was recorded beside it.
    ("0.17.0", "31p-stopped-cq-holdanddrain-pending"),
}
#: It is judged as a matter of its pods, and at that moment it was being stopped.
STOPPING = {("0.19.2-granular", "111a-pods-ready-timeout-being-stopped")}


def ids(key):
    return "-".join(key)


def agrees(category, found):
    states, stages, never = ANSWERS[category]
    flags = {"preempting": found.preempting, "preempted": found.preempted}
    return (
        found.state in states
        and (stages is None or found.stage in stages)
        and (never is None or found.never == never)
        and flags.get(category, True)
    )


@pytest.mark.parametrize("key", sorted(CATEGORIES), ids=ids)
def test_a_recorded_workload_gets_the_answer_of_its_category(key):
    release, name = key
    found = explain(recorded.workload(name, release), **recorded.related(name, release))
    if key in STOPPING:
        assert (found.state, found.stage) == ("stopping", "pods")
        return
    assert agrees(CATEGORIES[key], found), found


@pytest.mark.parametrize("key", sorted(set(CATEGORIES) - NEEDS_CONTEXT - STOPPING), ids=ids)
def test_the_workload_alone_gives_the_same_category(key):
    release, name = key
    assert agrees(CATEGORIES[key], explain(recorded.workload(name, release)))


@pytest.mark.parametrize("line", EXPECTED, ids=lambda line: "-".join(line[:2]))
def test_the_workload_alone_is_explained_as_written(line):
    release, name, state, stage, code, *flags = line
    found = explain(recorded.workload(name, release))
    assert (found.state, found.stage or "-", found.code) == (state, stage, code)
    raised = {flag for flag in ("never", "preempted", "preempting") if getattr(found, flag)}
    assert raised == set(flags)


def test_every_recorded_workload_has_a_category_and_an_explanation():
    held = set(recorded.names())
    assert held == set(CATEGORIES) == {(line[0], line[1]) for line in EXPECTED}


def test_nothing_recorded_is_unknown():
    """The counter that administrators see stays at zero over all that real releases wrote."""
    unknown = [
        (release, name, reason.raw)
        for release, name in recorded.names()
        for context in ({}, recorded.related(name, release))
        for reason in explain(recorded.workload(name, release), **context).reasons
        if reason.code == "unknown"
    ]
    assert unknown == []


SAID = {
    "Pending", "WaitingForQuota", "ExceedsMaxQuota", "NoMatchingFlavor", "Misconfigured",
    "TopologyPlacementFailed", "WaitingForPreemptedWorkloads", "AdmissionGated",
}  # fmt: skip


def test_the_texts_of_recorded_events_are_known_too():
    texts = {
        event["note"]
        for release, name in recorded.names()
        for event in recorded.around(name, release)
        if event["kind"] == "Event" and event["reason"] in SAID
    }
    assert len(texts) > 25
    assert [text for text in texts if pending_texts.read(text).reasons[0].code == "unknown"] == []


def explained(name, release="0.19.2"):
    return explain(recorded.workload(name, release), **recorded.related(name, release))


def test_a_job_that_can_start_smaller_is_told_the_smallest_quota_that_would_do():
    """4 pods of 8 devices, 2 of them at least, in a queue of 8."""
    found = explained("95-partial-admission-too-big").first
    assert (found.asked, found.free, found.change.before, found.change.after) == (32, 8, 8, 16)


def test_the_second_of_two_equal_jobs_is_told_that_it_is_too_large():
    """Kueue looks at the first only and writes nothing at the second."""
    found = explained("120-equivalent-to-above-maximum")
    assert [reason.code for reason in found.reasons] == ["max_capacity", "not_looked_at"]
    assert (found.first.asked, found.first.free, found.first.missing) == (16, 8, 8)


def test_a_borrowing_limit_is_told_from_the_end_of_the_cohort():
    found = explained("15-max-capacity-borrowing-limit").first
    assert (found.code, found.asked, found.free) == ("max_borrowing", 7, 6)
    change = found.change
    assert (change.field, change.before, change.after) == ("borrowing_limit", 2, 3)


def test_the_old_pods_of_a_preempted_job_still_hold_their_machines():
    found = explained("83-reclaimed-in-cohort")
    codes = [reason.code for reason in found.reasons]
    assert codes == ["quota_short", "preempted", "pods_still_stopping"]
    assert found.reasons[1].params["preempted_because"] == "reclaimed"
    assert found.reasons[2].params["waiting"] == "3"


def test_a_check_that_refused_keeps_its_own_words():
    assert explained("55-check-rejected").params["message"] == "Image is not allowed"
    old = recorded.workload("92-check-rejected-before-eviction")
    assert explain(old).params["message"] == "budget exceeded"


def test_every_cause_of_a_pod_that_failed_is_told():
    found = explained("93-running-one-pod-failed")
    codes = [reason.code for reason in found.reasons]
    assert codes == ["pods_failed", "container_starting", "pods_recovering"]
    assert found.first.params["cause"] == "OOMKilled"
