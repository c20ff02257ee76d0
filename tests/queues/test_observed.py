"""From a cluster's objects to rows: what is read, what is left out, what odd values become."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queues.services import observed

GIB = 2**30


def workload(name="job-a", **more):
    body = {
        "metadata": {
            "name": name, "namespace": "nlp", "uid": f"uid-{name}", "resourceVersion": "7",
            "creationTimestamp": "2026-11-29T12:00:00Z",
            "ownerReferences": [{"kind": "Job", "name": "a", "controller": True}],
        },
        "spec": {
            "queueName": "nlp-gpu", "priority": 1000,
            "priorityClassRef": {"kind": "WorkloadPriorityClass", "name": "normal-batch"},
            "podSets": [{"name": "main", "count": 2, "template": pod({"nvidia.com/gpu": "4"})}],
        },
        "status": {},
    }  # fmt: skip
    return body | more


def pod(requests, limits=None):
    resources = {"requests": requests} | ({"limits": limits} if limits else {})
    return {"spec": {"containers": [{"name": "main", "resources": resources}]}}


def admitted(**usage):
    return {
        "admission": {
            "clusterQueue": "nlp-train",
            "podSetAssignments": [
                {
                    "name": "main",
                    "flavors": dict.fromkeys(usage, "a100"),
                    "resourceUsage": usage,
                }
            ],
        }
    }


def test_counts_devices_over_all_pods():
    assert observed.devices_asked(workload()) == 8


def test_counts_limits_where_nothing_is_requested():
    found = workload()
    found["spec"]["podSets"][0]["template"] = {
        "spec": {"containers": [{"resources": {"limits": {"nvidia.com/gpu": "3"}}}]}
    }
    assert observed.devices_asked(found) == 6


def asking(**spec):
    found = workload()
    found["spec"]["podSets"][0]["template"] = {"spec": spec}
    return observed.devices_asked(found)


def container(number, asked="requests", **more):
    return {"resources": {asked: {"nvidia.com/gpu": str(number)}}} | more


def test_a_limit_counts_for_each_resource_that_is_not_requested():
    resources = {"requests": {"cpu": "1"}, "limits": {"cpu": "2", "nvidia.com/gpu": "4"}}
    assert asking(containers=[{"resources": resources}]) == 8


def test_containers_run_together_and_init_containers_one_by_one():
    assert asking(containers=[container(1), container(2, "limits")]) == 6
    assert asking(containers=[container(1)], initContainers=[container(3), container(2)]) == 6
    assert asking(containers=[container(4)], initContainers=[container(3)]) == 8


def test_an_init_container_that_restarts_stays_beside_the_others():
    beside = container(1, restartPolicy="Always")
    assert asking(containers=[container(2)], initContainers=[beside]) == 6
    assert asking(containers=[container(1)], initContainers=[beside, container(4)]) == 10
    assert asking(containers=[container(1)], initContainers=[container(4), beside]) == 8


@pytest.mark.parametrize("resources", [None, {}, {"requests": None, "limits": None}])
def test_a_container_that_asks_for_nothing_counts_nothing(resources):
    assert asking(containers=[{"resources": resources}], initContainers=None) == 0


def test_sums_what_is_held_by_flavor_and_resource():
    usage = {"cpu": "12", "memory": "1Ti", "nvidia.com/gpu": "8", "pods": "2"}
    found = observed.held(workload(status=admitted(**usage)))
    assert found == [
        {"flavor": "a100", "resource": "cpu", "amount": 12_000},
        {"flavor": "a100", "resource": "memory", "amount": 1024 * GIB},
        {"flavor": "a100", "resource": "nvidia.com/gpu", "amount": 8},
    ]


@pytest.mark.parametrize("text", ["8k!", "", None, "NaN", "x" * 50, {}, []])
def test_reads_nonsense_as_nothing_instead_of_failing(text):
    assert observed.amount("nvidia.com/gpu", text) == 0


@given(st.one_of(st.text(max_size=30), st.integers(), st.none(), st.floats(), st.booleans()))
def test_no_amount_of_a_cluster_can_stop_the_observer(text):
    assert isinstance(observed.amount("cpu", text), int)


@pytest.mark.parametrize("text", ["2026-11-29T12:00:00Z", "2026-11-29T12:00:00.5+02:00"])
def test_reads_times_in_utc(text):
    assert observed.parse_time(text).utcoffset().total_seconds() == 0


@pytest.mark.parametrize("text", [None, "", "yesterday", "2026-13-01T00:00:00Z"])
def test_reads_no_time_where_there_is_none(text):
    assert observed.parse_time(text) is None


def test_names_the_job_that_controls_a_workload():
    row = observed.workload_row(workload(), None, None)
    assert (row["job_kind"], row["job_name"]) == ("Job", "a")


def test_names_the_workload_itself_where_nobody_owns_it():
    found = workload()
    found["metadata"].pop("ownerReferences")
    row = observed.workload_row(found, None, None)
    assert (row["job_kind"], row["job_name"]) == ("", "job-a")


def test_takes_the_queue_from_the_entry_while_a_job_waits():
    entry = {
        "metadata": {"name": "nlp-gpu", "namespace": "nlp", "uid": "e", "resourceVersion": "1"},
        "spec": {"clusterQueue": "nlp-train"},
    }
    row = observed.workload_row(workload(), entry, None)
    assert row["queue"] == "nlp-train"


def test_keeps_the_row_in_the_order_that_is_compared():
    row = observed.workload_row(workload(), None, None)
    assert tuple(row) == observed.WORKLOAD_FIELDS


def test_keeps_since_when_a_job_counts_in_its_queue():
    entry, queue = {"spec": {"clusterQueue": "nlp-train"}}, {"metadata": {"name": "nlp-train"}}
    row = observed.workload_row(workload(), entry, queue)
    assert (row["turn"], row["queued_at"]) == ("ready", row["created_at"])
    held = {"spec": {"clusterQueue": "nlp-train", "stopPolicy": "Hold"}}
    row = observed.workload_row(workload(), held, queue)
    assert (row["turn"], row["queued_at"]) == ("", None)


def test_drops_managed_fields_and_the_last_applied_copy():
    noise = {"kubectl.kubernetes.io/last-applied-configuration": "{}", "kept": "1"}
    found = observed.trim({"metadata": {"managedFields": [1], "annotations": noise}})
    assert found == {"metadata": {"annotations": {"kept": "1"}}}


@pytest.mark.parametrize(
    ("conditions", "ready"),
    [
        ([{"type": "Ready", "status": "True"}], True),
        ([{"type": "Ready", "status": "Unknown"}], False),
        ([], False),
    ],
)
def test_takes_a_node_as_ready_only_when_it_says_so(conditions, ready):
    node = {"metadata": {"name": "n"}, "status": {"conditions": conditions}}
    assert observed.body_of("Node", node)["ready"] is ready


# --- jobs that name no entry -------------------------------------------------------------------


def sent_astray():
    found = workload("job-a")
    found["spec"]["queueName"] = "default"
    message = "LocalQueue default doesn't exist"
    condition = {"type": "QuotaReserved", "status": "False", "reason": "Inadmissible"}
    found["status"] = {"conditions": [condition | {"message": message}]}
    return found


def test_a_job_that_names_no_entry_is_shown_those_of_its_namespace():
    row = observed.workload_row(sent_astray(), None, None, list("gdbfaec"))
    assert (row["code"], row["stage"], row["queue"]) == ("entry_missing", "routing", "")
    assert row["params"] == {"entry": "default", "entries": "a, b, c, d, e, f, …"}
    assert observed.workload_row(sent_astray(), None, None)["params"] == {"entry": "default"}
    assert "entries" not in observed.workload_row(workload(), None, None, ["a"])["params"]
