"""From what the exporters of GPUs said in an hour to what each pod used of each device.

A device counts once, however many pods share it: at each scrape it was as busy as the largest of
its series says, in equal parts of the pods that it names. What is missing is not made up: a pod
was *expected* as long as it was seen, and while its exporter did not answer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Final, NamedTuple

from costs.promql import ACTIVE
from costs.times import HOUR
from costs.used import MILLI

Labels = Mapping[str, str]
#: Samples of one series: its time in milliseconds, and its value; None is no number.
Samples = Sequence[tuple[int, Fraction | None]]
#: The largest number that Prometheus has is below 10^309.
_DIGITS: Final = 330


class TooMany(ValueError):
    """More samples than scrapes: the interval is wrong, or everything is there twice."""


def number(text: str) -> Fraction | None:
    """Return the exact value of a sample; ``None`` for NaN and infinity.

    ``ValueError`` for what is no number of Prometheus.
    """
    try:
        found = Decimal(text)
    except InvalidOperation:
        raise ValueError(text[:40]) from None
    if not found.is_finite():
        return None
    if found and abs(found.adjusted()) > _DIGITS:
        raise ValueError(text[:40])
    return Fraction(found)


class Device(NamedTuple):
    """A GPU or an instance of one."""

    uuid: str
    instance_id: str


class Holder(NamedTuple):
    """Who a series says has the device; without a pod it is nobody that has a name."""

    namespace: str
    pod: str
    uid: str
    node: str
    model: str
    profile: str


class Target(NamedTuple):
    """A target of the exporters' job: its own labels, and in how many scrapes it answered."""

    namespace: str
    pod: str
    answered: int


@dataclass(frozen=True, slots=True)
class Row:
    """One series in an hour. ``total`` is ``None`` if it has samples that are no numbers."""

    labels: Labels
    metric: str
    total: Fraction | None
    count: int

    @property
    def device(self) -> Device:
        """Return which device it is about."""
        return device_of(self.labels)


@dataclass(slots=True)
class PodUse:
    """What one pod used of the devices of one kind on one node.

    ``used`` in seconds of a device, ``seen`` and ``expected`` in seconds. ``shared`` is how many
    pods had one device at the same time, ``clamped`` how many samples or series were cut.
    """

    used: Fraction = Fraction(0)
    seen: int = 0
    expected: int = 0
    fallback: int = 0
    shared: int = 1
    clamped: int = 0
    energy: Fraction | None = None

    @property
    def milli(self) -> int:
        """Return used time in thousandths of a second."""
        return round(self.used * MILLI)


@dataclass(frozen=True, slots=True)
class Hour:
    """What was asked of one hour."""

    rows: Sequence[Row]
    targets: Mapping[tuple[str, str], Target]
    intervals: Intervals
    beyond: frozenset[Device] = frozenset()
    raw: Mapping[tuple[str, Device], Sequence[tuple[Labels, Samples]]] = field(default_factory=dict)
    energy: Sequence[Row] = ()


class Intervals(NamedTuple):
    """Seconds between two scrapes, by target; ``given`` stands for all."""

    given: int | None
    of: Mapping[tuple[str, str], int]

    def every(self, labels: Labels) -> int:
        """Return the seconds for a series; ``KeyError`` if nothing is known of its target."""
        key = labels.get("job", ""), labels.get("instance", "")
        if self.given:
            return self.given
        if key in self.of:
            return self.of[key]
        # A target that is gone by now was scraped as those of its job that are left.
        same = {every for (job, _), every in self.of.items() if job == key[0]}
        if len(same) != 1:
            raise KeyError(key[0])
        return same.pop()


def device_of(labels: Labels) -> Device:
    """Return the device of a series; an exporter that names none is told apart by its number."""
    uuid = labels.get("UUID") or f"{labels.get('instance', '')}/{labels.get('gpu', '')}"
    return Device(uuid, labels.get("GPU_I_ID", ""))


def holder(labels: Labels, target: Target | None) -> Holder:
    """Return whom a series names.

    Where Prometheus keeps the labels of its targets, those of the pod are called ``exported_``.
    A name that is that of the exporter itself is nobody's: the device has no pod.
    """
    namespace = (
        labels.get("exported_namespace")
        or labels.get("pod_namespace")
        or labels.get("namespace", "")
    )
    pod = labels.get("exported_pod") or labels.get("pod_name") or _own(labels, target)
    return Holder(
        namespace=namespace if pod else "",
        pod=pod,
        uid=labels.get("pod_uid", "") if pod else "",
        node=node_of(labels),
        model=labels.get("modelName", ""),
        profile=labels.get("GPU_I_PROFILE", ""),
    )


def _own(labels: Labels, target: Target | None) -> str:
    pod = labels.get("pod", "")
    return "" if target is not None and pod == target.pod else pod


def node_of(labels: Labels) -> str:
    """Return the node; its label was renamed once."""
    return labels.get("hostname") or labels.get("Hostname") or labels.get("node", "")


def doubtful(rows: Iterable[Row], beyond: frozenset[Device]) -> dict[str, set[Device]]:
    """Return the devices, by metric, of which sums do not say enough.

    Several series may be pods at the same time or one after the other; a value beyond the whole
    or one that is no number is hidden in a sum.
    """
    by_device: dict[tuple[str, Device], list[Row]] = defaultdict(list)
    for row in rows:
        by_device[row.metric, row.device].append(row)
    found: dict[str, set[Device]] = defaultdict(set)
    for (metric, device), several in by_device.items():
        unclear = len(several) > 1 or device in beyond or several[0].total is None
        if unclear:
            found[metric].add(device)
    return dict(found)


def used(hour: Hour) -> dict[Holder, PodUse]:
    """Return what everybody used, those without a pod too.

    ``TooMany`` if a device has more samples than there were scrapes, ``KeyError`` if an interval
    is not known.
    """
    counted = _Counted(hour)
    mig = {row.device.uuid for row in hour.rows if row.labels.get("GPU_I_PROFILE")}
    for row in hour.rows:
        if row.metric != ACTIVE and row.device.uuid in mig:
            # Utilisation says nothing of a GPU that is cut into instances.
            continue
        if (row.metric, row.device) not in hour.raw:
            counted.add_sum(row)
    for (metric, _), series in hour.raw.items():
        counted.add_samples(metric, series)
    for row in hour.energy:
        counted.add_energy(row)
    return counted.found


class Part(NamedTuple):
    """Samples of one device: their sum, their number, and how often the pod was named at all."""

    used: Fraction
    seen: int
    named: int


class _Counted:
    """The sums of one hour by holder."""

    def __init__(self, hour: Hour) -> None:
        self.hour = hour
        self.found: dict[Holder, PodUse] = defaultdict(PodUse)
        self.answered: dict[str, int] = defaultdict(int)
        known = {
            (row.labels.get("job", ""), row.labels.get("instance", "")): node_of(row.labels)
            for row in hour.rows
        }
        for key, target in hour.targets.items():
            # An exporter that was started anew is another target of the same node.
            self.answered[known.get(key) or key[1]] += target.answered

    def _holder(self, labels: Labels) -> Holder:
        key = labels.get("job", ""), labels.get("instance", "")
        return holder(labels, self.hour.targets.get(key))

    def _book(self, who: Holder, labels: Labels, metric: str, part: Part) -> PodUse:
        """Add samples of one device."""
        every = self.hour.intervals.every(labels)
        slots = HOUR // every
        # A target is scraped at a fixed offset, so an hour holds one more at the most.
        if part.named > slots + 1:
            raise TooMany(device_of(labels).uuid)
        count = min(part.seen, slots)
        missed = max(0, slots - self.answered[who.node or labels.get("instance", "")])
        use = self.found[who]
        use.used += min(part.used, Fraction(count)) * every
        use.seen += count * every
        use.expected += min(slots, max(count, part.named) + missed) * every
        if metric != ACTIVE:
            use.fallback += count * every
        return use

    def add_sum(self, row: Row) -> None:
        """Add a device that one pod had, or nobody."""
        whole = Fraction(1, 1 if row.metric == ACTIVE else 100)
        total = (row.total or Fraction(0)) * whole
        kept = min(max(total, Fraction(0)), Fraction(row.count))
        part = Part(kept, row.count, row.count)
        use = self._book(self._holder(row.labels), row.labels, row.metric, part)
        use.clamped += kept != total

    def add_samples(self, metric: str, series: Sequence[tuple[Labels, Samples]]) -> None:
        """Add a device scrape by scrape: once, in equal parts of those who had it."""
        whole = Fraction(1, 1 if metric == ACTIVE else 100)
        at: dict[int, dict[Holder, Fraction]] = defaultdict(dict)
        labels: dict[Holder, Labels] = {}
        clamped: dict[Holder, int] = defaultdict(int)
        named: dict[Holder, set[int]] = defaultdict(set)
        for each, samples in series:
            who = self._holder(each)
            labels[who] = each
            for when, value in samples:
                named[who].add(when)
                if value is None:
                    continue
                kept = min(max(value * whole, Fraction(0)), Fraction(1))
                clamped[who] += kept != value * whole
                at[when][who] = max(kept, at[when].get(who, kept))
        sums: dict[Holder, list[Fraction]] = defaultdict(list)
        shared: dict[Holder, int] = defaultdict(lambda: 1)
        for values in at.values():
            # The series of the device as a whole stands beside those of its pods.
            pods = [who for who in values if who.pod] or list(values)[:1]
            each_one = max(values.values()) * Fraction(1, len(pods))
            for who in pods:
                sums[who].append(each_one)
                shared[who] = max(shared[who], len(pods))
        for who in labels:
            if not who.pod and who not in sums:
                continue
            parts = sums[who]
            part = Part(sum(parts, Fraction(0)), len(parts), len(named[who]))
            use = self._book(who, labels[who], metric, part)
            use.shared = max(use.shared, shared[who])
            use.clamped += clamped[who]

    def add_energy(self, row: Row) -> None:
        """Add millijoules of a device, in equal parts of those who shared it."""
        who = self._holder(row.labels)
        if row.total is not None and who in self.found:
            use = self.found[who]
            use.energy = (use.energy or Fraction(0)) + row.total * Fraction(1, use.shared)
