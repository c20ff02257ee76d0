import pytest

from cluster import JobSpec, job_manifest
from cluster.jobs import collection, pace, parse_pairs


def spec(**values):
    return JobSpec(**({"name": "train", "namespace": "vision", "queue": "gpu"} | values))


def test_a_job_waits_for_kueue_and_asks_in_proportion():
    job = job_manifest(spec(gpus=4, priority="high"))
    assert job["metadata"]["labels"] == {
        "kueue.x-k8s.io/queue-name": "gpu",
        "kueue.x-k8s.io/priority-class": "high",
    }
    assert job["spec"]["suspend"] is True
    resources = job["spec"]["template"]["spec"]["containers"][0]["resources"]
    assert resources["requests"] == {"cpu": "48", "memory": "512Gi", "nvidia.com/gpu": "4"}
    assert resources["limits"] == {"nvidia.com/gpu": "4"}


def test_sizes_can_be_chosen():
    job = job_manifest(spec(gpus=2, cpu="3", memory="5Gi", resource="amd.com/gpu"))
    resources = job["spec"]["template"]["spec"]["containers"][0]["resources"]
    assert resources["requests"] == {"cpu": "3", "memory": "5Gi", "amd.com/gpu": "2"}


def test_a_job_without_gpus_asks_for_none():
    resources = job_manifest(spec(gpus=0))["spec"]["template"]["spec"]["containers"][0]["resources"]
    assert resources == {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {}}


def test_a_job_without_a_queue_starts_by_itself():
    job = job_manifest(spec(queue=""))
    assert job["metadata"]["labels"] == {}
    assert "suspend" not in job["spec"]


def test_the_chosen_time_is_lower_and_upper_bound():
    annotations = pace(spec(seconds=7.5))
    prefix = "pod-complete.stage.kwok.x-k8s.io"
    assert annotations[f"{prefix}/delay"] == annotations[f"{prefix}/jitter-delay"] == "7500ms"
    assert len(annotations) == 6


def test_pods_share_one_template():
    job = job_manifest(spec(pods=3, tolerations=[{"key": "gpu", "operator": "Exists"}]))
    assert job["spec"]["parallelism"] == job["spec"]["completions"] == 3
    assert job["spec"]["template"]["spec"]["tolerations"] == [{"key": "gpu", "operator": "Exists"}]


def test_a_pytorchjob_has_one_master_and_the_rest_are_workers():
    replicas = job_manifest(spec(kind="pytorchjob", pods=4))["spec"]["pytorchReplicaSpecs"]
    assert {role: one["replicas"] for role, one in replicas.items()} == {"Master": 1, "Worker": 3}
    alone = job_manifest(spec(kind="pytorchjob"))["spec"]["pytorchReplicaSpecs"]
    assert list(alone) == ["Master"]


def test_a_jobset_holds_one_job():
    jobset = job_manifest(spec(kind="jobset", pods=2))
    inner = jobset["spec"]["replicatedJobs"][0]["template"]["spec"]
    assert jobset["spec"]["suspend"] is True
    assert inner["parallelism"] == 2
    assert "suspend" not in inner


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        ("job", "/apis/batch/v1/namespaces/vision/jobs"),
        ("pytorchjob", "/apis/kubeflow.org/v1/namespaces/vision/pytorchjobs"),
        ("jobset", "/apis/jobset.x-k8s.io/v1alpha2/namespaces/vision/jobsets"),
    ],
)
def test_where_a_job_is_posted(kind, path):
    assert collection(job_manifest(spec(kind=kind))) == path


@pytest.mark.parametrize("wrong", [{"pods": 0}, {"gpus": -1}, {"seconds": -1}, {"kind": "cron"}])
def test_impossible_jobs_are_refused(wrong):
    with pytest.raises(ValueError, match=r"pod|kind"):
        spec(**wrong)


def test_pairs():
    assert parse_pairs(["a=b", "x.io/y="]) == {"a": "b", "x.io/y": ""}
    with pytest.raises(ValueError, match="key=value"):
        parse_pairs(["novalue"])
