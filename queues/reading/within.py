"""The viewer of a page whose queues were read already: their numbers are not read twice."""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import QuerySet

from queues.access import Sight
from queues.models import Workload
from queues.selectors import jobs as select
from queues.selectors.tenants import QueueNow, number_rows, quotas, summed_up
from queues.selectors.together import together
from queues.sentences import Viewer, words_of


def viewer_within(sight: Sight, jobs: Iterable[Workload], queues: Iterable[QueueNow]) -> Viewer:
    """Say what the sentences about these jobs of these queues may tell; one query at most."""
    words = set() if sight.sees_all else words_of(jobs)
    return Viewer(sight.sees_all, select.foreign_to(words, sight.own), quotas(queues))


def counted_within(
    sight: Sight,
    jobs: Iterable[Workload],
    queues: Iterable[QueueNow],
    counted: QuerySet[Workload],
) -> tuple[Viewer, dict[str, int]]:
    """Say what may be told as ``viewer_within`` does, and count jobs by state; one query."""
    words = set() if sight.sees_all else words_of(jobs)
    found = together(
        numbers=number_rows(counted),
        **(select.foreign_rows(words, sight.tenants) if words else {}),
    )
    names = select.named(words, found)
    return Viewer(sight.sees_all, names, quotas(queues)), summed_up(found["numbers"])
