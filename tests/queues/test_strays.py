"""Jobs without a Workload: found, explained, and gone when they are mended."""

from datetime import UTC, datetime, timedelta

import pytest

from kube import job_kinds
from queues.models import Workload
from queues.services import strays
from tests.queues.clusterside import KIND, Side, entry, meta, queue, workload

pytestmark = pytest.mark.django_db
QUEUE = "kueue.x-k8s.io/queue-name"


@pytest.fixture
def side(lab):
    found = Side(lab.cluster)
    found.listed(
        ClusterQueue=[queue()], LocalQueue=[entry()], WorkloadPriorityClass=[], Workload=[]
    )
    return found


def job(name="a", *, label="main", devices=8, suspend=True, age=60, **more):
    labels = ({QUEUE: label} if label else {}) | more.pop("labels", {})
    made = (datetime.now(UTC) - timedelta(seconds=age)).strftime("%Y-%m-%dT%H:%M:%SZ")
    container = {"resources": {"limits": {"nvidia.com/gpu": str(devices)}}}
    return {
        "metadata": meta(name, "nlp", uid=f"job-{name}", labels=labels, creationTimestamp=made)
        | more.pop("metadata", {}),
        "spec": {"suspend": suspend, "template": {"spec": {"containers": [container]}}}
        | more.pop("spec", {}),
        **more,
    }


def found():
    return dict(Workload.objects.filter(stray=True).values_list("name", "code"))


def write(side):
    side.write(strays=True)


def test_a_job_that_names_no_queue_is_found(side):
    side.list("Job", job(label="", suspend=False))
    write(side)
    row = Workload.objects.get()
    assert (row.state, row.code, row.devices) == ("running", "outside_queues", 8)
    assert (row.job_kind, row.job_name, row.uid) == ("Job", "a", "job-a")
    assert [each["code"] for each in row.reasons] == ["outside_queues", "no_queue_label"]


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"label": "mian"}, "entry_missing"),
        ({"labels": {"kueue.x-k8s.io/priority-class": "none"}}, "priority_class_missing"),
        ({}, "workload_not_made"),
    ],
)
def test_says_why_there_is_no_workload(side, more, code):
    side.list("Job", job(**more))
    write(side)
    assert found() == {"a": code}


def test_nothing_is_astray_before_all_workloads_are_known(lab):
    """Pods and jobs may come long before the list of a large cluster has ended."""
    side = Side(lab.cluster)
    side.listed(ClusterQueue=[queue()], LocalQueue=[entry()], WorkloadPriorityClass=[])
    side.list("Job", job(label=""))
    side.begin("Workload")
    write(side)
    assert found() == {}
    side.memory.end(KIND["Workload"], "9")
    write(side)
    assert found() == {"a": "no_queue_label"}


def test_a_workload_that_comes_takes_its_place(side):
    side.list("Job", job())
    write(side)
    assert found() == {"a": "workload_not_made"}
    side.tell("Workload", workload("a"))
    write(side)
    assert found() == {}
    assert Workload.objects.get().job_uid == "job-a"


def test_a_workload_that_goes_leaves_its_job_astray(side):
    side.list("Workload", workload("a"))
    side.list("Job", job())
    write(side)
    assert found() == {}
    side.tell("Workload", workload("a"), change="DELETED")
    write(side)
    assert found() == {"a": "workload_not_made"}


def test_kueue_has_a_moment_to_make_the_workload(side):
    side.list("Job", job(age=0))
    write(side)
    assert found() == {}
    assert "job-a" in side.memory.strays.open


def test_an_entry_that_comes_changes_the_reason(side):
    side.list("Job", job(label="other"))
    write(side)
    assert found() == {"a": "entry_missing"}
    side.tell("LocalQueue", entry("other"))
    write(side)
    assert found() == {"a": "workload_not_made"}


@pytest.mark.parametrize(
    "more",
    [
        {"status": {"conditions": [{"type": "Complete", "status": "True"}]}},
        {"metadata": {"deletionTimestamp": "2026-11-29T12:00:00Z"}},
        {"metadata": {"ownerReferences": [
            {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "name": "j", "uid": "u",
             "controller": True}
        ]}},
        {"label": "", "devices": 0},
    ],
    ids=["over", "leaving", "part-of-another", "no-devices"],
)  # fmt: skip
def test_other_jobs_are_not_astray(side, more):
    given = job(**more)
    if job_kinds.is_followed(given):
        side.list("Job", given)
    write(side)
    assert found() == {}


def test_a_job_that_ends_or_goes_is_no_longer_astray(side):
    side.list("Job", job(), job("b"))
    write(side)
    assert sorted(found()) == ["a", "b"]
    side.tell("Job", job(), change="DELETED")
    write(side)
    assert sorted(found()) == ["b"]
    side.list("Job")
    write(side)
    assert found() == {}


def test_a_deletion_while_nobody_listened_is_found(side, lab):
    lost, left = job(), job("b")
    side.list("Job", lost, left)
    write(side)
    second = Side(lab.cluster)
    second.listed(
        ClusterQueue=[queue()], LocalQueue=[entry()], WorkloadPriorityClass=[], Workload=[]
    )
    second.list("Job", left)
    assert second.write(strays=True).rows == 1
    assert sorted(found()) == ["b"]
    second.list("Job", left)
    assert second.write(strays=True).rows == 0


def pod(name="p", **more):
    container = {"resources": {"limits": {"nvidia.com/gpu": "1"}}}
    metadata = meta(name, "nlp", uid=f"pod-{name}") | more
    return {"metadata": metadata, "spec": {"containers": [container]}, "status": {}}


def test_a_pod_alone_is_a_job_and_the_pod_of_another_is_not(side):
    owner = [{"kind": "ReplicaSet", "name": "r", "uid": "r", "controller": True}]
    labelled = {"labels": {QUEUE: "main"}}
    side.list("Pod", pod("alone"), pod("owned", ownerReferences=owner),
              pod("named", ownerReferences=owner, **labelled))  # fmt: skip
    write(side)
    assert found() == {"alone": "outside_queues", "named": "workload_not_made"}


def test_a_set_whose_pods_kueue_looks_at_has_no_workload_of_its_own(side):
    side.list("Deployment", job("web", label="main"), job("free", label=""))
    write(side)
    assert sorted(found()) == ["free"]


def test_strays_of_a_kind_that_is_no_longer_served_go(side, lab):
    from queues.services import observed_rows

    side.list("JobSet", job())
    write(side)
    observed_rows.unserved(lab.cluster, "JobSet")
    side.memory.unserved("JobSet")
    write(side)
    assert found() == {}
    side.list("JobSet", job())
    write(side)
    assert sorted(found()) == ["a"]


def test_what_a_job_says_about_its_checkpoints_is_kept(side):
    said = {"gpuportal.io/checkpoint-every": "30m", "other": "x"}
    side.list("Job", job(metadata={"annotations": said}))
    assert side.memory.strays.annotations_of("job-a") == {"gpuportal.io/checkpoint-every": "30m"}
    assert side.memory.strays.annotations_of("unknown") == {}


def test_every_field_of_a_row_has_a_value(side):
    side.list("Job", job())
    ((_, _, row),) = side.memory.strays.rows(datetime.now(UTC))
    assert tuple(row) == strays.WORKLOAD_FIELDS
