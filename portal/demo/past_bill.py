"""The bills of the demo's four machines, as a provider would send them: FOCUS files.

They hold what makes a month interesting: a machine that was never in the cluster, a reservation
that nobody used, a fee for support, and in the next month a correction of this one.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Final

CURRENCY: Final = "USD"
ACCOUNT: Final = "demo-research"
#: What a machine with eight GPUs costs for a day, by the contract and by the list.
A_DAY: Final = Decimal("364.80")
LISTED: Final = Decimal("480.00")
MACHINES: Final = ("i-demo-1", "i-demo-2", "i-demo-3", "i-demo-4")
ORPHAN: Final = "i-demo-forgotten"
CORRECTION: Final = Decimal("-212.40")
COLUMNS: Final = (
    "BilledCost", "EffectiveCost", "ListCost", "BillingCurrency", "BillingPeriodStart",
    "BillingPeriodEnd", "ChargePeriodStart", "ChargePeriodEnd", "ChargeCategory", "ChargeClass",
    "BillingAccountId", "ProviderName", "ServiceName", "ResourceId", "SkuId", "SkuPriceDetails",
    "ConsumedQuantity", "ConsumedUnit", "CommitmentDiscountId", "CommitmentDiscountStatus", "Tags",
)  # fmt: skip
Row = dict[str, Any]


def following(first: datetime) -> datetime:
    """Return the first day of the month after that of a first day."""
    return (first + timedelta(days=31)).replace(day=1)


def focus(first: datetime, until: datetime, *, corrects: datetime | None = None) -> bytes:
    """Return the bill of a month up to a day; ``corrects``: an earlier month that it corrects."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, COLUMNS, restval="")
    writer.writeheader()
    period = {
        "BillingCurrency": CURRENCY, "BillingAccountId": ACCOUNT, "ProviderName": "Demo Cloud",
        "BillingPeriodStart": _at(first), "BillingPeriodEnd": _at(following(first)),
    }  # fmt: skip
    for row in _rows(first, min(until, following(first)), corrects):
        writer.writerow(period | row)
    return text.getvalue().encode()


def _rows(first: datetime, until: datetime, corrects: datetime | None) -> Iterator[Row]:
    day = first
    while day < until:
        for machine in MACHINES:
            yield _machine(machine, day)
        if 6 <= day.day < 11:
            yield _machine(ORPHAN, day)
        day += timedelta(days=1)
    whole = (first, until)
    yield _row(whole, Decimal("150.00"), ServiceName="Support", ChargeCategory="Usage")
    unused = {"CommitmentDiscountId": "plan-a100", "CommitmentDiscountStatus": "Unused"}
    yield _row(whole, Decimal("96.00"), ServiceName="Compute", ChargeCategory="Usage", **unused)
    if corrects:
        yield _row(
            (corrects, first), CORRECTION, ServiceName="Compute", ChargeCategory="Credit",
            ChargeClass="Correction", ResourceId=MACHINES[2],
        )  # fmt: skip


def _machine(name: str, day: datetime) -> Row:
    return _row(
        (day, day + timedelta(days=1)), A_DAY, ListCost=LISTED, ServiceName="Compute",
        ChargeCategory="Usage", ResourceId=name, SkuId="gpu-8x-a100", ConsumedQuantity=24,
        ConsumedUnit="Hours", SkuPriceDetails='{"GpuCount": 8, "InstanceType": "gpu-8x-a100"}',
        Tags='{"pool": "a100"}',
    )  # fmt: skip


def _row(time: tuple[datetime, datetime], cost: Decimal, **more: Any) -> Row:
    edges = {"ChargePeriodStart": _at(time[0]), "ChargePeriodEnd": _at(time[1])}
    return {"BilledCost": cost, "EffectiveCost": cost, "ListCost": cost} | edges | more


def _at(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")
