"""A job of any kind as the rules read it: what it says about its queue, its priority, its end."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from kube.lenient import Object, items, mapping, moment, text

QUEUE_LABEL: Final = "kueue.x-k8s.io/queue-name"
PRIORITY_LABEL: Final = "kueue.x-k8s.io/priority-class"
PREBUILT_LABEL: Final = "kueue.x-k8s.io/prebuilt-workload-name"
GROUP_LABEL: Final = "kueue.x-k8s.io/pod-group-name"
_GATE: Final = "kueue.x-k8s.io/admission"

#: The integrations of Kueue whose jobs own other jobs or pods.
MANAGED: Final = frozenset(
    {
        "batch/job", "jobset.x-k8s.io/jobset", "trainer.kubeflow.org/trainjob", "pod",
        "deployment", "statefulset", "leaderworkerset.x-k8s.io/leaderworkerset",
        "ray.io/rayjob", "ray.io/raycluster", "ray.io/rayservice",
        "workload.codeflare.dev/appwrapper", "sparkoperator.k8s.io/sparkapplication",
        "kubeflow.org/mpijob", "kubeflow.org/pytorchjob", "kubeflow.org/tfjob",
        "kubeflow.org/xgboostjob", "kubeflow.org/paddlejob", "kubeflow.org/jaxjob",
    }
)  # fmt: skip
_SHORT: Final = frozenset({"pod", "deployment", "statefulset"})
_ENDS: Final = {
    "Complete": "succeeded", "Completed": "succeeded", "Succeeded": "succeeded",
    "Failed": "failed",
}  # fmt: skip
_WORDS: Final = {"SUCCEEDED": "succeeded", "FAILED": "failed", "STOPPED": "ended"}
_PHASES: Final = {"Succeeded": "succeeded", "Failed": "failed"}


def framework(api_version: str, kind: str) -> str:
    """Return the name of Kueue's integration for a kind of job, such as ``batch/job``."""
    group = api_version.rpartition("/")[0]
    name = kind.lower()
    return name if name in _SHORT else f"{group}/{name}"


@dataclass(frozen=True)
class JobFacts:
    """What a job says about itself."""

    body: Object

    @property
    def namespace(self) -> str:
        """Return its namespace."""
        return text(self.body, "metadata", "namespace")

    @property
    def kind(self) -> str:
        """Return its kind."""
        return text(self.body, "kind")

    @property
    def framework(self) -> str:
        """Return the name of the integration that would look at it."""
        return framework(text(self.body, "apiVersion"), self.kind)

    @property
    def created(self) -> datetime | None:
        """Return when it came."""
        return moment(text(self.body, "metadata", "creationTimestamp"))

    @property
    def deleted(self) -> datetime | None:
        """Return since when it is being deleted."""
        return moment(text(self.body, "metadata", "deletionTimestamp"))

    def label(self, name: str) -> str:
        """Return one of its labels."""
        return text(self.body, "metadata", "labels", name)

    @property
    def prebuilt(self) -> str:
        """Return the Workload, made beforehand, that it wants to use."""
        annotation = text(self.body, "metadata", "annotations", PREBUILT_LABEL)
        return self.label(PREBUILT_LABEL) or annotation

    @property
    def suspended(self) -> bool:
        """Return whether it is told not to run; a pod is held by a gate."""
        spec = mapping(self.body, "spec")
        gates = [text(each, "name") for each in items(spec, "schedulingGates")]
        return (
            spec.get("suspend") is True
            or mapping(spec, "runPolicy").get("suspend") is True
            or _GATE in gates
        )

    @property
    def managed_by(self) -> str:
        """Return the job that owns it and is looked at in its stead, as kind and name."""
        for owner in items(self.body, "metadata", "ownerReferences"):
            kind = text(owner, "kind")
            is_job = framework(text(owner, "apiVersion"), kind) in MANAGED
            if owner.get("controller") is True and is_job:
                return f"{kind} {text(owner, 'name')}"
        return ""

    @property
    def ended(self) -> str:
        """Return how it ended as a code, nothing while it has not."""
        status = mapping(self.body, "status")
        for each in items(status, "conditions"):
            code = _ENDS.get(text(each, "type"), "")
            if code and text(each, "status") == "True":
                return code
        if self.kind == "Pod":
            return _PHASES.get(text(status, "phase"), "")
        words = _WORDS.get(text(status, "jobStatus"), "")
        return words or ("ended" if text(status, "completionTime") else "")
