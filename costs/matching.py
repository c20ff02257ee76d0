"""Joins the rows of a bill with the nodes of clusters: for which pool and hour each amount is.

A row that names a machine belongs to the node that is this machine, and to the pools of its
devices. A row with tags of the portal belongs to the pool that they name, any other without a
machine to the only pool whose machines have the same account, SKU and zone. What no rule gives
to a pool has a bucket. Amounts are whole units of 10^-12, so nothing is lost on the way.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NamedTuple

from costs.billing import Category
from costs.machines import Machine, Machines, Place, shares
from costs.policy import Bucket
from costs.rounding import split
from costs.spreading import Amounts, Kind, Line, covered, divided, hourly
from costs.times import HOUR
from costs.units import NotAPart

DAY: Final = 24 * HOUR
CLUSTER_TAG: Final = "gpuportal.io/cluster"
FLAVOR_TAG: Final = "gpuportal.io/flavor"


class Method(StrEnum):
    """How a row found its place."""

    MACHINE = "machine"
    GROUP = "group"
    TAG = "tag"
    KIND = "kind"
    NONE = "none"


class Subject(NamedTuple):
    """What rows are about, as the report has it: a machine, or a service.

    ``place`` is the first of its pools. Its seconds are those of the machine.
    """

    resource: str
    method: Method
    bucket: str = ""
    place: Place | None = None
    node: str = ""
    devices: int = 0


@dataclass(slots=True)
class Matched:
    """What a file is for: amounts by pool and hour, by bucket, and by subject and day.

    ``conflicts`` are resources whose money nobody can divide.
    """

    pools: dict[tuple[Place, int], Amounts] = field(default_factory=lambda: defaultdict(Amounts))
    buckets: dict[str, Amounts] = field(default_factory=lambda: defaultdict(Amounts))
    days: dict[tuple[Subject, int], Amounts] = field(default_factory=lambda: defaultdict(Amounts))
    conflicts: set[str] = field(default_factory=set)

    @property
    def effective(self) -> int:
        """Return all of it: every row stands in one place."""
        found = [*self.pools.values(), *self.buckets.values()]
        return sum(each.effective for each in found)


class Matcher:
    """Finds the place of rows. First :meth:`learn` all of them, then :meth:`add` each resource.

    ``counted`` are the hours of each cluster that were counted: of others nobody knows who was
    there.
    """

    def __init__(self, machines: Machines, counted: Mapping[str, set[int]]) -> None:
        """Take what is known of the clusters."""
        self.machines, self.counted = machines, counted
        self.found = Matched(conflicts=set(machines.conflicts))
        self.named: set[int] = set()
        self._ever: set[int] = set().union(*counted.values())
        self._kinds: dict[Kind, set[Place]] = defaultdict(set)
        self._types: dict[str, dict[Place, int]] = defaultdict(dict)
        self._of_place: dict[Place, list[Machine]] = defaultdict(list)
        self._by_flavor: dict[tuple[str, str], set[Place]] = defaultdict(set)
        self._provisioned: dict[tuple[Place, int], int] = {}
        for each in machines.all:
            for place in each.places:
                self._of_place[place].append(each)
                self._by_flavor[place.cluster, place.pool.flavor].add(place)

    def learn(self, resource: str, kind: Kind, machine: str) -> None:
        """Note what rows of the machines of a pool look like."""
        for each in self.machines.of(resource) if resource else ():
            for had in each.had:
                place = Place(each.cluster, had.pool)
                self._kinds[kind].add(place)
                if machine:
                    self._types[machine][place] = had.amount

    def add(self, resource: str, lines: Iterable[Line]) -> None:
        """Give each row of one resource (or of none) its place."""
        machines = self.machines.of(resource) if resource else []
        used: list[Line] = []
        for line in lines:
            if line.unused:
                self._bucket(line, Bucket.UNUSED)
            else:
                used.append(line)
        self.named |= set(map(id, machines)) if used else set()
        if len(machines) == 1:
            self._machine(resource, machines[0], used)
        elif machines:
            self._group(resource, machines, used)
        elif resource and any(line.gpus or line.machine in self._types for line in used):
            self._orphan(resource, used)
        else:
            for line in used:
                self._loose(line)

    # -- machines ---------------------------------------------------------------------------

    def _machine(self, resource: str, machine: Machine, lines: list[Line]) -> None:
        counted = self.counted.get(machine.cluster, set())
        for hour, one in sorted(hourly(lines, machine.seen).items()):
            if hour not in counted:
                one.unknown = one.seconds
            else:
                one.seen = machine.seen(hour)
                one.orphan = 0 if one.seen else one.seconds
            self._devices(resource, machine, hour, one)

    def _devices(self, resource: str, machine: Machine, hour: int, one: Amounts) -> None:
        """Divide an hour of a machine among the pools of its devices."""
        devices = machine.devices(hour)
        place = Place(machine.cluster, min(devices))
        subject = Subject(
            resource, Method.MACHINE, "", place, machine.node, devices[place.pool]
        )  # fmt: skip
        try:
            weights = shares(devices)
        except NotAPart:
            self.found.conflicts.add(resource)
            subject = subject._replace(bucket=Bucket.UNATTRIBUTED.value)
            self.found.buckets[subject.bucket].add(one)
        else:
            billed, effective = (split(each, weights) for each in (one.billed, one.effective))
            for pool, amount in devices.items():
                part = Amounts(
                    one.seconds, one.seen, one.orphan, one.unknown, billed[pool], effective[pool],
                    one.timed, one.spread,
                )  # fmt: skip
                self.found.pools[Place(machine.cluster, pool), hour].add(part, amount)
        self.found.days[subject, hour - hour % DAY].add(one)

    def _group(self, resource: str, machines: Sequence[Machine], lines: list[Line]) -> None:
        """Place what is billed for several machines together: in the one pool that they are of."""
        places = set().union(*(each.places for each in machines))
        for line in lines:
            if len(places) == 1:
                self._pool(resource, Method.GROUP, next(iter(places)), line)
            else:
                self.found.conflicts.add(resource)
                self._bucket(line, Bucket.UNATTRIBUTED, Method.GROUP)

    def _orphan(self, resource: str, lines: list[Line]) -> None:
        """Place a machine that is no node with those that are like it, if that is one pool."""
        alike = set().union(*(self._kinds.get(line.kind, set()) for line in lines))
        types = {p: n for line in lines for p, n in self._types.get(line.machine, {}).items()}
        places = alike if len(alike) == 1 else set(types)
        place = next(iter(places)) if len(places) == 1 else None
        gpus = max(line.gpus for line in lines)
        amount = types.get(place, gpus) if place else gpus
        subject = Subject(resource, Method.NONE, Bucket.ORPHAN.value, place, "", amount)
        for hour, one in sorted(hourly(lines, lambda _hour: 0).items()):
            if hour in self._ever:
                one.orphan = one.seconds
            else:
                one.unknown = one.seconds
            if place:
                self.found.pools[place, hour].add(one, amount)
            else:
                self.found.buckets[subject.bucket].add(one)
            self.found.days[subject, hour - hour % DAY].add(one)

    # -- what is no machine -----------------------------------------------------------------

    def _loose(self, line: Line) -> None:
        """Place a row that is of no machine: by its tags, or with what is like it."""
        wanted = line.tags.get(CLUSTER_TAG, ""), line.tags.get(FLAVOR_TAG, "")
        tagged = self._by_flavor.get(wanted, set())
        alike = self._kinds.get(line.kind, set())
        if len(tagged) == 1:
            self._pool(line.resource, Method.TAG, next(iter(tagged)), line)
        elif not line.resource and len(alike) == 1 and line.category != Category.PURCHASE:
            self._pool(line.service, Method.KIND, next(iter(alike)), line)
        else:
            self._bucket(line, Bucket.SHARED)

    def _pool(self, resource: str, method: Method, place: Place, line: Line) -> None:
        """Spread a row over a pool's hours by the time of its devices; it says nothing of time."""
        parts = covered(line.span)
        there = {hour: self.provisioned(place, hour) for hour in parts}
        weights = there if any(there.values()) else parts
        billed, effective = (divided(each, weights) for each in (line.billed, line.effective))
        subject = Subject(resource or line.service, method, "", place)
        for hour in parts:
            one = Amounts(billed=billed[hour], effective=effective[hour], spread=len(parts) > 1)
            self.found.pools[place, hour].add(one)
            self.found.days[subject, hour - hour % DAY].add(one)

    def provisioned(self, place: Place, hour: int) -> int:
        """Return the device-seconds of a pool in an hour."""
        if (place, hour) not in self._provisioned:
            self._provisioned[place, hour] = sum(
                each.seen(hour) * each.devices(hour).get(place.pool, 0)
                for each in self._of_place.get(place, ())
            )
        return self._provisioned[place, hour]

    def _bucket(self, line: Line, bucket: Bucket, method: Method = Method.NONE) -> None:
        one = Amounts(billed=line.billed, effective=line.effective)
        self.found.buckets[bucket.value].add(one)
        subject = Subject(
            line.resource if method is Method.GROUP else line.service, method, bucket.value
        )
        self.found.days[subject, line.span.starts - line.span.starts % DAY].add(one)
