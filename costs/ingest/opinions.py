"""Reads what others say about the same hours: second opinions, which no money is paid by.

AWS's split cost allocation (in CUR 2.0) divides the cost of a machine among its pods; of its rows
those are read that have a parent, and the devices of those that count accelerators. HyperPod's
usage report counts quota time by day and team; "utilization" there is not what devices did.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, localcontext
from typing import Final, NamedTuple

from costs.ingest import fields
from costs.ingest.focus import HeaderRefused, Sums
from costs.ingest.report import Code, Report
from costs.money import WIDE, NotMoney
from costs.times import HOUR

_DEVICE: Final = re.compile(r"accelerator|gpu|neuron|trn|inf", re.IGNORECASE)
_POD: Final = re.compile(r"^arn:[^:]*:eks:[^:]*:[^:]*:pod/[^/]+/([^/]+)/")
_RANGE: Final = re.compile(r"Range \(UTC\): (\S+) to (\S+)")
_GAP: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}.* to .*")
_LONGEST: Final = 253
_LONGEST_MACHINE: Final = 1024


class Opinion(NamedTuple):
    """One row as it is stored; seconds of devices, ``None`` where it says nothing of them."""

    row: int
    starts: datetime
    ends: datetime
    namespace: str
    team: str
    machine: str
    held: int | None
    borrowed: int | None
    cost: Decimal | None
    unused: Decimal | None


class _Table(ABC):
    """What both have in common: a header, a row that is being read, a report."""

    def __init__(self, header: Sequence[str]) -> None:
        self.place = {name.strip(): place for place, name in enumerate(header)}
        self.report, self.sums = Report(), Sums()
        self.period: tuple[datetime, datetime] | None = None
        self._row: Sequence[str] = ()
        self._number = 0

    def rows(self, lines: Iterable[Sequence[str]]) -> Iterator[Opinion]:
        """Yield the rows that could be read; the others are in the report."""
        with localcontext(WIDE):
            for number, line in enumerate(lines, start=1):
                self.sums.rows = self._number = number
                errors = self.report.errors
                self._row = line
                row = self._read() if line and self._complete(line) else None
                if row is not None and errors == self.report.errors:
                    yield row

    @abstractmethod
    def _read(self) -> Opinion | None:
        """Read the row; ``None`` if it is left out, or has an error in the report."""

    def _complete(self, line: Sequence[str]) -> bool:
        if len(line) == len(self.place):
            return True
        self.report.error(self._number, "", Code.FIELDS, str(len(line)))
        return False

    def _value(self, name: str, longest: int = _LONGEST) -> str:
        place = self.place.get(name)
        text = self._row[place].strip() if place is not None else ""
        if len(text) > longest or "\0" in text:
            self.report.error(self._number, name, Code.TOO_LONG, text)
            return ""
        return "" if text in fields.NOTHING else text

    def _amount(self, name: str) -> Decimal | None:
        text = self._value(name)
        try:
            return fields.amount(text).value if text else None
        except NotMoney:
            self.report.error(self._number, name, Code.AMOUNT, text)
            return None

    def _seconds(self, name: str) -> int | None:
        found = self._amount(name)
        return None if found is None else int((found * HOUR).to_integral_value())

    def _time(self, name: str) -> datetime | None:
        try:
            return fields.moment(self._value(name)).at
        except (ValueError, OverflowError):
            self.report.error(self._number, name, Code.TIME, self._value(name))
            return None


class Split(_Table):
    """A reader of CUR 2.0 with split cost allocation; rows without a parent are left out."""

    REQUIRED: Final = (
        "bill_billing_period_start_date", "bill_billing_period_end_date",
        "line_item_usage_start_date", "line_item_usage_end_date", "line_item_usage_type",
        "line_item_resource_id", "line_item_currency_code", "split_line_item_parent_resource_id",
        "split_line_item_split_cost", "split_line_item_unused_cost",
        "split_line_item_reserved_usage",
    )  # fmt: skip

    def __init__(self, header: Sequence[str], currency: str) -> None:
        """Find the columns; ``HeaderRefused`` if one is not there."""
        super().__init__(header)
        self.currency = currency
        names = [name.strip() for name in header]
        missing = [name for name in self.REQUIRED if name not in self.place]
        twice = sorted({name for name in names if names.count(name) > 1})
        if missing or twice:
            raise HeaderRefused(missing, twice)

    def _read(self) -> Opinion | None:
        parent = self._value("split_line_item_parent_resource_id", _LONGEST_MACHINE)
        if not parent:
            return None
        if self._value("line_item_currency_code") != self.currency:
            code = self._value("line_item_currency_code")
            self.report.error(self._number, "line_item_currency_code", Code.CURRENCY, code)
        starts, ends = (self._time(f"line_item_usage_{each}_date") for each in ("start", "end"))
        begins, stops = (
            self._time(f"bill_billing_period_{each}_date") for each in ("start", "end")
        )
        if not (starts and ends and begins and stops):
            return None
        if ends <= starts or stops <= begins:
            self.report.error(self._number, "line_item_usage_end_date", Code.ORDER)
        self.period = self.period or (begins, stops)
        pod = _POD.match(self._value("line_item_resource_id", _LONGEST_MACHINE))
        cost, unused = (self._cost(each) for each in ("split_cost", "unused_cost"))
        self.sums.effective += (cost or 0) + (unused or 0)
        device = _DEVICE.search(self._value("line_item_usage_type"))
        held = self._seconds("split_line_item_reserved_usage") if device else None
        namespace = pod[1][:_LONGEST] if pod else ""
        return Opinion(
            self._number, starts, ends, namespace, "", parent, held, None, cost, unused
        )  # fmt: skip

    def _cost(self, name: str) -> Decimal | None:
        """Return the cost after discounts where there is one, as the bill has it."""
        net = self._amount(f"split_line_item_net_{name}")
        return self._amount(f"split_line_item_{name}") if net is None else net


class Usage(_Table):
    """A reader of HyperPod's summary: five lines and gaps, a header of two rows, days."""

    COLUMNS: Final = ("Date", "Namespace", "Team", "Type")
    _HOURS: Final = ("Total", "Allocated", "Borrowed")
    _HEAD: Final = 200

    def __init__(self, lines: Iterator[Sequence[str]]) -> None:
        """Read up to the second row of the header; ``HeaderRefused`` if none comes."""
        groups: Sequence[str] = ()
        gaps: list[str] = []
        spans: list[re.Match[str]] = []
        for line, _number in zip(lines, range(self._HEAD), strict=False):
            text = ",".join(line)
            spans += filter(None, [_RANGE.search(text)])
            if tuple(line[:3]) == self.COLUMNS[:3] and len(line) > len(self.COLUMNS):
                super().__init__(_names(groups, line))
                break
            if _GAP.fullmatch(text):
                gaps.append(text)
            groups = line
        else:
            raise HeaderRefused(list(self.COLUMNS), [])
        missing = [f"GPU {each}" for each in self._HOURS if f"GPU {each}" not in self.place]
        if missing or "Type" not in self.place:
            raise HeaderRefused(missing or ["Type"], [])
        for each in gaps:
            self.report.warn(0, "Missing data periods", Code.NO_ROWS, each)
        self.period = _period(spans[0]) if spans else None

    def _read(self) -> Opinion | None:
        starts = self._time("Date")
        if starts is None:
            return None
        ends = starts + timedelta(days=1)
        self.period = self.period or (starts, ends)
        if not self.period[0] <= starts < self.period[1]:
            self.report.error(self._number, "Date", Code.MONTH, self._value("Date"))
        total, allocated, borrowed = (self._seconds(f"GPU {each}") for each in self._HOURS)
        if total is None:
            self.report.error(self._number, "GPU Total", Code.MISSING)
            return None
        # Two decimals of an hour each: together they may be off in the last place.
        if (
            None not in (allocated, borrowed)
            and abs((allocated or 0) + (borrowed or 0) - total) > HOUR // 50
        ):
            self.report.warn(self._number, "GPU Total", Code.SUM, str(total))
        return Opinion(
            self._number, starts, ends, self._value("Namespace"), self._value("Team"),
            self._value("Type"), total, borrowed, None, None,
        )  # fmt: skip


def _names(groups: Sequence[str], line: Sequence[str]) -> list[str]:
    """Return names of columns: hours have the first word of theirs, and their group before it."""
    found: list[str] = []
    group = ""
    for place, name in enumerate(line):
        group = (groups[place].strip() if place < len(groups) else "") or group
        first = name.split(" ")[0]
        found.append(f"{group} {first}" if "(hours)" in name else name)
    return found


def _period(match: re.Match[str]) -> tuple[datetime, datetime] | None:
    try:
        first, last = (date.fromisoformat(each) for each in match.groups())
    except ValueError:
        return None
    midnight = datetime.min.time()
    return (
        datetime.combine(first, midnight, UTC),
        datetime.combine(last, midnight, UTC) + timedelta(days=1),
    )
