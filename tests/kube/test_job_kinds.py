"""Kinds of job: which a cluster serves, and how many devices one asks for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube import job_kinds, rbac
from kube.rbac import Identity
from queues.services import following


def pods(number):
    container = {"resources": {"limits": {"nvidia.com/gpu": str(number)}}}
    return {"spec": {"containers": [container]}}


RAY = {"headGroupSpec": {"template": pods(1)}, "workerGroupSpecs": [
    {"replicas": 3, "template": pods(4)}, {"replicas": 2, "numOfHosts": 2, "template": pods(1)},
]}  # fmt: skip
GROUP = {"size": 4, "workerTemplate": pods(8)}


@pytest.mark.parametrize(
    ("spec", "devices"),
    [
        ({"parallelism": 3, "template": pods(8)}, 24),
        ({"template": pods(8)}, 8),
        ({"parallelism": 0, "template": pods(8)}, 0),
        ({"replicatedJobs": [
            {"replicas": 2, "template": {"spec": {"parallelism": 3, "template": pods(4)}}},
            {"template": {"spec": {"template": pods(1)}}},
        ]}, 25),
        ({"pytorchReplicaSpecs": {"Master": {"template": pods(8)},
                                  "Worker": {"replicas": 3, "template": pods(8)}}}, 32),
        ({"mpiReplicaSpecs": {"Launcher": {"replicas": 1, "template": pods(0)},
                              "Worker": {"replicas": 4, "template": pods(8)}}}, 32),
        (RAY, 17),
        ({"rayClusterSpec": RAY}, 17),
        ({"rayClusterConfig": RAY}, 17),
        ({"replicas": 2, "leaderWorkerTemplate": GROUP}, 64),
        ({"replicas": 2, "leaderWorkerTemplate": GROUP | {"leaderTemplate": pods(0)}}, 48),
        ({"trainer": {"numNodes": 4,
                      "resourcesPerNode": {"limits": {"nvidia.com/gpu": "8"}}}}, 32),
        ({"replicas": 5, "template": pods(1)}, 5),
    ],
    ids=["job", "one-pod", "none", "jobset", "pytorch", "mpi", "raycluster", "rayjob",
         "rayservice", "group", "group-with-leader", "trainjob", "deployment"],
)  # fmt: skip
def test_counts_the_devices_of_all_pods(spec, devices):
    assert job_kinds.devices_of(spec) == devices


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(["containers", "replicas", "template", "spec", "size", "x",
                         "leaderWorkerTemplate", "resourcesPerNode", "numNodes"]),
        inner, max_size=4,
    ),
    max_leaves=12,
)  # fmt: skip


@given(JSON)
def test_no_job_of_a_cluster_stops_the_counting(spec):
    assert job_kinds.devices_of(spec) >= 0
    assert job_kinds.is_followed({"spec": spec, "status": spec}) in (True, False)


class Cluster:
    def __init__(self, **served):
        self.served = served

    def groups(self):
        return {group: list(versions) for group, versions in self.served.items()}

    def discovery(self, group, version):
        return [{"name": plural} for plural in self.served.get(group, {}).get(version, ())]


def test_takes_the_newest_version_that_is_served():
    client = Cluster(
        **{
            "batch": {"v1": ["jobs", "cronjobs"]},
            "kubeflow.org": {"v1": ["mpijobs", "pytorchjobs"], "v2beta1": ["mpijobs"]},
            "ray.io": {"v1alpha1": ["rayjobs"]},
            "jobset.x-k8s.io": {"v1alpha2": ["somethingelse"]},
        }
    )
    found = {kind.name: kind.version for kind in job_kinds.served(client)}
    assert found == {"Job": "v1", "PyTorchJob": "v1", "MPIJob": "v2beta1", "RayJob": "v1alpha1"}


def test_the_reader_may_follow_every_kind_and_nothing_is_followed_that_it_may_not():
    granted = {
        (verb, resource, rule.group)
        for rule in rbac.rules(Identity.READER)
        for verb in rule.verbs
        for resource in rule.resources
    }
    sources = [*following.QUEUES, *following.WORKLOADS, following.PODS, following.EVENTS]
    sources += [following.job_source(kind) for kind in job_kinds.JOB_KINDS]
    needed = {
        (verb, source.kind.plural, source.kind.group)
        for source in sources
        for verb in ("list", "watch")
    }
    assert needed <= granted
    groups = {kind.group for kind in job_kinds.JOB_KINDS} - {"apps", "batch"}
    jobs = {(plural, group) for _, plural, group in granted if group in groups}
    assert jobs == {
        (kind.plural, kind.group) for kind in job_kinds.JOB_KINDS if kind.group in groups
    }


JOB = {"metadata": {"name": "train"}, "spec": {"template": pods(8)}}


@pytest.mark.parametrize(
    ("changes", "followed"),
    [
        ({}, True),
        ({"spec": {}}, False),
        ({"spec": {}, "metadata": {"labels": {"kueue.x-k8s.io/queue-name": "gpu"}}}, True),
        ({"status": {"conditions": [{"type": "Complete", "status": "True"}]}}, False),
        ({"status": {"terminalState": "Succeeded"}}, False),
    ],
    ids=["asks for devices", "asks for none", "names a queue", "has ended", "has ended for ever"],
)
def test_follows_what_has_not_ended_and_wants_something(changes, followed):
    assert job_kinds.is_followed(JOB | changes) is followed


def test_tells_who_controls_an_object():
    owners = [
        {"kind": "Workflow", "name": "night", "uid": "1"},
        {"kind": "JobSet", "name": "train", "uid": "2", "controller": True},
    ]
    assert job_kinds.controller({"metadata": {"ownerReferences": owners}}) == (
        "JobSet", "train", "2",
    )  # fmt: skip
    assert job_kinds.controller({"metadata": {"ownerReferences": owners[:1]}}) is None
    assert job_kinds.controller({}) is None
