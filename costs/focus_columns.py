"""The columns of FOCUS 1.2, and what may stand in each: for what we write, and to check a file."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple


class Kind(StrEnum):
    """What the values of a column are."""

    TEXT = "text"
    NUMBER = "number"
    TIME = "time"
    CURRENCY = "currency"
    JSON = "json"


class Column(NamedTuple):
    """One column: its kind, whether it may be empty, and the values that it may have."""

    kind: Kind = Kind.TEXT
    empty: bool = True
    values: frozenset[str] = frozenset()


def _one_of(*values: str, empty: bool = False) -> Column:
    return Column(Kind.TEXT, empty, frozenset(values))


_NEEDED: Final = Column(empty=False)
_TEXT: Final = Column()
_NUMBER: Final = Column(Kind.NUMBER)
_COST: Final = Column(Kind.NUMBER, empty=False)
_TIME: Final = Column(Kind.TIME, empty=False)
SERVICES: Final = (
    "AI and Machine Learning", "Analytics", "Business Applications", "Compute", "Databases",
    "Developer Tools", "Multicloud", "Identity", "Integration", "Internet of Things",
    "Management and Governance", "Media", "Migration", "Mobile", "Networking", "Security",
    "Storage", "Web", "Other",
)  # fmt: skip
COLUMNS: Final[dict[str, Column]] = {
    "AvailabilityZone": _TEXT,
    "BilledCost": _COST,
    "BillingAccountId": _NEEDED,
    "BillingAccountName": _TEXT,
    "BillingAccountType": _TEXT,
    "BillingCurrency": Column(Kind.CURRENCY, empty=False),
    "BillingPeriodEnd": _TIME,
    "BillingPeriodStart": _TIME,
    "CapacityReservationId": _TEXT,
    "CapacityReservationStatus": _one_of("Used", "Unused", empty=True),
    "ChargeCategory": _one_of("Usage", "Purchase", "Tax", "Credit", "Adjustment"),
    "ChargeClass": _one_of("Correction", empty=True),
    "ChargeDescription": _TEXT,
    "ChargeFrequency": _one_of("One-Time", "Recurring", "Usage-Based"),
    "ChargePeriodEnd": _TIME,
    "ChargePeriodStart": _TIME,
    "CommitmentDiscountCategory": _one_of("Spend", "Usage", empty=True),
    "CommitmentDiscountId": _TEXT,
    "CommitmentDiscountName": _TEXT,
    "CommitmentDiscountQuantity": _NUMBER,
    "CommitmentDiscountStatus": _one_of("Used", "Unused", empty=True),
    "CommitmentDiscountType": _TEXT,
    "CommitmentDiscountUnit": _TEXT,
    "ConsumedQuantity": _NUMBER,
    "ConsumedUnit": _TEXT,
    "ContractedCost": _COST,
    "ContractedUnitPrice": _NUMBER,
    "EffectiveCost": _COST,
    "InvoiceId": _TEXT,
    "InvoiceIssuerName": _NEEDED,
    "ListCost": _COST,
    "ListUnitPrice": _NUMBER,
    "PricingCategory": _one_of("Standard", "Dynamic", "Committed", "Other", empty=True),
    "PricingCurrency": Column(Kind.CURRENCY),
    "PricingCurrencyContractedUnitPrice": _NUMBER,
    "PricingCurrencyEffectiveCost": _NUMBER,
    "PricingCurrencyListUnitPrice": _NUMBER,
    "PricingQuantity": _NUMBER,
    "PricingUnit": _TEXT,
    "ProviderName": _NEEDED,
    "PublisherName": _NEEDED,
    "RegionId": _TEXT,
    "RegionName": _TEXT,
    "ResourceId": _TEXT,
    "ResourceName": _TEXT,
    "ResourceType": _TEXT,
    "ServiceCategory": _one_of(*SERVICES),
    "ServiceName": _NEEDED,
    "ServiceSubcategory": _TEXT,
    "SkuId": _TEXT,
    "SkuMeter": _TEXT,
    "SkuPriceDetails": Column(Kind.JSON),
    "SkuPriceId": _TEXT,
    "SubAccountId": _TEXT,
    "SubAccountName": _TEXT,
    "SubAccountType": _TEXT,
    "Tags": Column(Kind.JSON),
}
#: Columns of what the portal has not: commitments, reserved capacity, prices in another currency.
CONDITIONAL: Final = tuple(
    name
    for name in COLUMNS
    if name.startswith(("CapacityReservation", "CommitmentDiscount", "PricingCurrency"))
)
