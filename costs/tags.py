"""What the tags of a bill say of a machine, beside what Kubernetes says of who had it.

Money is divided by what pods and quota say; the tag is a second voice, and both are shown. A tag
wins where one tenant has a whole machine: then somebody corrects the catalog, or the tag.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final

from costs.differences import Difference
from costs.facts import NOBODY, Pool
from costs.machines import Machine
from costs.spreading import Line
from costs.states import Code, Finding
from costs.times import Span
from costs.units import NotAPart, slices

#: Amounts of the matching are in 10^-12 of the currency.
_UNITS: Final = 10**12
_MIG: Final = "mig-"
#: Device-seconds by tenant.
Had = Mapping[str, int]


@dataclass(slots=True)
class Marks:
    """What the rows of one machine say: seconds and cost by tag, and the GPUs that it has."""

    machine: Machine
    seconds: Counter[str] = field(default_factory=Counter)
    effective: Counter[str] = field(default_factory=Counter)
    gpus: int = 0

    def add(self, tag: str, line: Line) -> None:
        """Add a row; ``tag`` is the name of the tag that names a tenant."""
        value = line.tags.get(tag, "").strip() if tag else ""
        if line.consumed is not None:
            self.seconds[value] += line.consumed
        elif line.counts_time:
            self.seconds[value] += line.span.seconds
        self.effective[value] += line.effective
        self.gpus = max(self.gpus, line.gpus)


def about_tags(
    marks: Mapping[str, Marks], names: Mapping[str, str], had: Mapping[tuple[str, str], Had]
) -> Iterator[Difference]:
    """Yield machines without the tag, and those whose tag is another tenant's than Kubernetes says.

    ``names`` are what a tag may call a tenant, in small letters; ``had`` is who had the devices
    of a node. A machine that nobody had contradicts no tag.
    """
    for resource, one in sorted(marks.items()):
        there = had.get((one.machine.cluster, one.machine.node), {})
        for value in sorted(one.effective):
            if not value:
                yield _difference(Code.UNTAGGED, resource, one, value, there)
            elif _wrong(names.get(value.lower()), there):
                yield _difference(Code.MISTAGGED, f"{resource} {value}", one, value, there)


def _wrong(tenant: str | None, there: Had) -> bool:
    """Say whether a tag names nobody, or another one than who had most of the machine."""
    if tenant is None:
        return True
    known = {name: seconds for name, seconds in there.items() if name != NOBODY}
    return bool(known) and known.get(tenant, 0) < max(known.values())


def _difference(code: Code, subject: str, one: Marks, value: str, there: Had) -> Difference:
    seconds, whole = Fraction(one.seconds[value]), Fraction(sum(one.seconds.values()))
    facts: dict[str, str | int] = {"tag": value, "tenants": shares(there), "alone": len(there) == 1}
    finding = Finding(code, subject, seconds, whole)
    money = Fraction(one.effective[value], _UNITS)
    return Difference(finding, one.machine.cluster, one.machine.node, money, facts)


def shares(there: Had) -> str:
    """Return who had a machine, the largest part first: ``nlp 75 %, cv 25 %``."""
    whole = sum(there.values())
    found = sorted(there.items(), key=lambda each: (-each[1], each[0]))
    return ", ".join(f"{name or '-'} {100 * part // whole} %" for name, part in found if whole)


def about_slices(marks: Mapping[str, Marks]) -> Iterator[Difference]:
    """Yield machines whose slices together are more than the GPUs that the bill says they have."""
    for resource, one in sorted(marks.items()):
        if not one.gpus:
            continue
        beyond = whole = most = Fraction(0)
        for span, devices in _together(one.machine):
            if devices > one.gpus:
                beyond += (devices - one.gpus) * span.seconds
                most = max(most, devices)
            whole += one.gpus * span.seconds
        if beyond:
            facts: dict[str, str | int] = {"gpus": one.gpus, "devices": _text(most)}
            finding = Finding(Code.MIG_MISMATCH, resource, beyond, whole)
            yield Difference(
                finding, one.machine.cluster, one.machine.node, Fraction(0), facts
            )  # fmt: skip


def _text(count: Fraction) -> str:
    hundredths = round(count * 100)
    return f"{hundredths // 100}.{hundredths % 100:02}"


def _together(machine: Machine) -> Iterable[tuple[Span, Fraction]]:
    """Yield how many whole GPUs the devices of a machine were, by time; unknown ones are left out."""
    found: dict[Span, Fraction] = {}
    for each in machine.had:
        try:
            part = _part(each.pool)
        except NotAPart:
            continue
        found[each.span] = found.get(each.span, Fraction(0)) + each.amount * part
    return found.items()


def _part(pool: Pool) -> Fraction:
    """Return what a device is of a whole GPU; ``NotAPart`` where its name does not say it."""
    name = pool.resource.rpartition("/")[2]
    if name == "gpu":
        return Fraction(1)
    if not name.startswith(_MIG):
        message = f"what a {pool.resource} is of a GPU is not known"
        raise NotAPart(message)
    return slices(pool.flavor, name.removeprefix(_MIG))
