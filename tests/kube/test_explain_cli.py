"""``python -m kube explain FILE...``: JSON out, and a named field for bad input."""

import json

import pytest

from kube.__main__ import main
from kube.explain import explain
from kube.explain_files import explain_files
from kube.problems import InvalidCatalog
from tests.kube import recorded
from tests.kube.waiting import (
    admitted,
    cluster_queue,
    cohort,
    condition,
    entry,
    event,
    flavors,
    for_pod_set,
    line,
    pod,
    pod_set,
    short,
    too_much,
    used,
    waits,
    workload,
)


@pytest.fixture
def put(tmp_path):
    """Write a value as a file and return its name."""

    def write(value, name="input.json"):
        path = tmp_path / name
        path.write_bytes(value if isinstance(value, bytes) else json.dumps(value).encode())
        return str(path)

    return write


def listed(*items):
    return {"apiVersion": "v1", "kind": "List", "items": list(items)}


def answer(capsys, *files):
    assert main(["explain", *files]) == 0
    return json.loads(capsys.readouterr().out)


def refused(capsys, *files):
    assert main(["explain", *files]) == 2
    found = capsys.readouterr()
    assert found.out == ""
    return found.err.splitlines()


@pytest.mark.parametrize(
    "name",
    [
        "15-max-capacity-borrowing-limit",
        "36-clusterqueue-drained-was-pending",
        "93-running-one-pod-failed",
    ],
)
def test_a_workload_with_what_is_around_it(capsys, put, name):
    files = [
        put(recorded.workload(name, "0.19.2"), "w.json"),
        put(listed(*recorded.around(name, "0.19.2")), "context.json"),
    ]
    found = answer(capsys, *files)
    assert list(found) == ["state", "preempted", "preempting", "reasons"]
    expected = explain(recorded.workload(name, "0.19.2"), **recorded.related(name, "0.19.2"))
    assert found == json.loads(json.dumps(expected.as_json()))


def test_every_recorded_workload_with_its_context_is_explained_alike():
    for release, name in recorded.names():
        around = recorded.around(name, release)
        found = explain_files({"w": recorded.workload(name, release), "c": listed(*around)})
        alone = explain(recorded.workload(name, release), **recorded.related(name, release))
        told = [each["code"] for each in found["reasons"]]
        assert (found["state"], told) == (alone.state, [each.code for each in alone.reasons])


def test_a_workload_alone(capsys, put):
    found = answer(capsys, put(waits(for_pod_set(short(4)))))
    assert (found["state"], found["reasons"][0]["code"]) == ("waiting", "quota_short")


def test_several_workloads_are_told_by_name(capsys, put):
    both = listed(waits(for_pod_set(short(4)), name="a"), admitted(), entry())
    found = answer(capsys, put(both))
    assert [(each["kind"], each["namespace"], each["name"], each["state"]) for each in found] == [
        ("Workload", "team", "a", "waiting"), ("Workload", "team", "w", "running"),
    ]  # fmt: skip


def test_workloads_that_stand_alone_are_meant_and_the_others_are_around_them():
    head, mine = waits(for_pod_set(short(2)), name="head"), workload(name="mine")
    head["metadata"]["creationTimestamp"] = "2026-11-29T09:00:00Z"
    queue = cluster_queue("q", queueingStrategy="StrictFIFO")
    around = listed(
        head, entry(), queue, entry("else", "other"), workload(spec={"queueName": "else"})
    )
    found = explain_files({"around": around, "mine": mine})
    assert found["reasons"][0]["code"] == "behind_head"
    both = explain_files({"a": mine, "b": head, "c": listed(entry(), queue)})
    assert [each["name"] for each in both] == ["mine", "head"]


def test_the_whole_department_is_used():
    def queue(name, nominal, held=0):
        groups = flavors(a100=line(nominal))
        return cluster_queue(name, groups, "co", status=used(a100=held))

    job = waits(for_pod_set(too_much(12, 8)), pods=[pod_set(gpus=12)])
    around = listed(entry(), queue("q", 4), queue("b", 4, 2), cohort("co"))
    found = explain_files({"w": job, "c": around})["reasons"][0]
    assert (found["code"], found["change"]["from"], found["change"]["to"]) == ("max_cohort", 4, 8)


def test_only_what_belongs_to_a_workload_is_used():
    mine = pod(name="mine", scheduled="0/1 nodes", annotations={"kueue.x-k8s.io/workload": "w"})
    theirs = pod(
        name="theirs", waiting="ErrImagePull", annotations={"kueue.x-k8s.io/workload": "x"}
    )
    owned = pod("Running", name="owned", ownerReferences=[{"uid": "j"}])
    note = event("FailedCreate", "not mine", "Job", "other")
    far = pod("Running", name="far") | {"metadata": {"name": "far", "namespace": "else"}}
    found = explain_files({"w": admitted(), "c": listed(mine, theirs, owned, far, note)})["reasons"]
    assert [(each["code"], each["params"]["pods"]) for each in found] == [("unschedulable", "2")]


def test_a_plain_pod_is_its_own_job():
    job = admitted()
    job["metadata"]["ownerReferences"] = [{"kind": "Pod", "name": "p", "uid": "pod-uid"}]
    found = explain_files({"w": job, "c": pod(waiting="ErrImagePull", uid="pod-uid")})
    assert found["reasons"][0]["code"] == "image"


def test_events_of_the_job_and_the_workload_are_used():
    refusal = event("AdmissionCheckRejected", "AdmissionCheck for scan was Rejected: no budget")
    evicted = condition("Evicted", "True", "DeactivatedDueToAdmissionCheck", "x")
    job = waits("x", evicted, spec={"active": False})
    old = {"metadata": {"name": "e"}, "involvedObject": refusal.pop("regarding"), **refusal}
    found = explain_files({"w": job, "c": old})
    assert found["reasons"][0]["params"]["message"] == "no budget"


def test_entries_namespaces_and_limits_of_the_namespace_are_used():
    job = workload(spec={"queueName": "default"})
    found = explain_files({"w": job, "c": listed(entry("main"))})["reasons"][0]
    assert (found["code"], found["params"]["entries"]) == ("entry_missing", "main")
    picky = cluster_queue("q", flavors(a100=line(1)), namespaceSelector={"matchLabels": {"a": "b"}})
    space = {"kind": "Namespace", "metadata": {"name": "team", "labels": {}}}
    found = explain_files({"w": workload(), "c": listed(entry(), picky, space)})
    assert found["reasons"][0]["code"] == "namespace_mismatch"


def test_the_only_queue_is_taken_where_nothing_leads_to_it():
    held = cluster_queue("q", stopPolicy="Hold")
    assert explain_files({"w": workload(), "c": held})["reasons"][0]["code"] == "queue_stopped"
    both = listed(held, cluster_queue("r"))
    assert explain_files({"w": workload(), "c": both})["reasons"][0]["code"] == "not_looked_at"


def test_the_set_up_of_kueue_is_used():
    settings = {
        "kind": "ConfigMap", "metadata": {"name": "kueue-manager-config"},
        "data": {"controller_manager_config.yaml": "integrations: {frameworks: [pod]}"},
    }  # fmt: skip
    image = {
        "kind": "Deployment", "metadata": {"name": "kueue-controller-manager"},
        "spec": {"template": {"spec": {"containers": [{"image": "kueue:v0.19.2"}]}}},
    }  # fmt: skip
    labels = {"kueue.x-k8s.io/queue-name": "e"}
    job = {
        "kind": "Job",
        "apiVersion": "batch/v1",
        "metadata": {"name": "j", "labels": labels},
        "spec": {"suspend": True},
    }
    assert explain_files({"j": job, "c": settings})["reasons"][0]["code"] == "framework_off"
    late = condition("PodsReady", "False", "WaitForStart")
    found = explain_files({"w": admitted(late), "c": image})["reasons"][0]
    assert found["params"]["deadline"] == "2026-11-29T10:35:00+00:00"
    other = image | {"metadata": {"name": "web"}}
    assert (
        "deadline" not in explain_files({"w": admitted(late), "c": other})["reasons"][0]["params"]
    )


def test_a_job_without_a_workload(capsys, put):
    job = {
        "kind": "Job",
        "apiVersion": "batch/v1",
        "metadata": {"name": "j", "namespace": "team"},
        "spec": {"suspend": True},
    }
    found = answer(capsys, put(listed(entry("main"), job)))
    assert (found["state"], found["reasons"][0]["code"]) == ("waiting", "no_queue_label")
    assert found["reasons"][0]["params"] == {"entries": "main"}


# --- bad input --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "field", "code"),
    [
        (b"{", "", "GP-2101"), (b'{"a": 1, "a": 2}', "", "GP-2105"),
        ([3], "[0]", "GP-2104"), ([], "", "GP-2220"), (listed(), "", "GP-2220"), (listed(entry()), "", "GP-2220"),
        ({"metadata": {"name": "w"}}, "[0]", "GP-2104"),
        ({"kind": "Workload", "metadata": {}}, "[0].metadata.name", "GP-2103"),
        ({"kind": "Workload", "metadata": {"name": 3}}, "[0].metadata.name", "GP-2104"),
        ({"kind": "Workload", "metadata": []}, "[0].metadata", "GP-2104"),
        (workload() | {"spec": []}, "[0].spec", "GP-2104"),
        (workload(spec={"active": "no"}), "[0].spec.active", "GP-2104"),
        (workload(spec={"podSets": {}}), "[0].spec.podSets", "GP-2104"),
        (workload(pods=[pod_set(), {"name": 3}]), "[0].spec.podSets[1].name", "GP-2104"),
        (workload() | {"status": {"conditions": {}}}, "[0].status.conditions", "GP-2104"),
        (workload({"type": "A", "status": True}), "[0].status.conditions[0].status", "GP-2104"),
        (listed(workload(), cluster_queue() | {"spec": {"stopPolicy": 1}}), "[1].spec.stopPolicy", "GP-2104"),
    ],
)  # fmt: skip
def test_bad_input_names_its_field(capsys, put, value, field, code):
    name = put(value)
    lines = refused(capsys, name)
    assert any(line.startswith(f"error {code} {name}{field}: ") for line in lines), lines


def test_objects_of_other_kinds_and_of_no_name_do_no_harm():
    status = {"kind": "Status", "metadata": {}, "spec": 3}
    found = explain_files(
        {"w": workload(), "c": listed(status, {"kind": "PendingWorkloadsSummary"})}
    )
    assert found["state"] == "waiting"


def test_absent_values_are_as_good_as_none():
    nothing = workload() | {"status": None}
    assert explain_files({"w": nothing})["reasons"][0]["code"] == "not_looked_at"


def test_files_that_are_not_there_and_standard_input_twice(capsys):
    assert "no-such-file" in refused(capsys, "no-such-file")[0]
    assert "only one input" in refused(capsys, "-", "-")[0]


def test_no_files_at_all():
    with pytest.raises(InvalidCatalog):
        explain_files({})
