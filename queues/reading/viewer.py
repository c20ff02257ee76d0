"""Jobs in the words of one viewer: what they may read, with the numbers of their queues."""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import QuerySet

from queues.models import Workload
from queues.selectors import jobs as select
from queues.sentences import Viewer, words_of
from tenants.models import Tenant


def viewer(jobs: Iterable[Workload], tenants: QuerySet[Tenant], *, sees_all: bool) -> Viewer:
    """Read what the sentences about these jobs need; the platform may read every word."""
    rows = list(jobs)
    names = frozenset() if sees_all else select.foreign(words_of(rows), tenants)
    return Viewer(sees_all=sees_all, foreign=names, quotas=select.quotas(rows))
