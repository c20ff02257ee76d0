"""The objects of a plan as its reviewer needs them."""

from __future__ import annotations

from dataclasses import dataclass

from queues.models import Plan, PlanObject


@dataclass(frozen=True, slots=True)
class Sorted:
    """The objects of a plan by what a reviewer has to do with them."""

    changed: list[PlanObject]
    same: int
    refused: list[PlanObject]
    conflicts: list[PlanObject]
    untried: list[PlanObject]


def sorted_objects(plan: Plan) -> Sorted:
    """Sort a plan's objects; one query."""
    rows = list(plan.planned.order_by("position"))
    tried = PlanObject.Tried
    return Sorted(
        changed=[row for row in rows if row.operation != PlanObject.Operation.SAME],
        same=sum(row.operation == PlanObject.Operation.SAME for row in rows),
        refused=[row for row in rows if row.tried == tried.REFUSED],
        conflicts=[row for row in rows if row.tried == tried.CONFLICT],
        untried=[row for row in rows if row.tried in (tried.NOT_YET, tried.READ_ONLY)],
    )
