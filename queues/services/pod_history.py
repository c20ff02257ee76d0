"""Notes in which times pods had devices, in the transaction that writes how things stand.

What is on record decides: the same news twice, or news to an observer that has lost its lease,
adds nothing.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from django.db.models import Max

from kube import pod_life
from kube.lenient import text
from kube.phases import Bound, Quality
from kube.pod_life import Begun, Glance, Kind, Over
from queues.models import PodInterval, PodRun, Stream
from queues.services import ledger, noted
from queues.services.memory import Memory
from queues.services.noted import Look
from queues.services.observed import Object
from queues.services.pod_times import Heard
from queues.services.workload_pods import place_of
from tenants.models import Cluster

POD: Final = "Pod"
#: Seconds in which the Workload of a pod may still come.
PATIENCE: Final = 120.0


@dataclass(slots=True)
class _Pod:
    """One pod: whose it is, what it has, and its open time, now and on record.

    ``least``: all before it is over.
    """

    namespace: str
    name: str
    node: str
    workload: str
    workload_uid: str
    devices: dict[str, int]
    open: Begun | None = None
    before: Begun | None = None
    least: datetime | None = None
    over: list[Over] = field(default_factory=list)


class PodHistory:
    """What of a memory the history of pods has not noted yet."""

    def __init__(self, memory: Memory) -> None:
        """Take what is heard."""
        self.memory = memory
        self._begun = False
        #: Pods whose Workload is not known yet, where it would stand, and until when it is awaited.
        self._unclear: dict[str, tuple[str, float]] = {}

    def write(self, now: datetime) -> int:
        """Note what is new, inside the transaction of the window; returns how many rows.

        Call :meth:`committed` afterwards. Without news this asks the database nothing.
        """
        memory, heard = self.memory, self.memory.pod_times.heard
        written = self._take(heard, now) if heard else 0
        if self._unclear:
            self._clear_up()
        if POD in memory.ended and not self._begun:
            line = Stream.objects.filter(cluster=memory.cluster, kind=POD, history_since=None)
            line.update(history_since=now)
        return written

    def committed(self) -> None:
        """Forget what is on record now; call it after the commit."""
        self.memory.pod_times.heard.clear()
        self._begun = self._begun or POD in self.memory.ended

    def _take(self, heard: list[Heard], now: datetime) -> int:
        memory = self.memory
        ledger.lock(memory.cluster.pk)
        lists = frozenset({*memory.listing, *memory.ended})
        look = Look(now, memory.epochs, lists)
        at = Glance(now, noted.sign(memory.cluster, POD, look))
        pods = _read(memory.cluster, {each.uid for each in heard})
        for each in heard:
            self._one(pods, each, at)
        return _write(memory.cluster, pods, [each.uid for each in heard])

    def _one(self, pods: dict[str, _Pod], heard: Heard, at: Glance) -> None:
        pod = pods.get(heard.uid)
        if pod is None or pod.open is None:
            if heard.item is None or (pod is not None and heard.gone):
                return  # Its end is on record already.
            pod = pods[heard.uid] = self._pod(heard.uid, heard.item, heard.devices, pod)
        life = pod_life.advance(pod.open, heard.item, at, gone=heard.gone, least=pod.least)
        pod.open, pod.over = life.open, [*pod.over, *life.over]
        if life.over:
            pod.least = life.over[-1].end.at

    def _pod(self, uid: str, item: Object, devices: Mapping[str, int], was: _Pod | None) -> _Pod:
        place = place_of(item)
        name, found = self._workload(place)
        if not found:
            self._unclear[uid] = (place, time.monotonic() + PATIENCE)
        return _Pod(
            text(item, "metadata", "namespace")[:63], text(item, "metadata", "name")[:253],
            text(item, "spec", "nodeName")[:253], name[:253], found, dict(devices),
            least=was.least if was else None, over=was.over if was else [],
        )  # fmt: skip

    def _workload(self, place: str) -> tuple[str, str]:
        """Return name and uid of the Workload at a place; no name while none is known."""
        records = self.memory.records
        namespace, slash, name = place.partition("/")
        if slash:
            return name, records.named(namespace, name) or ""
        uid = records.of_job(place)
        if uid is None:
            return "", ""
        return text(records.unpack(records.by_uid[uid]), "metadata", "name"), uid

    def _clear_up(self) -> None:
        """Name the Workloads that have come after their pods."""
        now = time.monotonic()
        for uid, (place, until) in list(self._unclear.items()):
            name, found = self._workload(place)
            if found:
                rows = PodRun.objects.filter(cluster=self.memory.cluster, uid=uid)
                rows.update(workload=name[:253], workload_uid=found)
            if found or (now >= until and self.memory.complete):
                del self._unclear[uid]


def _read(cluster: Cluster, uids: Iterable[str]) -> dict[str, _Pod]:
    """Return what is on record of these pods; two queries."""
    here = {"cluster": cluster, "uid__in": list(uids)}
    found: dict[str, _Pod] = {}
    for row in PodRun.objects.filter(**here):
        pod = found.get(row.uid)
        if pod is not None:
            pod.devices[row.resource] = row.amount
            continue
        start = Bound(
            row.starts, Quality(row.starts_quality), row.starts_earliest, row.starts_latest
        )
        begun = Begun(Kind(row.kind), start)
        found[row.uid] = _Pod(
            row.namespace, row.name, row.node, row.workload, row.workload_uid,
            {row.resource: row.amount}, begun, begun,
        )  # fmt: skip
    ends = PodInterval.objects.filter(**here).values("uid").annotate(last=Max("ends"))
    for uid, last in ends.values_list("uid", "last"):
        found.setdefault(uid, _Pod("", "", "", "", "", {})).least = last
    return found


def _write(cluster: Cluster, pods: dict[str, _Pod], uids: list[str]) -> int:
    """Put what is open now in place of what was, and add what is over."""
    known = {uid: pods[uid] for uid in dict.fromkeys(uids) if uid in pods}
    changed = {uid: pod for uid, pod in known.items() if pod.over or pod.open != pod.before}
    if was := [uid for uid, pod in changed.items() if pod.before is not None]:
        PodRun.objects.filter(cluster=cluster, uid__in=was).delete()
    return ledger.append(
        PodRun, [row for uid, pod in changed.items() for row in _open(cluster, uid, pod)]
    ) + ledger.append(
        PodInterval, [row for uid, pod in changed.items() for row in _over(cluster, uid, pod)]
    )


def _open(cluster: Cluster, uid: str, pod: _Pod) -> Iterator[ledger.Row]:
    if pod.open is not None:
        yield from _rows(cluster, uid, pod, pod.open, ())


def _over(cluster: Cluster, uid: str, pod: _Pod) -> Iterator[ledger.Row]:
    for each in pod.over:
        yield from _rows(cluster, uid, pod, each.begun, (*_bound(each.end), each.ended_by))


def _rows(
    cluster: Cluster, uid: str, pod: _Pod, begun: Begun, more: tuple[Any, ...]
) -> Iterator[ledger.Row]:
    for resource, amount in sorted(pod.devices.items()):
        yield (
            cluster.pk, uid, pod.namespace, pod.name, pod.node, resource[:317], amount,
            pod.workload, pod.workload_uid, begun.kind, *_bound(begun.start), *more,
        )  # fmt: skip


def _bound(of: Bound) -> tuple[Any, ...]:
    return of.at, of.quality, of.earliest, of.latest
