"""Who waits in a queue, in which order: Kueue's visibility API, asked with care.

Only the list of a whole ClusterQueue is read: the list of a LocalQueue of Kueue 0.17.0 and
0.17.1 shows other namespaces' jobs, and up to 0.19.1 the numbers in an entry count all
namespaces together. So both are worked out here, from namespace and name. Positions count from
0 here; people count from 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from kube import errors
from kube.client import ClusterClient
from kube.kinds import safe_name

GROUP: Final = "visibility.kueue.x-k8s.io"
VERSION: Final = "v1beta2"
#: Served by every release that has the API; for a cluster that does not serve the other.
OLD_VERSION: Final = "v1beta1"
#: The most that one request may ask below 0.17.8: larger and negative limits can stop Kueue.
PAGE: Final = 1000
#: The same from 0.17.8 on, which cuts a limit itself. Each request sorts the whole queue anew.
LONG_PAGE: Final = 10_000


@dataclass(frozen=True, slots=True)
class Waiting:
    """One waiting workload; ``entry_position`` counts only its own namespace and LocalQueue."""

    namespace: str
    name: str
    priority: int
    local_queue: str
    position: int
    entry_position: int


@dataclass(frozen=True, slots=True)
class Pending:
    """The order of a queue; ``complete`` is false when there are more than was asked for."""

    cluster_queue: str
    items: tuple[Waiting, ...]
    complete: bool = True

    @property
    def names(self) -> list[tuple[str, str]]:
        """Return the workloads as (namespace, name), in order."""
        return [(item.namespace, item.name) for item in self.items]


def pending(
    client: ClusterClient,
    cluster_queue: str,
    *,
    limit: int = PAGE,
    page_size: int | None = None,
    version: str = VERSION,
) -> Pending:
    """Return up to ``limit`` workloads that wait in a ClusterQueue, first come first.

    ``page_size`` is ``PAGE``, or ``LONG_PAGE`` for a Kueue that is known to bear it. Raises
    ``NotFound`` when Kueue does not know the queue and ``NotVisible`` when there is nobody to
    ask: without ``retry`` the cluster does not serve the API in this version.
    """
    found: list[dict[str, Any]] = []
    complete = True
    while len(found) < limit:
        wanted = min(page_size or PAGE, limit - len(found))
        page = _page(client, cluster_queue, wanted, len(found), version)
        found.extend(page)
        if len(page) < wanted:
            break
    else:
        complete = False
    try:
        return Pending(cluster_queue, tuple(_positions(found)), complete)
    except (AttributeError, TypeError, ValueError):
        message = "the list of pending workloads cannot be read"
        raise errors.Protocol(message) from None


def _page(
    client: ClusterClient, cluster_queue: str, limit: int, offset: int, version: str
) -> list[dict[str, Any]]:
    path = f"/apis/{GROUP}/{version}/clusterqueues/{safe_name(cluster_queue)}/pendingworkloads"
    try:
        answer = client.raw(path, (("limit", str(limit)), ("offset", str(offset))))
    except errors.KindMissing as error:
        message = "the cluster has no visibility API"
        raise errors.NotVisible(message, status=error.status, retry=False) from None
    except errors.Unavailable as error:
        message = f"Kueue does not answer: {error.message}"
        raise errors.NotVisible(
            message, status=error.status, retry_after=error.retry_after
        ) from None
    items = answer.get("items")
    return items if isinstance(items, list) else []


def _positions(found: list[dict[str, Any]]) -> Iterator[Waiting]:
    """Number the workloads; one that two pages show (the queue moved meanwhile) counts once."""
    seen: set[tuple[str, str]] = set()
    before: Counter[tuple[str, str]] = Counter()
    for item in found:
        metadata = item.get("metadata") or {}
        namespace, name = str(metadata.get("namespace", "")), str(metadata.get("name", ""))
        if (namespace, name) in seen:
            continue
        queue = str(item.get("localQueueName", ""))
        yield Waiting(
            namespace=namespace,
            name=name,
            priority=int(item.get("priority") or 0),
            local_queue=queue,
            position=len(seen),
            entry_position=before[namespace, queue],
        )
        seen.add((namespace, name))
        before[namespace, queue] += 1
