"""The checker of FOCUS files: what it lets through, and each rule by a row that breaks it."""

import pytest

from costs.focus_columns import COLUMNS, CONDITIONAL
from costs.ingest.focus_rules import check

GOOD = {
    "BilledCost": "10.00", "EffectiveCost": "10.00", "ListCost": "10.00", "ContractedCost": "10.00",
    "BillingAccountId": "1", "BillingCurrency": "USD", "ChargeCategory": "Usage",
    "BillingPeriodStart": "2026-11-01T00:00:00Z", "BillingPeriodEnd": "2026-12-01T00:00:00Z",
    "ChargePeriodStart": "2026-11-01T00:00:00Z", "ChargePeriodEnd": "2026-11-01T01:00:00Z",
    "ChargeFrequency": "Usage-Based", "InvoiceIssuerName": "x", "ProviderName": "x",
    "PublisherName": "x", "ServiceCategory": "Compute", "ServiceName": "EC2",
    "ConsumedQuantity": "4.0", "ConsumedUnit": "Hours", "PricingQuantity": "4.000000",
    "PricingUnit": "Hours", "PricingCategory": "Standard", "ListUnitPrice": "2.5",
    "ContractedUnitPrice": "2.5", "SkuId": "a", "SkuPriceId": "b", "Tags": "{}",
}  # fmt: skip


def broken(strict=False, names=tuple(COLUMNS), **more):
    row = GOOD | more
    return [
        (each.row, each.column)
        for each in check(names, [[row.get(n, "") for n in names]], strict=strict)
    ]


def test_a_good_row_breaks_no_rule():
    assert broken() == []
    assert broken(strict=True) == []
    assert broken(names=[n for n in COLUMNS if n not in CONDITIONAL] + ["x_Own"]) == []


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("BilledCost", ""), ("BilledCost", "1,5"), ("BilledCost", "NULL"), ("BilledCost", "NaN"),
        ("BillingCurrency", "usd"), ("ChargeCategory", "usage"), ("ServiceCategory", "GPU"),
        ("ChargePeriodStart", "2026-11-01 00:00:00"), ("ChargePeriodStart", "2026-11-31T00:00:00Z"),
        ("ChargePeriodStart", "2026-12-01T00:00:00Z"), ("ChargePeriodEnd", "2026-11-01T00:00:00Z"),
        ("Tags", "[]"), ("Tags", "{"), ("PricingQuantity", "4"), ("ConsumedUnit", ""),
        ("PricingUnit", ""), ("PricingCategory", ""), ("ListCost", "11"), ("SubAccountName", "x"),
        ("SubAccountType", "x"), ("RegionName", "x"), ("ResourceName", "x"), ("SkuPriceId", ""),
        ("CommitmentDiscountStatus", "Used"), ("ChargeFrequency", "Hourly"),
    ],
)  # fmt: skip
def test_each_rule_is_broken_by_a_row(column, value):
    assert (1, column) in broken(**{column: value}) or broken(**{column: value})[0][0] == 1


def test_columns_are_named():
    assert broken(strict=True, names=[n for n in COLUMNS if n != "CommitmentDiscountId"]) == [
        (0, "CommitmentDiscountId")
    ]
    assert broken(names=[*COLUMNS, "Own", "Tags"]) == [(0, "Tags"), (0, "Own")]


def test_a_row_of_another_length_is_named():
    assert [(each.row, each.value) for each in check(list(COLUMNS), [["1"]])] == [(1, "1")]


def test_there_are_57_columns():
    assert (len(COLUMNS), len(CONDITIONAL)) == (57, 13)
