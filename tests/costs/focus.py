"""Makes bills in the FOCUS format for tests: rows by their differences from an ordinary one."""

import csv
import io
from typing import Any

ORDINARY = {
    "BilledCost": "10.00",
    "EffectiveCost": "10.00",
    "ListCost": "12.00",
    "BillingCurrency": "USD",
    "BillingPeriodStart": "2026-11-01T00:00:00Z",
    "BillingPeriodEnd": "2026-12-01T00:00:00Z",
    "ChargePeriodStart": "2026-11-01T00:00:00Z",
    "ChargePeriodEnd": "2026-11-01T01:00:00Z",
    "ChargeCategory": "Usage",
    "ChargeClass": "",
    "BillingAccountId": "1234",
    "ProviderName": "AWS",
    "ServiceName": "EC2",
    "ResourceId": "i-1",
    "SkuId": "p4d",
    "SkuPriceDetails": '{"GpuCount": 8, "InstanceType": "p4d.24xlarge"}',
    "CommitmentDiscountStatus": "",
    "AllocatedResourceId": "",
    "Tags": '{"team": "nlp"}',
}


def table(*rows: dict[str, Any], names: Any = tuple(ORDINARY), delimiter: str = ",") -> bytes:
    """Return a file of rows; each says what differs from the ordinary one."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter)
    writer.writerow(names)
    for row in rows:
        writer.writerow([(ORDINARY | row).get(name, "") for name in names])
    return text.getvalue().encode()


def hour(number: int, **more: Any) -> dict[str, Any]:
    """Return a row of one hour of the first of the month."""
    times = {
        "ChargePeriodStart": f"2026-11-01T{number:02}:00:00Z",
        "ChargePeriodEnd": f"2026-11-01T{number:02}:59:59Z",
    }
    return times | more
