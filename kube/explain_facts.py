"""Everything that the rules of an explanation look at: parsed once, and typed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TypedDict

from kube.event_facts import Event, read_events
from kube.lenient import Object, mapping, text
from kube.line_facts import Line
from kube.manager_facts import Manager
from kube.once import once
from kube.pod_facts import Pod, read_pods
from kube.queue_facts import EntryFacts, QueueFacts, read_entry, read_queue
from kube.quota_tree import QuotaTree
from kube.reason_codes import reason
from kube.reasons import Explanation, Reason, State
from kube.workload_facts import Condition, WorkloadFacts


class Related(TypedDict, total=False):
    """What may be known besides the Workload itself; left out or ``None`` is not known.

    ``entries``: the names of all LocalQueues in its namespace. ``tree``: the quota of the whole
    cluster, else made from ``cluster_queues`` (all, or those that are known) and ``cohorts``.
    ``checks``: AdmissionCheck objects. ``kept_messages``: by check, the last text that a check
    itself has written: Kueue drops it from the Workload after a fifth of a second. ``line``:
    what waits in the same ClusterQueue, else made from ``others``. ``pods`` and ``events`` are
    those of this workload and its job.
    """

    local_queue: Object | EntryFacts | None
    cluster_queue: Object | QueueFacts | None
    entries: Iterable[str] | None
    tree: QuotaTree | None
    cluster_queues: Iterable[Object] | None
    cohorts: Iterable[Object] | None
    flavors: Iterable[Object] | None
    checks: Iterable[Object] | None
    namespace: Object | None
    limit_ranges: Iterable[Object] | None
    pods: Iterable[Object] | None
    events: Iterable[Object] | None
    kept_messages: Mapping[str, str] | None
    others: Iterable[Object] | None
    line: Line | None
    manager: Manager | None
    now: datetime | None


@dataclass(frozen=True)
class Facts:
    """The facts behind one explanation; ``None`` is not known. Each is read when it is asked for."""

    workload: WorkloadFacts
    entry: EntryFacts | None
    queue: QueueFacts | None
    related: Related

    @classmethod
    def gather(cls, workload: Object | WorkloadFacts, related: Related) -> Facts:
        """Take a Workload, read or not, and what was given with it."""
        return cls(
            workload=WorkloadFacts.read(workload),
            entry=read_entry(related.get("local_queue")),
            queue=read_queue(related.get("cluster_queue")),
            related=related,
        )

    @once
    def entries(self) -> tuple[str, ...] | None:
        """Return the names of all LocalQueues in its namespace."""
        given = self.related.get("entries")
        return None if given is None else tuple(sorted(given))

    @once
    def tree(self) -> QuotaTree | None:
        """Return the quota tree of the queues that are known, which need not be all."""
        return self.related.get("tree") or _tree(self.queue, self.related)

    @once
    def flavors(self) -> frozenset[str] | None:
        """Return the names of all flavors."""
        return _names(self.related.get("flavors"))

    @once
    def checks(self) -> Mapping[str, Object]:
        """Return the AdmissionChecks that are known, by name."""
        given = self.related.get("checks") or ()
        return {text(each, "metadata", "name"): mapping(each) for each in given}

    @once
    def labels(self) -> Mapping[str, object] | None:
        """Return the labels of its namespace."""
        given = self.related.get("namespace")
        return None if given is None else mapping(given, "metadata", "labels")

    @once
    def limit_ranges(self) -> int | None:
        """Return how many LimitRanges its namespace has."""
        given = self.related.get("limit_ranges")
        return None if given is None else sum(1 for _ in given)

    @once
    def pods(self) -> tuple[Pod, ...] | None:
        """Return its pods."""
        given = self.related.get("pods")
        return None if given is None else read_pods(given)

    @once
    def events(self) -> tuple[Event, ...]:
        """Return the events about it, its job and its pods, the newest first."""
        return read_events(self.related.get("events") or ())

    @property
    def kept(self) -> Mapping[str, str]:
        """Return the last words of its checks, as the watch has kept them."""
        return self.related.get("kept_messages") or {}

    @once
    def line(self) -> Line | None:
        """Return what waits in the same queue."""
        return self.related.get("line") or _line(self.queue, self.related.get("others"))

    @property
    def manager(self) -> Manager | None:
        """Return how Kueue is set up."""
        return self.related.get("manager")

    @property
    def now(self) -> datetime | None:
        """Return the present time."""
        return self.related.get("now")

    def condition(self, name: str) -> Condition:
        """Return a condition of the workload, an empty one if it is not there."""
        return self.workload.condition(name)

    def waiting(self, *reasons: Reason, preempting: bool = False) -> Explanation:
        """Explain a workload that waits; that it was preempted is told behind."""
        lost = self.workload.preempted and all(each.code != "preempted" for each in reasons)
        behind = (preempted_reason(self),) if lost else ()
        return Explanation(State.WAITING, (*reasons, *behind), self.workload.preempted, preempting)


def _tree(queue: QueueFacts | None, related: Related) -> QuotaTree | None:
    """Make the quota tree of the queues that are known, which need not be all."""
    given = related.get("cluster_queues")
    if given is None and queue is None:
        return None
    own = () if queue is None else (queue,)
    cohorts = related.get("cohorts")
    return QuotaTree(
        (*(given or ()), *own), cohorts or (), complete=given is not None and cohorts is not None
    )


def _line(queue: QueueFacts | None, others: Iterable[Object] | None) -> Line | None:
    return None if others is None else Line(others, strict=queue is not None and queue.strict)


def _names(objects: Iterable[Object] | None) -> frozenset[str] | None:
    if objects is None:
        return None
    return frozenset(text(mapping(each), "metadata", "name") for each in objects)


_WHY = {
    "InClusterQueue": "priority",
    "InCohortReclamation": "reclaimed",
    "InCohortFairSharing": "fair_sharing",
    "InCohortReclaimWhileBorrowing": "reclaimed_while_borrowing",
}


def preempted_reason(facts: Facts) -> Reason:
    """Say why a workload lost its place to another, as one word."""
    why, evicted = facts.condition("Preempted"), facts.condition("Evicted")
    said = why if why.true else evicted
    params = {"preempted_because": _WHY.get(why.reason, "unknown")} if why.true else {}
    return reason("preempted", params=params, raw=said.message, since=said.since)
