"""Quota reserved, not admitted: admission checks, outside gates, delayed topologies."""

import pytest

from kube.explain import explain
from tests.kube.waiting import condition, workload

HELD = condition("QuotaReserved", "True", "QuotaReserved", since="2026-11-29T10:05:00Z")


def held(*checks, more=(), **status):
    return workload(HELD, *more, admissionChecks=list(checks), **status)


def check(name, state, message="", **more):
    return {"name": name, "state": state, "message": message} | more


def codes(found):
    return [reason.code for reason in found.reasons]


def test_all_open_checks_are_told_the_gravest_first():
    found = explain(
        held(
            check("d", "OfTomorrow"), check("c", "Pending"), check("b", "Retry"),
            check("a", "Rejected", "no"), check("e", "Ready"),
        )
    )  # fmt: skip
    assert codes(found) == ["check_rejected", "check_retry", "check_pending", "check_pending"]
    assert [reason.params["check"] for reason in found.reasons] == ["a", "b", "c", "d"]
    assert (found.state, found.stage, found.never) == ("waiting", "check", True)
    assert found.params["open"] == "4"
    assert found.since.minute == 5


def test_when_all_are_ready_the_admission_follows():
    assert codes(explain(held(check("a", "Ready")))) == ["admission_pending"]


def test_a_topology_that_is_chosen_after_the_checks():
    late = condition("Admitted", "False", "PendingDelayedTopologyRequests", "later")
    assert codes(explain(held(check("a", "Ready"), more=[late]))) == ["topology_delayed"]
    waits = {"podSetAssignments": [{"delayedTopologyRequest": "Pending"}]}
    found = explain(held(check("a", "Pending"), admission=waits))
    assert codes(found) == ["check_pending", "topology_delayed"]


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("Waiting for the budget owner", "check_pending"),
        ("the check is not active", "check_not_active"),
        ("Wasn't provisioned. ETA: 2026-11-29T12:00:00Z", "provisioning_eta"),
        ('The workload got reservation on "west"', "remote_waits"),
    ],
)
def test_what_a_pending_check_says(message, code):
    found = explain(held(check("a", "Pending", message)))
    assert (found.code, found.raw, found.params["message"]) == (code, message, message)


def test_a_retry_for_machines_is_told_as_such():
    again = check("a", "Retry", "Retrying after failure: none left")
    assert explain(held(again)).code == "provisioning_failed"
    assert explain(held(check("a", "Retry", "the check is not active"))).code == "check_retry"


def test_a_retry_keeps_its_quota_until_its_time():
    timed = check("a", "Retry", requeueAfterSeconds=60, lastTransitionTime="2026-11-29T10:00:00Z")
    assert explain(held(timed)).params["requeue_at"] == "2026-11-29T10:01:00+00:00"
    told = {"requeueAt": "2026-11-29T10:09:00Z"}
    assert explain(held(timed, requeueState=told)).params["requeue_at"] == "2026-11-29T10:09:00Z"
    endless = check(
        "a", "Retry", requeueAfterSeconds=10**15, lastTransitionTime="2026-11-29T10:00:00Z"
    )
    endless |= {"retryCount": 3}
    params = explain(held(endless)).params
    assert ("requeue_at" in params, params["retries"]) == (False, "3")


def test_words_that_kueue_has_put_its_own_over_are_kept():
    reset = check("a", "Pending", "Reset to Pending after eviction. Previously: Retry")
    found = explain(held(reset), kept_messages={"a": "Scanner busy"})
    assert (found.raw, found.code) == ("Scanner busy", "check_pending")
    alone = explain(held(reset))
    assert alone.params["before"] == "Retry"
    spoken = explain(held(check("a", "Pending", "own")), kept_messages={"a": "old"})
    assert spoken.raw == "own"


def test_what_is_known_of_the_check_itself():
    def controlled(status):
        return {
            "metadata": {"name": "a"},
            "spec": {"controllerName": "kueue.x-k8s.io/multikueue"},
            "status": {"conditions": [condition("Active", status)]},
        }

    pending = held(check("a", "Pending"))
    found = explain(pending, checks=[controlled("True")])
    assert (found.code, found.params["controller"]) == (
        "check_pending",
        "kueue.x-k8s.io/multikueue",
    )
    assert explain(pending, checks=[controlled("False")]).code == "check_not_active"
    assert explain(pending, checks=[{"metadata": {"name": "b"}}]).code == "check_pending"
    bare = {"metadata": {"name": "a"}}
    assert explain(pending, checks=[bare]).code == "check_pending"
