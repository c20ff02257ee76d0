"""How the free devices of a cluster lie, flavor by flavor."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kube.fragmentation import Fragmentation, Machine, fragmentation
from queues.models import ObservedObject
from queues.selectors.clusters import ClusterNow, PoolNow, devices_of, machines_of, takes_pods
from queues.selectors.room import amount


@dataclass(frozen=True, slots=True)
class Gangs:
    """One flavor: how its free devices lie; ``topology`` is empty where it has none."""

    pool: PoolNow
    topology: str
    lie: Fragmentation


def gangs(now: ClusterNow) -> list[Gangs]:
    """Give every flavor that has machines."""
    found = (_gangs(pool, now) for pool in now.pools)
    return [each for each in found if each.lie.whole.machines or each.lie.out]


def _gangs(pool: PoolNow, now: ClusterNow) -> Gangs:
    topology = str(pool.pool.spec.get("topology") or "")
    rows = machines_of(pool.pool, now.machines)
    machines = _machines(rows, pool.pool.resource)
    return Gangs(pool, topology, fragmentation(machines, now.topologies.get(topology, ())))


def _machines(rows: Iterable[ObservedObject], resource: str) -> list[Machine]:
    """Read machines as rows hold them; ``used`` is there once their pods are followed."""
    return [
        Machine(
            name=row.name,
            devices=devices_of(row, resource),
            used=_used(row, resource),
            ready=takes_pods(row),
            labels={
                str(name): str(value) for name, value in (row.body.get("labels") or {}).items()
            },
        )
        for row in rows
    ]


def _used(row: ObservedObject, resource: str) -> int | None:
    used = row.body.get("used")
    return amount(resource, used.get(resource, 0)) if isinstance(used, dict) else None
