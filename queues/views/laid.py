"""How the free devices of each flavor lie, as a page draws it: figures by level, and a map."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from django.utils.translation import gettext as _

from kube.fragmentation import HOSTNAME, Domain, Fragmentation, Level, Machine
from portal.web.wording import plain
from queues.selectors.gangs import Gangs

# More than this is in the figures, and not on the map.
DOMAINS_DRAWN: Final = 24
MACHINES_DRAWN: Final = 64
# The size of one machine on the map and the way from one to the next, in pixels.
CELL, STEP = 14, 17


@dataclass(frozen=True, slots=True)
class Row:
    """One level: what the largest gang there is for each size of pod, and where."""

    label: str
    domains: int
    gangs: tuple[int, ...]
    best: str


@dataclass(frozen=True, slots=True)
class Cell:
    """One machine on the map: filled from below as far as its devices are taken."""

    x: int
    fill: int
    y: int
    state: str
    text: str


@dataclass(frozen=True, slots=True)
class Strip:
    """One domain on the map."""

    name: str
    free: int
    devices: int
    unknown: int
    cells: tuple[Cell, ...]
    more: int
    width: int
    height: int = CELL


@dataclass(frozen=True, slots=True)
class Laid:
    """One flavor."""

    flavor: str
    topology: str
    free: int
    devices: int
    unknown: int
    quota_free: int
    stranded: int
    pods: tuple[int, ...]
    rows: tuple[Row, ...]
    strips: tuple[Strip, ...]
    more: int
    out: int
    unplaced: int

    @property
    def known(self) -> bool:
        """Say whether anything is known about where pods lie."""
        return self.unknown < self.devices or not self.devices

    @property
    def largest(self) -> int:
        """Give the size of the largest pod."""
        return self.pods[-1] if self.pods else 0


def drawn(gangs: Iterable[Gangs]) -> list[Laid]:
    """Draw every flavor."""
    return [_drawn(each) for each in gangs]


def _drawn(gangs: Gangs) -> Laid:
    lie, pool = gangs.lie, gangs.pool
    domains = _on_map(lie)
    return Laid(
        flavor=pool.pool.flavor,
        topology=gangs.topology,
        free=lie.whole.free,
        devices=lie.whole.devices,
        unknown=lie.whole.unknown,
        quota_free=max(0, pool.capacity - pool.held),
        stranded=lie.stranded,
        pods=lie.pods,
        rows=tuple(_rows(lie)),
        strips=tuple(_strip(each) for each in domains[:DOMAINS_DRAWN]),
        more=max(0, len(domains) - DOMAINS_DRAWN),
        out=len(lie.out),
        unplaced=len(lie.unplaced),
    )


def _rows(lie: Fragmentation) -> Iterable[Row]:
    for level in reversed(lie.levels):
        yield _row(lie, level)
    yield Row(_("all together"), 1, tuple(lie.whole.gang(pod) for pod in lie.pods), "")


def _row(lie: Fragmentation, level: Level) -> Row:
    best = next((found for pod in reversed(lie.pods) if (found := level.best(pod))), None)
    name = "/".join(best.path if level.label != HOSTNAME else best.path[-1:]) if best else ""
    gangs = tuple(level.largest(pod) for pod in lie.pods)
    return Row(word_of(level.label), len(level.domains), gangs, name)


def word_of(label: str) -> str:
    """Name a level of nearness by the end of its label."""
    return (
        _("one host")
        if label == HOSTNAME
        else _("one %(level)s") % {"level": label.rsplit("/", 1)[-1]}
    )


def _on_map(lie: Fragmentation) -> tuple[Domain, ...]:
    """Give the domains just above the machines, or all machines together."""
    return lie.levels[-2].domains if len(lie.levels) > 1 else (lie.whole,)


def _strip(domain: Domain) -> Strip:
    machines = sorted(domain.machines, key=lambda each: (-each.free, each.name))
    cells = tuple(_cell(each, index) for index, each in enumerate(machines[:MACHINES_DRAWN]))
    return Strip(
        name="/".join(domain.path) or _("all hosts"),
        free=domain.free,
        devices=domain.devices,
        unknown=domain.unknown,
        cells=cells,
        more=max(0, len(machines) - MACHINES_DRAWN),
        width=max(1, len(cells) * STEP - (STEP - CELL)),
    )


def _cell(machine: Machine, index: int) -> Cell:
    if machine.unknown:
        text = _("%(name)s: not known") % {"name": machine.name}
        return Cell(index * STEP, 0, CELL, "unknown", text)
    numbers = {"name": machine.name, "free": plain(machine.free), "all": plain(machine.devices)}
    taken = machine.devices - machine.free
    fill = round(CELL * taken / machine.devices) if machine.devices else CELL
    state = "full" if not machine.free else "part" if taken else "free"
    return Cell(
        index * STEP, fill, CELL - fill, state, _("%(name)s: %(free)s of %(all)s free") % numbers
    )
