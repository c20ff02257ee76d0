"""Nodes as the observer has noted them, and hours that were counted, without an observer."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from costs.facts import HourFacts, PoolFact
from costs.services import facts
from costs.times import HOUR, Span, moment
from queues.models import NodeChange
from tests.costs.make import A100
from tests.costs.stored import NOVEMBER

A100_DEVICES = [{"flavor": "a100", "resource": "nvidia.com/gpu", "amount": 8}]


def node(
    cluster: Any, name: str, *times: tuple[float, float], machine: str = "", devices: Any = None
) -> None:
    """Note a node that was there for these hours of November, and gone in between."""
    for starts, ends in times:
        step(cluster, name, starts, A100_DEVICES if devices is None else devices, machine)
        step(cluster, name, ends, [], "", removed=True)


def step(
    cluster: Any, name: str, at: float, devices: Any, machine: str, *, removed: bool = False
) -> None:
    since = moment(NOVEMBER + round(at * HOUR))
    NodeChange.objects.create(
        cluster=cluster, name=name, state="" if removed else "ready", removed=removed, since=since,
        quality="exact", observed_at=since, digest=0 if removed else 1, devices=devices,
        machines=[f"aws:///eu-1a/{machine}"] if machine else [],
    )  # fmt: skip


def counted(cluster: Any, first: int, last: int, gpus: int = 8, pool: Any = A100) -> Any:
    """Count hours of November in which there were so many devices; without tenants."""
    span = Span(NOVEMBER + first * HOUR, NOVEMBER + last * HOUR)
    found = [
        HourFacts(hour, (), (PoolFact(hour, pool, gpus * HOUR, 0, 0, 0, 0, 0),))
        for hour in range(*span, HOUR)
    ]
    return facts.store(cluster=cluster, span=span, found=found)


def when(text: str) -> datetime:
    return datetime.fromisoformat(text)
