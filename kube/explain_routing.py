"""Is there a way to the queue? The queues themselves are looked at before any message."""

from __future__ import annotations

import re
from typing import Final

from kube.explain_facts import Facts
from kube.queue_facts import QueueFacts, takes
from kube.reason_codes import reason
from kube.reasons import Explanation, Reason, listed
from kube.workload_facts import Condition


def entry_rule(facts: Facts) -> Explanation | None:
    """Look at the LocalQueue before any message: a held one explains everything."""
    entry = facts.entry
    if entry is None:
        return _astray(facts)
    params, active = {"entry": entry.name}, entry.active
    if entry.deleting:
        return _routing(facts, active, reason("entry_terminating", params=params))
    if entry.stopped or (active.false and active.reason == "Stopped"):
        code = "entry_drained" if _drained(facts, "LocalQueueStopped") else "entry_stopped"
        return _routing(facts, active, reason(code, params=params))
    if not entry.queue:
        return _routing(facts, active, reason("entry_without_queue", params=params))
    if facts.queue is not None or not active.false:
        return None
    params = {"entry": entry.name, "queue": entry.queue}
    code = _ENTRY_INACTIVE.get(active.reason, "queue_inactive")
    return _routing(facts, active, reason(code, params=params))


_ENTRY_INACTIVE: Final = {"ClusterQueueDoesNotExist": "queue_missing"}


def _astray(facts: Facts) -> Explanation | None:
    """A workload that names a LocalQueue which its namespace does not have."""
    name, entries = facts.workload.queue_name, facts.entries
    if entries is None or not name or name in entries:
        return None
    params = {"entry": name, "entries": listed(entries)}
    found = reason("entry_missing", params={key: value for key, value in params.items() if value})
    return _routing(facts, facts.condition("QuotaReserved"), found)


def queue_rule(facts: Facts) -> Explanation | None:
    """Look at the ClusterQueue: jobs that waited before it was held keep their old message."""
    queue = facts.queue
    if queue is None:
        return None
    params, active = {"queue": queue.name}, queue.active
    if queue.deleting:
        return _routing(facts, active, reason("queue_terminating", params=params))
    if facts.tree is not None and facts.tree.in_circle(queue.name):
        return _routing(facts, active, reason("cohort_cycle", params=params))
    if queue.stopped or active.false:
        return _routing(facts, active, *_faults(facts, queue))
    if _refuses(facts, queue):
        params["namespace"] = facts.workload.namespace
        return _routing(facts, active, reason("namespace_mismatch", params=params))
    return None


def _refuses(facts: Facts, queue: QueueFacts) -> bool:
    """A selector counts where the labels are known, or where Kueue has not said more."""
    said = facts.condition("QuotaReserved").message
    if facts.labels is None and (said or not queue.groups):
        return False
    return takes(queue.selector, facts.labels) is False


_INACTIVE: Final = {
    "Stopped": "queue_stopped",
    "Terminating": "queue_terminating",
    "FlavorNotFound": "queue_flavor_missing",
    "AdmissionCheckNotFound": "queue_check_missing",
    "AdmissionCheckInactive": "queue_check_inactive",
    "TopologyNotFound": "queue_topology_missing",
    "MultipleMultiKueueAdmissionChecks": "queue_remote_invalid",
    "MultiKueueAdmissionCheckAppliedPerFlavor": "queue_remote_invalid",
    "MultiKueueWithProvisioningRequest": "queue_remote_invalid",
    "CohortCycle": "cohort_cycle",
    # A queue that is not active and says that it is ready stands under a circle of cohorts.
    "Ready": "cohort_cycle",
}
_LIST: Final = r"(?P<names>[^\s:]+?)(?=, [a-z]|\.?$)"
_CAUSES: Final = (
    ("queue_stopped", "", re.compile(r"\bis stopped")),
    ("queue_flavor_missing", "flavors", re.compile(rf"missing ResourceFlavor\(s\): {_LIST}")),
    ("queue_check_missing", "checks", re.compile(rf"missing AdmissionCheck\(s\): {_LIST}")),
    ("queue_check_inactive", "checks", re.compile(rf"inactive AdmissionCheck\(s\): {_LIST}")),
    (
        "queue_topology_missing",
        "topology",
        re.compile(r'there is no Topology "(?P<names>[^"]+)" for TAS flavor'),
    ),
)


def _faults(facts: Facts, queue: QueueFacts) -> list[Reason]:
    """Return all that is wrong with a queue: only the first fault is in its reason.

    What no waiting ends comes first.
    """
    active = queue.active if queue.active.false else Condition()
    found: dict[str, dict[str, str]] = {}
    if queue.stopped:
        found["queue_stopped"] = {}
    for code, name, pattern in _CAUSES:
        for said in pattern.finditer(active.message):
            found.setdefault(code, {}).update({name: said["names"]} if name else {})
    if active.false and not (set(found) - {"queue_stopped"}):
        found.setdefault(_INACTIVE.get(active.reason, "queue_inactive"), {})
    if "queue_stopped" in found and _drained(facts, "ClusterQueueStopped"):
        found["queue_drained"] = found.pop("queue_stopped")
    about = {"queue": queue.name} | ({"problem": active.message} if active.message else {})
    made = [reason(code, params=about | params) for code, params in found.items()]
    return sorted(made, key=lambda each: not each.never)


def _drained(facts: Facts, cause: str) -> bool:
    """Return whether the workload ran until its queue was emptied."""
    evicted = facts.condition("Evicted")
    return evicted.true and evicted.reason == cause


def _routing(facts: Facts, active: Condition, *reasons: Reason) -> Explanation:
    said = facts.condition("QuotaReserved")
    raw = said.message if said.reason == "Inadmissible" else active.message or said.message
    since = active.since or said.since or facts.workload.created
    return facts.waiting(*(each._replace(raw=raw, since=since) for each in reasons))


# --- texts about queues that are no longer so -------------------------------------------------------

_OF_ENTRY: Final = frozenset(
    {"entry_stopped", "entry_missing", "entry_without_queue", "entry_drained"}
)
_OF_QUEUE: Final = frozenset({"queue_missing", "queue_stopped", "queue_inactive", "queue_drained"})


def reopened(facts: Facts, said: Reason) -> Reason:
    """Mark a text that speaks of a shut or missing queue when the queue is there and open."""
    entry, queue = facts.entry, facts.queue
    entry_open = entry is not None and entry.open
    queue_open = queue is not None and queue.open and not _may_be_circle(facts, queue)
    if said.code in _OF_ENTRY and entry_open and queue is not None and queue.open:
        return reason("reopened", params=said.params, stale=True, raw=said.raw, since=said.since)
    if said.code in _OF_QUEUE and queue_open and (entry is None or entry_open):
        return reason("reopened", params=said.params, stale=True, raw=said.raw, since=said.since)
    return said


def _may_be_circle(facts: Facts, queue: QueueFacts) -> bool:
    """Kueue 0.17 shows nothing at a queue under a circle of cohorts: only the whole tree tells."""
    return bool(queue.cohort) and (facts.tree is None or not facts.tree.complete)
