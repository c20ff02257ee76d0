"""LocalQueues and ClusterQueues as the rules read them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from kube.lenient import Object, amount, items, mapping, text, texts, whole
from kube.once import once
from kube.workload_facts import NO_CONDITION, Condition, read_conditions

#: (flavor, resource)
Line = tuple[str, str]
_STOPS: Final = ("Hold", "HoldAndDrain")


@dataclass(frozen=True, slots=True)
class Quota:
    """One quota line in smallest units; a limit of ``None`` is not set."""

    nominal: int = 0
    borrowing: int | None = None
    lending: int | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """Resources that are given out together, from one of several flavors in this order."""

    resources: tuple[str, ...]
    flavors: tuple[str, ...]


@dataclass(frozen=True)
class EntryFacts:
    """A LocalQueue."""

    body: Object

    @once
    def name(self) -> str:
        """Return its name."""
        return text(self.body, "metadata", "name")

    @once
    def queue(self) -> str:
        """Return the name of the ClusterQueue that it leads to."""
        return text(self.body, "spec", "clusterQueue")

    @once
    def stopped(self) -> bool:
        """Return whether it is held."""
        return text(self.body, "spec", "stopPolicy") in _STOPS

    @once
    def deleting(self) -> bool:
        """Return whether it is being deleted."""
        return bool(text(self.body, "metadata", "deletionTimestamp"))

    @once
    def active(self) -> Condition:
        """Return its condition Active."""
        return read_conditions(self.body).get("Active", NO_CONDITION)

    @once
    def open(self) -> bool:
        """Return whether nothing about it keeps a job from its queue."""
        return bool(self.queue) and not (self.stopped or self.deleting or self.active.false)


@dataclass(frozen=True)
class QueueFacts:
    """A ClusterQueue."""

    body: Object

    @once
    def name(self) -> str:
        """Return its name."""
        return text(self.body, "metadata", "name")

    @once
    def cohort(self) -> str:
        """Return the name of the cohort above it; v1beta1 called the field ``cohort``."""
        return text(self.body, "spec", "cohortName") or text(self.body, "spec", "cohort")

    @once
    def stopped(self) -> bool:
        """Return whether it is held."""
        return text(self.body, "spec", "stopPolicy") in _STOPS

    @once
    def deleting(self) -> bool:
        """Return whether it is being deleted."""
        return bool(text(self.body, "metadata", "deletionTimestamp"))

    @property
    def strict(self) -> bool:
        """Return whether the job at the head holds up those behind it."""
        return text(self.body, "spec", "queueingStrategy") == "StrictFIFO"

    @property
    def reclaims(self) -> bool:
        """Return whether it may take back what others of the cohort have borrowed from it."""
        policy = text(self.body, "spec", "preemption", "reclaimWithinCohort")
        return policy not in ("", "Never")

    @once
    def active(self) -> Condition:
        """Return its condition Active."""
        return read_conditions(self.body).get("Active", NO_CONDITION)

    @once
    def open(self) -> bool:
        """Return whether nothing about it keeps a job waiting, as far as it says itself."""
        return not (self.stopped or self.deleting or self.active.false)

    @property
    def pending(self) -> int | None:
        """Return how many jobs wait in it by its own count, ``None`` if it does not say."""
        found = mapping(self.body, "status").get("pendingWorkloads")
        return None if found is None else whole(found)

    @property
    def selector(self) -> Object | None:
        """Return which namespaces it takes jobs from; ``None`` takes none."""
        found = mapping(self.body, "spec").get("namespaceSelector")
        return found if isinstance(found, Mapping) else None

    @once
    def groups(self) -> tuple[Group, ...]:
        """Return its resource groups."""
        return read_groups(self.body)

    @once
    def group_of(self) -> Mapping[str, str]:
        """Return the group of each flavor, as a number."""
        return {name: str(n) for n, group in enumerate(self.groups) for name in group.flavors}

    @once
    def quotas(self) -> Mapping[Line, Quota]:
        """Return its quota lines."""
        return read_quotas(self.body)

    @once
    def held(self) -> Mapping[Line, int]:
        """Return what its jobs hold, reserved ones included, as its status says."""
        return dict(_held(self.body))

    @once
    def known_use(self) -> bool:
        """Return whether its status says what is held."""
        return isinstance(mapping(self.body, "status").get("flavorsReservation"), list)


def read_groups(item: Object) -> tuple[Group, ...]:
    """Return the resource groups of a ClusterQueue or a Cohort."""
    return tuple(
        Group(
            resources=tuple(texts(group, "coveredResources")),
            flavors=tuple(text(each, "name") for each in items(group, "flavors")),
        )
        for group in items(item, "spec", "resourceGroups")
    )


def read_quotas(item: Object) -> dict[Line, Quota]:
    """Return the quota lines of a ClusterQueue or a Cohort."""
    return {
        (text(flavor, "name"), name): _quota(name, each)
        for group in items(item, "spec", "resourceGroups")
        for flavor in items(group, "flavors")
        for each in items(flavor, "resources")
        if (name := text(each, "name"))
    }


def _quota(resource: str, found: Object) -> Quota:
    limits = (found.get("borrowingLimit"), found.get("lendingLimit"))
    borrowing, lending = (None if each is None else amount(resource, each) for each in limits)
    return Quota(amount(resource, found.get("nominalQuota")), borrowing, lending)


def _held(item: Object) -> Iterator[tuple[Line, int]]:
    for flavor in items(item, "status", "flavorsReservation"):
        for each in items(flavor, "resources"):
            name = text(each, "name")
            yield (text(flavor, "name"), name), amount(name, each.get("total"))


def read_entry(item: Object | EntryFacts | None) -> EntryFacts | None:
    """Read a LocalQueue; ``None`` is one that nobody knows, and one read before stays."""
    return item if item is None or isinstance(item, EntryFacts) else EntryFacts(mapping(item))


def read_queue(item: Object | QueueFacts | None) -> QueueFacts | None:
    """Read a ClusterQueue; ``None`` is one that nobody knows, and one read before stays."""
    return item if item is None or isinstance(item, QueueFacts) else QueueFacts(mapping(item))


# --- which namespaces a queue takes ---------------------------------------------------------------


def takes(selector: Object | None, labels: Mapping[str, object] | None) -> bool | None:
    """Say whether a selector matches the labels of a namespace, ``None`` when it cannot be said."""
    if selector is None:
        return False
    wanted = mapping(selector, "matchLabels")
    terms = items(selector, "matchExpressions")
    if not wanted and not terms:
        return True
    if labels is None:
        return None
    equal = all(labels.get(key) == value for key, value in wanted.items())
    answers = [_term(term, labels) for term in terms]
    if None in answers:
        return None
    return equal and all(answers)


def _term(term: Object, labels: Mapping[str, object]) -> bool | None:
    key, values = text(term, "key"), texts(term, "values")
    match text(term, "operator"):
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
    return None
