"""The viewer of a page whose queues were read already: their numbers are not read twice."""

from __future__ import annotations

from collections.abc import Iterable

from queues.access import Sight
from queues.models import Workload
from queues.selectors import jobs as select
from queues.selectors.tenants import QueueNow, quotas
from queues.sentences import Viewer, words_of


def viewer_within(sight: Sight, jobs: Iterable[Workload], queues: Iterable[QueueNow]) -> Viewer:
    """Say what the sentences about these jobs of these queues may tell; one query at most."""
    words = set() if sight.sees_all else words_of(jobs)
    names = select.foreign(words, sight.tenants) if words else frozenset()
    return Viewer(sight.sees_all, names, quotas(queues))
