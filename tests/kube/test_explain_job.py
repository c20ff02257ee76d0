"""Jobs that have no Workload at all."""

import pytest

from kube.explain_job import explain_job
from kube.job_facts import JobFacts, framework
from kube.manager_facts import Manager
from kube.reasons import listed
from tests.kube.waiting import event

ON = Manager(frameworks=frozenset({"batch/job", "pod"}), without_queue_name=False)
SPACE = {"metadata": {"name": "team", "labels": {"tier": "lab"}}}


def job(kind="Job", api="batch/v1", *, queue="entry", suspend=True, spec=None, **metadata):
    labels = {"kueue.x-k8s.io/queue-name": queue} if queue else {}
    meta = {"name": "j", "namespace": "team", "labels": labels | metadata.pop("labels", {})}
    meta["creationTimestamp"] = "2026-11-29T10:00:00Z"
    return {
        "apiVersion": api, "kind": kind, "metadata": meta | metadata,
        "spec": {"suspend": suspend} | (spec or {}), "status": {},
    }  # fmt: skip


def owner(kind, api="batch/v1", controller=True):
    return [{"apiVersion": api, "kind": kind, "name": "o", "controller": controller}]


def label(name, value):
    return {"labels": {f"kueue.x-k8s.io/{name}": value}}


CLASSES = [{"metadata": {"name": "low"}, "value": 10}]
ROWS = [
    ("no-label", job(queue=""), {}, "no_queue_label", {}),
    ("no-label-hint", job(queue=""), {"entries": ["b", "a"]}, "no_queue_label", {"entries": "a, b"}),
    (
        "no-label-managed", job(queue=""), {"manager": Manager(without_queue_name=True)},
        "workload_not_made", {},
    ),
    ("framework", job("RayJob", "ray.io/v1"), {"manager": ON}, "framework_off", {"kind": "RayJob"}),
    (
        "namespace", job(),
        {"manager": Manager(namespaces={"matchLabels": {"tier": "prod"}}), "namespace": SPACE},
        "namespace_excluded", {"namespace": "team"},
    ),
    (
        "namespace-by-name", job(),
        {"manager": Manager.read(configuration="apiVersion: x"), "namespace": SPACE},
        "workload_not_made", {},
    ),
    (
        "nested", job(ownerReferences=owner("JobSet", "jobset.x-k8s.io/v1alpha2")), {},
        "nested_owner", {"owner": "JobSet o"},
    ),
    ("cron", job(ownerReferences=owner("CronJob")), {}, "workload_not_made", {}),
    ("no-controller", job(ownerReferences=owner("Job", controller=False)), {}, "workload_not_made", {}),
    (
        "deep", job(ownerReferences=owner("Job")), {"events": [event("JobNestingTooDeep", "10 levels")]},
        "nesting_too_deep", {},
    ),
    (
        "priority", job(**label("priority-class", "high")), {"priority_classes": CLASSES},
        "priority_class_missing", {"priority_class": "high", "priorities": "low"},
    ),
    (
        "priority-none", job(**label("priority-class", "high")), {"priority_classes": []},
        "priority_class_missing", {"priority_class": "high"},
    ),
    (
        "priority-event", job(), {"events": [event("WorkloadPriorityClassNotFound", "gone")]},
        "priority_class_missing", {},
    ),
    ("priority-there", job(**label("priority-class", "low")), {"priority_classes": CLASSES}, "workload_not_made", {}),
    ("priority-unknown", job(**label("priority-class", "high")), {}, "workload_not_made", {}),
    (
        "breaks", job(), {"priority_classes": [*CLASSES, {"metadata": {"name": "vip"}, "value": 3_000_000_000}]},
        "priority_class_breaks_kueue", {"priority_class": "vip"},
    ),
    ("prebuilt", job(**label("prebuilt-workload-name", "w")), {}, "prebuilt_missing", {"workload": "w"}),
    (
        "group", job("Pod", "v1", **label("pod-group-name", "g")),
        {"events": [event("ErrWorkloadCompose", "'g' group has fewer runnable pods than expected")]},
        "pod_group_incomplete", {},
    ),
    (
        "compose", job(), {"events": [event("ErrWorkloadCompose", "bad annotation")]},
        "compose_failed", {"text": "bad annotation"},
    ),
    ("entry", job(), {"entries": ["main"]}, "entry_missing", {"entry": "entry", "entries": "main"}),
    ("entry-none", job(), {"entries": []}, "entry_missing", {"entry": "entry"}),
    ("entry-there", job(), {"entries": ["entry"]}, "workload_not_made", {}),
    ("nothing", job(), {}, "workload_not_made", {}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("made", "known", "code", "params"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS]
)
def test_why_a_job_has_no_workload(made, known, code, params):
    found = explain_job(made, **known)
    assert (found.state, found.stage, found.code) == ("waiting", "routing", code)
    assert params.items() <= found.params.items()


@pytest.mark.parametrize(
    ("made", "known", "code"),
    [
        (job(queue="", suspend=False), {}, "no_queue_label"),
        (job("RayJob", "ray.io/v1", suspend=False), {"manager": ON}, "framework_off"),
    ],
)
def test_a_job_that_nobody_holds_back_runs_outside_all_quota(made, known, code):
    found = explain_job(made, **known)
    assert (found.state, [each.code for each in found.reasons]) == (
        "running",
        ["outside_queues", code],
    )


@pytest.mark.parametrize(
    ("status", "code"),
    [
        ({"conditions": [{"type": "Complete", "status": "True"}]}, "succeeded"),
        ({"conditions": [{"type": "Failed", "status": "True"}]}, "failed"),
        ({"conditions": [{"type": "Suspended", "status": "True"}], "jobStatus": "SUCCEEDED"}, "succeeded"),
        ({"jobStatus": "STOPPED"}, "ended"), ({"completionTime": "2026-11-29T10:00:00Z"}, "ended"),
    ],
)  # fmt: skip
def test_a_job_that_is_over(status, code):
    found = explain_job(job() | {"status": status})
    assert (found.state, found.code) == ("finished", code)
    pod = job("Pod", "v1") | {"status": {"phase": "Failed"}}
    assert explain_job(pod).code == "failed"


def test_a_job_that_is_deleted():
    assert explain_job(job(deletionTimestamp="2026-11-29T10:00:00Z")).state == "gone"


@pytest.mark.parametrize(
    ("made", "held"),
    [
        (job(), True), (job(suspend=False), False),
        (job("PyTorchJob", "kubeflow.org/v1", suspend=False, spec={"runPolicy": {"suspend": True}}), True),
        (job("Pod", "v1", suspend=False, spec={"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]}), True),
        ({"spec": None}, False),
    ],
)  # fmt: skip
def test_whether_a_job_is_held_back(made, held):
    assert JobFacts(made).suspended is held


@pytest.mark.parametrize(
    ("api", "kind", "name"),
    [
        ("batch/v1", "Job", "batch/job"), ("v1", "Pod", "pod"), ("apps/v1", "StatefulSet", "statefulset"),
        ("kubeflow.org/v1", "PyTorchJob", "kubeflow.org/pytorchjob"),
        ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "leaderworkerset.x-k8s.io/leaderworkerset"),
    ],
)  # fmt: skip
def test_names_of_integrations(api, kind, name):
    assert framework(api, kind) == name


CONFIGURATION = """
manageJobsWithoutQueueName: true
managedJobsNamespaceSelector: {matchLabels: {tier: prod}}
integrations: {frameworks: [pod, batch/job], externalFrameworks: [a.b/c]}
waitForPodsReady: {timeout: 1h30m, blockAdmission: true}
"""


def test_the_configuration_of_the_manager():
    found = Manager.read(version="v0.17.8-rc.1", configuration=CONFIGURATION)
    assert found.version == (0, 17, 8)
    assert found.frameworks == {"pod", "batch/job", "a.b/c"}
    assert (found.without_queue_name, found.block_admission) == (True, True)
    assert found.namespaces == {"matchLabels": {"tier": "prod"}}
    assert found.pods_ready_within.total_seconds() == 5400


@pytest.mark.parametrize(
    ("version", "configuration", "seconds"),
    [
        ("0.17.0", "", None), ("0.19.2", "", 1800), ("", "", None),
        ("0.17.0", "kind: x", None), ("0.20.1", "kind: x", 1800),
        ("0.17.0", "waitForPodsReady: {}", 300), ("0.19.0", "waitForPodsReady: {enable: false}", None),
        ("0.19.0", "waitForPodsReady: {timeout: soon}", 300), ("0.19.0", "waitForPodsReady: {timeout: 8s500ms}", 8.5),
        ("0.17.0", "a: [", None), ("0.17.0", "- a", None),
    ],
)  # fmt: skip
def test_how_long_pods_may_take(version, configuration, seconds):
    found = Manager.read(version=version, configuration=configuration).pods_ready_within
    assert (found and found.total_seconds()) == seconds


def test_without_a_configuration_nothing_is_known():
    found = Manager.read(version="0.17.0")
    assert (found.frameworks, found.namespaces, found.block_admission) == (None, None, None)
    assert Manager.read(configuration="kind: x").frameworks == {"batch/job"}


def test_some_entries_are_named_and_that_there_are_more_is_marked():
    assert listed(["a", "b"]) == "a, b"
    assert listed([f"e{n}" for n in range(7)]) == "e0, e1, e2, e3, e4, e5, …"
    assert listed([]) == ""
