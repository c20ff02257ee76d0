"""What the bill says of each pool and hour: the one place where a bill meets the cluster.

``billed`` is asked by everything that divides a bill. It spreads the file over the devices that
existed until rows are matched to nodes; a better answer takes its place in ``METHODS``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from django.db.models import Sum

from costs.billing import UNUSED
from costs.comparing import Place
from costs.facts import Pool
from costs.models import BillFile, BillLine, Period, PoolHour
from costs.money import grains
from costs.passing import PoolBill
from costs.rounding import split
from costs.states import Finding
from costs.times import instant

Hour = tuple[Place, int]
SPREAD: Final = "spread"


@dataclass(frozen=True, slots=True)
class Billed:
    """A bill by pool and hour, in grains of its currency; all parts together are the bill.

    ``shared`` belongs to no pool, ``unused`` are commitments that nobody used, ``lost`` is what
    no pool was found for. ``buckets`` are what the platform pays as it is, by bucket.
    ``findings`` are about nodes and rows; with ``told`` they say all about rows put aside too.
    """

    total: int
    hours: Mapping[Hour, PoolBill]
    shared: int = 0
    unused: int = 0
    lost: int = 0
    buckets: Mapping[str, int] = field(default_factory=dict)
    method: str = SPREAD
    findings: list[Finding] = field(default_factory=list)
    told: bool = False

    @property
    def whole(self) -> bool:
        """Return whether the parts are the bill."""
        pools = sum(each.grains for each in self.hours.values())
        beyond = self.shared + self.unused + self.lost + sum(self.buckets.values())
        return pools + beyond == self.total


def billed(bill: BillFile, period: Period) -> Billed:
    """Return what a bill says of a period, by the first method that can tell."""
    for method in METHODS:
        found = method(bill, period)
        if found is not None:
            return found
    return Billed(grains(bill.effective), {}, lost=grains(bill.effective))


def over_devices(bill: BillFile, period: Period) -> Billed | None:
    """Spread the file over the seconds for which devices existed; two queries.

    Commitments that nobody used are kept apart. ``None`` where no device was ever seen.
    """
    rows = PoolHour.objects.filter(hour__gte=period.starts, hour__lt=period.ends)
    names = ("cluster__slug", "flavor", "resource", "hour", "ready", "cordoned", "down")
    weights: dict[Hour, int] = {}
    for slug, flavor, resource, hour, *devices in rows.values_list(*names):
        if seconds := sum(devices):
            weights[Place(slug, Pool(flavor, resource)), instant(hour)] = seconds
    if not weights:
        return None
    total = grains(bill.effective)
    idle = BillLine.objects.filter(file=bill, aside="", commitment_status=UNUSED)
    unused = grains(idle.aggregate(sum=Sum("effective"))["sum"] or 0)
    parts = split(total - unused, weights)
    return Billed(total, {key: PoolBill(part) for key, part in parts.items()}, unused=unused)


METHODS: Final[tuple[Callable[[BillFile, Period], Billed | None], ...]] = (over_devices,)


def stamp(bill: BillFile) -> str:
    """Return what differs when the same file would be divided among hours in another way.

    It is among the inputs of a run, so that a bill that is matched anew is reconciled anew.
    """
    return f"{SPREAD} {bill.sha256}"
