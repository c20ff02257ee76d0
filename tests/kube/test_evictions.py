"""Why a place was lost: from the conditions, and from what is left of them afterwards."""

import pytest

from kube.evictions import Cause, read_eviction
from kube.lifecycle_facts import Flip

WHY = {
    "InClusterQueue": ("prioritization in the ClusterQueue", Cause.PREEMPTED_IN_QUEUE),
    "InCohortReclamation": ("reclamation within the cohort", Cause.PREEMPTED_RECLAIM),
    "InCohortReclaimWhileBorrowing": (
        "reclamation within the cohort while borrowing", Cause.PREEMPTED_WHILE_BORROWING,
    ),
    "InCohortFairSharing": ("Fair Sharing within the cohort", Cause.PREEMPTED_FAIR_SHARING),
}  # fmt: skip


def text(why, uid="u-1", job="j-1", paths="; preemptor path: /r/a; preemptee path: /r/b"):
    head = f"Preempted to accommodate a workload (UID: {uid}, JobUID: {job})"
    return f"{head} due to {why}{paths}"


def evicted(message, reason="Preempted", status="True"):
    return {"Evicted": Flip(status, reason, message)}


@pytest.mark.parametrize("reason", WHY)
def test_names_who_took_the_place_and_by_which_right(reason):
    why, cause = WHY[reason]
    found = read_eviction(evicted(text(why)) | {"Preempted": Flip("True", reason, text(why))})
    assert found.cause is cause
    assert (found.preemptor_uid, found.preemptor_job_uid) == ("u-1", "j-1")
    assert (found.preemptor_path, found.preemptee_path) == ("/r/a", "/r/b")


@pytest.mark.parametrize("reason", WHY)
def test_still_knows_it_when_the_place_is_back(reason):
    why, cause = WHY[reason]
    past = f"Previously: {text(why)}"
    found = read_eviction(evicted(past, "QuotaReserved", "False"))
    assert (found.cause, found.preemptor_uid) == (cause, "u-1")
    assert found.message == text(why)


def test_an_unknown_preemptor_has_no_uid():
    found = read_eviction(evicted(text("UNKNOWN", "UNKNOWN", "UNKNOWN", "")))
    assert (found.cause, found.preemptor_uid, found.preemptor_job_uid) == (Cause.PREEMPTED, "", "")


@pytest.mark.parametrize(
    ("reason", "message", "cause"),
    [
        ("PodsReadyTimeout", "Exceeded the PodsReady timeout ns/wl", Cause.PODS_READY_TIMEOUT),
        ("AdmissionCheck", "At least one admission check is false", Cause.CHECK),
        (
            "AdmissionCheck",
            'Evicted due to AdmissionCheck in Retry state: "scan" (Scanner busy)',
            Cause.CHECK,
        ),
        ("ClusterQueueStopped", "The ClusterQueue is stopped", Cause.QUEUE_STOPPED),
        ("LocalQueueStopped", "The LocalQueue is stopped", Cause.ENTRY_STOPPED),
        (
            "NodeFailures",
            "Workload was evicted as there was no replacement for unhealthy node(s): n1",
            Cause.NODE_FAILURE,
        ),
        ("Deactivated", "The workload is deactivated", Cause.DEACTIVATED),
        (
            "DeactivatedDueToAdmissionCheck",
            "The workload is deactivated due to Admission check(s): ac, were rejected",
            Cause.DEACTIVATED_CHECK,
        ),
        (
            "DeactivatedDueToRequeuingLimitExceeded",
            "The workload is deactivated due to exceeding the maximum number of re-queuing retries",
            Cause.DEACTIVATED_RETRIES,
        ),
        (
            "DeactivatedDueToMaximumExecutionTimeExceeded",
            "The workload is deactivated due to exceeding the maximum execution time",
            Cause.DEACTIVATED_TIME_LIMIT,
        ),
    ],
)
def test_tells_every_other_cause_present_and_past(reason, message, cause):
    assert read_eviction(evicted(message, reason)).cause is cause
    past = read_eviction(evicted(f"Previously: {message}", "QuotaReserved", "False"))
    assert past.cause is cause


def test_a_reason_that_nobody_knows_is_kept():
    found = read_eviction(evicted("moved", "FlavourOfTheMonth"))
    assert (found.cause, found.detail) == (Cause.OTHER, "FlavourOfTheMonth")


def test_the_counters_tell_what_no_text_tells():
    past = evicted("Previously: in words of tomorrow", "QuotaReserved", "False")
    one = (("NodeFailures", "", 2), ("Preempted", "", 0))
    assert read_eviction(past, one).cause is Cause.NODE_FAILURE
    two = (("NodeFailures", "", 1), ("Preempted", "", 1))
    assert read_eviction(past, two).cause is Cause.UNKNOWN


def test_the_underlying_cause_is_the_detail():
    found = read_eviction(
        evicted("Exceeded the PodsReady timeout a/b", "PodsReadyTimeout"),
        (("PodsReadyTimeout", "WaitForRecovery", 1),),
    )
    assert found.detail == "WaitForRecovery"
