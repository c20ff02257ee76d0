"""What the bill says of each pool and hour: the one place where a bill meets the cluster.

``billed`` is asked by everything that divides a bill. A file that was joined with nodes says it
row by row; one that was not is spread over the devices that existed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final

from django.db.models import Sum

from costs.billing import UNUSED
from costs.comparing import Place
from costs.facts import Pool
from costs.models import BillFile, BillLine, BillMatch, Period, PoolHour
from costs.money import grains
from costs.passing import PoolBill
from costs.policy import Bucket
from costs.rounding import split
from costs.states import Code, Finding
from costs.times import instant

Hour = tuple[Place, int]
SPREAD: Final = "spread"
MATCHED: Final = "matched"


@dataclass(frozen=True, slots=True)
class Billed:
    """Bills by pool and hour, in grains of their currency; all parts together are the bills.

    ``known`` are the billed seconds of nodes that were there. ``shared`` belongs to no pool, ``unused`` are commitments that nobody used, ``lost`` is what
    no pool was found for. ``buckets`` are what the platform pays as it is, by bucket.
    ``findings`` are about nodes and rows; with ``told`` they say all about rows put aside too,
    and ``untold`` are the bills of which they do not.
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
    known: Mapping[Hour, int] = field(default_factory=dict)
    untold: tuple[BillFile, ...] = ()

    @property
    def whole(self) -> bool:
        """Return whether the parts are the bill."""
        pools = sum(each.grains for each in self.hours.values())
        beyond = self.shared + self.unused + self.lost + sum(self.buckets.values())
        return pools + beyond == self.total


def billed(bills: Sequence[BillFile], period: Period) -> Billed:
    """Return what the bills of a period say together; all of them are in one currency.

    Two bills may have parts of one pool, so what is billed beyond what was seen of its nodes is
    told from both.
    """
    parts = [_one(bill, period) for bill in bills]
    hours: dict[Hour, PoolBill] = {}
    known: Counter[Hour] = Counter()
    buckets: Counter[str] = Counter()
    for each in parts:
        for key, more in each.hours.items():
            had = hours.get(key, PoolBill(0))
            hours[key] = PoolBill(*(sum(pair) for pair in zip(had, more, strict=True)))
        known.update(each.known)
        buckets.update(each.buckets)
    there = _provisioned(period) if known else {}
    for key, seconds in known.items():
        hours[key] = hours[key]._replace(gap=max(0, seconds - there.get(key, 0)))
    methods = {each.method for each in parts}
    return Billed(
        total=sum(each.total for each in parts), hours=hours,
        shared=sum(each.shared for each in parts), unused=sum(each.unused for each in parts),
        lost=sum(each.lost for each in parts), buckets=dict(buckets),
        method=methods.pop() if len(methods) == 1 else SPREAD,
        findings=_together(bills, parts), known=known,
        untold=tuple(bill for bill, each in zip(bills, parts, strict=True) if not each.told),
    )  # fmt: skip


def _together(bills: Sequence[BillFile], parts: Sequence[Billed]) -> list[Finding]:
    """Return the findings of all bills; a node that any of them names is billed."""
    found = [finding for each in parts for finding in each.findings]
    if len(bills) < 2:
        return found
    rows = BillMatch.objects.filter(file__in=bills, bucket="", cluster__isnull=False)
    named = set(rows.exclude(node="").values_list("cluster__slug", "node").distinct())
    kept: list[Finding] = []
    for each in found:
        if each.code is Code.CLUSTER_NOT_BILLED:
            place = (each.cluster, str(each.facts.get("node")))
            if place in named:
                continue
            # The other bills do not name it either, and one finding says so.
            named.add(place)
        kept.append(each)
    return kept


def _one(bill: BillFile, period: Period) -> Billed:
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


def matched(bill: BillFile, period: Period) -> Billed | None:
    """Return what came of joining the file with the nodes; three queries.

    ``None`` where it was not joined. What is of hours outside of the period is ``lost``.
    """
    if not bill.matchings.exists():
        return None
    hours: dict[Hour, PoolBill] = {}
    known: dict[Hour, int] = {}
    beyond: dict[str, int] = {}
    for each in bill.hours.select_related("cluster"):
        hour, cost = each.hour, grains(each.cost)
        if hour is None or each.cluster is None or not period.starts <= hour < period.ends:
            beyond[each.bucket] = beyond.get(each.bucket, 0) + cost
            continue
        key = (Place(each.cluster.slug, Pool(each.flavor, each.resource)), instant(hour))
        hours[key] = PoolBill(cost, each.orphan)
        known[key] = (each.seconds or 0) - each.orphan - each.unknown
    shared, unused = (beyond.pop(each.value, 0) for each in (Bucket.SHARED, Bucket.UNUSED))
    lost = beyond.pop("", 0)
    return Billed(
        total=grains(bill.effective), hours=hours, shared=shared, unused=unused,
        lost=lost, buckets=beyond, method=MATCHED, findings=list(_findings(bill)),
        known=known,
    )  # fmt: skip


def _provisioned(period: Period) -> dict[Hour, int]:
    rows = PoolHour.objects.filter(hour__gte=period.starts, hour__lt=period.ends)
    names = ("cluster__slug", "flavor", "resource", "hour", "ready", "cordoned", "down")
    return {
        (Place(slug, Pool(flavor, resource)), instant(hour)): sum(devices)
        for slug, flavor, resource, hour, *devices in rows.values_list(*names)
    }


def _findings(bill: BillFile) -> Iterator[Finding]:
    """Yield what the join found; parts and corrections are told from the rows by others."""
    told = (
        Code.MATCHED, Code.WITHIN_TOLERANCE, Code.PROVISIONAL, Code.LATE_CORRECTION, Code.DOUBLE_SPLIT,
    )  # fmt: skip
    rows = bill.findings.exclude(code__in=[each.value for each in told]).select_related("cluster")
    for each in rows.order_by("code", "subject"):
        yield Finding(
            Code(each.code), each.subject[:300], Fraction(each.difference), Fraction(each.whole),
            cluster=each.cluster.slug if each.cluster else "",
            facts={"node": each.node, "source": bill.source.name, **each.facts}, money=Fraction(each.money),
        )  # fmt: skip


METHODS: Final[tuple[Callable[[BillFile, Period], Billed | None], ...]] = (matched, over_devices)


def stamp(bill: BillFile) -> str:
    """Return what differs when the same file would be divided among hours in another way.

    It is among the inputs of a run, so that a bill that is matched anew is reconciled anew.
    """
    joined = getattr(bill, "joined", None)
    return f"{MATCHED} {joined}" if joined else f"{SPREAD} {bill.sha256}"
