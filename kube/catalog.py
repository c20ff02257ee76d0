"""The catalog of one cluster: what people agreed, as frozen values.

Every number is an integer in the smallest unit of its resource: ``cpu`` in milli-CPU,
``memory`` in bytes, devices (``nvidia.com/gpu`` and the like) in whole devices.
A limit of ``None`` means "not set" (borrow without limit, lend everything); ``0`` means
"nothing at all". The two are never mixed up.

All tuples of named things are kept in the order in which people wrote them where the order
has a meaning for Kueue (flavors of a queue, levels of a topology), and rendering sorts the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

CPU = "cpu"
MEMORY = "memory"


class DeviceKind(StrEnum):
    """How a flavor hands out its devices."""

    WHOLE = "whole"
    MIG = "mig"
    SHARED = "shared"


class PurchaseClass(StrEnum):
    """How the machines behind a flavor are paid for."""

    ON_DEMAND = "on-demand"
    RESERVED = "reserved"
    SPOT = "spot"
    OWNED = "owned"


class Purpose(StrEnum):
    """What a queue is for; inference and training are kept apart by it."""

    TRAINING = "training"
    INFERENCE = "inference"
    DEVELOPMENT = "development"


class Strategy(StrEnum):
    """Kueue's queueing strategies."""

    STRICT_FIFO = "StrictFIFO"
    BEST_EFFORT_FIFO = "BestEffortFIFO"


class StopPolicy(StrEnum):
    """Whether a queue takes new work."""

    NONE = "None"
    HOLD = "Hold"
    HOLD_AND_DRAIN = "HoldAndDrain"


@dataclass(frozen=True, slots=True, kw_only=True)
class Taint:
    """A node taint that a flavor's nodes carry."""

    key: str
    value: str = ""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] = "NoSchedule"


@dataclass(frozen=True, slots=True, kw_only=True)
class Toleration:
    """A toleration that Kueue adds to the pods it admits on a flavor."""

    key: str = ""
    operator: Literal["Equal", "Exists"] = "Equal"
    value: str = ""
    effect: Literal["", "NoSchedule", "PreferNoSchedule", "NoExecute"] = ""
    toleration_seconds: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TopologySpec:
    """A named order of node labels, from the widest domain to the narrowest."""

    name: str
    levels: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FlavorSpec:
    """A ResourceFlavor and what people need to know about it.

    ``resource`` is the device resource name; it is empty for a flavor without devices.
    ``cpu_per_device`` (milli-CPU) and ``memory_per_device`` (bytes) are the ratio that keeps a
    GPU job from being stuck for CPU. ``capacity`` is the number of devices in the pool, as
    agreed; ``None`` where only the observed nodes tell.
    """

    name: str
    capability: str
    model: str = ""
    resource: str = ""
    device_kind: DeviceKind = DeviceKind.WHOLE
    mig_profile: str = ""
    purchase: PurchaseClass = PurchaseClass.OWNED
    interconnect: str = ""
    region: str = ""
    zone: str = ""
    rack: str = ""
    power_domain: str = ""
    node_labels: tuple[tuple[str, str], ...] = ()
    taints: tuple[Taint, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    topology: str = ""
    cpu_per_device: int | None = None
    memory_per_device: int | None = None
    capacity: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaSpec:
    """One quota line: flavor x resource. Integers in the resource's smallest unit."""

    flavor: str
    resource: str
    nominal: int
    borrowing_limit: int | None = None
    lending_limit: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Preemption:
    """Who may stop whom; names and values are Kueue's."""

    within_cluster_queue: Literal["Never", "LowerPriority", "LowerOrNewerEqualPriority"] = "Never"
    reclaim_within_cohort: Literal["Never", "LowerPriority", "Any"] = "Never"
    borrow_within_cohort: Literal["Never", "LowerPriority"] = "Never"
    max_priority_threshold: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fungibility:
    """What Kueue does before it tries the next flavor."""

    when_can_borrow: Literal["MayStopSearch", "TryNextFlavor"] = "MayStopSearch"
    when_can_preempt: Literal["MayStopSearch", "TryNextFlavor"] = "TryNextFlavor"


@dataclass(frozen=True, slots=True, kw_only=True)
class CohortSpec:
    """A department: a node of the quota tree with, if wanted, quota of its own."""

    name: str
    display_name: str = ""
    parent: str = ""
    weight: str = "1"
    quotas: tuple[QuotaSpec, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EntrySpec:
    """A LocalQueue: the door of a namespace into a queue."""

    namespace: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueSpec:
    """A tenant's ClusterQueue. Flavors are tried in the order of their first quota line."""

    name: str
    purpose: Purpose = Purpose.TRAINING
    cohort: str = ""
    strategy: Strategy = Strategy.BEST_EFFORT_FIFO
    stop_policy: StopPolicy = StopPolicy.NONE
    preemption: Preemption = Preemption()
    fungibility: Fungibility = Fungibility()
    weight: str = "1"
    quotas: tuple[QuotaSpec, ...] = ()
    entries: tuple[EntrySpec, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantSpec:
    """A team: who it is, who pays, and its queues."""

    slug: str
    display_name: str
    cost_centre: str = ""
    queues: tuple[QueueSpec, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PrioritySpec:
    """A WorkloadPriorityClass; ``contract`` says in words who may use it and what it may stop.

    The two bounds are the part of it that is watched: a job that others have stopped that often
    within a day, or that waits for that long, is shown as one that needs a look.
    """

    name: str
    value: int
    contract: str = ""
    preemptions_per_day: int | None = None
    longest_wait_hours: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalog:
    """Everything that the portal renders for one cluster."""

    topologies: tuple[TopologySpec, ...] = ()
    flavors: tuple[FlavorSpec, ...] = ()
    cohorts: tuple[CohortSpec, ...] = ()
    tenants: tuple[TenantSpec, ...] = ()
    priorities: tuple[PrioritySpec, ...] = ()

    def queues(self) -> tuple[tuple[TenantSpec, QueueSpec], ...]:
        """Return every queue with its tenant, in catalog order."""
        return tuple((tenant, queue) for tenant in self.tenants for queue in tenant.queues)
