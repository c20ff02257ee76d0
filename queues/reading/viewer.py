"""Jobs in the words of one viewer: what they may read, with the numbers of their queues."""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import QuerySet

from queues import sentences
from queues.access import Sight
from queues.models import Workload
from queues.selectors import jobs as select
from queues.sentences import JobShown, Viewer, words_of


def shown(sight: Sight, jobs: Iterable[Workload]) -> list[JobShown]:
    """Put jobs into words, in one query."""
    return counted(sight, jobs, None)[0]


def counted(
    sight: Sight, jobs: Iterable[Workload], counted: QuerySet[Workload] | None
) -> tuple[list[JobShown], dict[str, int]]:
    """Put jobs into words and count others by state, in one query.

    A queue that is not the viewer's gives neither name nor numbers.
    """
    rows = list(jobs)
    words = set() if sight.sees_all else words_of(rows)
    found = select.beside(rows, sight.queues, words, sight.tenants, counted)
    own = {key: n for key, n in found.quotas.items() if sight.sees_all or key[:2] in found.owners}
    viewer = Viewer(sight.sees_all, found.foreign, own)
    return sentences.shown(rows, found.owners, viewer), found.counts
