"""What the pods of an admitted workload wait for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from kube.pending_texts import Reason, Stage

Object = Mapping[str, Any]

_GATES: Final = "kueue.x-k8s.io/"
_PULL: Final = ("ImagePullBackOff", "ErrImagePull", "InvalidImageName", "ErrImageNeverPull")


def pods_reason(pods: Sequence[Object]) -> tuple[Reason | None, str]:
    """Return why pods do not run, with the cluster's text; ``None`` when all run or are done."""
    if not pods:
        return Reason(Stage.PODS, "no_pods_yet"), ""
    waiting = [pod for pod in pods if _phase(pod) == "Pending"]
    if not waiting:
        return None, ""
    found = [_why(pod) for pod in waiting]
    code, text = max(found, key=lambda each: _ORDER.index(each[0]))
    params = {"waiting": str(len(waiting)), "pods": str(len(pods))}
    return Reason(Stage.PODS, code, params), text


_ORDER: Final = ("container_starting", "pod_gated", "container_waiting", "image", "unschedulable")


def _phase(pod: Object) -> str:
    return str((pod.get("status") or {}).get("phase", "Pending"))


def _why(pod: Object) -> tuple[str, str]:
    gates = (pod.get("spec") or {}).get("schedulingGates") or ()
    if any(str(gate.get("name", "")).startswith(_GATES) for gate in gates):
        return "pod_gated", ""
    status = pod.get("status") or {}
    for condition in status.get("conditions") or ():
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            return "unschedulable", str(condition.get("message", ""))
    for container in status.get("containerStatuses") or ():
        waiting = (container.get("state") or {}).get("waiting") or {}
        reason = str(waiting.get("reason", ""))
        if reason in _PULL:
            return "image", str(waiting.get("message", ""))
        if reason and reason != "ContainerCreating":
            return "container_waiting", f"{reason}: {waiting.get('message', '')}".rstrip(": ")
    return "container_starting", ""
