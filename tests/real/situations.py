"""Ways in which a job can stand in a real Kueue, and what its page has to say about each.

Every situation has queues and jobs of its own, so that none changes another. ``Scene`` makes
the objects as an administrator would; the sentences are what the page must hold.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from cluster import Cluster
from cluster.api import ApiError
from cluster.jobs import JobSpec, job_manifest
from cluster.nodes import GPU, RACK_LABEL, NodeSpec
from tests.stack import wait_for

KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
API_VERSION = "kueue.x-k8s.io/v1beta2"
FPGA = "example.com/fpga"
CHECKED = "example.com/test-controller"
REQUIRED = "kueue.x-k8s.io/podset-required-topology"
EVERYWHERE = {"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "Exists"}]}
LARGE = {"cpu": "1k", "memory": "4Ti"}


@dataclass
class Scene:
    """One namespace of one control plane, with the names of one test."""

    plane: Cluster
    name: str
    clean: list[str] = field(default_factory=list)

    # -- objects ---------------------------------------------------------------------------

    def make(
        self, kind: str, name: str, spec: dict[str, Any], namespace: str = "", **meta: Any
    ) -> str:
        """Create an object of Kueue; return its name."""
        body = {
            "apiVersion": API_VERSION,
            "kind": kind,
            "metadata": {"name": name} | ({"namespace": namespace} if namespace else {}) | meta,
            "spec": spec,
        }
        self.plane.api.apply(body)
        return name

    def flavor(self, name: str, **spec: Any) -> str:
        labels = {"nodeLabels": {"gpuportal.io/flavor": self.name}}
        return self.make("ResourceFlavor", f"{self.name}-{name}", labels | spec)

    def queue(self, what: str, gpus: int = 2, flavor: str = "", **spec: Any) -> str:
        """Make a ClusterQueue with an entry of the same short name; return the entry's name."""
        quotas = [{"name": name, "nominalQuota": amount} for name, amount in LARGE.items()]
        quotas.append({"name": GPU, "nominalQuota": str(gpus)} | spec.pop("limits", {}))
        group = {
            "coveredResources": [each["name"] for each in quotas],
            "flavors": [{"name": flavor or f"{self.name}-plain", "resources": quotas}],
        }
        body = {"resourceGroups": [group], "namespaceSelector": EVERYWHERE} | spec
        self.make("ClusterQueue", f"{self.name}-{what}", body)
        return self.entry(what, f"{self.name}-{what}")

    def entry(self, name: str, queue: str, **spec: Any) -> str:
        return self.make("LocalQueue", name, {"clusterQueue": queue} | spec, self.name)

    def job(
        self, name: str, entry: str, gpus: int = 2, *, topology: str = "",
        change: Callable[[dict[str, Any]], None] | None = None, **more: Any,
    ) -> str:  # fmt: skip
        """Create a job; return its name."""
        spec = JobSpec(
            **({"name": name, "namespace": self.name, "queue": entry, "gpus": gpus,
                "seconds": 900, "cpu_per_gpu": 1, "memory_gib_per_gpu": 1} | more)
        )  # fmt: skip
        body = job_manifest(spec)
        if topology:
            body["spec"]["template"]["metadata"]["annotations"][REQUIRED] = topology
        if change:
            change(body)
        path = f"/apis/batch/v1/namespaces/{spec.namespace}/jobs"
        self.plane.api.request("POST", path, body)
        return name

    # -- looking and acting ----------------------------------------------------------------

    def workload(self, job: str) -> dict[str, Any]:
        """Return the Workload of a job, once there is one."""
        path = f"{KUEUE}/namespaces/{self.name}/workloads"

        def find() -> Any:
            items = self.plane.api.get(path)["items"]
            return next((w for w in items if _belongs(w, job)), None)

        found: dict[str, Any] = wait_for(find)
        return found

    def admitted(self, job: str) -> None:
        wait_for(lambda: _true(self.workload(job), "Admitted"))

    def reserved(self, job: str) -> None:
        wait_for(lambda: _true(self.workload(job), "QuotaReserved"))

    def patch(self, path: str, body: object) -> None:
        self.plane.api.patch(path, body)

    def path(self, workload: dict[str, Any]) -> str:
        return f"{KUEUE}/namespaces/{self.name}/workloads/{workload['metadata']['name']}"

    def stop(self, queue: str, policy: str) -> None:
        self.patch(f"{KUEUE}/clusterqueues/{self.name}-{queue}", {"spec": {"stopPolicy": policy}})

    def check(self, name: str) -> str:
        """Make an AdmissionCheck that says it is active, as its controller would."""
        full = self.make("AdmissionCheck", f"{self.name}-{name}", {"controllerName": CHECKED})
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        condition = {"type": "Active", "status": "True", "reason": "Active", "message": "ready"}
        status = {"conditions": [condition | {"lastTransitionTime": now}]}
        self.patch(f"{KUEUE}/admissionchecks/{full}/status", {"status": status})
        return full

    def answer(self, job: str, check: str, state: str, message: str, **more: Any) -> None:
        """Answer an admission check of a job, as its controller would."""
        self.reserved(job)

        def answered() -> bool:
            found = self.workload(job)
            now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            said = {"name": check, "state": state, "message": message} | more
            said["lastTransitionTime"] = now
            status = found["status"] | {"admissionChecks": [said]}
            body = found | {"status": status}
            try:
                self.plane.api.request("PUT", f"{self.path(found)}/status", body)
            except ApiError as error:
                if error.status != 409:
                    raise
                return False
            return True

        wait_for(answered)


def _belongs(workload: dict[str, Any], job: str) -> bool:
    owners = workload["metadata"].get("ownerReferences", [])
    return workload["metadata"]["name"] == job or any(o["name"] == job for o in owners)


def _true(workload: dict[str, Any], condition: str) -> bool:
    conditions = workload.get("status", {}).get("conditions", [])
    return any(c["type"] == condition and c["status"] == "True" for c in conditions)


# --- the situations: each makes one and returns the name of the job to look at ----------------


def quota(scene: Scene) -> str:
    entry = scene.queue("busy")
    scene.admitted(scene.job("busy-first", entry))
    return scene.job("busy-second", entry)


def too_large(scene: Scene) -> str:
    return scene.job("too-large", scene.queue("small"), gpus=4)


def uncovered(scene: Scene) -> str:
    return scene.job("uncovered", scene.queue("uncovered"), gpus=1, resource=FPGA)


def wrong_selector(scene: Scene) -> str:
    wrong = {"gpuportal.io/flavor": "another"}
    return scene.job("wrong-selector", scene.queue("selector"), node_selector=wrong)


def taint(scene: Scene) -> str:
    taints = [{"key": "dedicated", "value": "vision", "effect": "NoSchedule"}]
    flavor = scene.flavor("tainted", nodeTaints=taints)
    return scene.job("untolerated", scene.queue("tainted", flavor=flavor))


def no_entry(scene: Scene) -> str:
    return scene.job("no-entry", "nowhere")


def no_queue(scene: Scene) -> str:
    return scene.job("no-queue", scene.entry("lost", f"{scene.name}-nothing"))


def entry_held(scene: Scene) -> str:
    scene.queue("open")
    return scene.job("entry-held", scene.entry("held", f"{scene.name}-open", stopPolicy="Hold"))


def queue_held(scene: Scene) -> str:
    return scene.job("queue-held", scene.queue("halt", stopPolicy="Hold"))


def queue_drained(scene: Scene) -> str:
    job = scene.job("drained", scene.queue("drain"))
    scene.admitted(job)
    scene.stop("drain", "HoldAndDrain")
    return job


def namespace_refused(scene: Scene) -> str:
    entry = scene.queue("closed", namespaceSelector={"matchLabels": {"team": "another"}})
    return scene.job("refused-namespace", entry)


def limit_range(scene: Scene) -> str:
    limits = {"limits": [{"type": "Container", "max": {"cpu": "40"}}]}
    scene.plane.api.apply(
        {"apiVersion": "v1", "kind": "LimitRange", "spec": limits,
         "metadata": {"name": "upper", "namespace": scene.name}}
    )  # fmt: skip

    def limit(body: dict[str, Any]) -> None:
        # Without a limit of its own the range would give it one, below what it asks for.
        container = body["spec"]["template"]["spec"]["containers"][0]
        container["resources"]["limits"]["cpu"] = "41"

    return scene.job("above-range", scene.queue("range"), cpu="41", change=limit)


def check_pending(scene: Scene) -> str:
    entry = scene.queue("checked", admissionChecksStrategy=_checks(scene.check("slow")))
    return scene.job("check-pending", entry)


def check_retry(scene: Scene) -> str:
    check = scene.check("retry")
    job = scene.job("check-retry", scene.queue("retried", admissionChecksStrategy=_checks(check)))
    scene.answer(job, check, "Retry", "no machines at the moment", requeueAfterSeconds=900)
    return job


def check_rejected(scene: Scene) -> str:
    check = scene.check("strict")
    job = scene.job("check-no", scene.queue("refusing", admissionChecksStrategy=_checks(check)))
    scene.answer(job, check, "Rejected", "too expensive")
    return job


def _checks(name: str) -> dict[str, Any]:
    return {"admissionChecks": [{"name": name}]}


def topology(scene: Scene) -> str:
    """One pod larger than any machine: no place takes even one."""
    return scene.job("no-place", _near(scene, "wide"), gpus=12, topology=RACK_LABEL)


def topology_partly(scene: Scene) -> str:
    return scene.job("some-place", _near(scene, "near"), gpus=8, pods=3, topology=RACK_LABEL)


def _near(scene: Scene, what: str) -> str:
    levels = [{"nodeLabel": RACK_LABEL}, {"nodeLabel": "kubernetes.io/hostname"}]
    scene.make("Topology", f"{scene.name}-racks", {"levels": levels})
    labels = {"gpuportal.io/flavor": f"{scene.name}-near"}
    flavor = scene.flavor("near", topologyName=f"{scene.name}-racks", nodeLabels=labels)
    return scene.queue(what, gpus=64, flavor=flavor)


def making_room(scene: Scene) -> str:
    """A Workload without a job never leaves its place, so the one that takes it keeps waiting."""
    entry = scene.queue("crowded", preemption={"withinClusterQueue": "LowerPriority"})
    container = {
        "name": "main", "image": "none",
        "resources": {"requests": {"cpu": "1", "memory": "1Gi", GPU: "2"}},
    }  # fmt: skip
    pods = {"restartPolicy": "Never", "containers": [container]}
    spec = {
        "queueName": entry, "priority": 1,
        "podSets": [{"name": "main", "count": 1, "template": {"spec": pods}}],
    }  # fmt: skip
    scene.make("Workload", "stays", spec, scene.name)
    scene.reserved("stays")
    return scene.job("makes-room", entry, priority=priority_class(scene, "high", 1000))


def preempted(scene: Scene) -> str:
    entry = scene.queue("ranked", preemption={"withinClusterQueue": "LowerPriority"})
    low = scene.job("outranked", entry, priority=priority_class(scene, "low", 10))
    scene.admitted(low)
    scene.admitted(scene.job("outranks", entry, priority=priority_class(scene, "high", 1000)))
    return low


def reclaimed(scene: Scene) -> str:
    cohort = scene.make("Cohort", f"{scene.name}-dept", {})
    mine = scene.queue("lender", cohortName=cohort, preemption={"reclaimWithinCohort": "Any"})
    theirs = scene.queue("borrower", gpus=0, cohortName=cohort)
    job = scene.job("reclaimed", theirs)
    scene.admitted(job)
    scene.admitted(scene.job("takes-back", mine))
    return job


def priority_class(scene: Scene, what: str, value: int) -> str:
    name = f"{scene.name}-{what}"
    body = {"apiVersion": API_VERSION, "kind": "WorkloadPriorityClass", "value": value}
    scene.plane.api.apply(body | {"metadata": {"name": name}, "description": "for a test"})
    return name


def switched_off(scene: Scene) -> str:
    job = scene.job("switched-off", scene.queue("quiet"))
    scene.admitted(job)
    scene.patch(scene.path(scene.workload(job)), {"spec": {"active": False}})
    return job


def no_machine(scene: Scene) -> str:
    flavor = scene.flavor("ghost", nodeLabels={"gpuportal.io/flavor": f"{scene.name}-ghost"})
    return scene.job("no-machine", scene.queue("ghost", flavor=flavor))


def behind(scene: Scene) -> str:
    entry = scene.queue("strict", gpus=4, queueingStrategy="StrictFIFO")
    scene.admitted(scene.job("strict-runs", entry, gpus=3))
    scene.job("strict-head", entry, gpus=4)
    time.sleep(1.1)  # the order of the queue is told in whole seconds
    return scene.job("strict-behind", entry, gpus=1)


def borrows_at_most(scene: Scene) -> str:
    cohort = scene.make("Cohort", f"{scene.name}-limited", {})
    scene.queue("rich", gpus=8, cohortName=cohort)
    entry = scene.queue("poor", gpus=2, cohortName=cohort, limits={"borrowingLimit": "1"})
    return scene.job("borrows-more", entry, gpus=4)


def finished(scene: Scene) -> str:
    return scene.job("is-done", scene.queue("done"), seconds=0.5)


def running(scene: Scene) -> str:
    return scene.job("runs", scene.queue("calm"))


def no_label(scene: Scene) -> str:
    def suspend(body: dict[str, Any]) -> None:
        body["spec"]["suspend"] = True

    return scene.job("no-label", "", change=suspend)


def no_priority(scene: Scene) -> str:
    return scene.job("no-priority", scene.queue("ordered"), priority=f"{scene.name}-none")


Situation = Callable[[Scene], str]

#: What the page of the job says, in the words that a person reads; {name} is the test's own name.
SITUATIONS: dict[Situation, tuple[str, ...]] = {
    quota: ("2 of 2 in its queue are held", "2 more must become free"),
    too_large: ("can never have more than 2",),
    uncovered: (f"Asks for {FPGA}, of which its queue has no quota",),
    wrong_selector: (
        "node selector does not fit the flavor {name}-plain",
        "machines of the flavor {name}-plain have:gpuportal.io/flavor: {name}",
    ),
    taint: ("carry the taint dedicated=vision:NoSchedule", "does not tolerate", "- key: dedicated"),
    no_entry: ("The entry “nowhere” does not exist in its namespace",),
    no_queue: ("leads to the queue {name}-nothing, which does not exist",),
    entry_held: ("Its entry held is closed",),
    queue_held: ("The queue {name}-halt is closed",),
    queue_drained: ("its queue was closed and emptied",),
    namespace_refused: ("does not take jobs from this namespace",),
    limit_range: (
        "Asks for more cpu than a pod in this namespace may",
        "At most 40 CPU in one container, says the LimitRange upper",
    ),
    check_pending: (
        "waits for the admission check {name}-slow",
        "The check is decided by the controller",
    ),
    check_retry: ("check {name}-retry asks for another try", "no machines at the moment"),
    check_rejected: ("admission check {name}-strict refused it",),
    topology: (
        "None of 4 machines has room for its pod: 4 have too little nvidia.com/gpu free for it",
        "and the largest machine has",
    ),
    topology_partly: (
        "There is quota, but only 2 of 3 pods find a place near enough",
        "Nearness can be asked for at",
    ),
    making_room: ("One job is being stopped to make room",),
    preempted: ("Was stopped for a job of higher priority in its queue",),
    reclaimed: (
        "has no quota of its own",
        "because another queue took back what it had lent",
    ),
    switched_off: ("Was switched off", "kubectl patch workload"),
    no_machine: (
        "Has its quota, but",
        "matches the node selector of its pods",
        "No machine of the cluster carries the labels of the flavor {name}-ghost",
    ),
    behind: ("One job is before it, and its queue takes them strictly in order",),
    borrows_at_most: ("with all that it may borrow, its queue can never have more than 3",),
    finished: ("Done.",),
    running: ("Runs",),
    no_label: ("Names no queue",),
    no_priority: ("Names the priority {name}-none, which does not exist",),
}


@contextmanager
def stage(plane: Cluster, name: str) -> Iterator[Scene]:
    """Give a scene with a namespace, machines and the plain flavor; what would stay is removed."""
    made = Scene(plane, name)
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    plane.api.request("POST", "/api/v1/namespaces", namespace)
    nodes = _machines(made)
    plane.apply_nodes(nodes)
    made.flavor("plain")
    yield made
    for path in (
        f"{KUEUE}/namespaces/{name}/workloads/stays",
        *(f"/api/v1/nodes/{node.name}" for node in nodes),
    ):
        with suppress(ApiError):  # not every scene has made it
            plane.api.request("DELETE", path)


def _machines(scene: Scene) -> list[NodeSpec]:
    """Return the machines of the plain flavor, and two racks of two for nearness."""
    plain = [
        NodeSpec(name=f"{scene.name}-{n}", gpus=16, labels={"gpuportal.io/flavor": scene.name})
        for n in range(4)
    ]
    near = [
        NodeSpec(
            name=f"{scene.name}-near-{n}", rack=f"{scene.name}-rack-{n // 2}",
            labels={"gpuportal.io/flavor": f"{scene.name}-near"},
        )
        for n in range(4)
    ]  # fmt: skip
    return plain + near
