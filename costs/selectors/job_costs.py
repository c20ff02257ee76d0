"""The life of one job in device-hours, and what they cost: from the queue to the end.

A job may have had several Workloads, one after the other; all that is on record of them counts.
Which of its devices were borrowed is told by the rule of ``costs.owning``, over the newest days.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

from django.db.models import Q, QuerySet

from costs.facts import Pool
from costs.rates import Basis, PriceKey, Purchase, Unpriced
from costs.selectors import job_use as use_of
from costs.selectors import owning
from costs.selectors.pricing import Book
from costs.times import Span, hours, instant
from costs.used import Use, together
from kube.lifecycle_facts import is_device
from queues.models import Eviction, Interval, Lifetime, Phase

HOLDING: Final = (Phase.RESERVED, Phase.ADMITTED, Phase.DRAINING)
WAITING: Final = (Phase.QUEUED, Phase.EVICTED)
#: Phases that a page draws and lists, the newest.
LISTED: Final = 200
#: The longest time over which the queues of a job are looked at: a month, in seconds.
LONGEST: Final = 31 * 24 * 3600
_COLUMNS: Final = ("phase", "attempt", "starts", "ends", "queue", "cause", "devices", "held")


@dataclass(frozen=True, slots=True)
class Stretch:
    """One phase; ``lasts`` says that it has not ended. ``parts`` are devices by pool."""

    phase: str
    attempt: int
    span: Span
    lasts: bool
    queue: str
    cause: str
    devices: int
    parts: dict[Pool, int]

    @property
    def held(self) -> int:
        """Return the device-seconds that were held; waiting holds nothing."""
        return self.span.seconds * sum(self.parts.values()) if self.phase in HOLDING else 0


@dataclass(frozen=True, slots=True)
class Evicted:
    """A place that was lost at a time, and the device-seconds of work that went with it."""

    at: datetime
    cause: str
    lost: int


@dataclass(frozen=True, slots=True)
class JobLife:
    """All phases in their order, and the places that were lost."""

    stretches: list[Stretch]
    evictions: list[Evicted]
    lives: list[Lifetime] = field(default_factory=list)

    def seconds(self, *phases: str) -> int:
        """Return how long it was in some phases."""
        return sum(each.span.seconds for each in self.stretches if each.phase in phases)

    def held(self, *phases: str) -> int:
        """Return the device-seconds that it held in some phases."""
        return sum(each.held for each in self.stretches if each.phase in phases)

    @property
    def lost(self) -> int:
        """Return the device-seconds of work that were lost with its places."""
        return sum(each.lost for each in self.evictions)

    @property
    def span(self) -> Span | None:
        """Return the time from its first to its last phase."""
        if not self.stretches:
            return None
        return Span(self.stretches[0].span.starts, max(x.span.ends for x in self.stretches))


def job_life(cluster_id: int, namespace: str, uid: str, job_uid: str, now: datetime) -> JobLife:
    """Return what is on record of a job; three queries."""
    same = Q(uid=uid) | (Q(job_uid=job_uid) if job_uid else Q(pk__in=[]))
    lives = Lifetime.objects.filter(same, cluster=cluster_id, namespace=namespace)
    known = list(lives)
    rows = Interval.objects.filter(lifetime__in=known)
    found = [_stretch(row, row.ends, lasts=False) for row in rows.only(*_COLUMNS)]
    found += [_stretch(row, now, lasts=True) for row in known if row.phase and row.starts]
    return JobLife(
        sorted(found, key=lambda each: each.span),
        list(_evictions(Eviction.objects.filter(lifetime__in=known))),
        known,
    )


def job_borrowed(cluster_id: int, life: JobLife) -> int | None:
    """Return the device-seconds of a job that were borrowed; at most five queries.

    ``None`` where it has lasted so long that its queues would have to be read for months.
    """
    held = [each.span for each in life.stretches if each.held]
    if not held:
        return 0
    span = Span(min(each.starts for each in held), max(each.ends for each in held))
    if span.seconds > LONGEST:
        return None
    queues = {each.queue for each in life.stretches if each.held}
    mine = {row.pk for row in life.lives}
    return sum(
        each.span.seconds * each.amount
        for line in owning.lines(cluster_id, queues, span)
        for each in line.above
        if each.workload in mine
    )


def job_ran(cluster_id: int, life: JobLife) -> int:
    """Return the device-seconds that its pods had; 0 also where no pod of it is on record."""
    return use_of.ran(cluster_id, life.lives, life.span) if life.span else 0


def job_use(cluster_id: int, life: JobLife) -> Use | None:
    """Return what a job used; ``None`` where nothing was asked, or no pod of it is on record."""
    span = use_of.harvested(cluster_id, life.span) if life.span else None
    uses = use_of.used_by(cluster_id, life.lives, span) if span else {}
    return together(uses.values()) if uses else None


def _evictions(rows: QuerySet[Eviction]) -> Iterable[Evicted]:
    for at, cause, lost in rows.order_by("at", "pk").values_list("at", "cause", "lost_seconds"):
        yield Evicted(at, cause, lost)


def _stretch(row: Any, ends: datetime, *, lasts: bool) -> Stretch:
    parts: dict[Pool, int] = defaultdict(int)
    for each in row.held:
        if is_device(each["resource"]):
            parts[Pool(each["flavor"], each["resource"])] += each["amount"]
    first = instant(row.starts)
    return Stretch(
        row.phase, row.attempt, Span(first, max(first, instant(ends))), lasts, row.queue, row.cause,
        row.devices, dict(parts),
    )  # fmt: skip


# --- what it costs ------------------------------------------------------------------------------


@dataclass(slots=True)
class Cost:
    """Device-seconds on one basis, and their exact amount; ``unpriced`` have no price."""

    basis: Basis
    seconds: int = 0
    amount: Fraction = Fraction(0)
    unpriced: int = 0
    rates: set[Decimal] = field(default_factory=set)


#: What of a job is counted on each basis that can be told of one job.
PHASES: Final[dict[Basis, tuple[str, ...]]] = {
    Basis.COMMITTED: HOLDING, Basis.ADMITTED: (Phase.ADMITTED,),
}  # fmt: skip


def costs(life: JobLife, book: Book) -> list[Cost]:
    """Return what a job costs on each basis of a book that has a price, hour by hour."""
    found = [_cost(life.stretches, basis, phases, book) for basis, phases in PHASES.items()]
    return [each for each in found if each.rates]


def _cost(stretches: Sequence[Stretch], basis: Basis, phases: tuple[str, ...], book: Book) -> Cost:
    cost = Cost(basis)
    for each in stretches:
        if each.phase in phases:
            for pool, devices in each.parts.items():
                key = PriceKey(pool.flavor, basis, _purchase(book, pool))
                for hour in hours(each.span):
                    part = each.span.cut(hour)
                    _add(cost, book, key, hour.starts, devices * (part.seconds if part else 0))
    return cost


def _add(cost: Cost, book: Book, key: PriceKey, hour: int, seconds: int) -> None:
    cost.seconds += seconds
    try:
        charge = book.prices.charge(key, hour, seconds)
    except Unpriced:
        cost.unpriced += seconds
        return
    cost.rates.add(charge.rate)
    cost.amount += charge.amount


def _purchase(book: Book, pool: Pool) -> Purchase:
    """Return how a pool's devices are bought: as its only prices say, else on demand."""
    found = {key.purchase for key in book.prices.rates if key.flavor == pool.flavor}
    return found.pop() if len(found) == 1 else Purchase.ON_DEMAND
