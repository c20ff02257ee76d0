"""The lifetimes of a window in memory: read once, carried through its changes, written once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import cache, lru_cache
from typing import Any, Final, NamedTuple

import msgspec
from django.db import connection, models

from kube.condition_log import load
from kube.lenient import moment
from kube.lifecycle_facts import Flip, Held, Sight, devices
from kube.phases import Bound, Open, Phase, Quality, Recorded
from queues.models import Lifetime
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
    log: dict[str, Flip]
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


def as_json(value: Any) -> str:
    """Return JSON; a condition becomes a list of its parts."""
    return msgspec.json.encode(value).decode()


def read(cluster: Cluster, uids: Iterable[str]) -> dict[str, Life]:
    """Read the lifetimes of these Workloads.

    Times come as text, as JSON does: a window reads hundreds of rows, and most of their times
    are the same ones again.
    """
    with connection.cursor() as cursor:
        cursor.execute(_reading(), [cluster.pk, list(uids)])
        found = [dict(zip(COLUMNS, row, strict=True)) for row in cursor.fetchall()]
    return {row["uid"]: _life(row) for row in found}


@cache
def _reading() -> str:
    columns = ", ".join(f"{name}::text" if name in _TIMES else name for name in COLUMNS)
    return f"SELECT {columns} FROM queues_lifetime WHERE cluster_id = %s AND uid = ANY(%s)"  # noqa: S608 - columns of ours


def _life(row: dict[str, Any]) -> Life:
    for name in _TIMES:
        row[name] = moment(row[name])
    row["held"] = msgspec.json.decode(row["held"])
    log = load(msgspec.json.decode(row["conditions"]))
    record = Recorded(
        open=_open(row) if row["phase"] else None,
        attempt=row["attempt"],
        losses=row["evictions"],
        counted=row["counted"],
        past_seconds=row["past_seconds"],
        running_since=row["running_since"],
        conditions=log,
        noted_at=row["noted_at"].replace(microsecond=0),
        finished_at=row["finished_at"],
    )
    return Life(
        row["id"], row["uid"], Who(*(row[name] for name in Who._fields)), record, log,
        row["created_at"], row["first_seen_at"], row["noted_at"], row["resource_version"],
        row["outcome"], row["gone_at"], new=False, dirty=False,
    )  # fmt: skip


def _open(row: dict[str, Any]) -> Open:
    quality, earliest = Quality(row["starts_quality"]), row["starts_earliest"]
    held = tuple((each["flavor"], each["resource"], each["amount"]) for each in row["held"])
    return Open(
        Phase(row["phase"]), Bound(row["starts"], quality, earliest, row["starts_latest"]),
        row["attempt"], held, row["queue"], row["cohort"], row["cause"], row["preemptor_uid"],
    )  # fmt: skip


#: The columns of a lifetime in the order in which ``columns`` gives their values.
COLUMNS: Final = (
    "id", "cluster_id", "uid", *Who._fields, "created_at", "first_seen_at", "noted_at",
    "resource_version", "phase", "attempt", "starts", "starts_quality", "starts_earliest",
    "starts_latest", "queue", "cohort", "cause", "preemptor_uid", "devices", "held",
    "running_since", "evictions", "counted", "past_seconds", "conditions", "finished_at",
    "outcome", "gone_at",
)  # fmt: skip
_TIMES: Final = tuple(
    each.name for each in Lifetime._meta.fields if isinstance(each, models.DateTimeField)
)
_NO_PHASE: Final[tuple[Any, ...]] = ("", "", None, None, None, "", "", "", "", 0)


@lru_cache(maxsize=16384)
def _as_text(moment: datetime | None) -> str | None:
    """Write a time once, however many rows hold it: that is dearer than the rest of a row."""
    return None if moment is None else moment.isoformat()


def _as_it_is(moment: datetime | None) -> datetime | None:
    return moment


def columns(cluster_id: int, life: Life, *, as_text: bool) -> tuple[Any, ...]:
    """Return the values of ``COLUMNS``; JSON is text for COPY, and a value for an update."""
    record = life.record or Recorded(open=None)
    now, phase = record.open, _NO_PHASE
    held: list[dict[str, Any]] = []
    if now is not None:
        start = now.start
        phase = (
            now.phase, start.quality, start.at, start.earliest, start.latest, now.queue[:253],
            now.cohort[:253], now.cause, now.preemptor_uid, devices(now.held) if now.held else 0,
        )  # fmt: skip
        held = held_rows(now.held)
    name, quality, at, earliest, latest, queue, cohort, cause, preemptor, number = phase
    when = _as_text if as_text else _as_it_is
    return (
        life.pk, cluster_id, life.uid, *life.who, when(life.created_at), when(life.first_seen_at),
        when(life.noted_at), life.version[:32], name, record.attempt, when(at), quality, earliest, latest,
        queue, cohort, cause, preemptor, number, as_json(held) if as_text else held,
        record.running_since, record.losses, record.counted, record.past_seconds,
        as_json(life.log) if as_text else life.log, record.finished_at, life.outcome, life.gone_at,
    )  # fmt: skip
