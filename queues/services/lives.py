"""The lifetimes of a window in memory: read once, carried through its changes, written once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

import orjson

from kube.condition_log import Logged, conditions, dump, load
from kube.lifecycle_facts import Held, Sight, devices
from kube.phases import Bound, Open, Phase, Quality, Recorded
from queues.models import Lifetime
from queues.services.ledger import LIFETIME
from tenants.models import Cluster


class Who(NamedTuple):
    """What a Workload is called and asks for, as columns of its lifetime."""

    namespace: str
    name: str
    job_kind: str
    job_name: str
    job_uid: str
    entry: str
    priority_class: str
    priority: int
    active: bool
    orphaned: bool


@dataclass(slots=True)
class Life:
    """One lifetime: what is on record, what its row says besides, and whether that is new."""

    pk: int
    uid: str
    who: Who
    record: Recorded | None
    log: dict[str, Logged]
    created_at: datetime
    first_seen_at: datetime
    noted_at: datetime
    version: str
    outcome: str = ""
    gone_at: datetime | None = None
    new: bool = True
    dirty: bool = True


def who_is(sight: Sight) -> Who:
    """Return the columns that a look gives."""
    return Who(
        sight.namespace[:63], sight.name[:253], sight.job_kind[:63], sight.job_name[:253],
        sight.job_uid[:64], sight.entry[:253], sight.priority_class[:253], sight.priority,
        sight.active, sight.orphaned,
    )  # fmt: skip


def held_rows(held: Held) -> list[dict[str, Any]]:
    """Return what is held in the form of a row."""
    return [
        {"flavor": flavor, "resource": resource, "amount": amount}
        for flavor, resource, amount in held
    ]


def read(cluster: Cluster, uids: Iterable[str]) -> dict[str, Life]:
    """Read the lifetimes of these Workloads in one query, and lock them."""
    rows = Lifetime.objects.filter(cluster=cluster, uid__in=list(uids)).select_for_update()
    return {row.uid: _life(row) for row in rows}


def _life(row: Lifetime) -> Life:
    log = load(row.conditions)
    record = Recorded(
        open=_open(row),
        attempt=row.attempt,
        losses=row.evictions,
        counted=row.counted,
        past_seconds=row.past_seconds,
        running_since=row.running_since,
        conditions=conditions(log),
        noted_at=row.noted_at.replace(microsecond=0),
        finished_at=row.finished_at,
    )
    return Life(
        row.pk, row.uid, Who(*(getattr(row, name) for name in Who._fields)), record, log,
        row.created_at, row.first_seen_at, row.noted_at, row.resource_version, row.outcome,
        row.gone_at, new=False, dirty=False,
    )  # fmt: skip


def _open(row: Lifetime) -> Open | None:
    if not row.phase or row.starts is None:
        return None
    start = Bound(row.starts, Quality(row.starts_quality), row.starts_earliest, row.starts_latest)
    held = tuple((each["flavor"], each["resource"], each["amount"]) for each in row.held)
    return Open(
        Phase(row.phase), start, row.attempt, held, row.queue, row.cohort, row.cause,
        row.preemptor_uid,
    )  # fmt: skip


def columns(cluster: Cluster, life: Life, *, as_text: bool) -> list[Any]:
    """Return the values of a lifetime's row in the order of ``LIFETIME``.

    JSON is text for COPY (``as_text``) and a value for an update.
    """
    record = life.record or Recorded(open=None)
    now = record.open
    held, log = held_rows(now.held) if now else [], dump(life.log)
    values = life.who._asdict() | {
        "id": life.pk,
        "cluster_id": cluster.pk,
        "uid": life.uid,
        "created_at": life.created_at,
        "first_seen_at": life.first_seen_at,
        "noted_at": life.noted_at,
        "resource_version": life.version[:32],
        "phase": str(now.phase) if now else "",
        "attempt": record.attempt,
        "starts": now.start.at if now else None,
        "starts_quality": str(now.start.quality) if now else "",
        "starts_earliest": now.start.earliest if now else None,
        "starts_latest": now.start.latest if now else None,
        "queue": now.queue[:253] if now else "",
        "cohort": now.cohort[:253] if now else "",
        "cause": now.cause if now else "",
        "preemptor_uid": now.preemptor_uid if now else "",
        "devices": devices(now.held) if now else 0,
        "held": orjson.dumps(held).decode() if as_text else held,
        "running_since": record.running_since,
        "evictions": record.losses,
        "counted": record.counted,
        "past_seconds": record.past_seconds,
        "conditions": orjson.dumps(log).decode() if as_text else log,
        "finished_at": record.finished_at,
        "outcome": life.outcome,
        "gone_at": life.gone_at,
    }
    return [values[name] for name in LIFETIME]
