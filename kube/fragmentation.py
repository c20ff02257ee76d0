"""How free devices lie: the largest gang that fits into one host, one rack, one whole flavor. Pure.

A quota says how many devices may be taken, not whether they lie together. A machine whose pods
are not known counts as neither free nor taken: what is said holds for the rest of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

#: The label of a machine's own name; a machine without it is told apart by its name all the same.
HOSTNAME: Final = "kubernetes.io/hostname"


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine with devices of one flavor; ``used`` is None while its pods are not known.

    One that is not ``ready``, or takes no new pods, has nothing to give.
    """

    name: str
    devices: int
    used: int | None = None
    ready: bool = True
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def free(self) -> int:
        """Return the devices that a pod could take here for certain."""
        if self.used is None or not self.ready:
            return 0
        return max(0, self.devices - self.used)

    @property
    def unknown(self) -> int:
        """Return the devices of which nobody knows whether they are free."""
        return self.devices if self.used is None and self.ready else 0


@dataclass(frozen=True, slots=True)
class Domain:
    """Machines that lie together; ``path`` names it from the outermost level on."""

    path: tuple[str, ...]
    machines: tuple[Machine, ...]

    @property
    def name(self) -> str:
        """Return the name within its level."""
        return self.path[-1] if self.path else ""

    @property
    def devices(self) -> int:
        """Return the devices of its ready machines."""
        return sum(machine.devices for machine in self.machines if machine.ready)

    @property
    def free(self) -> int:
        """Return the devices that are free for certain."""
        return sum(machine.free for machine in self.machines)

    @property
    def unknown(self) -> int:
        """Return the devices of which nobody knows whether they are free."""
        return sum(machine.unknown for machine in self.machines)

    def gang(self, pod: int) -> int:
        """Return the devices of the largest gang of pods with ``pod`` devices each.

        A pod lies on one machine, so what is left over on each is lost to the gang.
        """
        return sum(machine.free // pod * pod for machine in self.machines)


@dataclass(frozen=True, slots=True)
class Level:
    """One level of nearness: its label, and its domains with the most free first."""

    label: str
    domains: tuple[Domain, ...]

    def largest(self, pod: int) -> int:
        """Return the devices of the largest gang that fits into one domain."""
        return max((domain.gang(pod) for domain in self.domains), default=0)

    def best(self, pod: int) -> Domain | None:
        """Return the domain into which the largest gang fits, None if nothing fits."""
        found = max(self.domains, key=lambda domain: domain.gang(pod), default=None)
        return found if found is not None and found.gang(pod) else None


@dataclass(frozen=True, slots=True)
class Fragmentation:
    """All levels of one flavor, the outermost first, the whole flavor before them."""

    whole: Domain
    levels: tuple[Level, ...]
    #: Sizes of pods that are worth asking about: powers of two, up to the largest machine.
    pods: tuple[int, ...]
    #: Machines that take no pods now, and machines that lack the label of a level.
    out: tuple[Machine, ...] = ()
    unplaced: tuple[Machine, ...] = ()

    @property
    def known(self) -> bool:
        """Say whether the pods of every machine are known."""
        return not self.whole.unknown

    @property
    def stranded(self) -> int:
        """Return the free devices on machines that no pod of the largest size can use."""
        return self.whole.free - self.whole.gang(self.pods[-1]) if self.pods else 0


def fragmentation(machines: Iterable[Machine], levels: Sequence[str] = ()) -> Fragmentation:
    """Sort the machines of one flavor into the domains of each level.

    ``levels`` are labels, the outermost first, as in a topology; the machine itself is always
    the last level. A machine without one of the labels is in no domain, as for Kueue.
    """
    found = sorted(machines, key=lambda machine: machine.name)
    ready = [machine for machine in found if machine.ready]
    labels = [label for label in levels if label != HOSTNAME]
    unplaced = [each for each in ready if any(not each.labels.get(label) for label in labels)]
    missing = {machine.name for machine in unplaced}
    placed = [machine for machine in ready if machine.name not in missing]
    rows = [
        Level(label, _domains(placed, labels[: depth + 1])) for depth, label in enumerate(labels)
    ]
    return Fragmentation(
        whole=Domain((), tuple(ready)),
        levels=(*rows, Level(HOSTNAME, _hosts(ready, labels))),
        pods=_sizes(ready),
        out=tuple(machine for machine in found if not machine.ready),
        unplaced=tuple(unplaced),
    )


def _domains(machines: Iterable[Machine], labels: Sequence[str]) -> tuple[Domain, ...]:
    groups: dict[tuple[str, ...], list[Machine]] = {}
    for machine in machines:
        groups.setdefault(_path(machine, labels), []).append(machine)
    return _sorted(Domain(path, tuple(each)) for path, each in groups.items())


def _hosts(machines: Iterable[Machine], labels: Sequence[str]) -> tuple[Domain, ...]:
    return _sorted(
        Domain((*_path(machine, labels), machine.name), (machine,)) for machine in machines
    )


def _path(machine: Machine, labels: Sequence[str]) -> tuple[str, ...]:
    return tuple(machine.labels.get(label, "") for label in labels)


def _sorted(domains: Iterable[Domain]) -> tuple[Domain, ...]:
    return tuple(sorted(domains, key=lambda domain: (-domain.free, domain.path)))


def _sizes(machines: Iterable[Machine]) -> tuple[int, ...]:
    """Return 1, 2, 4 and so on, and the size of the largest machine itself."""
    largest = max((machine.devices for machine in machines), default=0)
    sizes = {2**power for power in range(largest.bit_length()) if 2**power <= largest}
    return tuple(sorted(sizes | {largest} - {0}))
