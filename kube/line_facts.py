"""What the other workloads that wait in the same ClusterQueue tell about one of them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

from kube.lenient import Object, mapping, whole
from kube.once import once
from kube.queue_order import Stand, Turn, stand
from kube.workload_facts import Condition, WorkloadFacts

_EVER: Final = datetime.max.replace(tzinfo=UTC)
Place = tuple[int, datetime, str]


class Line:
    """The workloads that wait in one ClusterQueue, in Kueue's order."""

    def __init__(
        self, workloads: Iterable[Object | WorkloadFacts], *, strict: bool = False
    ) -> None:
        """Take workloads, read or not; those that do not wait are left out. ``strict``: StrictFIFO."""
        self.strict = strict
        self._given = workloads

    @once
    def _waiting(self) -> list[tuple[Place, Turn, WorkloadFacts]]:
        found = []
        for each in self._given:
            facts = WorkloadFacts.read(each)
            stands = _stand(facts)
            if stands.turn is not Turn.OUT:
                found.append((_place(facts, stands.queued_at), stands.turn, facts))
        return sorted(found, key=lambda row: row[0])

    def _ahead(self, facts: WorkloadFacts) -> list[tuple[Turn, WorkloadFacts]]:
        here = _place(facts, _stand(facts).queued_at)
        return [
            (turn, other)
            for place, turn, other in self._waiting
            if other.uid != facts.uid and place < here
        ]

    def count_ahead(self, facts: WorkloadFacts) -> int:
        """Return how many workloads come before one, those that are backing off left out."""
        return sum(turn is not Turn.BACK_OFF for turn, _ in self._ahead(facts))

    def preemptor_ahead(self, facts: WorkloadFacts) -> bool:
        """Return whether a workload waits for the room that is being made for it."""
        return any(
            turn is Turn.MAKES_ROOM and other.uid != facts.uid for _, turn, other in self._waiting
        )

    def said_of_equal(self, facts: WorkloadFacts) -> Condition | None:
        """Return what the scheduler said of an equal workload: Kueue looks at one of them only."""
        if not facts.pod_sets:
            return None
        priority, shape = _priority(facts), facts.shape
        for _, turn, other in self._waiting:
            equal = turn is Turn.TRIED and _priority(other) == priority and other.shape == shape
            if equal and other.uid != facts.uid:
                return other.condition("QuotaReserved")
        return None


def _stand(facts: WorkloadFacts) -> Stand:
    """Ask where a workload stands, taking its queue to be open."""
    status = {"requeueState": mapping(facts.body, "status", "requeueState")}
    meta, spec = mapping(facts.body, "metadata"), mapping(facts.body, "spec")
    body = {"metadata": meta, "spec": spec, "status": status}
    return stand(body, {}, {}, conditions=facts.conditions)


def _place(facts: WorkloadFacts, queued_at: datetime | None) -> Place:
    return -_priority(facts), queued_at or _EVER, facts.uid


def _priority(facts: WorkloadFacts) -> int:
    return whole(mapping(facts.body, "spec").get("priority"))
