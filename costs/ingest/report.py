"""What is wrong with a file, by row: errors that refuse it, and warnings that are counted."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple

#: More errors than these are counted and not kept: a file with so many has another problem.
MOST: Final = 1000
_SHOWN: Final = 120


class Code(StrEnum):
    """What can be wrong with a row."""

    FIELDS = "fields"
    ENCODING = "encoding"
    MISSING = "missing"
    AMOUNT = "amount"
    TIME = "time"
    ORDER = "order"
    CATEGORY = "category"
    CURRENCY = "currency"
    ACCOUNT = "account"
    TOO_LONG = "too_long"
    ROUNDED = "rounded"
    ZONE = "zone"
    TAGS = "tags"
    DETAILS = "details"
    NO_RESOURCE = "no_resource"
    OTHER_PERIOD = "other_period"
    CORRECTION = "correction"
    SPLIT = "split"
    LOW_EFFECTIVE = "low_effective"
    NO_ROWS = "no_rows"
    MONTH = "month"
    PLACE = "place"
    KIND = "kind"
    SUM = "sum"
    OLDER = "older"


class Problem(NamedTuple):
    """One error, or equal warnings of several rows. ``row`` is the first; 0 is the whole file."""

    row: int
    column: str
    code: Code
    value: str
    error: bool
    rows: int = 1


class Report:
    """Collects problems; rows are counted from 1, the header not among them."""

    def __init__(self) -> None:
        """Begin with none."""
        self.errors = 0
        self._errors: list[Problem] = []
        self._warnings: dict[tuple[str, Code], Problem] = {}

    def error(self, row: int, column: str, code: Code, value: str = "") -> None:
        """Note what refuses the file."""
        self.errors += 1
        if len(self._errors) < MOST:
            self._errors.append(Problem(row, column, code, _short(value), error=True))

    def warn(self, row: int, column: str, code: Code, value: str = "", rows: int = 1) -> None:
        """Note what a person should know; the same of another row is counted."""
        found = self._warnings.get((column, code))
        if found is None:
            found = Problem(row, column, code, _short(value), error=False, rows=0)
        self._warnings[column, code] = found._replace(rows=found.rows + rows)

    def problems(self) -> list[Problem]:
        """Return all that were kept, errors first."""
        return [*self._errors, *sorted(self._warnings.values())]


def _short(value: str) -> str:
    return value.replace("\0", "\N{REPLACEMENT CHARACTER}")[:_SHOWN]
