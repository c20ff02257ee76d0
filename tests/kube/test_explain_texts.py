"""Every text with which Kueue says why a workload waits: one row each, as it is written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube import check_texts, pending_texts
from kube.explain import Stage, explain
from kube.reason_codes import CODES
from tests.kube.waiting import condition, for_pod_set, short, too_much, waits, workload

PREEMPTED = (
    "Preempted to accommodate a workload (UID: 1f, JobUID: 2c) due to {}; preemptor path: /all/a; "
    "preemptee path: /all/b"
)
TAS = 'Flavor "gpu" {}'

#: What it is about, the text, the code, what is read from it.
ROWS = [
    # Flavors and quota
    ("short", for_pod_set(short(4)), "quota_short", {"missing": "4", "flavor": "a100"}),
    (
        "too-large", for_pod_set(too_much(9, 4)), "max_capacity",
        {"asked": "9", "capacity": "4", "earlier": "0", "resource": "nvidia.com/gpu"},
    ),
    (
        "not-covered", for_pod_set("resource example.com/fpga unavailable in ClusterQueue"),
        "resource_not_covered", {"resource": "example.com/fpga", "pod_set": "main"},
    ),
    ("no-flavor", for_pod_set("flavor h100 not found"), "flavor_missing", {"flavor": "h100"}),
    (
        "affinity", for_pod_set("flavor a100 doesn't match node affinity"), "selector_mismatch",
        {"flavor": "a100"},
    ),
    (
        "taint", for_pod_set("untolerated taint {spot true NoSchedule <nil>} in flavor spot"),
        "untolerated_taint", {"taint": "spot true NoSchedule <nil>", "flavor": "spot"},
    ),
    (
        "elastic",
        for_pod_set("could not assign b flavor since the original workload is assigned: a"),
        "elastic_flavor", {"flavor": "b", "original": "a"},
    ),
    (
        "noise",
        for_pod_set(
            "skipping flavor b as it is not found in the nomination mapping for resource cpu",
            "skipping flavor c due to WorkloadAllowedResourceFlavorAnnotation annotation",
            short(1),
        ),
        "quota_short", {"flavor": "a100"},
    ),
    (
        "not-allowed",
        for_pod_set(
            "skipping flavor b due to WorkloadAllowedResourceFlavorAnnotation annotation",
            "skipping flavor c due to WorkloadAllowedResourceFlavorAnnotation annotation",
        ),
        "flavor_not_allowed", {"flavor": "b", "pod_set": "main"},
    ),
    (
        "not-chosen",
        for_pod_set(
            "skipping flavor a due to WorkloadAllowedResourceFlavorAnnotation annotation",
            "skipping flavor b as it is not found in the nomination mapping for resource cpu",
        ),
        "flavor_not_chosen", {"flavor": "b", "resource": "cpu"},
    ),
    # Topology
    ("tas-none", TAS.format("does not support TopologyAwareScheduling"), "flavor_without_topology", {}),
    ("tas-only", TAS.format("supports only TopologyAwareScheduling"), "flavor_only_topology", {}),
    ("tas-level", TAS.format("does not contain the requested level"), "topology_level_unknown", {}),
    ("tas-cache", TAS.format("information missing in TAS cache"), "topology_not_cached", {"flavor": "gpu"}),
    (
        "none-fits",
        for_pod_set(
            'topology "t" doesn\'t allow to fit any of 4 pod(s). Total nodes: 4; excluded: '
            'resource "nvidia.com/gpu": 4'
        ),
        "topology_too_small",
        {"topology": "t", "parts": "4", "nodes": "4", "excluded": 'resource "nvidia.com/gpu": 4'},
    ),
    (
        "some-fit", for_pod_set('topology "t" allows to fit only 2 out of 3 pod(s)'),
        "topology_partly", {"fits": "2", "parts": "3", "unit": "pod"},
    ),
    (
        "layers",
        'topology "t" doesn\'t allow to fit; 1/2 slice(s) fit on level rack; 3/4 slice(s) fit on '
        "level host. Total nodes: 9; excluded: nodeSelector: 9",
        "topology_partly", {"nodes": "9"},
    ),
    ("no-domains", "no topology domains at level: rack", "topology_no_nodes", {"level": "rack"}),
    ("no-level", "no requested topology level: rack", "topology_level_unknown", {"level": "rack"}),
    (
        "no-slice-level", "no requested topology level for slices: rack",
        "topology_level_unknown", {"level": "rack"},
    ),
    ("no-level-said", "topology level not specified", "topology_invalid", {}),
    ("slice-above", "podset slice topology a is above the podset topology b", "topology_invalid", {}),
    ("more-layers", "additional slice layer a is above b", "topology_invalid", {}),
    ("no-size", "slice topology requested, but slice size not provided", "topology_invalid", {}),
    (
        "balanced", "TAS Balanced Placement: Cannot find optimal domain set to fit the request",
        "topology_partly", {},
    ),
    ("selectors", "invalid node selectors: x", "topology_invalid", {}),
    ("affinity-selectors", "invalid (affinity) node selectors: x", "topology_invalid", {}),
    ("no-tas", "no TAS flavor assigned", "topology_invalid", {}),
    ("two-tas", "more than one TAS flavor assigned: a, b", "topology_invalid", {}),
    (
        "no-cache", "workload requires Topology, but there is no TAS cache information",
        "topology_not_cached", {},
    ),
    (
        "elastic-tas",
        "required topology is not supported with ElasticJobsViaWorkloadSlices",
        "topology_elastic", {},
    ),
    (
        "no-replacement", "cannot find replacement assignment for unhealthy node: n-1",
        "node_not_replaced", {"node": "n-1"},
    ),
    (
        "cannot-replace",
        "Cannot replace the node, because the existing topologyAssignment is invalid: x",
        "node_not_replaced", {},
    ),
    # Cycles of the scheduler
    ("making-room", for_pod_set(short(3)) + ". Pending the preemption of 2 workload(s)", "quota_short", {"preempting": "2"}),
    ("room-failed", for_pod_set(short(3)) + ". Preempting 2 workload(s) failed, will retry.", "quota_short", {"preempting": "2"}),
    ("migrates", for_pod_set(short(3)) + ". Pending the migration of 1 workload(s)", "flavor_migration", {}),
    ("raced", "Workload no longer fits after processing another workload", "lost_the_race", {}),
    (
        "overlaps", "Workload has overlapping preemption targets with another workload",
        "overlapping_preemption", {},
    ),
    (
        "overlaps-later",
        "Workload has overlapping preemption targets with another workload, but will fit after "
        "these preemptions complete",
        "overlapping_preemption", {},
    ),
    ("may-not-preempt", "Workload requires preemption, but it's gated", "preemption_gated", {}),
    (
        "others-start", "waiting for all admitted workloads to be in PodsReady condition",
        "other_pods_not_ready", {},
    ),
    # Queues
    ("entry-missing", "LocalQueue x doesn't exist", "entry_missing", {"entry": "x"}),
    ("entry-going", "LocalQueue x is terminating or missing", "entry_missing", {"entry": "x"}),
    ("entry-inactive", "LocalQueue x is inactive", "entry_stopped", {"entry": "x"}),
    ("entry-stopped", "LocalQueue x is stopped", "entry_stopped", {"entry": "x"}),
    ("queue-missing", "ClusterQueue c doesn't exist", "queue_missing", {"queue": "c"}),
    ("queue-not-found", "ClusterQueue c not found", "queue_missing", {"queue": "c"}),
    ("queue-going", "ClusterQueue c is terminating or missing", "queue_missing", {"queue": "c"}),
    ("queue-nameless", "ClusterQueue  doesn't exist", "entry_without_queue", {}),
    ("queue-inactive", "ClusterQueue c is inactive", "queue_inactive", {"queue": "c"}),
    ("queue-stopped", "ClusterQueue c is stopped", "queue_stopped", {"queue": "c"}),
    (
        "namespace", "Workload namespace doesn't match ClusterQueue selector",
        "namespace_mismatch", {},
    ),
    (
        "namespace-lower", "workload namespace doesn't match ClusterQueue selector",
        "namespace_mismatch", {},
    ),
    ("namespace-unread", "Could not obtain workload namespace: x", "namespace_unknown", {}),
    ("namespace-gone", 'workload namespace "n" does not exist: x', "namespace_unknown", {}),
    # What the job asks for
    (
        "limits",
        "resources validation failed: spec.podSets[0].template.spec.containers[0]: Invalid value: "
        '["cpu"]: requests must not exceed its limits',
        "requests_above_limits", {"field": "spec.podSets[0].template.spec.containers[0]"},
    ),
    ("invalid", "resources validation failed: whatever", "resources_invalid", {"text": "whatever"}),
    (
        "range",
        "resources didn't satisfy LimitRange constraints: spec.podSets[0].x: Invalid value: "
        '["cpu"]: requests must not be above the limitRange max',
        "limit_range", {"field": "spec.podSets[0].x"},
    ),
    # Checks and gates
    ("checks-failed", "The workload has failed admission checks", "check_failed", {}),
    ("retry-old", "At least one admission check is false", "check_retry", {}),
    (
        "retry", 'Evicted due to AdmissionCheck in Retry state: "scan" (Scanner busy)',
        "check_retry", {"check": "scan", "message": "Scanner busy"},
    ),
    (
        "retries", 'Evicted due to AdmissionChecks in Retry state: "scan" (a); "cost" (b)',
        "check_retry", {"check": "scan", "message": "a"},
    ),
    ("timeout", "Exceeded the PodsReady timeout team/w", "pods_ready_timeout", {}),
    ("preempted-priority", PREEMPTED.format("prioritization in the ClusterQueue"), "preempted", {"why": "prioritization in the ClusterQueue"}),
    ("preempted-reclaim", PREEMPTED.format("reclamation within the cohort"), "preempted", {"why": "reclamation within the cohort"}),
    ("preempted-fair", PREEMPTED.format("Fair Sharing within the cohort"), "preempted", {}),
    (
        "preempted-borrowing", PREEMPTED.format("reclamation within the cohort while borrowing"),
        "preempted", {"why": "reclamation within the cohort while borrowing"},
    ),
    ("preempted-unknown", PREEMPTED.format("UNKNOWN"), "preempted", {"why": "UNKNOWN"}),
    ("queue-drained", "The ClusterQueue is stopped", "queue_drained", {}),
    ("entry-drained", "The LocalQueue is stopped", "entry_drained", {}),
    (
        "node-lost",
        "Workload was evicted as there was no replacement for unhealthy node(s): n-1, n-2",
        "node_failed", {"nodes": "n-1, n-2"},
    ),
    ("gated", "Admission is gated by: a/b, c/d", "gated", {"gates": "a/b, c/d"}),
    ("free", "AdmissionGatedBy cleared, waiting for quota reservation", "gate_cleared", {}),
    # Claims
    (
        "claims-off", "DynamicResourceAllocation feature does not support use of resource claims",
        "resource_claims", {},
    ),
    (
        "claims-gate",
        "Workload uses DRA resources but the KueueDRAIntegration feature gate is not enabled",
        "resource_claims", {},
    ),
    (
        "claims-class",
        "spec.podSets[0].template.spec.resourceClaims[0].resourceClaimTemplateName: Not found: "
        '"DeviceClass gpu.example.com is not mapped in DRA configuration for podset main"',
        "device_class_unmapped", {"device_class": "gpu.example.com"},
    ),
    (
        "claims-invalid", "spec.podSets[1].template.spec.x: Internal error: no such template",
        "resources_invalid", {"field": "spec.podSets[1].template.spec.x"},
    ),
    # Order, variants and the rest
    ("unseen", "Workload is pending evaluation in the scheduling queue", "not_looked_at", {}),
    (
        "equal",
        "Bypassed scheduling evaluation because an equivalent workload recently failed",
        "same_as_another", {},
    ),
    ("variant", "A more favorable variant is already admitted", "other_variant", {}),
    ("variant-floor", "Target flavor is below LastAcceptableFlavorName", "other_variant", {}),
    ("selector", "invalid namespace selector: x", "selector_invalid", {}),
    ("hold", "StatefulSet scaled to zero; workload on hold", "on_hold", {}),
    ("failed", "Failed to admit workload: etcd is away", "kueue_failed", {"text": "etcd is away"}),
    ("nonsense", "the moon is in the wrong house", "unknown", {}),
    (
        "internal", for_pod_set("x").replace("couldn't", "failed to"), "unknown", {},
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "code", "params"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS]
)
def test_every_text_has_a_code(text, code, params):
    found = explain(waits(text))
    told = next(reason for reason in found.reasons if reason.code == code)
    assert told.stage == CODES[code].stage
    assert params.items() <= told.values.items()
    if code != "not_looked_at":
        assert told.raw == text
    assert found.state == "waiting"


@pytest.mark.parametrize(
    ("cause", "text", "code"),
    [
        ("AdmissionCheck", "The workload is deactivated due to Admission check(s): a,b, were rejected", "check_rejected"),
        ("AdmissionCheck", 'The workload is deactivated due to AdmissionCheck in Rejected state: "a" (no)', "check_rejected"),
        ("RequeuingLimitExceeded", "The workload is deactivated due to exceeding the maximum number of re-queuing retries", "too_many_retries"),
        ("MaximumExecutionTimeExceeded", "The workload is deactivated due to exceeding the maximum execution time", "time_limit"),
        ("", "The workload is deactivated", "deactivated"),
    ],
)  # fmt: skip
def test_every_text_of_a_job_that_was_switched_off(cause, text, code):
    evicted = condition(
        "Evicted", "True", f"DeactivatedDueTo{cause}" if cause else "Deactivated", text
    )
    found = explain(waits(text, evicted, spec={"active": False}))
    assert (found.state, found.code, found.never, found.raw) == ("deactivated", code, True, text)
    again = explain(waits(text, spec={"active": True}))
    assert (again.state, again.code, again.first.stale) == ("waiting", "not_looked_at", True)


def test_history_is_not_the_present():
    """What begins with Previously stands at conditions that no longer hold."""
    past = [
        condition("Evicted", "False", "QuotaReserved", "Previously: The ClusterQueue is stopped"),
        condition("Preempted", "False", "QuotaReserved", f"Previously: {PREEMPTED}"),
        condition("Requeued", "True", "ClusterQueueRestarted", "The ClusterQueue was restarted"),
    ]
    found = explain(waits(for_pod_set(short(4)), *past))
    assert [reason.code for reason in found.reasons] == ["quota_short"]
    assert not found.preempted
    assert explain(workload(*past)).code == "not_looked_at"


@pytest.mark.parametrize(
    ("token", "stage", "never"),
    [
        ("WaitingForQuota", Stage.QUOTA, False), ("ExceedsMaxQuota", Stage.QUOTA, True),
        ("NoMatchingFlavor", Stage.REQUEST, True), ("TopologyPlacementFailed", Stage.TOPOLOGY, False),
        ("Suspended", Stage.ROUTING, False), ("Misconfigured", Stage.ROUTING, False),
        ("WaitingForPodsReady", Stage.PODS, False), ("AdmissionGated", Stage.CHECK, False),
        ("WaitingForPreemptedWorkloads", Stage.QUOTA, False), ("SomethingNew", Stage.ORDER, False),
    ],
)  # fmt: skip
def test_of_an_unknown_text_the_token_is_understood(token, stage, never):
    found = explain(waits("words of a later release", reason=token))
    assert (found.code, found.stage, found.never) == ("unknown", stage, never)
    assert (found.raw, found.params["token"]) == ("words of a later release", token)


@pytest.mark.parametrize(
    ("token", "code", "never"),
    [
        ("ExceedsMaxQuota", "max_capacity", True), ("NoMatchingFlavor", "no_matching_flavor", True),
        ("TopologyPlacementFailed", "topology_too_small", False),
        ("WaitingForQuota", "same_as_another", False),
    ],
)  # fmt: skip
def test_of_a_job_passed_over_for_its_equal_the_token_is_all_that_is_known(token, code, never):
    text = "Bypassed scheduling evaluation because an equivalent workload recently failed"
    found = explain(waits(text, reason=token))
    assert (found.code, found.never, found.reasons[-1].code) == (code, never, "same_as_another")


def test_room_that_is_made_for_a_job_is_told_without_a_number_too():
    text = (
        "Workload has overlapping preemption targets with another workload, but will fit after "
        "these preemptions complete"
    )
    made = explain(waits(text, reason="WaitingForPreemptedWorkloads"))
    assert (made.preempting, made.never, "preempting" in made.params) == (True, False, False)
    assert not explain(waits(text, reason="WaitingForQuota")).preempting


def test_for_topology_the_text_counts_and_not_the_token():
    text = for_pod_set('topology "t" allows to fit only 1 out of 2 pod(s)')
    for token in ("WaitingForQuota", "NoMatchingFlavor", "TopologyPlacementFailed", "Pending"):
        assert explain(waits(text, reason=token)).stage is Stage.TOPOLOGY


def test_rows_name_known_codes_and_hold_their_sign():
    assert {row.code for row in pending_texts.ROWS} <= set(CODES)
    assert [row for row in pending_texts.ROWS if row.sign != row.sign.lower()] == []
    told = {row[2] for row in ROWS} | {
        "check_rejected",
        "too_many_retries",
        "time_limit",
        "deactivated",
    }
    assert {row.code for row in pending_texts.ROWS} <= told


@pytest.mark.parametrize(
    ("message", "code", "named"),
    [
        ("the check is not active", "check_not_active", {}),
        ('Error creating ProvisioningRequest "x": no', "provisioning_refused", {}),
        ('Error creating PodTemplate "x": no', "provisioning_refused", {}),
        ("Retrying after failure: no machines", "provisioning_failed", {}),
        ("Retrying after booking expired: late", "provisioning_failed", {}),
        (
            "Provisioning Request wasn't provisioned. ETA: 2026-11-29T12:00:00Z",
            "provisioning_eta", {"eta": "2026-11-29T12:00:00Z"},
        ),
        ('The workload got reservation on "west"', "remote_waits", {"remote": "west"}),
        ('The workload was admitted on "west"', "remote_waits", {"remote": "west"}),
        ("Reserving remote lost", "remote_lost", {}),
        ("Admitting remote lost", "remote_lost", {}),
        ("No multikueue adapter found for batch/v1", "remote_unsupported", {}),
        ("The owner is not managed by Kueue: x", "remote_unsupported", {}),
        (
            'Workload evicted on worker cluster: "west", resetting for re-admission. Previously: "Ready"',
            "remote_evicted", {"remote": "west", "before": "Ready"},
        ),
        ("Reset to Pending after eviction. Previously: Retry", "", {"before": "Retry"}),
        ("Waiting for the budget owner", "", {}),
        ("the provisioning request is not needed", "", {}),
    ],
)  # fmt: skip
def test_texts_of_admission_checks(message, code, named):
    assert check_texts.read(message) == (code, named)


@given(st.text(max_size=400))
def test_any_text_is_read(text):
    found = explain(waits(text))
    assert found.state == "waiting"
    assert all(isinstance(value, str) for value in found.params.values())


def test_a_long_hostile_text_is_read():
    texts = ['topology "x" allows to fit only 1 ', short("1" * 50), too_much("9" * 60, "1" * 60)]
    for each in texts:
        assert pending_texts.read("couldn't assign flavors to pod set main: " + each * 900).reasons


def test_a_long_text_is_not_kept():
    text = for_pod_set(*[short(number) for number in range(100)])
    kept = pending_texts._kept.cache_info().currsize
    assert len(pending_texts.read(text).reasons) == 100
    assert pending_texts._kept.cache_info().currsize == kept
