"""Quota lines as the meters that pages draw."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _

from kube.catalog import CPU, MEMORY
from portal.web.parts import MeterLine
from queues.selectors.freshness import Freshness
from queues.selectors.room import Room
from queues.selectors.tenants import LineNow, QueueNow


@dataclass(frozen=True, slots=True)
class QueueShown:
    """A queue with meters, and with the age of what they say."""

    now: QueueNow
    devices: list[MeterLine]
    others: list[MeterLine]
    pending: list[LineNow]
    at: datetime | None

    @property
    def stamp(self) -> tuple[object, ...]:
        """Give what moves when the meters move."""
        return (self.now.queue.name, self.now.seen, tuple(self.devices), tuple(self.others))


def shown(now: QueueNow, ages: Mapping[int, Freshness]) -> QueueShown:
    """Draw a queue's lines; what the cluster does not know yet is listed apart."""
    live = [(line, line.room) for line in now.lines if line.room is not None]
    age = ages.get(now.queue.cluster_id)
    return QueueShown(
        now=now,
        devices=[meter(line, room) for line, room in live if line.is_device],
        others=[meter(line, room) for line, room in live if not line.is_device],
        pending=[line for line in now.lines if line.room is None and line.is_device],
        at=age.at if age else None,
    )


def meter(line: LineNow, room: Room) -> MeterLine:
    """Draw one line with the numbers of the cluster, not with those of the catalog."""
    return MeterLine(
        label=label(line),
        unit=unit(line.line.resource),
        nominal=room.nominal,
        held=room.held,
        borrowed=room.borrowed,
        lent=room.lent,
        borrowing_limit=room.borrowing_limit,
        lending_limit=room.lending_limit,
        borrowable_now=room.borrowable,
    )


def label(line: LineNow) -> str:
    """Name a line by what it can do, and by its flavor where that says more."""
    flavor = line.line.flavor
    if line.is_device:
        return f"{line.capability} · {flavor}" if line.capability not in ("", flavor) else flavor
    return f"{flavor} · {_('CPU') if line.line.resource == CPU else _('memory')}"


def unit(resource: str) -> str:
    """Give the unit of a meter."""
    return resource if resource in (CPU, MEMORY) else _("GPUs")
