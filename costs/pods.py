"""Whose a pod's devices were, and whether quota stood behind them: instant by instant.

A pod *runs* while its Workload holds quota. What it has after that is *terminating*: Kueue frees
the quota of a job as soon as its pods are asked to end, not when they have ended. A pod without a
Workload, or before its Workload was ever given quota, is *unmanaged*.

The devices of a node that is down run nothing, and devices that do not exist are of no pod.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from costs.facts import NOBODY, Nodes, NodeTime, Pods, PodTime, Pool
from costs.steps import Dated
from costs.times import Span


class Seen(NamedTuple):
    """Devices that a pod had on a node. ``asked``: its deletion was asked for at the start.

    ``workload`` is the name of its Workload in its namespace, empty for none.
    """

    namespace: str
    workload: str
    node: str
    resource: str
    amount: int
    span: Span
    asked: bool = False
    name: str = ""


class Quota(NamedTuple):
    """A time in which a Workload held quota of a queue, at most; ``pools`` are what it held.

    ``attempt`` is the number of its admission, which may consist of several such times.
    """

    span: Span
    queue: str
    pools: tuple[Pool, ...] = ()
    attempt: int = 0


@dataclass(frozen=True, slots=True)
class Around:
    """What decides whose a pod is. ``quotas`` are those of each Workload in their order.

    ``queues`` and ``namespaces`` say which tenant they belonged to.
    """

    quotas: Mapping[tuple[str, str], Sequence[Quota]] = field(default_factory=dict)
    queues: Mapping[str, Dated[str]] = field(default_factory=dict)
    namespaces: Mapping[str, Dated[str]] = field(default_factory=dict)
    nodes: Sequence[NodeTime] = ()


class _Part(NamedTuple):
    """A part of a pod's time in which nothing changes but owners."""

    span: Span
    kind: Pods
    quota: Quota | None = None


_NEVER: Final[Dated[str]] = Dated([])


def pod_times(seen: Iterable[Seen], around: Around) -> Iterator[PodTime]:
    """Yield the time of pods by tenant, pool and kind."""
    nodes = _by_node(around.nodes)
    for pod in seen:
        for part in _parts(pod, around.quotas.get((pod.namespace, pod.workload), ())):
            for pool, span in _places(pod, part, nodes):
                for owned, tenant in _owners(pod, part, around).within(span):
                    yield PodTime(
                        tenant or NOBODY, pool, part.kind, owned, pod.amount, pod.namespace, pod.name
                    )  # fmt: skip


def _parts(pod: Seen, quotas: Sequence[Quota]) -> Iterator[_Part]:
    """Cut a pod's time where its Workload got quota and lost it.

    A pod that was asked to end belongs to the quota of that moment: when its Workload is
    admitted again, other pods run.
    """
    at = pod.span.starts
    last: Quota | None = None
    since: dict[int, int] = {}
    for quota in quotas:
        begun = since.setdefault(quota.attempt, quota.span.starts)
        if pod.asked and begun > pod.span.starts:
            break
        part = quota.span.cut(Span(at, pod.span.ends))
        if part is not None:
            if part.starts > at:
                yield _rest(Span(at, part.starts), last)
            yield _Part(part, Pods.RUNNING, quota)
            at = part.ends
        if quota.span.starts < pod.span.ends:
            last = quota
    if at < pod.span.ends:
        yield _rest(Span(at, pod.span.ends), last)


def _rest(span: Span, last: Quota | None) -> _Part:
    return _Part(span, Pods.TERMINATING if last else Pods.UNMANAGED, last)


def _by_node(nodes: Iterable[NodeTime]) -> dict[str, list[NodeTime]]:
    found: dict[str, list[NodeTime]] = {}
    for each in nodes:
        found.setdefault(each.node, []).append(each)
    return found


def _places(
    pod: Seen, part: _Part, nodes: Mapping[str, list[NodeTime]]
) -> Iterator[tuple[Pool, Span]]:
    """Yield the pools of the devices, and when they could be used.

    What was admitted says which flavor it is; else the node does.
    """
    told = [
        each for each in (part.quota.pools if part.quota else ()) if each.resource == pod.resource
    ]
    given = told[0] if len(told) == 1 else None
    known = nodes.get(pod.node)
    if known is None:
        yield given or Pool("", pod.resource), part.span
        return
    for each in known:
        span = each.span.cut(part.span)
        if span and each.pool.resource == pod.resource and each.kind != Nodes.DOWN:
            yield given or each.pool, span


def _owners(pod: Seen, part: _Part, around: Around) -> Dated[str]:
    if part.quota is not None:
        return around.queues.get(part.quota.queue, _NEVER)
    return around.namespaces.get(pod.namespace, _NEVER)
