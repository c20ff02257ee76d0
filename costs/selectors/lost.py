"""Work that a tenant's jobs have lost with their places in a month, by cause.

What was lost is counted from the last checkpoint that was known at that time, or from the start
of the run. A queue counts for the tenant that it had then. Who took a place has a name only if
it is the tenant's own.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import Final

from django.db.models import Q

from costs.lost import PLATFORM, Loss, LostRule, Why, back
from costs.models import TenantHour
from costs.passing import purchase_of
from costs.policy import Policy
from costs.rates import Basis, PriceKey, Unpriced
from costs.selectors import losses
from costs.selectors.holdings import owners
from costs.selectors.hours import within
from costs.selectors.months import Month
from costs.selectors.pricing import Book
from costs.times import instant, moment
from queues.models import Eviction, Interval, Lifetime, Phase
from queues.selectors.history import owned
from tenants.models import Cluster, Tenant

#: The newest evictions that a page puts together; a file has them all.
SHOWN = 1000


@dataclass(frozen=True, slots=True)
class Lost:
    """One eviction; ``pk`` is its row. ``lost`` are device-seconds since ``saved_at``, or since ``ran_since``.

    ``by`` is the job that took the place, if it is the tenant's own; ``by_other`` says that
    there was one of somebody else.
    """

    pk: int
    at: datetime
    cluster: str
    queue: str
    namespace: str
    job: str
    workload: str
    cause: str
    devices: int
    flavor: str
    ran_since: datetime | None
    saved_at: datetime | None
    lost: int
    by: str
    by_other: bool


@dataclass(frozen=True, slots=True)
class Worth:
    """What lost work is worth, and what of it is given back; amounts in the book's currency.

    ``amount`` is ``None`` where a part has no price. ``back`` are device-seconds, ``credit`` what
    they are worth; ``taker`` says that another tenant gives it, else the platform does.
    """

    amount: Fraction | None
    back: int = 0
    credit: Fraction | None = Fraction(0)
    why: Why = Why.NO_RULE
    taker: bool = False

    def plus(self, other: Worth) -> Worth:
        """Return the sum of two pools of one eviction; the one that gives says why."""
        gives = max(self, other, key=lambda each: each.back)
        return Worth(
            add(self.amount, other.amount), self.back + other.back,
            add(self.credit, other.credit), gives.why, gives.taker,
        )  # fmt: skip


def add(one: Fraction | None, other: Fraction | None) -> Fraction | None:
    """Add up amounts; one that is not known makes the sum unknown."""
    return None if one is None or other is None else one + other


@dataclass(frozen=True, slots=True)
class ByCause:
    """What one cause has cost: evictions, lost device-seconds, and what they are worth."""

    cause: str
    evictions: int
    lost: int
    worth: Worth


@dataclass(frozen=True, slots=True)
class LostMonth:
    """Causes, the costliest first; rows, the newest first and no more than were asked for.

    ``worth`` is by the row's key; nothing in it where no book is in use.
    """

    causes: list[ByCause]
    rows: list[Lost]
    worth: dict[int, Worth]

    @property
    def lost(self) -> int:
        """Return the device-seconds of all causes."""
        return sum(each.lost for each in self.causes)

    @property
    def evictions(self) -> int:
        """Return the evictions of all causes."""
        return sum(each.evictions for each in self.causes)

    @property
    def whole(self) -> Worth:
        """Return what all of it is worth, and what of it is given back."""
        return total(each.worth for each in self.causes)


#: An eviction that has destroyed nothing.
NOTHING: Final = Worth(Fraction(0))


def total(found: Iterable[Worth]) -> Worth:
    """Add up what is worth something."""
    whole = NOTHING
    for each in found:
        whole = whole.plus(each)
    return whole


def lost_month(
    tenant: Tenant, month: Month, most: int | None = SHOWN, book: Book | None = None
) -> LostMonth:
    """Return what a tenant lost in a month, and by a book what that is worth.

    Three queries, and two for each of its clusters; with a book three more for each of them, and
    four more where a policy gives lost work back.
    """
    times: Counter[str] = Counter()
    seconds: Counter[str] = Counter()
    keys: dict[int, str] = {}
    worth: dict[int, Worth] = {}
    for cluster_id in _clusters(tenant, month):
        for pk, cause, lost in _evicted(tenant, month, cluster_id):
            times[cause] += 1
            seconds[cause] += lost
            keys[pk] = cause
        if book is not None:
            worth.update(_worth(tenant, month, cluster_id, book))
    by_cause: dict[str, list[Worth]] = defaultdict(list)
    for pk, cause in keys.items():
        by_cause[cause].append(worth.get(pk, NOTHING))
    causes = [
        ByCause(cause, number, seconds[cause], total(by_cause[cause]))
        for cause, number in times.items()
    ]
    newest = Eviction.objects.filter(pk__in=keys).select_related("lifetime", "cluster")
    found = newest.order_by("-at", "-pk")
    return LostMonth(
        sorted(causes, key=lambda each: (-each.lost, -each.evictions, each.cause)),
        _rows(tenant, list(found if most is None else found[:most])),
        worth,
    )


def rule_of(book: Book | None, month: Month) -> LostRule:
    """Return what of lost work a book has given back at the end of a month."""
    policy = book.policies.at(month.span.ends - 1) if book else None
    return (policy or Policy()).lost


def _worth(tenant: Tenant, month: Month, cluster_id: int, book: Book) -> dict[int, Worth]:
    """Return what evictions have cost by a book and its policies, at the rate of their hour."""
    gives = any(each is not None and each.lost.gives for each in book.policies.values)
    found: dict[int, Worth] = {}
    for pk, loss in losses.of_cluster(cluster_id, month.span, tenant.slug, within=gives):
        one = _of_pool(loss, book)
        found[pk] = found[pk].plus(one) if pk in found else one
    return found


def _of_pool(loss: Loss, book: Book) -> Worth:
    policy = book.policies.at(loss.hour) or Policy()
    given = back(loss, policy.lost)
    amount, credit = (_cost(book, policy, loss, each) for each in (loss.lost, given.seconds))
    return Worth(amount, given.seconds, credit, given.why, given.by != PLATFORM)


def _cost(book: Book, policy: Policy, loss: Loss, seconds: int) -> Fraction | None:
    """Return what seconds cost on the basis that the policy charges; ``None`` without a price."""
    basis = next((each for each in Basis if each == policy.base.value), None)
    if basis is None or not seconds:
        return None if seconds else Fraction(0)
    purchase = purchase_of(book.prices, {loss.pool.flavor})
    try:
        key = PriceKey(loss.pool.flavor, basis, purchase)
        return book.prices.charge(key, loss.hour, seconds).amount
    except Unpriced:
        return None


def _clusters(tenant: Tenant, month: Month) -> list[int]:
    """Return the clusters in which a tenant has a queue, or had hours in a month; one query."""
    had = TenantHour.objects.filter(within(month.span), tenant=tenant).values("cluster")
    rows = Cluster.objects.filter(Q(pk__in=had) | Q(queues__tenant=tenant))
    return list(rows.order_by("pk").values_list("pk", flat=True).distinct())


def _evicted(tenant: Tenant, month: Month, cluster_id: int) -> list[tuple[int, str, int]]:
    """Return key, cause and loss of the evictions of queues that were the tenant's then."""
    of = owners(cluster_id, month.span).queues
    rows = Eviction.objects.filter(
        cluster=cluster_id, queue__in=of,
        at__gte=moment(month.span.starts), at__lt=moment(month.span.ends),
    )  # fmt: skip
    columns = rows.values_list("pk", "cause", "lost_seconds", "queue", "at")
    return [
        (pk, cause, lost)
        for pk, cause, lost, queue, at in columns.iterator(chunk_size=5000)
        if of[queue].at(instant(at)) == tenant.slug
    ]


def _rows(tenant: Tenant, found: Sequence[Eviction]) -> list[Lost]:
    """Return evictions with the flavor that was held and an own job that took it; two queries."""
    mine = Tenant.objects.filter(pk=tenant.pk)
    uids = {each.preemptor_uid for each in found if each.preemptor_uid}
    takers = owned(Lifetime.objects.filter(uid__in=uids), mine)
    names = {(row.cluster_id, row.uid): row.job_name or row.name for row in takers}
    held = Interval.objects.filter(
        lifetime__in={each.lifetime_id for each in found},
        phase__in=(Phase.ADMITTED, Phase.RESERVED),
    )
    flavors = {
        (lifetime, attempt): ", ".join(sorted({part["flavor"] for part in parts if part["flavor"]}))
        for lifetime, attempt, parts in held.values_list("lifetime", "attempt", "held")
    }
    return [
        Lost(
            pk=each.pk, at=each.at, cluster=each.cluster.slug, queue=each.queue,
            namespace=each.lifetime.namespace, job=each.lifetime.job_name or each.lifetime.name,
            workload=each.lifetime.name, cause=each.cause, devices=each.devices,
            flavor=flavors.get((each.lifetime_id, each.attempt), ""),
            ran_since=each.running_since, saved_at=each.checkpoint_at, lost=each.lost_seconds,
            by=(by := names.get((each.cluster_id, each.preemptor_uid), "")),
            by_other=bool(each.preemptor_uid) and not by,
        )
        for each in found
    ]  # fmt: skip
