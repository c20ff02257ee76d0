"""Events of the cluster that matter: the last few of each object, and rows that outlive them."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from kube.lenient import mapping, moment, text, whole
from queues.models import ObservedEvent
from queues.services.observed import Object
from tenants.models import Cluster

#: What explanations read; the rest is for people.
EXPLAINS: Final = frozenset({
    "FailedScheduling", "FailedCreate", "FailedMount", "FailedAttachVolume", "FailedMapVolume",
    "AdmissionCheckRejected", "ErrWorkloadCompose", "WorkloadPriorityClassNotFound",
    "JobNestingTooDeep",
})  # fmt: skip
#: Say the same as a condition, which is kept anyway, and come with every look of the scheduler.
REPEATS: Final = frozenset({
    "Pending", "PendingEvaluation", "WaitingForQuota", "ExceedsMaxQuota", "NoMatchingFlavor",
    "Misconfigured", "TopologyPlacementFailed", "WaitingForPreemptedWorkloads", "OnHold",
    "WaitingForPodsReady", "Suspended",
})  # fmt: skip
OBJECTS: Final = 5_000
EACH: Final = 3
TEXT: Final = 2000
KEPT: Final = timedelta(days=7)
COLUMNS: Final = (
    "cluster_id", "uid", "kind", "namespace", "name", "object_uid", "reason", "warning",
    "message", "times", "first_at", "last_at",
)  # fmt: skip


def matters(item: Object) -> bool:
    """Return whether an event says something about a workload, its job or its pods."""
    reason = text(item, "reason")
    if reason in EXPLAINS:
        return True
    if reason in REPEATS:
        return False
    about = mapping(item, "involvedObject")
    reporter = text(item, "reportingComponent") or text(item, "source", "component")
    return text(about, "kind") == "Workload" or "kueue" in reporter


class Happened:
    """The last events of each object, as explanations want them; the oldest objects go first."""

    def __init__(self) -> None:
        """Know nothing."""
        self._of: OrderedDict[str, deque[Object]] = OrderedDict()

    def take(self, item: Object) -> str:
        """Take an event in; return the uid of what it is about, if it explains something."""
        if text(item, "reason") not in EXPLAINS:
            return ""
        uid = text(item, "involvedObject", "uid")
        here = self._of.setdefault(uid, deque(maxlen=EACH))
        for other in [other for other in here if _same(other, item)]:
            here.remove(other)
        here.append(item)
        self._of.move_to_end(uid)
        while len(self._of) > OBJECTS:
            self._of.popitem(last=False)
        return uid

    def of(self, uids: Iterable[str]) -> list[Object]:
        """Return the events about these objects."""
        return [each for uid in uids for each in self._of.get(uid, ())]


def _same(one: Object, other: Object) -> bool:
    return text(one, "metadata", "uid") == text(other, "metadata", "uid")


def event_row(cluster: Cluster, item: Object) -> tuple[Any, ...]:
    """Return the columns of an event's row (``COLUMNS``)."""
    about = mapping(item, "involvedObject")
    first, last = _times(item)
    return (
        cluster.pk, text(item, "metadata", "uid"), text(about, "kind")[:63],
        text(about, "namespace")[:63], text(about, "name")[:253], text(about, "uid")[:64],
        text(item, "reason")[:128], text(item, "type") == "Warning", text(item, "message")[:TEXT],
        max(1, whole(mapping(item, "series").get("count")) or whole(item.get("count"), 1)),
        first, last,
    )  # fmt: skip


def _times(item: Object) -> tuple[datetime, datetime]:
    """Return the first and the last time of an event, whichever of its forms it has."""
    made = moment(text(item, "metadata", "creationTimestamp")) or datetime.now(UTC)
    first = moment(text(item, "eventTime")) or moment(text(item, "firstTimestamp")) or made
    last = moment(text(item, "series", "lastObservedTime")) or moment(text(item, "lastTimestamp"))
    return first, max(first, last or first)


def forget_old(cluster: Cluster, now: datetime) -> int:
    """Delete the rows of events that are older than we keep them."""
    return ObservedEvent.objects.filter(cluster=cluster, last_at__lt=now - KEPT).delete()[0]
