"""What a list of edits would make of a catalog, and what stands against it.

Pure functions: they are asked by the form's preview, by ``requests.submit`` and by whoever
plans, so that all three give the same answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from kube import edits as kube_edits
from kube import rules
from kube.catalog import CPU, MEMORY, Catalog, QueueSpec
from kube.digest import digest
from kube.edits import (
    Edit,
    PutCohort,
    PutFlavor,
    PutPriority,
    PutQueue,
    PutTenant,
    PutTopology,
    Replace,
    SetQuota,
    SetStopPolicy,
)
from kube.problems import InvalidCatalog, Problem, errors, warnings

LONGEST_TARGET: Final = 200
_OVER_CAPACITY: Final = "GP-2176"


@dataclass(frozen=True, slots=True)
class Proposal:
    """A catalog, what it would become, and what the rules say about that."""

    before: Catalog
    after: Catalog
    errors: tuple[Problem, ...]
    warnings: tuple[Problem, ...]

    @property
    def changes(self) -> bool:
        """Tell whether anything would be different."""
        return self.before != self.after


def propose(before: Catalog, edits: Iterable[Edit]) -> Proposal:
    """Apply ``edits`` to ``before`` and check the result."""
    try:
        after = kube_edits.apply(before, edits)
    except InvalidCatalog as error:
        return Proposal(before, before, error.problems, ())
    return Proposal(before, after, *faults(before, after))


def devices(catalog: Catalog, queue: str, flavor: str, nominal: int) -> tuple[SetQuota, ...]:
    """Return the edits for ``nominal`` devices with today's limits and the flavor's ratio."""
    lines = [
        line
        for _tenant, spec in catalog.queues()
        if spec.name == queue
        for line in spec.quotas
        if line.flavor == flavor and line.resource not in (CPU, MEMORY)
    ]
    borrowing = lines[0].borrowing_limit if lines else None
    lending = lines[0].lending_limit if lines else None
    return kube_edits.proportional(
        catalog, queue, flavor, nominal, borrowing_limit=borrowing, lending_limit=lending
    )


def faults(before: Catalog, after: Catalog) -> tuple[tuple[Problem, ...], tuple[Problem, ...]]:
    """Return the errors and the warnings that the step from ``before`` to ``after`` brings.

    What was wrong already does not block a change of something else, nor a step that makes it
    better: a pool that shrank must not keep anybody from giving devices back. Leaving something
    out is not a way to remove it, also where an edit would allow it (an entry of a queue).
    """
    were = rules.check(before)
    known = {(each.field, each.code): each for each in were}
    found = (*kube_edits.missing(before, after), *rules.check(after))
    fresh = [each for each in errors(found) if _is_worse(known.get((each.field, each.code)), each)]
    return tuple(fresh), tuple(each for each in warnings(found) if each not in were)


def _is_worse(was: Problem | None, now: Problem) -> bool:
    if was is None:
        return True
    return now.code == _OVER_CAPACITY and _excess(now) > _excess(was)


def _excess(problem: Problem) -> int:
    return int(dict(problem.params)["excess"])


def targets(before: Catalog, edits: Sequence[Edit]) -> list[str]:
    """Name what the edits touch; one thing has at most one open request."""
    found = {target for edit in edits for target in _targets_of(before, edit)}
    return sorted(map(_shortened, found))


def _targets_of(before: Catalog, edit: Edit) -> Iterator[str]:
    match edit:
        case SetQuota(queue=queue, flavor=flavor):
            yield f"queue:{queue}/{flavor}"
        case SetStopPolicy(queue=queue):
            yield f"queue:{queue}"
        case PutQueue(queue=queue):
            yield from _targets_of_queue(before, queue)
        case PutTenant(slug=slug):
            yield f"tenant:{slug}"
        case PutTopology(topology=topology):
            yield f"topology:{topology.name}"
        case PutFlavor(flavor=flavor):
            yield f"flavor:{flavor.name}"
        case PutCohort(cohort=cohort):
            yield f"department:{cohort.name}"
        case PutPriority(priority=priority):
            yield f"priority:{priority.name}"
        case Replace():
            yield "catalog"


def _targets_of_queue(before: Catalog, queue: QueueSpec) -> Iterator[str]:
    """A whole queue is also each of its flavors, those that leave it included."""
    yield f"queue:{queue.name}"
    was = next((each for _tenant, each in before.queues() if each.name == queue.name), queue)
    for line in (*was.quotas, *queue.quotas):
        yield f"queue:{queue.name}/{line.flavor}"


def _shortened(target: str) -> str:
    if len(target) <= LONGEST_TARGET:
        return target
    return f"{target[:120]}~{digest(target)}"
