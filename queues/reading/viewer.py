"""Jobs in the words of one viewer: what they may read, with the numbers of their queues."""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import QuerySet

from queues import sentences
from queues.access import Sight
from queues.models import Workload
from queues.selectors import jobs as select
from queues.sentences import JobShown, Viewer, words_of
from tenants.models import Tenant


def viewer(jobs: Iterable[Workload], tenants: QuerySet[Tenant], *, sees_all: bool) -> Viewer:
    """Read what the sentences about these jobs need; the platform may read every word."""
    rows = list(jobs)
    names = frozenset() if sees_all else select.foreign(words_of(rows), tenants)
    return Viewer(sees_all=sees_all, foreign=names, quotas=select.quotas(rows))


def shown(sight: Sight, jobs: Iterable[Workload]) -> list[JobShown]:
    """Put jobs into words; a queue that is not the viewer's gives neither name nor numbers."""
    rows = list(jobs)
    owners = select.owners(rows, sight.queues)
    own = [job for job in rows if sight.sees_all or (job.cluster_id, job.queue) in owners]
    names = frozenset() if sight.sees_all else select.foreign(words_of(rows), sight.tenants)
    return sentences.shown(rows, owners, Viewer(sight.sees_all, names, select.quotas(own)))
