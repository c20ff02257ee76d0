"""Nodes of all clusters as machines, and the rows of a bill that may be theirs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from decimal import Decimal
from itertools import groupby, pairwise
from typing import Any, Final

from django.db.models import Sum
from django.db.models.functions import Coalesce

from costs.billing import UNUSED, Category, provider_key
from costs.facts import Pool
from costs.machines import Had, Machine, Machines
from costs.models import BillFile, BillLine, PoolHour
from costs.selectors.hours import within
from costs.selectors.standing import standing
from costs.spreading import Kind, Line
from costs.times import HOUR, Span, instant, moment
from queues.models import NodeChange
from tenants.models import Cluster

#: Amounts of the matching are whole units of this part of the currency.
PLACES: Final = 12
_UNITS: Final = 10**PLACES
_HOURS: Final = frozenset({"hours", "hour", "hrs", "hr", "h", "instance-hours"})
_SECONDS: Final = frozenset({"seconds", "second", "s"})
_CHUNK: Final = 5000
_ALIKE: Final = (
    "resource_id", "charge_starts", "charge_ends", "account", "sku", "zone", "instance_type",
    "gpus", "category", "service", "commitment_status", "unit", "tags",
)  # fmt: skip


def machines(span: Span) -> Machines:
    """Return the machines that were nodes of any cluster within a span."""
    slugs = dict(Cluster.objects.values_list("pk", "slug"))
    return Machines(each for pk, slug in slugs.items() for each in _of_cluster(pk, slug, span))


def _of_cluster(cluster_id: int, slug: str, span: Span) -> Iterator[Machine]:
    """Yield the machines of a cluster; a node that is replaced under its name is another one."""
    rows = NodeChange.objects.filter(cluster=cluster_id)
    steps: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
    for name, *step in standing(rows, ("name",), span, ("devices", "machines")):
        steps[name].append(tuple(step))
    for name, found in steps.items():
        had: dict[frozenset[str], list[Had]] = defaultdict(list)
        for (since, devices, named), following in pairwise([*found, (moment(span.ends), [], [])]):
            time = Span(max(span.starts, instant(since)), instant(following[0]))
            # What a provider does not name may still be in a bill by the name of the node.
            keys = frozenset(filter(None, map(provider_key, named))) or frozenset({name})
            if time.seconds > 0:
                had[keys] += [
                    Had(time, Pool(each["flavor"], each["resource"]), each["amount"])
                    for each in devices
                ]
        yield from (Machine(slug, name, keys, times) for keys, times in had.items() if times)


def counted(span: Span) -> dict[str, set[int]]:
    """Return the hours of a span that were counted, by cluster."""
    found: dict[str, set[int]] = defaultdict(set)
    rows = PoolHour.objects.filter(within(span)).values_list("cluster__slug", "hour").distinct()
    for slug, hour in rows.iterator(chunk_size=_CHUNK):
        found[slug].add(instant(hour))
    return found


def kinds(file: BillFile) -> Iterator[tuple[str, Kind, str]]:
    """Yield which resources have rows of which kind, and the type of their machine."""
    columns = ("resource_id", "account", "sku", "zone", "instance_type")
    rows = _counting(file).exclude(resource_id="").values_list(*columns).distinct()
    for resource, account, sku, zone, machine in rows.iterator(chunk_size=_CHUNK):
        yield resource, Kind(account, sku, zone), machine


def lines(file: BillFile) -> Iterator[tuple[str, Iterator[Line]]]:
    """Yield the rows of a file that count, by resource; rows that are alike are added up."""
    found = _counting(file).values(*_ALIKE).order_by("resource_id", "charge_starts")
    summed = found.annotate(
        consumed_=Sum("consumed"), billed_=Sum("billed"), effective_=Sum("effective"),
        gpus_=Coalesce("gpus", 0),
    )  # fmt: skip
    rows = map(_line, summed.iterator(chunk_size=_CHUNK))
    yield from groupby(rows, key=lambda line: line.resource)


def _counting(file: BillFile) -> Any:
    return BillLine.objects.filter(file=file, aside="")


def _line(row: dict[str, Any]) -> Line:
    return Line(
        span=Span(instant(row["charge_starts"]), instant(row["charge_ends"])),
        resource=row["resource_id"],
        kind=Kind(row["account"], row["sku"], row["zone"]),
        machine=row["instance_type"],
        gpus=row["gpus_"],
        category=Category(row["category"]),
        service=row["service"],
        unused=row["commitment_status"] == UNUSED,
        consumed=_seconds(row["consumed_"], row["unit"]),
        billed=units(row["billed_"]),
        effective=units(row["effective_"]),
        tags=row["tags"],
    )


def units(amount: Decimal) -> int:
    """Return an amount of at most twelve places in whole units."""
    numerator, denominator = amount.as_integer_ratio()
    return numerator * _UNITS // denominator


def _seconds(consumed: Decimal | None, unit: str) -> int | None:
    """Return machine time in seconds, if it is time at all."""
    name = unit.strip().lower()
    if consumed is None or name not in _HOURS | _SECONDS:
        return None
    numerator, denominator = consumed.as_integer_ratio()
    return numerator * (HOUR if name in _HOURS else 1) // denominator
