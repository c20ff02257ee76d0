"""Which devices of which nodes the jobs of the made-up past had: never one device twice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple

NODES: Final = ("gpu-1", "gpu-2", "gpu-3", "gpu-4")
A_NODE: Final = 8
#: The device that is busy without a pod at times; jobs get it only where all others are taken.
STRAY: Final = ("gpu-4", 7)

Times = tuple[datetime, datetime]


class Part(NamedTuple):
    """What one pod has: some devices of one node, by their numbers."""

    node: str
    devices: tuple[int, ...]


class Machines:
    """The devices that are free, with the times in which a node takes no new pods."""

    def __init__(self, closed: Mapping[str, Sequence[Times]]) -> None:
        """Begin with all of them free."""
        self.closed = closed
        self.free: dict[str, set[int]] = {node: set(range(A_NODE)) for node in NODES}

    def take(self, gpus: int, at: datetime) -> list[Part]:
        """Take devices: of the fullest node that has enough, else of several, the emptiest first.

        ``ValueError`` if there are not so many.
        """
        nodes = [node for node in NODES if not self._is_closed(node, at)]
        found = self._of_one(nodes, gpus) or self._of_several(nodes, gpus)
        if sum(len(part.devices) for part in found) < gpus:
            message = f"{gpus} devices are not free at {at}"
            raise ValueError(message)
        for part in found:
            self.free[part.node] -= set(part.devices)
        return found

    def give(self, parts: Sequence[Part]) -> None:
        """Give devices back."""
        for part in parts:
            self.free[part.node] |= set(part.devices)

    def _is_closed(self, node: str, at: datetime) -> bool:
        return any(lo <= at < hi for lo, hi in self.closed.get(node, ()))

    def _of_one(self, nodes: Sequence[str], gpus: int) -> list[Part]:
        enough = [node for node in nodes if len(self._usual(node)) >= gpus]
        if not enough:
            return []
        node = min(enough, key=lambda each: (len(self.free[each]), each))
        return [Part(node, tuple(self._usual(node)[:gpus]))]

    def _of_several(self, nodes: Sequence[str], gpus: int) -> list[Part]:
        found: list[Part] = []
        for node in sorted(nodes, key=lambda each: (-len(self._usual(each)), each)):
            some = self._usual(node)[:gpus]
            gpus -= len(some)
            found += [Part(node, tuple(some))] if some else []
        if gpus and STRAY[0] in nodes and STRAY[1] in self.free[STRAY[0]]:
            found.append(Part(STRAY[0], (STRAY[1],)))
        return found

    def _usual(self, node: str) -> list[int]:
        return sorted(each for each in self.free[node] if (node, each) != STRAY)
