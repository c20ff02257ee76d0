"""What other reports say beside what the ledger and the bills say. Compared, and never added."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Final, NamedTuple

from django.db.models import Sum

from costs.facts import NOBODY
from costs.machines import resource_key
from costs.models import BillFile, BillMatch, BillSource, OpinionLine, TenantHour
from costs.states import BILLED_AND_PROVISIONED, Code, Tolerance, compare
from costs.times import HOUR
from tenants.models import Entry, Tenant

#: Rows of a comparison; the largest differences come first.
MOST: Final = 200
_CLOSE: Final = Tolerance(BILLED_AND_PROVISIONED.relative)


class Beside(NamedTuple):
    """One subject in both: what the report says, what we say, and whether that is the same.

    ``theirs`` and ``ours`` are device-hours, or amounts of money; ``None`` is not known.
    """

    subject: str
    theirs: Fraction
    ours: Fraction | None
    code: Code


def beside(file: BillFile) -> list[Beside]:
    """Return what a report says beside what is on record, the largest difference first."""
    kind = BillSource.Kind(file.source.kind)
    found = _machines(file) if kind is BillSource.Kind.SPLIT else _teams(file)
    return sorted(found, key=lambda each: (-abs(each.theirs - (each.ours or 0)), each.subject))[
        :MOST
    ]


def _machines(file: BillFile) -> Iterator[Beside]:
    """Compare what each machine costs by the split with what the bills say."""
    theirs: dict[str, Decimal] = defaultdict(Decimal)
    rows = OpinionLine.objects.filter(file=file).values_list("machine")
    for machine, cost, unused in rows.annotate(Sum("cost"), Sum("unused")):
        theirs[resource_key(machine)] += (cost or 0) + (unused or 0)
    paid = BillMatch.objects.filter(
        file__state=BillFile.State.ACTIVE, file__period_starts=file.period_starts, method="machine",
        file__source__currency=file.source.currency,
    )  # fmt: skip
    ours: dict[str, Decimal] = defaultdict(Decimal)
    for subject, cost in paid.values_list("subject").annotate(Sum("effective")):
        ours[resource_key(subject)] += cost
    for machine, cost in theirs.items():
        yield _beside(machine, Fraction(cost), ours.get(machine))


def _teams(file: BillFile) -> Iterator[Beside]:
    """Compare the device-hours of each tenant: teams are tenants by name, else by namespace."""
    slugs = set(Tenant.objects.values_list("slug", flat=True))
    owners = dict(Entry.objects.values_list("namespace", "queue__tenant__slug"))
    theirs: Counter[str] = Counter()
    rows = OpinionLine.objects.filter(file=file).values_list("team", "namespace")
    for team, namespace, seconds in rows.annotate(Sum("held")):
        theirs[_tenant(team, namespace, slugs, owners)] += int(seconds or 0)
    hours = TenantHour.objects.filter(hour__gte=file.period_starts, hour__lt=file.period_ends)
    ours = {
        slug or NOBODY: int(held)
        for slug, held in hours.values_list("tenant__slug").annotate(Sum("held"))
    }
    for tenant, seconds in theirs.items():
        mine = ours.get(tenant)
        known = None if mine is None else Fraction(mine, HOUR)
        yield _beside(tenant, Fraction(seconds, HOUR), known)


def _tenant(team: str, namespace: str, slugs: set[str], owners: Mapping[str, str]) -> str:
    """Return whose a row is; what nobody knows keeps the name that it has."""
    if team in slugs:
        return team
    return owners.get(namespace) or team or namespace


def _beside(subject: str, theirs: Fraction, ours: Decimal | Fraction | None) -> Beside:
    if ours is None:
        return Beside(subject, theirs, None, Code.UNATTRIBUTED)
    finding = compare(subject, theirs, Fraction(ours), _CLOSE, Code.INTERVAL_GAP)
    return Beside(subject, theirs, Fraction(ours), finding.code)
