"""Rows of the effect side."""

from queues.models.applies import Apply, ObjectResult
from queues.models.followed import ObservedEvent, UnknownText
from queues.models.generations import Generation
from queues.models.intervals import (
    ConditionChange,
    Eviction,
    Gap,
    Interval,
    Lifetime,
    Phase,
    Quality,
)
from queues.models.links import Credential, Link
from queues.models.observed import ObservedObject, Stream, Workload
from queues.models.order import QueueOrder
from queues.models.plans import Decision, Plan, PlanObject
from queues.models.pod_history import PodInterval, PodRun
from queues.models.quota_history import NodeChange, QuotaChange

__all__ = [
    "Apply",
    "ConditionChange",
    "Credential",
    "Decision",
    "Eviction",
    "Gap",
    "Generation",
    "Interval",
    "Lifetime",
    "Link",
    "NodeChange",
    "ObjectResult",
    "ObservedEvent",
    "ObservedObject",
    "Phase",
    "Plan",
    "PlanObject",
    "PodInterval",
    "PodRun",
    "Quality",
    "QueueOrder",
    "QuotaChange",
    "Stream",
    "UnknownText",
    "Workload",
]
