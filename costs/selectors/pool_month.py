"""A month of one pool: all its tenants, its devices, and where each of their seconds went."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Final

from django.db.models import (
    BooleanField,
    Case,
    Count,
    ExpressionWrapper,
    F,
    Max,
    Min,
    Q,
    QuerySet,
    Sum,
    When,
)
from django.db.models.functions import Coalesce, Greatest

from costs.facts import NOBODY, Fact, Pool, PoolFact, Quality
from costs.models import PoolHour, TenantHour
from costs.selectors.billed import Billed, BilledHours, billed_hours
from costs.selectors.hours import SUMMED, Sums, added, pools, within
from costs.selectors.months import GRACE, Month
from costs.selectors.unknown_hours import Guess, Unknown, heard, runs
from costs.times import HOUR, hours, instant
from costs.used import UNKNOWN_BELOW, Use, together
from costs.waterfall import OverCapacity, Row, Waterfall, waterfall

NOTHING_BILLED: Final = BilledHours({}, "", spread=False)
#: In the order in which sums take them.
_OF_TENANTS: Final = ("committed", "held", "own", "excess", "borrowed", "lent")


@dataclass(frozen=True, slots=True)
class TenantRow:
    """One tenant in the pool; without a slug it is what no tenant has."""

    slug: str
    name: str
    sums: Sums


@dataclass(frozen=True, slots=True)
class Devices:
    """Devices of the pool and the quota that was given of them, in resource-seconds."""

    ready: int
    cordoned: int
    down: int
    committed: int
    departments: int

    @property
    def unsold(self) -> int:
        """Return what is ready and promised to nobody; below 0 more is promised than is ready."""
        return self.ready - self.committed - self.departments


@dataclass(frozen=True, slots=True)
class Fall:
    """The waterfall of all hours in which everything fits.

    ``crowded`` are starts of hours in which more devices were taken than there were, so that
    something is counted twice or a unit is not known; they are in no row. ``unwatched`` are those
    of hours in which too little was seen of pods: what ran in them is not told from what did not.
    ``billed`` are hours that begin with a bill, the others begin with the devices that exist.
    ``money`` is what each row cost, ``elsewhere`` what was billed for hours that are in no row;
    none without one currency.
    Hours that nobody watched or counted are one row: what was done with the devices is not known.
    """

    rows: dict[Row, Fraction]
    whole: Fraction
    hours: int
    crowded: tuple[int, ...] = ()
    unwatched: tuple[int, ...] = ()
    billed: int = 0
    money: dict[Row, Fraction] = field(default_factory=dict)
    elsewhere: Fraction = Fraction(0)
    currency: str = ""
    spread: bool = False

    @property
    def cost(self) -> Fraction:
        """Return all that was billed for the pool."""
        return sum(self.money.values(), self.elsewhere)


@dataclass(frozen=True, slots=True)
class PoolMonth:
    """A pool's month; without a pool nothing of the cluster was counted in it."""

    month: Month
    pools: list[Pool]
    pool: Pool | None
    tenants: list[TenantRow]
    total: Sums
    devices: Devices
    fall: Fall
    counted: int
    missing: int
    unknown: tuple[Unknown, ...] = ()
    guess: Guess | None = None

    @property
    def partial(self) -> int:
        """Return how many of the counted hours were watched for a part only."""
        return sum(each.hours for each in self.unknown if each.heard)


def pool_month(cluster_id: int, month: Month, wanted: Pool | None, now: int) -> PoolMonth:
    """Return a month of the pool that is wanted, or of the first one; four queries.

    The database adds up, so it matters little how many tenants there are. Hours that nobody
    watched are counted as missing and stand in no sum; what was noted of them is told apart, and
    of the waterfall they are a row of their own. One more query where there are such hours.
    """
    by_pool: dict[Pool, dict[int, PoolFact]] = defaultdict(dict)
    for each in pools(PoolHour.objects.filter(within(month.span), cluster=cluster_id)):
        by_pool[each.pool][each.hour] = each
    pool = wanted or min(by_pool, default=None)
    exist = by_pool.get(pool, {}) if pool else {}
    rows = TenantHour.objects.none()
    if pool and exist:
        rows = TenantHour.objects.filter(
            within(month.span), cluster=cluster_id, flavor=pool.flavor, resource=pool.resource
        )
    found = _groups(rows)
    billed = billed_hours(cluster_id, pool, month.span) if pool and exist else NOTHING_BILLED
    watched = {hour: each for hour, each in exist.items() if _watched(found.get(hour, []))}
    ended = sum(hour.ends <= now - GRACE or hour.starts in exist for hour in hours(month.span))
    tenants, use = _tenants(rows)
    total = added((row.sums for row in tenants), use)
    return PoolMonth(
        month=month,
        pools=sorted(by_pool),
        pool=pool,
        tenants=tenants,
        total=total,
        devices=_devices(watched.values(), total.committed),
        fall=_fall(watched, found, billed, exist),
        counted=len(watched),
        missing=ended - len(watched),
        unknown=_unknown(found, month, exist, now),
        guess=_guess(rows, found),
    )


def _unknown(
    found: dict[int, list[Fact]], month: Month, exist: Mapping[int, PoolFact], now: int
) -> tuple[Unknown, ...]:
    facts = [each for group in found.values() for each in group]
    return tuple(runs(heard(facts, month.span, exist, now - GRACE)))


def _guess(rows: QuerySet[TenantHour], found: dict[int, list[Fact]]) -> Guess | None:
    """Add up what was noted of all tenants in hours that nobody watched; one query if there are."""
    blind = {hour for hour, each in found.items() if not _watched(each)}
    if not blind:
        return None
    names = (*_OF_TENANTS, "held_least", "held_most")
    summed = rows.filter(quality=Quality.MISSING).aggregate(*(Sum(name) for name in names))
    *numbers, least, most = (int(summed[f"{name}__sum"] or 0) for name in names)
    return Guess(len(blind), _sums(numbers, None), least, most)


def pools_of(cluster_id: int, month: Month) -> list[Pool]:
    """Return the pools that were counted in a month, in their order; one query."""
    rows = PoolHour.objects.filter(within(month.span), cluster=cluster_id)
    return sorted(Pool(*each) for each in rows.values_list("flavor", "resource").distinct())


def _tenants(rows: QuerySet[TenantHour]) -> tuple[list[TenantRow], Use | None]:
    """Add up the hours of each tenant that were watched, and the use of all; one query."""
    watched = rows.exclude(quality=Quality.MISSING)
    of = watched.values_list("tenant__slug", "tenant__display_name").order_by("tenant__slug")
    summed = of.annotate(
        *(Sum(name) for name in _OF_TENANTS),
        Count("used"), Sum("used"), Sum("seen"), expected_=Sum(Coalesce("expected", _at_work())),
        fallback_=Sum("fallback"),
    )  # fmt: skip
    found: list[TenantRow] = []
    uses: list[Use] = []
    for slug, name, *numbers in summed:
        *sums, measured, used, seen, expected, fallback = (int(each or 0) for each in numbers)
        uses.append(Use(used, seen, expected, fallback))
        found.append(
            TenantRow(
                slug or NOBODY, name or slug or "", _sums(sums, uses[-1] if measured else None)
            )
        )
    known = any(row.sums.use for row in found)
    return found, together(uses) if known else None


def _at_work() -> Case:
    """Return what ``Fact.at_work`` says."""
    granted = F("admitted") + F("draining")
    seen = Q(pods__gte=-(-UNKNOWN_BELOW * HOUR // 1))
    return Case(When(seen, then=F("running")), default=Greatest(F("running"), granted))


def _sums(numbers: Sequence[int], use: Use | None) -> Sums:
    """Return sums as ``hours.sums`` makes them of facts."""
    committed, held, own, over, borrowed, lent = numbers
    idle = committed - (own - over) - lent
    return Sums(committed, held, own, over, borrowed, lent, idle, use)


def _groups(rows: QuerySet[TenantHour]) -> dict[int, list[Fact]]:
    """Add up the facts of each hour in groups that a waterfall cannot tell from them; one query.

    It cuts at nothing where more or less runs than was granted, and asks whether the use of
    what runs was measured. Facts that are alike in both can be added up before.
    """
    granted = F("admitted") + F("draining")
    alike = rows.values(
        "hour",
        beyond=ExpressionWrapper(Q(running__gt=granted), BooleanField()),
        unseen=ExpressionWrapper(Q(used__isnull=True, running__gt=0), BooleanField()),
    )
    runs = Q(running__gt=0)
    summed = alike.annotate(
        **{f"{name}_": Sum(name) for name in SUMMED},
        **{f"{name}_": Sum(name, filter=runs) for name in ("used", "seen", "expected")},
        blind=Count("pk", filter=Q(quality=Quality.MISSING)), watched=Max("pods"),
        least=Min("coverage"),
    )  # fmt: skip
    found: dict[int, list[Fact]] = defaultdict(list)
    for row in summed.order_by("hour").iterator(chunk_size=5000):
        one = _group(row)
        found[one.hour].append(one)
    return found


def _group(row: Mapping[str, Any]) -> Fact:
    """Return a group as one fact of nobody; its quality says only whether it was watched."""
    use = [int(row[f"{name}_"] or 0) for name in ("used", "seen", "expected")]
    return Fact(
        hour=instant(row["hour"]),
        tenant=NOBODY,
        pool=Pool("", ""),
        coverage=row["least"],
        pods=row["watched"],
        quality=Quality.MISSING if row["blind"] else Quality.OBSERVED,
        use=None if row["unseen"] else Use(*use),
        **{name: int(row[f"{name}_"]) for name in SUMMED},
    )


def _watched(found: list[Fact]) -> bool:
    """Return whether somebody listened in an hour; all its facts say the same."""
    return all(fact.quality is not Quality.MISSING for fact in found)


def _devices(hours: Iterable[PoolFact], committed: int) -> Devices:
    each = list(hours)
    return Devices(
        ready=sum(one.ready for one in each),
        cordoned=sum(one.cordoned for one in each),
        down=sum(one.down for one in each),
        committed=committed,
        departments=sum(one.nominal for one in each),
    )


def _fall(
    pools: dict[int, PoolFact],
    found: dict[int, list[Fact]],
    bills: BilledHours,
    exist: dict[int, PoolFact],
) -> Fall:
    """Add up the waterfalls of hours, from what was billed where there is a bill.

    ``pools`` are the hours that somebody watched; all others, of which some ``exist``, are one row.
    """
    fall = Fall(dict.fromkeys(Row, Fraction(0)), Fraction(0), 0, currency=bills.currency)
    money = dict.fromkeys(Row, Fraction(0))
    for hour, pool in pools.items():
        bill = bills.hours.get(hour)
        try:
            each = _one(found.get(hour, []), pool, bill)
        except OverCapacity:
            fall = replace(fall, crowded=(*fall.crowded, hour))
            continue
        for row, seconds in each.rows.items():
            fall.rows[row] += seconds
        if bill and each.billed:
            for row, seconds in each.rows.items():
                money[row] += Fraction(bill.cost) * Fraction(seconds, each.billed)
        unseen = not all(each.pods_known for each in found.get(hour, []))
        fall = replace(
            fall, whole=fall.whole + each.billed, hours=fall.hours + 1,
            billed=fall.billed + (bill is not None),
            unwatched=(*fall.unwatched, hour) if unseen else fall.unwatched,
        )  # fmt: skip
    blind = (exist.keys() | bills.hours.keys()) - pools.keys()
    for hour in blind:
        devices = _devices_of(exist.get(hour), bills.hours.get(hour))
        fall.rows[Row.UNWATCHED] += devices
        fall = replace(fall, whole=fall.whole + devices)
        if bill := bills.hours.get(hour):
            money[Row.UNWATCHED] += Fraction(bill.cost)
    if not bills.currency:
        return fall
    whole = sum((Fraction(each.cost) for each in bills.hours.values()), Fraction(0))
    elsewhere = whole - sum(money.values())
    return replace(fall, money=money, elsewhere=elsewhere, spread=bills.spread)


def _devices_of(pool: PoolFact | None, bill: Billed | None) -> int:
    """Return the devices of an hour that nobody watched: by its bill, else those on record."""
    if bill is not None and bill.seconds is not None:
        return bill.seconds
    return (pool.provisioned if pool else 0) + (bill.orphan if bill else 0)


def _one(facts: list[Fact], pool: PoolFact, bill: Billed | None) -> Waterfall:
    if bill is None:
        return waterfall(facts, pool)
    return waterfall(facts, pool, billed=bill.seconds, orphan=bill.orphan)
