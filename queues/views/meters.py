"""Quota lines as the meters that pages draw."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from django.utils.translation import gettext as _

from kube.catalog import CPU, MEMORY
from portal.web.parts import MeterLine
from portal.web.wording import plain
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
    #: For each line of devices: its label, and each number with where it comes from.
    reckoned: list[tuple[str, list[tuple[str, str, str]]]]

    @property
    def stamp(self) -> tuple[object, ...]:
        """Give what moves when the meters move."""
        now = self.now
        seen = replace(now.seen, observed_at=None)
        jobs = (now.waiting, now.running)
        return (now.queue.name, seen, jobs, tuple(self.devices), tuple(self.others))


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
        reckoned=[(label(line), reckoned(room)) for line, room in live if line.is_device],
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


def reckoned(room: Room) -> list[tuple[str, str, str]]:
    """Explain each number of a line of devices: its name, its figure, where it comes from."""
    own_idle = max(0, room.nominal - room.held - room.lent)
    return [
        (_("Quota"), plain(room.nominal), _("what the cluster has for this queue")),
        (_("Held"), plain(room.held), _("what its jobs hold at this moment, as Kueue counts it")),
        (_("Borrowed"), plain(room.borrowed), _borrowed(room)),
        (_("Lent"), plain(room.lent), _("what others took of its idle quota and nobody else had to give")),
        (_("Free to borrow now"), plain(room.borrowable), _borrowable(room)),
        (_("Could start now"), plain(room.free),
         _("%(own)s of its own idle + %(more)s to borrow") % {"own": plain(own_idle), "more": plain(room.borrowable)}),
    ]  # fmt: skip


def _borrowed(room: Room) -> str:
    if not room.borrowed:
        return _("no more is held than the quota")
    numbers = {"held": plain(room.held), "nominal": plain(room.nominal)}
    return _("%(held)s held less %(nominal)s quota; others may take it back") % numbers


def _borrowable(room: Room) -> str:
    if room.borrowing_limit is None:
        return _("what the queues around it leave idle and lend; no limit of its own")
    left = max(0, room.borrowing_limit - room.borrowed)
    return _(
        "what the queues around it leave idle and lend, and at most %(left)s: "
        "the limit of %(limit)s less what is borrowed"
    ) % {"left": plain(left), "limit": plain(room.borrowing_limit)}


def label(line: LineNow) -> str:
    """Name a line by what it can do, and by its flavor where that says more."""
    flavor = line.line.flavor
    if line.is_device:
        return f"{line.capability} · {flavor}" if line.capability not in ("", flavor) else flavor
    return f"{flavor} · {_('CPU') if line.line.resource == CPU else _('memory')}"


def unit(resource: str) -> str:
    """Give the unit of a meter."""
    return resource if resource in (CPU, MEMORY) else _("GPUs")
