"""Joins bills with nodes and stores what each pool, hour and bucket was billed.

Everything of a file is made anew in one transaction, so the same inputs give the same rows. A
file that a closed period rests on stays as it was joined: what became known later is booked in
an open period.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

import structlog
from django.db import connection, transaction
from django.db.models import F, Max, Min, OuterRef, Q, QuerySet, Subquery, Sum
from django.utils.translation import gettext_lazy as _

from costs.differences import Difference, differences
from costs.digest import digest
from costs.matching import Matched, Matcher
from costs.models import (
    BilledHour,
    BillFile,
    BillFinding,
    BillLine,
    BillMatch,
    BillSource,
    Matching,
    Period,
    PeriodBill,
    Run,
)
from costs.money import PLACES, WIDE, from_grains, shown
from costs.rounding import settle
from costs.selectors import machines, tagged
from costs.states import Code, Finding
from costs.tags import Marks, about_slices, about_tags
from costs.times import HOUR, Span, hour_of, instant, moment
from portal.web.errors import DomainError, Refused
from tenants.models import Cluster

log = structlog.get_logger(__name__)

#: A bill is joined again when hours of it were counted anew, but not each time that one is.
AGAIN: Final = timedelta(hours=6)
_BATCH: Final = 2000
#: From units of 10^-12 to grains of 10^-10.
_OVER: Final = 10 ** (machines.PLACES - PLACES)


class Rested(Refused):
    """A closed period rests on the bill, so it stays as it was joined."""

    code = "GP-5111"


@transaction.atomic
def match(*, file: BillFile) -> Matching:
    """Join a file with the nodes of its period and store what came of it.

    ``Rested`` if a closed period rests on the file.
    """
    # One join of a file at a time.
    BillFile.objects.select_for_update().get(pk=file.pk)
    if PeriodBill.objects.filter(bill=file, period__state=Period.State.CLOSED).exists():
        raise Rested(_("A closed period rests on this bill. What is new is booked in an open one."))
    matcher, marks = _matched(file)
    clusters = dict(Cluster.objects.values_list("slug", "pk"))
    found = [
        *differences(matcher, elsewhere=_elsewhere(file)), *_about_rows(file), *about_slices(marks),
        *_about_tags(file, marks),
    ]  # fmt: skip
    rows: list[list[Any]] = [
        list(_hours(file, matcher.found, clusters)),
        list(_days(file, matcher.found, clusters)),
        list(_findings(file, found, clusters)),
    ]
    models: tuple[Any, ...] = (BilledHour, BillMatch, BillFinding)
    for model, each in zip(models, rows, strict=True):
        model.objects.filter(file=file).delete()
        model.objects.bulk_create(each, batch_size=_BATCH)
    return Matching.objects.create(file=file, at=_now(), result=digest(_told(rows)))


def _now() -> datetime:
    with connection.cursor() as cursor:
        cursor.execute("SELECT statement_timestamp()")
        found: datetime = cursor.fetchone()[0]
    return found


def _matched(file: BillFile) -> tuple[Matcher, dict[str, Marks]]:
    """Return the joined rows, and what they say of each machine."""
    span = _reach(file)
    matcher = Matcher(machines.machines(span), machines.counted(span))
    for resource, kind, machine in machines.kinds(file):
        matcher.learn(resource, kind, machine)
    marks: dict[str, Marks] = {}
    for resource, rows in machines.lines(file):
        lines = list(rows)
        matcher.add(resource, lines)
        of = matcher.machines.of(resource) if resource else []
        for line in lines:
            if len(of) == 1 and not line.unused:
                marks.setdefault(resource, Marks(of[0])).add(file.source.tenant_tag, line)
    return matcher, marks


def _about_tags(file: BillFile, marks: dict[str, Marks]) -> Iterator[Difference]:
    """Yield what tags say differently, where the source has one that names tenants."""
    if not file.source.tenant_tag:
        return
    nodes = {(each.machine.cluster, each.machine.node) for each in marks.values()}
    yield from about_tags(marks, tagged.names(), tagged.had(nodes, _reach(file)))


def _reach(file: BillFile) -> Span:
    """Return the whole hours that a file has rows of."""
    rows = BillLine.objects.filter(file=file, aside="")
    edges = rows.aggregate(starts=Min("charge_starts"), ends=Max("charge_ends"))
    if edges["starts"] is None:
        return Span(0, 0)
    starts, ends = instant(edges["starts"]), instant(edges["ends"])
    return Span(hour_of(starts), hour_of(ends + HOUR - 1))


def _elsewhere(file: BillFile) -> set[tuple[str, str]]:
    """Return the nodes that other bills of the same time name."""
    others = BillMatch.objects.filter(
        file__state=BillFile.State.ACTIVE, file__period_starts__lt=file.period_ends,
        file__period_ends__gt=file.period_starts, bucket="",
    ).exclude(file=file).exclude(node="")  # fmt: skip
    return set(others.values_list("cluster__slug", "node").distinct())


# -- what rows say about themselves ------------------------------------------------------------


def _about_rows(file: BillFile) -> Iterator[Difference]:
    """Yield what is odd about rows, whatever the nodes are: corrections, parts that are not a whole."""
    aside = BillLine.objects.filter(file=file)
    late = aside.filter(aside=BillLine.Aside.CORRECTION).aggregate(sum=Sum("effective"))["sum"]
    if late is not None:
        yield Difference(Finding(Code.LATE_CORRECTION, file.source.name), "", "", Fraction(late))
    parts = aside.filter(aside=BillLine.Aside.SPLIT).aggregate(sum=Sum("effective"))["sum"]
    if parts is not None:
        whole = _wholes(file)
        code = Code.MATCHED if parts == whole else Code.DOUBLE_SPLIT
        yield Difference(Finding(code, "Allocated"), "", "", Fraction(parts - whole))


def _wholes(file: BillFile) -> Decimal:
    """Return what those rows cost of which parts stand in the file too."""
    same = ("resource_id", "sku", "charge_starts", "charge_ends", "category")
    parts = BillLine.objects.filter(
        file=file, aside=BillLine.Aside.SPLIT, **{name: OuterRef(name) for name in same}
    )
    wholes = BillLine.objects.filter(file=file, aside="", allocated_to="")
    found = wholes.annotate(part=Subquery(parts.values("pk")[:1])).filter(part__isnull=False)
    return found.aggregate(sum=Sum("effective"))["sum"] or Decimal(0)


# -- rows ---------------------------------------------------------------------------------------


def _hours(file: BillFile, found: Matched, clusters: dict[str, int]) -> Iterator[BilledHour]:
    """Yield what each pool and hour was billed; all of it is the file, to the last grain."""
    exact: dict[tuple[str, str, str, str, int], int] = {
        ("", *_flat(place), hour): one.effective for (place, hour), one in found.pools.items()
    }
    exact |= {(bucket, "", "", "", 0): one.effective for bucket, one in found.buckets.items()}
    if not exact:
        return
    grains = settle(exact, _OVER, round(Fraction(sum(exact.values()), _OVER)))
    for (place, hour), one in sorted(found.pools.items()):
        yield BilledHour(
            file=file, cluster_id=clusters[place.cluster], flavor=place.pool.flavor,
            resource=place.pool.resource, hour=moment(hour), cost=from_grains(grains["", *_flat(place), hour]),
            seconds=one.seconds if one.timed else None, orphan=one.orphan, unknown=one.unknown,
            spread=one.spread,
        )  # fmt: skip
    for bucket in sorted(found.buckets):
        cost = from_grains(grains[bucket, "", "", "", 0])
        yield BilledHour(file=file, bucket=bucket, cost=cost)


def _flat(place: Any) -> tuple[str, str, str]:
    return place.cluster, place.pool.flavor, place.pool.resource


def _days(file: BillFile, found: Matched, clusters: dict[str, int]) -> Iterator[BillMatch]:
    for (subject, day), one in sorted(found.days.items(), key=lambda each: str(each[0])):
        place = subject.place
        yield BillMatch(
            file=file, day=moment(day).date(), subject=subject.resource, method=subject.method.value,
            bucket=subject.bucket, cluster_id=clusters[place.cluster] if place else None,
            node=subject.node, flavor=place.pool.flavor if place else "",
            resource=place.pool.resource if place else "", devices=subject.devices,
            seconds=one.seconds, seen=one.seen, orphan=one.orphan, unknown=one.unknown,
            billed=_amount(one.billed), effective=_amount(one.effective), spread=one.spread,
        )  # fmt: skip


def _amount(units: int) -> Decimal:
    return Decimal(units).scaleb(-machines.PLACES, WIDE)


def _findings(
    file: BillFile, found: list[Difference], clusters: dict[str, int]
) -> Iterator[BillFinding]:
    for each in found:
        yield BillFinding(
            file=file, code=each.finding.code.value, subject=each.finding.subject,
            cluster_id=clusters.get(each.cluster), node=each.node,
            difference=shown(each.finding.difference), whole=shown(each.finding.whole),
            money=shown(each.money, PLACES), facts=dict(each.facts),
        )  # fmt: skip


def _told(rows: list[list[Any]]) -> Iterator[list[str]]:
    """Yield rows as texts without their keys, for the hash."""
    for found in rows:
        for row in found:
            columns = [each.attname for each in row._meta.local_fields if not each.primary_key]
            yield [str(getattr(row, name)) for name in columns]


# -- which files are due --------------------------------------------------------------------------


def due(now: datetime) -> QuerySet[BillFile]:
    """Return bills that count and were never joined, or whose hours are known better by now."""
    newest = Matching.objects.filter(file=OuterRef("pk")).order_by("-at")
    runs = Run.objects.filter(
        starts__lt=OuterRef("period_ends"), ends__gt=OuterRef("period_starts")
    ).order_by("-at")
    closed = PeriodBill.objects.filter(period__state=Period.State.CLOSED, bill__isnull=False)
    paid = BillFile.objects.filter(
        state=BillFile.State.ACTIVE, source__kind__in=[each.value for each in BillSource.PAID]
    ).exclude(pk__in=closed.values("bill"))
    dated = paid.annotate(
        joined=Subquery(newest.values("at")[:1]), counted=Subquery(runs.values("at")[:1])
    )
    better = Q(counted__gt=F("joined"), joined__lt=now - AGAIN)
    return dated.filter(Q(joined=None) | better).order_by("pk")


def match_due(*, seconds: int, now: datetime) -> bool:
    """Join the bills that are due for a while; return whether some are left."""
    until = time.monotonic() + seconds
    for file in due(now):
        if time.monotonic() >= until:
            return True
        try:
            done = match(file=file)
        except DomainError as refusal:
            log.info("bill_not_joined", bill=file.pk, code=refusal.code)
        except Exception:
            # One file that cannot be joined must not keep all the others from it.
            log.exception("bill_join_failed", bill=file.pk)
        else:
            log.info("bill_joined", bill=file.pk, result=done.result)
    return False
