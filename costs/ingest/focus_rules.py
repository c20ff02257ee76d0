"""Checks a file against the rules of FOCUS 1.2 that concern what the portal writes and reads.

It is stricter than reading a bill is (``costs.ingest.focus``): that takes what real files are
like, this says what they should be like.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Final, NamedTuple

from costs.focus_columns import COLUMNS, CONDITIONAL, Column, Kind

_NUMBER: Final = re.compile(r"[-+]?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_TIME: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")
_CURRENCY: Final = re.compile(r"[A-Z]{3}")
_CUSTOM: Final = "x_"
_SHOWN: Final = 80


class Broken(NamedTuple):
    """A rule that does not hold: in which row (0: the header), in which column, and what is there."""

    row: int
    column: str
    rule: str
    value: str = ""


Row = Mapping[str, str]


def check(
    header: Sequence[str], rows: Iterable[Sequence[str]], *, strict: bool = False
) -> Iterator[Broken]:
    """Yield the rules that a file breaks; ``strict`` asks for every column of FOCUS 1.2."""
    names = list(header)
    yield from _header(names, strict=strict)
    for number, row in enumerate(rows, start=1):
        if len(row) != len(names):
            yield Broken(number, "", "a row has as many values as the header", str(len(row)))
            continue
        found = dict(zip(names, row, strict=True))
        values = list(_values(number, found))
        yield from values
        if not values:
            yield from _together(number, found)


def _header(names: Sequence[str], *, strict: bool) -> Iterator[Broken]:
    for name in COLUMNS:
        if name not in names and (strict or name not in CONDITIONAL):
            yield Broken(0, name, "the column is there")
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield Broken(0, name, "a column is there once")
    for name in names:
        if name not in COLUMNS and not name.startswith(_CUSTOM):
            yield Broken(0, name, "a column of one's own begins with x_")


def _values(number: int, row: Row) -> Iterator[Broken]:
    for name, text in row.items():
        column = COLUMNS.get(name)
        if column is None:
            continue
        rule = _rule(column, text)
        if rule:
            yield Broken(number, name, rule, text[:_SHOWN])


def _rule(column: Column, text: str) -> str:
    """Return the rule that a value breaks, or nothing."""
    if text == "":
        return "" if column.empty else "the value is not empty"
    if text.strip().upper() == "NULL":
        return "nothing is an empty value"
    if column.values and text not in column.values:
        return "the value is one of those that the column may have"
    return "" if _KINDS[column.kind](text) else f"the value is a {column.kind}"


def _is_time(text: str) -> bool:
    if not _TIME.fullmatch(text):
        return False
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _is_json(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


_KINDS: Final[Mapping[Kind, Callable[[str], bool]]] = {
    Kind.TEXT: lambda _text: True,
    Kind.NUMBER: lambda text: bool(_NUMBER.fullmatch(text)),
    Kind.TIME: _is_time,
    Kind.CURRENCY: lambda text: bool(_CURRENCY.fullmatch(text)),
    Kind.JSON: _is_json,
}


# -- rules about several values of a row --------------------------------------------------------


def _together(number: int, row: Row) -> Iterator[Broken]:
    for column, rule, holds in _RULES:
        if column in row and not holds(row):
            yield Broken(number, column, rule, row[column][:_SHOWN])


def _number(row: Row, name: str) -> Decimal | None:
    text = row.get(name, "")
    return Decimal(text) if text else None


def _both(one: str, other: str) -> Callable[[Row], bool]:
    """Return whether two values are there together or not at all."""
    return lambda row: bool(row.get(one)) == bool(row.get(other))


def _product(cost: str, price: str) -> Callable[[Row], bool]:
    """Return whether a cost is its price times the quantity, to the last place that is written."""

    def holds(row: Row) -> bool:
        amount, rate, quantity = (_number(row, name) for name in (cost, price, "PricingQuantity"))
        if amount is None or rate is None or quantity is None or row.get("ChargeClass"):
            return True
        # Quantities have six places: a rate of one loses up to half of the last of them.
        return abs(amount - rate * quantity) <= abs(rate) * Decimal("0.000001") + Decimal(
            "0.000001"
        )

    return holds


def _commitment(row: Row) -> bool:
    """Return whether the status of a commitment stands in rows of its use, and in no others."""
    used = bool(row.get("CommitmentDiscountId")) and row["ChargeCategory"] == "Usage"
    return bool(row.get("CommitmentDiscountStatus")) == used


_RULES: Final[Sequence[tuple[str, str, Callable[[Row], bool]]]] = (
    ("BillingPeriodEnd", "a period ends after it begins",
     lambda row: row["BillingPeriodStart"] < row["BillingPeriodEnd"]),
    ("ChargePeriodEnd", "a charge ends after it begins",
     lambda row: row["ChargePeriodStart"] < row["ChargePeriodEnd"]),
    ("ChargePeriodStart", "a charge that corrects nothing is in its billing period",
     lambda row: bool(row.get("ChargeClass"))
     or row["BillingPeriodStart"] <= row["ChargePeriodStart"] < row["BillingPeriodEnd"]),
    ("ConsumedUnit", "quantity and unit of use stand together", _both("ConsumedQuantity", "ConsumedUnit")),
    ("ConsumedQuantity", "only use has a quantity of use",
     lambda row: not row.get("ConsumedQuantity") or row["ChargeCategory"] == "Usage"),
    ("PricingUnit", "quantity and unit of the price stand together", _both("PricingQuantity", "PricingUnit")),
    ("PricingQuantity", "a quantity has its decimal places, also where they are 0",
     lambda row: not row["PricingQuantity"] or "." in row["PricingQuantity"]),
    ("PricingCategory", "use has a pricing category, tax has none",
     lambda row: bool(row["PricingCategory"]) == (row["ChargeCategory"] in ("Usage", "Purchase"))
     or row["ChargeCategory"] in ("Credit", "Adjustment")),
    ("ListCost", "the list cost is its price times the quantity", _product("ListCost", "ListUnitPrice")),
    ("ContractedCost", "the contracted cost is its price times the quantity",
     _product("ContractedCost", "ContractedUnitPrice")),
    ("EffectiveCost", "what a commitment costs is spread over its use",
     lambda row: row["ChargeCategory"] != "Purchase" or not row.get("CommitmentDiscountId")
     or not _number(row, "EffectiveCost")),
    ("CommitmentDiscountStatus", "a commitment has a status where it is used", _commitment),
    ("SubAccountName", "a sub-account with a name has an id",
     lambda row: not row["SubAccountName"] or bool(row.get("SubAccountId"))),
    ("SubAccountType", "a sub-account has a type", _both("SubAccountId", "SubAccountType")),
    ("ResourceName", "a resource with a name has an id",
     lambda row: not row["ResourceName"] or bool(row.get("ResourceId"))),
    ("RegionName", "a region with a name has an id",
     lambda row: not row["RegionName"] or bool(row.get("RegionId"))),
    ("SkuPriceId", "use has a SKU and its price",
     lambda row: row["ChargeCategory"] != "Usage" or bool(row.get("SkuId") and row["SkuPriceId"])),
)  # fmt: skip
