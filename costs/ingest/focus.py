"""Reads a bill in the FOCUS format (1.0 to 1.3), row by row, in constant memory.

Real files differ from the specification: nothing is empty or ``NULL``, times have no zone, rows
of another period stand among the others. What is only unusual is read and counted; what cannot
be understood is an error of its row, and a file with errors is not taken: leaving rows out would
make the rest look right.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal, localcontext
from typing import Final, NamedTuple

from costs.billing import CORRECTION, Category
from costs.ingest import fields
from costs.ingest.report import Code, Report
from costs.money import WIDE, NotMoney

AMOUNTS: Final = ("BilledCost", "EffectiveCost")
TIMES: Final = ("BillingPeriodStart", "BillingPeriodEnd", "ChargePeriodStart", "ChargePeriodEnd")
REQUIRED: Final = (
    *AMOUNTS, *TIMES, "BillingCurrency", "ChargeCategory", "BillingAccountId", "ServiceName",
)  # fmt: skip
#: The provider has been called differently since 1.3; the first that stands in the file counts.
PROVIDERS: Final = ("ServiceProviderName", "ProviderName", "HostProviderName")
ALLOCATED: Final = ("AllocatedResourceId", "AllocatedMethodId")
_CATEGORIES: Final = frozenset(each.value for each in Category)
#: Text columns with the length that is kept, in the order of ``Row``.
TEXTS: Final = {
    "ChargeClass": 24, "BillingAccountId": 255, "SubAccountId": 255, "ServiceName": 255,
    "RegionId": 255, "AvailabilityZone": 255, "ResourceId": 1024, "SkuId": 255,
    "PricingCategory": 24, "CommitmentDiscountId": 1024, "CommitmentDiscountStatus": 24,
    "ConsumedUnit": 255, "InvoiceId": 255,
}  # fmt: skip
_LONGEST_PERIOD: Final = 366  # days
csv.field_size_limit(1 << 20)


class HeaderRefused(ValueError):
    """A file whose first row is not that of a FOCUS file; ``missing`` and ``twice`` name columns."""

    def __init__(self, missing: Sequence[str], twice: Sequence[str]) -> None:
        """Name the columns."""
        super().__init__(f"missing {list(missing)}, twice {list(twice)}")
        self.missing, self.twice = list(missing), list(twice)


class Row(NamedTuple):
    """One row as it is stored; ``aside`` says why it does not count in its period."""

    number: int
    charge_starts: datetime
    charge_ends: datetime
    category: str
    billed: Decimal
    effective: Decimal
    listed: Decimal | None
    consumed: Decimal | None
    provider: str
    texts: tuple[str, ...]
    gpus: int | None
    instance_type: str
    allocated_to: str
    tags: dict[str, str]
    aside: str


@dataclass(slots=True)
class Part:
    """What the rows of one category add up to."""

    rows: int = 0
    billed: Decimal = Decimal(0)
    effective: Decimal = Decimal(0)
    listed: Decimal = Decimal(0)

    def add(self, row: Row) -> None:
        """Add a row; one without a list price has none in the sum either."""
        self.rows += 1
        self.billed += row.billed
        self.effective += row.effective
        self.listed += row.listed or 0


@dataclass(slots=True)
class Sums:
    """What the rows of a file add up to, those that count and those that do not.

    ``parts`` are those that count by category, ``aside`` the others by why they do not.
    """

    rows: int = 0
    billed: Decimal = Decimal(0)
    effective: Decimal = Decimal(0)
    put_aside: Decimal = Decimal(0)
    commitments: bool = False
    days: set[date] = field(default_factory=set)
    parts: dict[str, Part] = field(default_factory=dict)
    aside: dict[str, Part] = field(default_factory=dict)

    def add(self, row: Row) -> None:
        """Add a row to where it belongs."""
        if row.aside:
            self.put_aside += row.effective
            self.aside.setdefault(row.aside, Part()).add(row)
            return
        self.billed += row.billed
        self.effective += row.effective
        self.parts.setdefault(row.category, Part()).add(row)


class Focus:
    """A reader of one file: give it the header, then its rows.

    ``accounts`` are those that may appear (any, if empty). The billing period is that of the
    first row; rows of another are put aside.
    """

    def __init__(self, header: Sequence[str], currency: str, accounts: Iterable[str] = ()) -> None:
        """Find the columns; ``HeaderRefused`` if one that is needed is not there."""
        names = [name.strip() for name in header]
        twice = sorted({name for name in names if names.count(name) > 1})
        missing = [name for name in REQUIRED if name not in names]
        self.provider = next((name for name in PROVIDERS if name in names), "")
        if not self.provider:
            missing.append(PROVIDERS[1])
        if missing or twice:
            raise HeaderRefused(missing, twice)
        self.place = {name: place for place, name in enumerate(names)}
        self.width = len(names)
        self.currency, self.accounts = currency, frozenset(accounts)
        self.report, self.sums = Report(), Sums()
        self.period: tuple[datetime, datetime] | None = None
        self._row: Sequence[str] = ()

    def rows(self, lines: Iterable[Sequence[str]]) -> Iterator[Row]:
        """Yield the rows that could be read; the others are in the report."""
        with localcontext(WIDE):
            for number, line in enumerate(lines, start=1):
                self.sums.rows = number
                errors = self.report.errors
                row = self._read(number, line) if line else None
                if row is not None and errors == self.report.errors:
                    self._add(row)
                    yield row
            self._finish()

    # -- one row ---------------------------------------------------------------------------

    def _read(self, number: int, line: Sequence[str]) -> Row | None:
        if len(line) != self.width:
            self.report.error(number, "", Code.FIELDS, str(len(line)))
            return None
        self._row = line
        times = [self._time(number, name) for name in TIMES]
        billed, effective = (self._amount(number, name, needed=True) for name in AMOUNTS)
        category = self._text(number, "ChargeCategory", 12)
        if category not in _CATEGORIES:
            self.report.error(number, "ChargeCategory", Code.CATEGORY, category)
        self._known(number, "BillingCurrency", Code.CURRENCY, {self.currency})
        if self.accounts:
            self._known(number, "BillingAccountId", Code.ACCOUNT, self.accounts)
        begins, ends, starts, stops = times
        if not (begins and ends and starts and stops) or billed is None or effective is None:
            return None
        if starts >= stops or begins >= ends:
            self.report.error(number, "ChargePeriodEnd", Code.ORDER, self._value("ChargePeriodEnd"))
        gpus, machine = self._details(number)
        return Row(
            number, starts, stops, category, billed, effective,
            self._amount(number, "ListCost"), self._amount(number, "ConsumedQuantity"),
            self._text(number, self.provider, 255),
            tuple(self._text(number, name, longest) for name, longest in TEXTS.items()),
            gpus, machine, self._allocated(number), self._tags(number),
            self._aside(number, (begins, ends)),
        )  # fmt: skip

    def _value(self, name: str) -> str:
        """Return a value; one that is nothing, or has no column, is empty."""
        place = self.place.get(name)
        text = self._row[place].strip() if place is not None else ""
        return "" if text in fields.NOTHING else text

    def _text(self, number: int, name: str, longest: int) -> str:
        text = self._value(name)
        if len(text) > longest or "\0" in text:
            self.report.error(number, name, Code.TOO_LONG, text)
            return ""
        if not text and name in REQUIRED:
            self.report.error(number, name, Code.MISSING)
        return text

    def _known(self, number: int, name: str, code: Code, known: Iterable[str]) -> None:
        text = self._value(name)
        if text not in known:
            self.report.error(number, name, code, text)

    def _time(self, number: int, name: str) -> datetime | None:
        text = self._value(name)
        try:
            found = fields.moment(text)
        except (ValueError, OverflowError):
            code = Code.TIME if text else Code.MISSING
            self.report.error(number, name, code, text)
            return None
        if found.assumed:
            self.report.warn(number, name, Code.ZONE, text)
        return found.at

    def _amount(self, number: int, name: str, *, needed: bool = False) -> Decimal | None:
        text = self._value(name)
        if not text:
            if needed:
                self.report.error(number, name, Code.MISSING)
            return None
        try:
            found = fields.amount(text)
        except NotMoney:
            self.report.error(number, name, Code.AMOUNT, text)
            return None
        if found.rounded:
            self.report.warn(number, name, Code.ROUNDED, text)
        return found.value

    def _tags(self, number: int) -> dict[str, str]:
        return self._json(number, "Tags", Code.TAGS)

    def _json(self, number: int, name: str, code: Code) -> dict[str, str]:
        text = self._value(name)
        if not text:
            return {}
        try:
            return fields.texts(text)
        except (ValueError, RecursionError):
            self.report.warn(number, name, code, text)
            return {}

    def _details(self, number: int) -> tuple[int | None, str]:
        found = self._json(number, "SkuPriceDetails", Code.DETAILS)
        return fields.whole(found.get("GpuCount", "")), found.get("InstanceType", "")[:255]

    def _allocated(self, number: int) -> str:
        """Return whose part of a shared row this is, empty for rows that are not divided."""
        resource, method = (self._text(number, name, 1024) for name in ALLOCATED)
        return resource or method

    def _aside(self, number: int, period: tuple[datetime, datetime]) -> str:
        self.period = self.period or period
        if period != self.period:
            self.report.warn(number, "BillingPeriodStart", Code.OTHER_PERIOD, f"{period[0]:%F}")
            return Code.OTHER_PERIOD.value
        if self._value("ChargeClass") == CORRECTION:
            self.report.warn(number, "ChargeClass", Code.CORRECTION)
            return Code.CORRECTION.value
        return ""

    # -- the whole file --------------------------------------------------------------------

    def _add(self, row: Row) -> None:
        sums = self.sums
        sums.add(row)
        if row.aside:
            return
        sums.commitments = sums.commitments or self._value("CommitmentDiscountStatus") != ""
        if not self._value("ResourceId"):
            self.report.warn(row.number, "ResourceId", Code.NO_RESOURCE)
        if row.category == Category.USAGE:
            self._cover(row)

    def _cover(self, row: Row) -> None:
        """Note the days that have rows; a charge of several days covers all of them."""
        day, last = row.charge_starts.date(), (row.charge_ends - timedelta(microseconds=1)).date()
        if day not in self.sums.days or last not in self.sums.days:
            length = min((last - day).days, _LONGEST_PERIOD)
            self.sums.days |= {day + timedelta(days=n) for n in range(length + 1)}

    def _finish(self) -> None:
        sums = self.sums
        if not sums.commitments and sums.effective * 10 < sums.billed * 9:
            self.report.warn(0, "EffectiveCost", Code.LOW_EFFECTIVE, f"{sums.effective:f}")
        if self.period and sums.days:
            first, last = self.period[0].date(), max(sums.days)
            for n in range(min((last - first).days, _LONGEST_PERIOD)):
                day = first + timedelta(days=n)
                if day not in sums.days:
                    self.report.warn(0, "ChargePeriodStart", Code.NO_ROWS, f"{day}")
