"""An admitted workload: does it run, and if not, what do its pods say?"""

from __future__ import annotations

from datetime import datetime

from kube.explain_checks import open_checks
from kube.explain_facts import Facts
from kube.lenient import amounts, items, mapping, text
from kube.pod_facts import GOES_ON, pod_reasons
from kube.queue_facts import Line, QueueFacts
from kube.reason_codes import reason
from kube.reasons import Explanation, Reason, State
from kube.workload_facts import Condition


def admitted_rule(facts: Facts) -> Explanation | None:
    """Judge by the pods where they are known: Kueue's own condition lags, or is not kept at all.

    A workload counts as running when its pods are on their machines and go on by themselves.
    """
    admitted = facts.condition("Admitted")
    if not (facts.workload.reserved and admitted.true):
        return None
    ready = facts.condition("PodsReady")
    found = [*_nodes(facts, admitted), *_pods(facts, admitted, ready), *_kueue(facts, ready)]
    held_up = any(_holds_up(each) for each in found) and not _ran(ready)
    if facts.workload.orphaned or not found:
        found.insert(0, _runs(facts, admitted))
    return Explanation(State.STARTING if held_up else State.RUNNING, (*found, *_beside(facts)))


def _holds_up(found: Reason) -> bool:
    return found.code not in GOES_ON | {
        "node_unhealthy", "pods_starting", "pods_recovering",
    }  # fmt: skip


def _ran(ready: Condition) -> bool:
    """Return whether all pods have been ready once since the admission."""
    return ready.true or (ready.false and ready.reason == "WaitForRecovery")


def _runs(facts: Facts, admitted: Condition) -> Reason:
    code = "orphaned" if facts.workload.orphaned else "running"
    return reason(code, raw=admitted.message, since=admitted.since)


def _nodes(facts: Facts, admitted: Condition) -> list[Reason]:
    nodes = facts.workload.unhealthy_nodes
    if not nodes:
        return []
    return [reason("node_unhealthy", params={"nodes": ", ".join(nodes)}, since=admitted.since)]


def _pods(facts: Facts, admitted: Condition, ready: Condition) -> list[Reason]:
    """An owner that is gone takes no care of pods: then they say nothing about the workload."""
    if facts.pods is None or facts.workload.orphaned:
        return []
    recovering = ready.false and ready.reason == "WaitForRecovery"
    found = pod_reasons(
        facts.pods, facts.events, places=facts.workload.places, recovering=recovering
    )
    since = ready.since if ready.false else admitted.since
    deadline = _deadline(facts, admitted) if not _ran(ready) else ""
    return [
        each._replace(since=since, params=dict(each.params) | deadline_params(deadline))
        for each in found
    ]


def deadline_params(deadline: str) -> dict[str, str]:
    """Return until when pods must be ready, as a parameter of a reason."""
    return {"deadline": deadline} if deadline else {}


def _deadline(facts: Facts, admitted: Condition) -> str:
    within = facts.manager.pods_ready_within if facts.manager else None
    if within is None or admitted.since is None:
        return ""
    try:
        until: datetime = admitted.since + within
    except OverflowError:
        return ""
    return until.isoformat()


def _kueue(facts: Facts, ready: Condition) -> list[Reason]:
    """What Kueue says about the pods; where they are known, only what it adds."""
    if not ready.false:
        return []
    if ready.reason == "WaitForRecovery":
        return [reason("pods_recovering", raw=ready.message, since=ready.since)]
    if facts.pods is not None and not facts.workload.orphaned:
        return []
    deadline = deadline_params(_deadline(facts, facts.condition("Admitted")))
    return [reason("pods_starting", params=deadline, raw=ready.message, since=ready.since)]


# --- what is worth knowing about a job that runs --------------------------------------------------


def _beside(facts: Facts) -> list[Reason]:
    """Tell of a check that will stop it, and of borrowed quota that may be taken back."""
    retries = [each for each in open_checks(facts) if each.code == "check_retry"]
    return [*retries, *_borrowed(facts)]


def _borrowed(facts: Facts) -> list[Reason]:
    """Return one reason for each quota line of which its queue holds more than its own.

    Only where another queue may take it back: it has a policy for that, and does not use all
    that is its own.
    """
    queue, tree = facts.queue, facts.tree
    if queue is None or tree is None:
        return []
    found = []
    for line in sorted(_lines(facts)):
        over = _over(queue, line)
        if not over:
            continue
        claim = sum(_unused(other, line) for other in tree.beside(queue.name) if other.reclaims)
        at_risk = min(over, claim)
        if at_risk > 0:
            flavor, resource = line
            params = {"borrowed": str(over), "at_risk": str(at_risk)}
            found.append(
                reason("may_be_reclaimed", params=params, flavor=flavor, resource=resource)
            )
    return found


def _lines(facts: Facts) -> set[Line]:
    assignments = items(facts.workload.body, "status", "admission", "podSetAssignments")
    return {
        (text(mapping(each, "flavors"), resource), resource)
        for each in assignments
        for resource, held in amounts(each, "resourceUsage").items()
        if held > 0
    }


def _over(queue: QueueFacts, line: Line) -> int:
    nominal = queue.quotas[line].nominal if line in queue.quotas else 0
    return max(0, queue.held.get(line, 0) - nominal)


def _unused(queue: QueueFacts, line: Line) -> int:
    nominal = queue.quotas[line].nominal if line in queue.quotas else 0
    return max(0, nominal - queue.held.get(line, 0))
