"""The control plane itself: started, disturbed, killed and started again."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from cluster import (
    Cluster,
    JobSpec,
    NodeSpec,
    kueue,
    make_nodes,
    two_teams_nodes,
)
from cluster.api import ApiError
from cluster.processes import ORDER
from tests.cluster.watching import connected, processes_of, until

# One worker runs them all: they share an instance, and a second one would double the load.
pytestmark = [pytest.mark.real, pytest.mark.fault, pytest.mark.xdist_group("own-cluster")]


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    # Long on purpose: the path of a socket may only have 107 bytes.
    return tmp_path_factory.mktemp("instance") / ("a-long-folder-name-" * 5) / "data"


@pytest.fixture(scope="session")
def running(data):
    with Cluster.start("own", data, two_teams_nodes(), parent_pid=os.getpid()) as cluster:
        yield cluster


QUEUES = [
    {"kind": "ResourceFlavor", "metadata": {"name": "a100"}, "spec": {}},
    {
        "kind": "ClusterQueue",
        "metadata": {"name": "team"},
        "spec": {
            "namespaceSelector": {},
            "resourceGroups": [
                {
                    "coveredResources": ["cpu", "memory", "nvidia.com/gpu"],
                    "flavors": [
                        {
                            "name": "a100",
                            "resources": [
                                {"name": "cpu", "nominalQuota": "1k"},
                                {"name": "memory", "nominalQuota": "64Ti"},
                                {"name": "nvidia.com/gpu", "nominalQuota": "16"},
                            ],
                        }
                    ],
                }
            ],
        },
    },
    {
        "kind": "LocalQueue",
        "metadata": {"name": "gpu", "namespace": "default"},
        "spec": {"clusterQueue": "team"},
    },
]


@pytest.fixture
def queues(running):
    for manifest in QUEUES:
        running.api.apply({"apiVersion": "kueue.x-k8s.io/v1beta2"} | manifest)


def job_of(cluster, name):
    return cluster.api.get(f"/apis/batch/v1/namespaces/default/jobs/{name}")


def finished(cluster, name, seconds=40):
    """Wait for the end of a job; where it does not come, say what the cluster thinks of it."""
    try:
        return until(lambda: job_of(cluster, name)["status"].get("completionTime"), seconds)
    except AssertionError:
        kinds = "workloads,pods,jobs,nodes"
        state = cluster.kubectl("get", kinds, "-o", "wide")
        told = cluster.kubectl("get", "events", "--sort-by=.lastTimestamp")
        raise AssertionError(f"{name} has not ended\n{state}\n{told}") from None


def test_everything_runs_and_says_so(running):
    status = running.status()
    assert status["ready"]
    assert {name for name, one in status["processes"].items() if one["state"] == "running"} == set(
        ORDER
    )
    assert all(port < 32768 for port in status["ports"].values())
    assert running.api.get("/version")["gitVersion"] == status["versions"]["kubernetes"]


def test_the_data_is_for_its_owner_alone(running):
    assert running.data.stat().st_mode & 0o077 == 0
    for path in (running.pki / "ca.key", running.kubeconfig_path, running.data / "control.sock"):
        assert path.stat().st_mode & 0o077 == 0


def test_nothing_listens_beyond_loopback(running):
    inodes = set()
    for pid in processes_of(running.data):
        for handle in Path(f"/proc/{pid}/fd").iterdir():
            target = os.readlink(handle)
            if target.startswith("socket:["):
                inodes.add(target[8:-1])
    listening = []
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and fields[9] in inodes:
                listening.append(fields[1])
    assert listening
    assert {address.split(":")[0] for address in listening} == {"0100007F"}


def test_the_tokens_of_service_accounts_work(running):
    token = running.kubectl("create", "token", "default").strip()
    for bearer, name in (
        (token, "system:serviceaccount:default:default"),
        (running.admin_token, "cluster-admin"),
    ):
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        with connected(running.ports["kube-apiserver"], running.ca_pem) as connection:
            connection.request(
                "POST",
                "/apis/authentication.k8s.io/v1/selfsubjectreviews",
                json.dumps(body),
                {"Authorization": f"Bearer {bearer}", "Content-Type": "application/json"},
            )
            answer = json.loads(connection.getresponse().read())
        assert answer["status"]["userInfo"]["username"] == name


def test_a_copy_of_the_kubeconfig_is_private_and_works(running, tmp_path):
    path = running.kubeconfig(tmp_path / "config")
    assert path.stat().st_mode & 0o077 == 0
    done = subprocess.run(
        [running.kubectl_path, f"--kubeconfig={path}", "get", "namespace", "kueue-system"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Active" in done.stdout


def test_job_kinds_are_served(running):
    found = running.kubectl("api-resources", "-o", "name").split()
    assert {"pytorchjobs.kubeflow.org", "jobsets.jobset.x-k8s.io"} <= set(found)


def test_nodes_are_changed_and_the_same_again_changes_nothing(running):
    path = "/api/v1/nodes/odd-1"
    taint = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}
    running.apply_nodes([NodeSpec("odd-1", gpus=4, rack="rack-9", taints=[taint])])
    node = running.api.get(path)
    assert node["status"]["allocatable"]["nvidia.com/gpu"] == "4"
    assert node["spec"]["taints"] == [taint]
    running.apply_nodes([NodeSpec("odd-1", gpus=2, labels={"pool": "x"})])
    running.apply_nodes([NodeSpec("odd-1", gpus=2, labels={"pool": "x"})])
    node = running.api.get(path)
    assert node["status"]["capacity"]["nvidia.com/gpu"] == "2"
    assert node["metadata"]["labels"]["pool"] == "x"
    assert "topology.gpuportal.io/rack" not in node["metadata"]["labels"]
    assert "taints" not in node["spec"]
    version = node["metadata"]["resourceVersion"]
    running.apply_nodes([NodeSpec("odd-1", gpus=2, labels={"pool": "x"})])
    assert running.api.get(path)["metadata"]["resourceVersion"] == version
    running.api.request("DELETE", path)


def test_a_job_runs_as_long_as_it_was_told(running, queues):
    running.submit(JobSpec("short", "default", "gpu", gpus=8, pods=2, seconds=6))
    done = finished(running, "short")
    pods = running.api.get("/api/v1/namespaces/default/pods?labelSelector=job-name=short")["items"]
    assert {pod["spec"]["nodeName"] for pod in pods} <= {f"gpu-{n}" for n in range(1, 5)}
    begun = min(pod["status"]["startTime"] for pod in pods)
    seconds = _stamp(done) - _stamp(begun)
    assert 5 <= seconds <= 9


def _stamp(text):
    return time.mktime(time.strptime(text, "%Y-%m-%dT%H:%M:%SZ"))


def test_what_does_not_fit_waits_and_is_visible(running, queues):
    running.submit(JobSpec("big", "default", "gpu", gpus=8, pods=2, seconds=60))
    running.submit(JobSpec("late", "default", "gpu", gpus=8, seconds=1))
    path = "/apis/visibility.kueue.x-k8s.io/v1beta2/clusterqueues/team/pendingworkloads"

    def waiting():
        items = running.api.get(path)["items"]
        return [w["metadata"]["name"] for w in items if "late" in w["metadata"]["name"]]

    until(waiting, 10)
    running.kubectl("delete", "job", "big")
    finished(running, "late")


def test_a_stopped_process_stays_stopped_and_is_missed(running):
    running.stop_process("kueue")
    time.sleep(2)
    assert running.processes["kueue"].state == "stopped"
    body = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ClusterQueue",
        "metadata": {"name": "x"},
        "spec": {},
    }
    with pytest.raises(ApiError, match="failed calling webhook"):
        running.api.request("POST", "/apis/kueue.x-k8s.io/v1beta2/clusterqueues?dryRun=All", body)
    running.start_process("kueue")
    running.api.request("POST", "/apis/kueue.x-k8s.io/v1beta2/clusterqueues?dryRun=All", body)


def test_a_crashed_process_comes_back(running):
    before = running.processes["kube-scheduler"]
    running.signal("kube-scheduler", signal.SIGKILL)
    after = until(
        lambda: (now := running.processes["kube-scheduler"]).pid not in (None, before.pid) and now
    )
    assert after.restarts == before.restarts + 1
    assert after.last_exit == -signal.SIGKILL


def test_a_frozen_api_server_answers_nothing_and_goes_on(running):
    running.freeze("kube-apiserver")
    try:
        with (
            connected(running.ports["kube-apiserver"], running.ca_pem, 1) as connection,
            pytest.raises(OSError, match="timed out"),
        ):
            connection.request("GET", "/readyz")
    finally:
        running.thaw("kube-apiserver")
    until(lambda: running.api.raw("GET", "/readyz")[0] == 200)


def test_unknown_processes_are_refused(running):
    with pytest.raises(RuntimeError, match="not one of"):
        running.stop_process("kubelet")


def test_a_second_up_on_a_running_instance_changes_nothing(running, data):
    before = running.status()
    again = Cluster.start("own", data, two_teams_nodes())
    assert again.status()["supervisor"] == before["supervisor"]
    assert again.ports == running.ports


def test_two_instances_run_side_by_side(running, tmp_path):
    with Cluster.start("other", tmp_path / "other", parent_pid=os.getpid()) as other:
        assert not set(other.ports.values()) & set(running.ports.values())
        other.apply_nodes(make_nodes(1, prefix="alone"))
        names = [n["metadata"]["name"] for n in running.api.get("/api/v1/nodes")["items"]]
        assert "alone-1" not in names
        # Its certificates are its own: the other's administrator is nobody here.
        with (
            connected(other.ports["kube-apiserver"], running.ca_pem) as connection,
            pytest.raises(OSError, match="certificate verify failed"),
        ):
            connection.request("GET", "/version")
    assert not processes_of(tmp_path / "other")


def version_of_mark(cluster):
    return cluster.api.get(kueue.APPLIED)["metadata"]["resourceVersion"]


def test_killed_with_all_its_children_and_up_again_with_its_data(running, queues, data):
    mine = processes_of(data)
    assert len(mine) == len(ORDER)
    running.api.apply(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "kept", "namespace": "default"},
            "data": {"still": "here"},
        }
    )
    applied = version_of_mark(running)
    os.kill(running.supervisor_pid, signal.SIGKILL)
    until(lambda: not processes_of(data), 5)
    again = Cluster.start("own", data, two_teams_nodes(), parent_pid=os.getpid())
    kept = again.api.get("/api/v1/namespaces/default/configmaps/kept")
    assert kept["data"] == {"still": "here"}
    assert again.ports == running.ports
    # Nothing of Kueue's chart was written a second time.
    assert version_of_mark(again) == applied
    again.submit(JobSpec("after", "default", "gpu", gpus=1, seconds=1))
    finished(again, "after")
