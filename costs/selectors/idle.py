"""What is kept and not used in a cluster right now: quota that nobody holds, places without pods,
devices that do nothing.

Only what is known for certain is said: where the cluster was not listened to, or the devices
were not measured well enough, there is nothing to find.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from costs.facts import NOBODY, Fact, Hold, Pool, Quality
from costs.models import PoolHour, TenantHour
from costs.models.cases import Case
from costs.selectors import listening, standing
from costs.selectors.holdings import holds, owners
from costs.selectors.hours import facts, within
from costs.steps import Dated, Step, levels
from costs.times import HOUR, Span, hour_of, instant, moment
from costs.used import MILLI, Use
from kube.lifecycle_facts import is_device
from queues.models import Lifetime, Phase, Workload

#: Quota that was not held in so many days is not needed every week.
DAYS: Final = 7
#: Of these days so much may have gone unheard: one part of this many.
_BLIND: Final = 20
#: A place without running pods is no start any more after this.
STARTING: Final = timedelta(hours=1)
#: Devices that did nothing for so many whole hours; less than one part of this many is nothing.
HOURS: Final = 3
_NOTHING: Final = 100


@dataclass(frozen=True, slots=True)
class Found:
    """One thing that is idle, of a tenant by its slug."""

    kind: Case.Kind
    tenant: str
    subject: str
    pool: Pool
    devices: int
    since: datetime
    queue: str = ""
    nominal: int | None = None
    namespace: str = ""
    workload: str = ""


@dataclass(frozen=True, slots=True)
class Looked:
    """All that is idle, and what nobody can say: kinds as a whole, or single pools of tenants."""

    found: list[Found]
    unknown: frozenset[tuple[str, str]]

    def over(self, kind: str, subject: str) -> bool:
        """Return whether what was found before and is not found now is certainly over."""
        return not {(kind, ANY), (kind, subject)} & self.unknown


#: In place of a subject: all of a kind.
ANY: Final = "*"


def idle(cluster_id: int, now: datetime) -> Looked:
    """Return all that is idle in a cluster; seventeen queries at most."""
    unknown: set[tuple[str, str]] = set()
    found: list[Found] = []
    span = week(now)
    if heard(cluster_id, span, now):
        found += unheld(cluster_id, span)
    else:
        unknown.add((Case.Kind.UNHELD, ANY))
    found += not_running(cluster_id, now)
    unused, blind = not_used(cluster_id, now)
    unknown |= {(Case.Kind.NOT_USED, subject) for subject in blind}
    return Looked([*found, *unused], frozenset(unknown))


def week(now: datetime) -> Span:
    """Return the days for which quota is looked at, up to the last whole hour."""
    end = hour_of(instant(now))
    return Span(end - DAYS * 24 * HOUR, end)


def heard(cluster_id: int, span: Span, now: datetime) -> bool:
    """Return whether enough of a span was listened to, from its beginning on."""
    begun = listening.begun(cluster_id)
    if begun is None or begun > moment(span.starts):
        return False
    gaps = listening.blind(cluster_id, span, now).all
    blind = sum(part.seconds for gap in gaps if (part := gap.cut(span)))
    return blind * _BLIND <= span.seconds


def week_known(clusters: Iterable[int], now: datetime) -> bool:
    """Return whether the last seven days were heard and counted; six queries for a cluster.

    As long as they were not, it cannot be said that all quota was held.
    """
    span = week(now)
    return all(heard(each, span, now) and _counted(each, span) for each in clusters)


def _counted(cluster_id: int, span: Span) -> bool:
    hours = PoolHour.objects.filter(within(span), cluster=cluster_id).order_by()
    left = span.seconds - hours.values("hour").distinct().count() * HOUR
    return left * _BLIND <= span.seconds


def unheld(cluster_id: int, span: Span) -> Iterator[Found]:
    """Yield the quota of queues of which a part was never held in a span.

    A queue that is newer, or that had another tenant, is not judged.
    """
    peaks = _peaks(holds(cluster_id, span), span)
    of = owners(cluster_id, span).queues
    for (queue, pool), dated in standing.quotas(cluster_id, span).grants.items():
        parts = [grant.quota.nominal if grant else None for _part, grant in dated.within(span)]
        nominal = parts[-1] if parts else None
        steady = [each for each in parts if each is not None]
        slug = _owner(of, queue, span)
        if nominal is None or len(steady) < len(parts) or not slug:
            continue
        spare = min(steady) - peaks.get((queue, pool), 0)
        if spare > 0:
            since = moment(span.starts)
            yield Found(Case.Kind.UNHELD, slug, queue, pool, spare, since, queue, nominal)


def _peaks(found: Iterator[Hold], span: Span) -> dict[tuple[str, Pool], int]:
    """Return the most that each queue may have held at once of each pool."""
    steps: dict[tuple[str, Pool], list[Step]] = defaultdict(list)
    for hold in found:
        if cut := hold.reach.cut(span):
            steps[hold.queue, hold.pool].append(Step(cut, hold.amount))
    return {key: max(step.amount for step in levels(each)) for key, each in steps.items()}


def _owner(of: Mapping[str, Dated[str]], queue: str, span: Span) -> str:
    """Return the one tenant that a queue had over all of a span."""
    if queue not in of:
        return NOBODY
    found = {owner for _part, owner in of[queue].within(span)}
    return (found.pop() or NOBODY) if len(found) == 1 else NOBODY


def not_running(cluster_id: int, now: datetime) -> Iterator[Found]:
    """Yield Workloads that hold devices, and whose pods have not run for a long time."""
    late = now - STARTING
    rows = Lifetime.objects.filter(
        cluster=cluster_id, phase__in=(Phase.RESERVED, Phase.ADMITTED), starts__lt=late, devices__gt=0
    ).order_by("pk")  # fmt: skip
    lives = list(rows)
    starting = dict(
        Workload.objects.filter(
            cluster=cluster_id, uid__in=[row.uid for row in lives], state="starting", since__lt=late
        ).values_list("uid", "since")
    )
    of = owners(cluster_id, Span(instant(now) - 1, instant(now))).queues
    for row in lives:
        since = row.starts if row.phase == Phase.RESERVED else starting.get(row.uid)
        owner = of[row.queue].at(instant(now)) if row.queue in of else None
        if since is None or owner is None:
            continue
        for pool, devices in _held(row).items():
            yield Found(
                Case.Kind.NOT_RUNNING, owner, row.uid, pool, devices, since, row.queue,
                namespace=row.namespace, workload=row.name,
            )  # fmt: skip


def _held(row: Lifetime) -> dict[Pool, int]:
    found: dict[Pool, int] = defaultdict(int)
    for part in row.held:
        if is_device(part["resource"]) and part["amount"] > 0:
            found[Pool(part["flavor"], part["resource"])] += part["amount"]
    return found


def not_used(cluster_id: int, now: datetime) -> tuple[list[Found], set[str]]:
    """Return the pools in which all that a tenant runs has done next to nothing for hours.

    The last whole hours that were counted; each must be measured well enough. Second are the
    subjects of which that cannot be said.
    """
    end = hour_of(instant(now))
    span = Span(end - 2 * HOURS * HOUR, end)
    rows = TenantHour.objects.filter(within(span), cluster=cluster_id, tenant__isnull=False)
    by_pool: dict[tuple[str, Pool], list[Fact]] = defaultdict(list)
    for fact in facts(rows):
        by_pool[fact.tenant, fact.pool].append(fact)
    newest = max((fact.hour for each in by_pool.values() for fact in each), default=None)
    if newest is None:
        return [], {ANY}
    idle_: list[Found] = []
    blind: set[str] = set()
    for (tenant, pool), found in by_pool.items():
        last = [fact for fact in found if fact.hour > newest - HOURS * HOUR]
        devices = min((fact.admitted for fact in last), default=0) // HOUR
        subject, since = f"{tenant}/{pool.flavor}", moment(newest - (HOURS - 1) * HOUR)
        if not _measured(last):
            blind.add(subject)
        elif devices and does_nothing([fact.use for fact in last if fact.use]):
            idle_.append(Found(Case.Kind.NOT_USED, tenant, subject, pool, devices, since))
    return idle_, blind


def _measured(last: Sequence[Fact]) -> bool:
    """Return whether all hours were watched, and what ran in them was seen well enough."""
    return len(last) == HOURS and all(
        fact.quality is not Quality.MISSING
        and (fact.admitted == 0 or (fact.use is not None and fact.use.known))
        for fact in last
    )


def does_nothing(uses: Sequence[Use]) -> bool:
    """Return whether what was seen was active for less than one part of a hundred."""
    seen = sum(use.seen for use in uses)
    return sum(use.used for use in uses) * _NOTHING < seen * MILLI
