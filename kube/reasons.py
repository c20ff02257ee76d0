"""Why a workload is where it is, as facts: states, stages, reasons. Pure data, no rules.

The stable codes live in :mod:`kube.reason_codes`; sentences are made from these facts by whoever
knows the viewer and the language.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from operator import attrgetter
from types import MappingProxyType
from typing import Any, Final, NamedTuple

NO_PARAMS: Final[Mapping[str, str]] = MappingProxyType({})


class State(StrEnum):
    """What a workload does at the moment. ``stopping``: evicted, and still holding quota."""

    WAITING = "waiting"
    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"
    FINISHED = "finished"
    DEACTIVATED = "deactivated"
    GONE = "gone"


class Stage(StrEnum):
    """How far a workload got on its way."""

    ROUTING = "routing"
    REQUEST = "request"
    ORDER = "order"
    QUOTA = "quota"
    CHECK = "check"
    TOPOLOGY = "topology"
    PODS = "pods"


class FreedBy(StrEnum):
    """Who or what ends a reason."""

    OWN_QUEUE = "own_queue"  # jobs of its own queue end
    COHORT = "cohort"  # jobs of other queues of the department end, or give back what they borrow
    NODES = "nodes"  # machines get room, come back or get another label
    CONTROLLER = "controller"  # an admission check or an external gate decides
    KUEUE = "kueue"  # Kueue itself goes on, in a while
    OWNER = "owner"  # whoever owns the job changes it
    ADMIN = "admin"  # whoever runs the cluster or the queue changes something
    QUOTA = "quota"  # nothing that ends: only another quota, or a smaller job
    NOBODY = "nobody"  # there is nothing to end


class Change(NamedTuple):
    """The smallest change of one quota line after which the job could start, in smallest units.

    ``field`` is ``nominal``, ``borrowing_limit`` or ``lending_limit`` of the line of ``queue``
    (a ClusterQueue, or a Cohort where ``kind`` says so).
    """

    queue: str
    flavor: str
    resource: str
    field: str
    before: int
    after: int
    kind: str = "ClusterQueue"

    def as_json(self) -> dict[str, Any]:
        """Return the change as plain JSON, the amounts as ``from`` and ``to``."""
        return {
            "kind": self.kind, "queue": self.queue, "flavor": self.flavor,
            "resource": self.resource, "field": self.field, "from": self.before, "to": self.after,
        }  # fmt: skip


class Reason(NamedTuple):
    """One reason as a fact; a tuple, because tens of thousands are made at a start.

    ``never``: as things are set up, waiting alone will not help. ``asked``, ``free`` and
    ``missing`` are integers in the smallest unit (milli-CPU, bytes, devices; pods for a
    topology), ``None`` where the cluster does not say. ``params`` are the values that a sentence
    may need, as the cluster wrote them. ``raw`` is the cluster's own text: it may name other
    tenants' objects. ``stale``: the text speaks of something that is no longer so.
    ``oscillating``: the text comes and goes between two looks of the scheduler and is no news.
    """

    stage: Stage | None
    code: str
    params: Mapping[str, str] = NO_PARAMS
    never: bool = False
    resource: str = ""
    flavor: str = ""
    pod_set: str = ""
    asked: int | None = None
    free: int | None = None
    missing: int | None = None
    freed_by: FreedBy = FreedBy.NOBODY
    raw: str = ""
    since: datetime | None = None
    stale: bool = False
    oscillating: bool = False
    change: Change | None = None

    @property
    def values(self) -> dict[str, str]:
        """Return all values that a sentence may name, as text."""
        named = {"resource": self.resource, "flavor": self.flavor, "pod_set": self.pod_set}
        return dict(self.params) | {key: value for key, value in named.items() if value}

    def as_json(self) -> dict[str, Any]:
        """Return every field as plain JSON; what is not known is ``null`` or empty."""
        return {
            "stage": self.stage and str(self.stage), "code": self.code, "never": self.never,
            "resource": self.resource, "flavor": self.flavor, "pod_set": self.pod_set,
            "asked": self.asked, "free": self.free, "missing": self.missing,
            "freed_by": str(self.freed_by), "raw": self.raw,
            "since": self.since and self.since.isoformat(), "stale": self.stale,
            "oscillating": self.oscillating, "params": dict(self.params),
            "change": self.change and self.change.as_json(),
        }  # fmt: skip

    def known(self) -> dict[str, Any]:
        """Return the fields that say something, in the order of :meth:`as_json`: what a row keeps.

        A zero says something, and what is empty does not.
        """
        return {
            name: _WRITTEN[name](value) if name in _WRITTEN else value
            for name, value in zip(_KEPT, _kept(self), strict=True)
            if value or type(value) is int or name in _ALWAYS
        }


_ALWAYS: Final = frozenset({"stage", "code", "never", "freed_by"})
_KEPT: Final = (
    "stage", "code", "never", "resource", "flavor", "pod_set", "asked", "free", "missing",
    "freed_by", "raw", "since", "stale", "oscillating", "params", "change",
)  # fmt: skip
_kept = attrgetter(*_KEPT)
_WRITTEN: Final[Mapping[str, Callable[[Any], Any]]] = {
    "stage": lambda stage: stage and str(stage),
    "freed_by": str,
    "since": datetime.isoformat,
    "params": dict,
    "change": Change.as_json,
}


@dataclass(frozen=True, slots=True)
class Explanation:
    """The state of a workload and all its reasons, the deciding one first; never without one.

    ``preempted``: it had a place, lost it to another and has not got one again.
    ``preempting``: others are being stopped so that it can start.
    """

    state: State
    reasons: tuple[Reason, ...]
    preempted: bool = False
    preempting: bool = False

    @property
    def first(self) -> Reason:
        """Return the deciding reason."""
        return self.reasons[0]

    @property
    def stage(self) -> Stage | None:
        """Return the stage of the deciding reason."""
        return self.first.stage

    @property
    def code(self) -> str:
        """Return the code of the deciding reason."""
        return self.first.code

    @property
    def params(self) -> Mapping[str, str]:
        """Return what a sentence about the deciding reason may name, and why a place was lost."""
        lost = next((each.params for each in self.reasons[1:] if each.code == "preempted"), {})
        return {**lost, **self.first.values}

    @property
    def never(self) -> bool:
        """Return whether the job will not start without a change."""
        return self.first.never

    @property
    def raw(self) -> str:
        """Return the cluster's own text behind the deciding reason."""
        return self.first.raw

    @property
    def since(self) -> datetime | None:
        """Return since when the deciding reason holds."""
        return self.first.since

    @property
    def news(self) -> tuple[object, ...]:
        """Return what differs only when there is something new to tell.

        The text and the resource that it names are left out: they change between two looks of
        the scheduler at a job that did not change.
        """
        first = self.first
        told = () if first.oscillating else (first.stage, first.code, first.never)
        return (self.state, self.preempted, self.preempting, *told)

    def adding(self, *reasons: Reason) -> Explanation:
        """Return the same with more reasons behind."""
        return replace(self, reasons=(*self.reasons, *reasons)) if reasons else self

    def as_json(self) -> dict[str, Any]:
        """Return ``{state, preempted, preempting, reasons}`` as plain JSON."""
        return {
            "state": str(self.state), "preempted": self.preempted, "preempting": self.preempting,
            "reasons": [reason.as_json() for reason in self.reasons],
        }  # fmt: skip


#: So many names are told to somebody who may have meant one of them.
NAMED: Final = 6


def listed(names: Sequence[str]) -> str:
    """Return names for a sentence; that there are more than it tells is marked."""
    more = ", …" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
