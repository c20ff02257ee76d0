"""Reads what own machines cost in a month: amortisation, power, staff, as a simple table.

Each row is an amount for one pool. It becomes a row as a bill has it, with tags that name the
pool, so all that follows is the same for own and rented machines.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from decimal import localcontext
from enum import StrEnum
from typing import Final

from costs.billing import Category
from costs.ingest import fields
from costs.ingest.focus import TEXTS, HeaderRefused, Row, Sums
from costs.ingest.report import Code, Report
from costs.matching import CLUSTER_TAG, FLAVOR_TAG
from costs.money import WIDE, NotMoney

COLUMNS: Final = ("month", "cluster", "flavor", "kind", "amount", "currency")
OPTIONAL: Final = ("note",)
PROVIDER: Final = "own"
_MONTH: Final = re.compile(r"(20[0-9]{2})-(0[1-9]|1[0-2])")
_LONGEST_NOTE: Final = 255


class Kind(StrEnum):
    """What is paid for."""

    AMORTISATION = "amortisation"
    POWER = "power"
    STAFF = "staff"
    SPACE = "space"
    NETWORK = "network"
    LICENCE = "licence"
    OTHER = "other"


class Own:
    """A reader of one file; ``places`` are the pools that may stand in it (cluster and flavor)."""

    def __init__(
        self, header: Sequence[str], currency: str, places: Collection[tuple[str, str]]
    ) -> None:
        """Find the columns; ``HeaderRefused`` if one is not there or one is unknown."""
        names = [name.strip() for name in header]
        missing = [name for name in COLUMNS if name not in names]
        twice = sorted({name for name in names if names.count(name) > 1})
        if missing or twice:
            raise HeaderRefused(missing, twice)
        self.place = {name: place for place, name in enumerate(names)}
        self.width, self.currency, self.places = len(names), currency, places
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
                    self.sums.add(row)
                    yield row

    def _read(self, number: int, line: Sequence[str]) -> Row | None:
        if len(line) != self.width:
            self.report.error(number, "", Code.FIELDS, str(len(line)))
            return None
        self._row = line
        cluster, flavor = self._value("cluster"), self._value("flavor")
        if (cluster, flavor) not in self.places:
            self.report.error(number, "flavor", Code.PLACE, f"{cluster}/{flavor}")
        if self._value("currency") != self.currency:
            self.report.error(number, "currency", Code.CURRENCY, self._value("currency"))
        kind, month = self._kind(number), self._month(number)
        note = self._value("note")
        if len(note) > _LONGEST_NOTE or "\0" in note:
            self.report.error(number, "note", Code.TOO_LONG, note)
        try:
            amount = fields.amount(self._value("amount")).value
        except NotMoney:
            self.report.error(number, "amount", Code.AMOUNT, self._value("amount"))
            return None
        if month is None:
            return None
        texts = {"BillingAccountId": PROVIDER, "ServiceName": kind}
        tags = {CLUSTER_TAG: cluster, FLAVOR_TAG: flavor, "note": note}
        return Row(
            number, *month, Category.USAGE.value, amount, amount, None, None, PROVIDER,
            tuple(texts.get(name, "") for name in TEXTS), None, "", "", tags, "",
        )  # fmt: skip

    def _value(self, name: str) -> str:
        place = self.place.get(name)
        return self._row[place].strip() if place is not None else ""

    def _kind(self, number: int) -> str:
        kind = self._value("kind").lower()
        if kind not in set(Kind):
            self.report.error(number, "kind", Code.KIND, self._value("kind"))
        return kind

    def _month(self, number: int) -> tuple[datetime, datetime] | None:
        """Return the month of a row, which is that of the whole file."""
        text = self._value("month")
        match = _MONTH.fullmatch(text)
        if match is None:
            self.report.error(number, "month", Code.TIME, text)
            return None
        year, month = int(match[1]), int(match[2])
        starts = datetime(year, month, 1, tzinfo=UTC)
        ends = datetime(year + month // 12, month % 12 + 1, 1, tzinfo=UTC)
        self.period = self.period or (starts, ends)
        if self.period[0] != starts:
            self.report.error(number, "month", Code.MONTH, text)
        return starts, ends


def template(places: Iterable[tuple[str, str]], currency: str, month: str) -> list[list[str]]:
    """Return a table to fill in: its header, and rows of nothing for each pool."""
    kinds = (Kind.AMORTISATION, Kind.POWER, Kind.STAFF)
    rows = [
        [month, cluster, flavor, kind.value, "0.00", currency, ""]
        for cluster, flavor in sorted(places) for kind in kinds
    ]  # fmt: skip
    return [[*COLUMNS, *OPTIONAL], *rows]
