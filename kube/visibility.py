"""Who waits in a queue, in which order: Kueue's visibility API, asked with care.

Only the list of a whole ClusterQueue is read: the list of a LocalQueue of Kueue 0.17.0 shows
other namespaces' jobs, and its numbers count all namespaces. Positions count from 0 here;
people count from 1.
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
#: The most that one request may ask: larger and negative limits can stop a Kueue of 0.17.
PAGE: Final = 1000


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


def pending(client: ClusterClient, cluster_queue: str, *, limit: int = PAGE) -> Pending:
    """Return up to ``limit`` workloads that wait in a ClusterQueue, first come first.

    Raises ``NotFound`` when Kueue does not know the queue and ``NotVisible`` when there is
    nobody to ask.
    """
    found: list[dict[str, Any]] = []
    complete = True
    while len(found) < limit:
        wanted = min(PAGE, limit - len(found))
        page = _page(client, cluster_queue, wanted, len(found))
        found.extend(page)
        if len(page) < wanted:
            break
    else:
        complete = False
    return Pending(cluster_queue, tuple(_positions(found)), complete)


def _page(
    client: ClusterClient, cluster_queue: str, limit: int, offset: int
) -> list[dict[str, Any]]:
    path = f"/apis/{GROUP}/{VERSION}/clusterqueues/{safe_name(cluster_queue)}/pendingworkloads"
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
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


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
