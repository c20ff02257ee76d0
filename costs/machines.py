"""Nodes as the machines that a bill knows: by which names, with which devices, and when."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final, NamedTuple

from costs.facts import Pool
from costs.times import HOUR, Span, hours
from costs.units import NotAPart, slices

_AZURE: Final = "/subscriptions/"
_SCALE_SET: Final = "/virtualmachines/"
_MIG: Final = "mig-"


class Place(NamedTuple):
    """A pool of a cluster, by the cluster's slug."""

    cluster: str
    pool: Pool


class Had(NamedTuple):
    """Devices of a machine while it was a node."""

    span: Span
    pool: Pool
    amount: int


@dataclass(slots=True)
class Machine:
    """A node as long as it was one machine; ``names`` are those that a bill may use."""

    cluster: str
    node: str
    names: frozenset[str]
    had: list[Had]
    _seconds: Counter[int] = field(default_factory=Counter)

    def seen(self, hour: int) -> int:
        """Return the seconds of an hour in which it was in the cluster with any device."""
        if not self._seconds:
            for span in {each.span for each in self.had}:
                for part in hours(span):
                    cut = span.cut(part)
                    self._seconds[part.starts] += cut.seconds if cut else 0
        return self._seconds[hour]

    def devices(self, hour: int) -> dict[Pool, int]:
        """Return its devices in an hour, or those of the nearest time in which it had some."""
        nearest = min((_away(each.span, hour) for each in self.had), default=0)
        near = [each for each in self.had if _away(each.span, hour) == nearest]
        return {each.pool: each.amount for each in sorted(near)}

    @property
    def places(self) -> set[Place]:
        """Return the pools that it has ever been in."""
        return {Place(self.cluster, each.pool) for each in self.had}


def _away(span: Span, hour: int) -> int:
    if span.cut(Span(hour, hour + HOUR)):
        return 0
    return min(abs(span.starts - hour), abs(span.ends - hour))


class Machines:
    """All machines, by name. A name that two clusters claim is nobody's: see ``conflicts``."""

    def __init__(self, found: Iterable[Machine]) -> None:
        """Index them; machines of an Azure scale set are found by the name of the set too."""
        self.all = list(found)
        self.conflicts: set[str] = set()
        self._named: dict[str, Machine] = {}
        self._sets: dict[str, list[Machine]] = defaultdict(list)
        for each in self.all:
            for name in each.names:
                self._add(name, each)
        for name in self.conflicts:
            del self._named[name]

    def _add(self, name: str, machine: Machine) -> None:
        known = self._named.setdefault(name, machine)
        if known is not machine and known.cluster != machine.cluster:
            self.conflicts.add(name)
        self._named[name] = machine
        before, found, _number = name.rpartition(_SCALE_SET)
        if found:
            self._sets[before].append(machine)

    def of(self, resource: str) -> list[Machine]:
        """Return the machine of this name, or all of the scale set, or none."""
        name = resource_key(resource)
        if name in self._named:
            return [self._named[name]]
        return self._sets.get(name, [])


def resource_key(resource: str) -> str:
    """Return what of a bill's resource names a machine, as ``billing.provider_key`` has it.

    ``arn:aws:ec2:eu-1:1:instance/i-0abc`` gives ``i-0abc``; Azure's paths count as a whole, in
    small letters.
    """
    lower = resource.lower()
    if lower.startswith(_AZURE):
        return lower.rstrip("/")
    return resource.rstrip("/").rsplit("/", 1)[-1]


def shares(devices: Mapping[Pool, int]) -> dict[Pool, Fraction]:
    """Return which part of a machine each of its pools is.

    One pool is all of it. MIG slices of several profiles weigh as their compute slices do, of a
    model that the flavor names; ``NotAPart`` where nobody can say what a device is of the whole.
    """
    if len(devices) == 1:
        return {pool: Fraction(1) for pool in devices}
    return {pool: amount * _weight(pool) for pool, amount in devices.items()}


def _weight(pool: Pool) -> Fraction:
    kind = pool.resource.rpartition("/")[2]
    if not kind.startswith(_MIG):
        message = f"what a {pool.resource} is of its machine is not known"
        raise NotAPart(message)
    return slices(pool.flavor, kind.removeprefix(_MIG))
