"""Rows of the effect side."""

from queues.models.applies import Apply, ObjectResult
from queues.models.links import Credential, Link
from queues.models.observed import ObservedObject, Stream, Workload
from queues.models.order import QueueOrder
from queues.models.plans import Decision, Plan, PlanObject

__all__ = [
    "Apply",
    "Credential",
    "Decision",
    "Link",
    "ObjectResult",
    "ObservedObject",
    "Plan",
    "PlanObject",
    "QueueOrder",
    "Stream",
    "Workload",
]
