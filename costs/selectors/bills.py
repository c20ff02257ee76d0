"""Bills for pages: sources with their months, versions, reports, and what a version changed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, NamedTuple

from django.db import connection
from django.db.models import Count, Q, QuerySet, Sum

from costs.billing import Category
from costs.models import (
    BilledHour,
    BillFile,
    BillFinding,
    BillMatch,
    BillProblem,
    BillSource,
    Matching,
)
from costs.statements import Net, net
from costs.states import Code

#: Rows of one list of a report; the others are counted.
MOST: Final = 100
#: Categories that change what was charged, and are no charge themselves.
_ADJUSTING: Final = (Category.CREDIT, Category.ADJUSTMENT)
_FINE: Final = (Code.MATCHED.value, Code.WITHIN_TOLERANCE.value, Code.PROVISIONAL.value)
_CHANGED: Final = """
    SELECT coalesce(now.resource_id, before.resource_id), before.effective, now.effective,
           count(*) OVER ()
    FROM (SELECT resource_id, sum(effective) AS effective FROM costs_billline
          WHERE file_id = %(now)s AND aside = '' GROUP BY resource_id) AS now
    FULL JOIN (SELECT resource_id, sum(effective) AS effective FROM costs_billline
          WHERE file_id = %(before)s AND aside = '' GROUP BY resource_id) AS before
        USING (resource_id)
    WHERE now.effective IS DISTINCT FROM before.effective
    ORDER BY abs(coalesce(now.effective, 0) - coalesce(before.effective, 0)) DESC, 1
    LIMIT %(most)s
"""


class Months(NamedTuple):
    """A source with the file of each month that counts, the newest first."""

    source: BillSource
    files: list[BillFile]


def sources() -> list[Months]:
    """Return all sources with their months, by name; two queries."""
    active = BillFile.objects.filter(state=BillFile.State.ACTIVE).order_by("-period_starts")
    found = {each.pk: Months(each, []) for each in BillSource.objects.order_by("name")}
    for file in active:
        found[file.source_id].files.append(file)
    return list(found.values())


def versions(source: BillSource) -> QuerySet[BillFile]:
    """Return all files of a source, the newest first, with who took them."""
    return BillFile.objects.filter(source=source).select_related("taken_by").order_by("-pk")


class Total(NamedTuple):
    """What the rows of one category, or those put aside for one reason, add up to."""

    name: str
    rows: int
    billed: Decimal
    effective: Decimal
    listed: Decimal


@dataclass(frozen=True, slots=True)
class Report:
    """All that a page says about a file.

    ``net`` are charges, what was taken off them, and what is left. ``places`` are pools with
    what was billed for them, ``buckets`` what no pool has. ``findings`` are the first of those
    that a person should look at.
    """

    errors: list[BillProblem]
    warnings: list[BillProblem]
    parts: list[Total]
    aside: list[Total]
    net: Net
    joined: Matching | None
    places: list[dict[str, Any]]
    buckets: list[dict[str, Any]]
    methods: list[tuple[str, Decimal]]
    findings: list[BillFinding]
    counts: Counter[str]


def report(file: BillFile) -> Report:
    """Return the report of a file; seven queries, however many rows it has."""
    problems = list(file.problems.order_by("-error", "row", "column", "code")[:MOST])
    parts, aside = (totals(file, key) for key in ("parts", "aside"))
    findings = file.findings.exclude(code__in=_FINE)
    return Report(
        errors=[each for each in problems if each.error],
        warnings=list(file.problems.filter(error=False).order_by("code", "column")),
        parts=parts,
        aside=aside,
        net=net(
            {each.name: each.effective for each in parts if each.name not in _ADJUSTING},
            {each.name: each.effective for each in parts if each.name in _ADJUSTING},
        ),
        joined=file.matchings.order_by("-at").first(),
        places=_places(file),
        buckets=[each for each in _buckets(file) if each["cost"]],
        methods=list(
            BillMatch.objects.filter(file=file)
            .values_list("method").annotate(Sum("effective")).order_by("method")
        ),
        findings=list(findings.select_related("cluster").order_by("-money", "subject")[:MOST]),
        counts=Counter(
            dict(file.findings.values_list("code").annotate(n=Count("pk")).order_by("code"))
        ),
    )  # fmt: skip


def totals(file: BillFile, key: str) -> list[Total]:
    """Return the sums of a file that were stored when it was read."""
    return [
        Total(name, each["rows"], *(Decimal(each[of]) for of in ("billed", "effective", "listed")))
        for name, each in file.sums.get(key, {}).items()
        if each["rows"]
    ]


def _places(file: BillFile) -> list[dict[str, Any]]:
    """Return the pools of a file: device-seconds, those of no node, cost, and the mean rate."""
    rows: Any = BilledHour.objects.filter(file=file, bucket="").values(
        "cluster__slug", "cluster__display_name", "flavor", "resource"
    )
    found = rows.annotate(
        seconds=Sum("seconds"), orphan=Sum("orphan"), unknown=Sum("unknown"), cost=Sum("cost"),
        spread=Count("pk", filter=Q(spread=True)),
    )  # fmt: skip
    return list(found.order_by("cluster__slug", "flavor", "resource"))


def _buckets(file: BillFile) -> list[dict[str, Any]]:
    rows: Any = BilledHour.objects.filter(file=file).exclude(bucket="").values("bucket")
    return list(rows.annotate(cost=Sum("cost")).order_by("bucket"))


class Change(NamedTuple):
    """What one resource cost in the version before, and costs in this one."""

    resource: str
    before: Decimal | None
    now: Decimal | None

    @property
    def difference(self) -> Decimal:
        """Return how much more it is now."""
        return (self.now or Decimal(0)) - (self.before or Decimal(0))


def before(file: BillFile) -> BillFile | None:
    """Return the version of the same period that this one replaced."""
    if file.number is None:
        return None
    older = BillFile.objects.filter(
        source=file.source_id, period_starts=file.period_starts, number__lt=file.number
    )
    return older.order_by("-number").first()


def changes(file: BillFile, older: BillFile) -> tuple[list[Change], int]:
    """Return the largest changes by resource, and how many there are; one query."""
    wanted = {"now": file.pk, "before": older.pk, "most": MOST}
    with connection.cursor() as cursor:
        cursor.execute(_CHANGED, wanted)
        rows = cursor.fetchall()
    return [Change(*row[:3]) for row in rows], rows[0][3] if rows else 0
