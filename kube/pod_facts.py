"""What the pods of an admitted workload wait for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from kube.event_facts import Event
from kube.lenient import Object, items, mapping, text, whole
from kube.reason_codes import reason
from kube.reasons import Reason
from kube.scheduling_texts import why_unschedulable
from kube.workload_facts import NO_CONDITION, Condition, read_conditions

_KUEUE_GATE: Final = "kueue.x-k8s.io/"
_PULL: Final = frozenset(
    {"ImagePullBackOff", "ErrImagePull", "InvalidImageName", "ErrImageNeverPull",
     "RegistryUnavailable", "ImageInspectError", "SignatureValidationFailed"}
)  # fmt: skip
_CONFIG: Final = frozenset(
    {"CreateContainerConfigError", "CreateContainerError", "RunContainerError",
     "PreCreateHookError", "PostStartHookError"}
)  # fmt: skip
_STARTING: Final = frozenset({"", "ContainerCreating", "PodInitializing"})
_VOLUME_EVENTS: Final = frozenset({"FailedMount", "FailedAttachVolume", "FailedMapVolume"})

#: From mild to grave: the gravest is told first.
ORDER: Final = (
    "container_starting", "pods_not_ready", "pods_failed", "pod_gated", "pod_gated_elsewhere",
    "container_waiting", "container_config", "image", "pods_wait_for_volume",
    "pods_nodes_closed", "pods_lack_room", "pods_untolerated_taint", "pods_match_no_node",
    "unschedulable",
)  # fmt: skip
#: With these a pod is on its machine and goes on by itself: the job counts as running.
GOES_ON: Final = frozenset({"container_starting", "pods_not_ready", "pods_failed"})


@dataclass(frozen=True, slots=True)
class Pod:
    """One pod, as far as it is read. ``waiting`` and ``ended`` are (reason, message)."""

    name: str
    phase: str
    leaving: bool
    gates: tuple[str, ...]
    scheduled: Condition
    ready: Condition
    waiting: tuple[tuple[str, str], ...]
    ended: tuple[tuple[str, str], ...]

    @property
    def here(self) -> bool:
        """Return whether it is alive or about to be, and not leaving."""
        return self.phase in ("Pending", "Running") and not self.leaving


def read_pods(pods: Iterable[Object]) -> tuple[Pod, ...]:
    """Return pods in the order of their names, each once."""
    found = sorted((_pod(mapping(each)) for each in pods), key=lambda pod: pod.name)
    return tuple(
        pod for pod, before in zip(found, [None, *found], strict=False)
        if before is None or not pod.name or pod.name != before.name
    )  # fmt: skip


def _pod(found: Object) -> Pod:
    states = [
        each
        for key in ("initContainerStatuses", "containerStatuses")
        for each in items(found, "status", key)
    ]
    conditions = read_conditions(found)
    return Pod(
        name=text(found, "metadata", "name"),
        phase=text(found, "status", "phase") or "Pending",
        leaving=bool(text(found, "metadata", "deletionTimestamp")),
        gates=tuple(sorted(text(each, "name") for each in items(found, "spec", "schedulingGates"))),
        scheduled=conditions.get("PodScheduled", NO_CONDITION),
        ready=conditions.get("Ready", NO_CONDITION),
        waiting=tuple(_waiting(states)),
        ended=tuple(_ended(found, states)),
    )


def _waiting(states: Sequence[Object]) -> Iterator[tuple[str, str]]:
    for each in states:
        waiting = mapping(each, "state", "waiting")
        if waiting:
            yield text(waiting, "reason"), text(waiting, "message")


def _ended(pod: Object, states: Sequence[Object]) -> Iterator[tuple[str, str]]:
    if text(pod, "status", "reason"):
        yield text(pod, "status", "reason"), text(pod, "status", "message")
    for each in states:
        ended = mapping(each, "state", "terminated")
        code = whole(ended.get("exitCode"))
        if ended and code:
            yield text(ended, "reason") or "Error", f"exit code {code}"


# --- all pods of a workload -------------------------------------------------------------------------


def pod_reasons(
    pods: Sequence[Pod], events: Sequence[Event], *, places: int | None, recovering: bool
) -> tuple[Reason, ...]:
    """Return why pods do not run, the gravest first; nothing when all run or are done.

    ``places`` is how many pods were admitted. A failed pod whose successor runs is history,
    unless the workload itself is ``recovering``.
    """
    if all(pod.leaving for pod in pods):
        return (_without_pods(events),)
    found: dict[str, list[tuple[Pod, dict[str, str], str]]] = defaultdict(list)
    for pod in _telling(pods, places, recovering):
        code, params, said = _why(pod, events)
        found[code].append((pod, params, said))
    made = [_reason(code, rows, len(pods)) for code, rows in found.items() if code]
    return tuple(sorted(made, key=lambda each: -ORDER.index(each.code)))


def _telling(pods: Sequence[Pod], places: int | None, recovering: bool) -> Iterator[Pod]:
    here = [pod for pod in pods if pod.here]
    done = sum(pod.phase == "Succeeded" for pod in pods)
    short = places is None or len(here) + done < places or recovering
    yield from here
    if short:
        yield from (pod for pod in pods if pod.phase == "Failed" and not pod.leaving)


def _reason(code: str, rows: list[tuple[Pod, dict[str, str], str]], pods: int) -> Reason:
    _, params, said = rows[0]
    counts = {"waiting": str(len(rows)), "pods": str(pods)}
    resource = params.get("resource", "")
    return reason(code, params=params | counts, resource=resource, raw=said)


def _without_pods(events: Sequence[Event]) -> Reason:
    refused = next((each for each in events if each.reason == "FailedCreate"), None)
    if refused is None:
        return reason("no_pods_yet")
    return reason("pods_refused", params={"text": refused.note}, raw=refused.note)


def _why(pod: Pod, events: Sequence[Event]) -> tuple[str, dict[str, str], str]:
    if pod.phase == "Failed":
        cause, message = pod.ended[0] if pod.ended else ("", "")
        params = {"cause": cause, "text": message}
        return "pods_failed", {key: value for key, value in params.items() if value}, message
    if pod.gates:
        held = [gate for gate in pod.gates if not gate.startswith(_KUEUE_GATE)]
        code = "pod_gated" if len(held) < len(pod.gates) else "pod_gated_elsewhere"
        return code, {"gates": ", ".join(held or pod.gates)}, pod.scheduled.message
    if pod.phase == "Pending":
        said = _not_scheduled(pod, events)
        if said:
            code, params = why_unschedulable(said)
            return code, params, said
    return _in_containers(pod, events)


def _not_scheduled(pod: Pod, events: Sequence[Event]) -> str:
    if pod.scheduled.false:
        return pod.scheduled.message or pod.scheduled.reason or "PodScheduled"
    if pod.scheduled.true or pod.waiting:
        return ""
    failed = (each for each in events if each.reason == "FailedScheduling")
    return next((each.note for each in failed if each.about("Pod", pod.name)), "")


def _in_containers(pod: Pod, events: Sequence[Event]) -> tuple[str, dict[str, str], str]:
    for cause, message in pod.waiting:
        if cause in _PULL:
            return "image", {"cause": cause}, message
        if cause in _CONFIG:
            return "container_config", {"cause": cause, "text": message}, message
        if cause not in _STARTING:
            return "container_waiting", {"cause": cause}, f"{cause}: {message}".rstrip(": ")
    if pod.phase == "Running" and not pod.waiting:
        return ("pods_not_ready", {}, pod.ready.message) if pod.ready.false else ("", {}, "")
    mount = (each for each in events if each.reason in _VOLUME_EVENTS)
    said = next((each.note for each in mount if each.about("Pod", pod.name)), "")
    return ("pods_wait_for_volume", {}, said) if said else ("container_starting", {}, "")


def still_stopping(pods: Sequence[Pod]) -> Reason | None:
    """Return that old pods are still on their machines, after the quota was given back."""
    left = [pod for pod in pods if pod.leaving and pod.phase in ("Pending", "Running")]
    if not left:
        return None
    return reason("pods_still_stopping", params={"waiting": str(len(left)), "pods": str(len(left))})
