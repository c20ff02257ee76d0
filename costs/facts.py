"""What the ledger is made from and what it says: records of a cluster, facts of an hour.

All amounts are whole numbers of the resource's own unit, all times are seconds of UTC. An hour
that nobody watched has facts of quality *missing*; that is not the same as nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import Final, NamedTuple

from costs.lending import Path, Quota
from costs.steps import Dated
from costs.times import HOUR, Span
from costs.used import UNKNOWN_BELOW, Use

#: The name under which the facts of queues and pods without a tenant stand.
NOBODY: Final = ""


class Pool(NamedTuple):
    """One kind of device: a flavor, and the resource that is its native unit."""

    flavor: str
    resource: str


class Phase(StrEnum):
    """How a Workload holds quota."""

    RESERVED = "reserved"
    ADMITTED = "admitted"
    DRAINING = "draining"


class Pods(StrEnum):
    """What pods on devices are: counted by quota, running out after it, or never under it."""

    RUNNING = "running"
    TERMINATING = "terminating"
    UNMANAGED = "unmanaged"


class Nodes(StrEnum):
    """Whether the devices of a node can be used."""

    READY = "ready"
    CORDONED = "cordoned"
    DOWN = "down"


class Quality(StrEnum):
    """How well an hour is known; the worse one wins."""

    OBSERVED = "observed"
    ESTIMATED = "estimated"
    PARTIAL = "partial"
    MISSING = "missing"


class Hold(NamedTuple):
    """Quota that a Workload held. ``least`` and ``most``: if its bounds are not exact.

    ``least`` may be empty, when the phase may have been over at once.
    """

    queue: str
    pool: Pool
    phase: Phase
    span: Span
    amount: int
    least: Span | None = None
    most: Span | None = None

    @property
    def reach(self) -> Span:
        """Return the longest time that it can have been."""
        return self.most or self.span


class Grant(NamedTuple):
    """What a queue has, and the cohorts that it is in, from the root down."""

    path: Path
    quota: Quota


class PodTime(NamedTuple):
    """Devices that a pod had; ``tenant`` as its Workload or its namespace told.

    By its namespace and name the metrics know it.
    """

    tenant: str
    pool: Pool
    kind: Pods
    span: Span
    amount: int
    namespace: str = ""
    pod: str = ""

    @property
    def reach(self) -> Span:
        """Return the time that it was."""
        return self.span


class NodeTime(NamedTuple):
    """Devices of a node while it was in one state."""

    node: str
    pool: Pool
    kind: Nodes
    span: Span
    amount: int

    @property
    def reach(self) -> Span:
        """Return the time that it was."""
        return self.span


class UseTime(NamedTuple):
    """What a tenant's pods used in an hour (its start), as far as it was seen."""

    tenant: str
    pool: Pool
    hour: int
    use: Use


class DeviceTime(NamedTuple):
    """What all devices of a pool did in an hour (its start), with or without a pod on them.

    ``unattributed`` is the part of what was used of which no pod is known, in thousandths.
    """

    pool: Pool
    hour: int
    use: Use
    unattributed: int


@dataclass(frozen=True, slots=True)
class Records:
    """What is known of one cluster. ``gaps`` are times whose changes may be unknown.

    ``pod_gaps`` are those of pods alone, which nothing else is counted from.
    """

    holds: Sequence[Hold] = ()
    grants: Mapping[tuple[str, Pool], Dated[Grant]] = field(default_factory=dict)
    cohorts: Mapping[tuple[Path, Pool], Dated[Quota]] = field(default_factory=dict)
    owners: Mapping[str, Dated[str]] = field(default_factory=dict)
    pods: Sequence[PodTime] = ()
    nodes: Sequence[NodeTime] = ()
    uses: Sequence[UseTime] = ()
    devices: Sequence[DeviceTime] = ()
    gaps: Sequence[Span] = ()
    pod_gaps: Sequence[Span] = ()


@dataclass(frozen=True, slots=True)
class Fact:
    """One tenant in one pool for one hour, in resource-seconds.

    ``own`` and ``borrowed`` are what is held; ``overdraft`` is the part of ``borrowed`` that no
    quota covers, ``excess`` the part of ``own`` above the quota of a queue that cannot borrow.
    ``held_least`` and ``held_most`` bound ``held``. ``coverage`` are seconds of the hour that
    were observed, ``pods`` those in which somebody listened to pods: without them ``running``,
    ``terminating`` and ``unmanaged`` are only what was seen. ``use`` is ``None`` where nothing
    was asked of the metrics.
    """

    hour: int
    tenant: str
    pool: Pool
    committed: int
    held: int
    own: int
    borrowed: int
    lent: int
    overdraft: int
    excess: int
    reserved: int
    admitted: int
    draining: int
    running: int
    terminating: int
    unmanaged: int
    held_least: int
    held_most: int
    coverage: int
    quality: Quality
    use: Use | None
    pods: int

    @property
    def pods_known(self) -> bool:
        """Return whether so much was seen of the pods that their times are a number."""
        return Fraction(self.pods, HOUR) >= UNKNOWN_BELOW

    @property
    def at_work(self) -> int:
        """Return the time in which pods ran, or may have run where they were not watched."""
        return self.running if self.pods_known else max(self.running, self.granted)

    @property
    def granted(self) -> int:
        """Return the time in which its pods may run."""
        return self.admitted + self.draining

    @property
    def idle(self) -> int:
        """Return committed time that neither its owner nor a borrower held."""
        return self.committed - (self.own - self.excess) - self.lent


@dataclass(frozen=True, slots=True)
class PoolFact:
    """One pool for one hour: its devices, and what belongs to no tenant.

    ``nominal`` is quota of cohorts themselves, ``borrowed`` the part of it that was in use.
    ``use`` is that of all devices, ``unattributed`` its part without a pod; ``None`` where nothing
    was asked of the metrics.
    """

    hour: int
    pool: Pool
    ready: int
    cordoned: int
    down: int
    nominal: int
    borrowed: int
    overdraft: int
    use: Use | None = None
    unattributed: int | None = None

    @property
    def provisioned(self) -> int:
        """Return the time of all devices that exist, usable or not."""
        return self.ready + self.cordoned + self.down


class HourFacts(NamedTuple):
    """All facts of an hour, in a stable order."""

    hour: int
    facts: tuple[Fact, ...]
    pools: tuple[PoolFact, ...]
