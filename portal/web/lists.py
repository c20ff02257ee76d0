"""Long lists: an allow-list of sort orders, and pages that start after a row.

Pages by key cost the same on page 1 and on page 10,000, and rows that come or go meanwhile do
not shift the others. An order must end in something unique; `pk` is added to each.
"""

from __future__ import annotations

import base64
import binascii
import datetime
import decimal
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from django.core.exceptions import FieldDoesNotExist, ValidationError
from django.db import DataError, connection
from django.db.models import BooleanField, Expression, F, Field, Func, Model, Q, QuerySet, Value
from django.http import QueryDict

M = TypeVar("M", bound=Model)
SIZE = 50
LARGEST = 200
LONGEST_CURSOR = 1000
# What a field or the database says to a value that it cannot take. Nothing else hides behind
# these: the first page is asked for without any value, and then the error comes again.
UNUSABLE = (ValueError, TypeError, OverflowError, ValidationError, DataError)


@dataclass(frozen=True, slots=True)
class Rows(Generic[M]):
    """One page of a list, and the cursors of its neighbours (empty: there is none)."""

    rows: list[M]
    sort: str
    after: str
    before: str

    def __iter__(self) -> Any:
        """Iterate over the rows."""
        return iter(self.rows)

    def __len__(self) -> int:
        """Count the rows of this page."""
        return len(self.rows)


def sort_of(query: QueryDict, allowed: Mapping[str, tuple[str, ...]]) -> str:
    """Return the sort that was asked for, or the first of the allowed ones."""
    asked = query.get("sort", "")
    return asked if asked in allowed else next(iter(allowed))


def size_of(query: QueryDict, default: int = SIZE) -> int:
    """Return how many rows were asked for, within bounds."""
    asked = query.get("size", "")
    if not (asked.isascii() and asked.isdecimal() and len(asked) < 6):
        return default
    return min(max(int(asked), 1), LARGEST)


def keyset(
    rows: QuerySet[M],
    query: QueryDict,
    allowed: Mapping[str, tuple[str, ...]],
    size: int = SIZE,
    *,
    name: str = "",
) -> Rows[M]:
    """Cut one page out of `rows`, as `?sort=`, `?after=`, `?before=` and `?size=` say.

    `allowed` maps the name of each sort to its fields ("-" for descending). The fields must
    not be null; annotate with Coalesce where they are. What cannot be read gives page one.
    A list with a `name`, such as "running-", shares its page with others: its cursors are
    `?running-after=` and `?running-before=`.
    """
    cut = cut_of(rows, query, allowed, size, name=name)
    try:
        return cut.page(list(cut.rows()))
    except UNUSABLE:
        # A value that a field cannot take: somebody made this cursor by hand.
        cut = cut.begun()
        return cut.page(list(cut.rows()))


def both(
    first: Cut[M],
    second: Cut[M],
    is_first: Callable[[M], bool],
    ask: Callable[[Cut[M], Cut[M]], Iterable[M]],
) -> tuple[Rows[M], Rows[M]]:
    """Cut one page out of two lists in one query; ``is_first`` tells whose a row is.

    ``ask`` gives the rows of both pages, each with the one more that ``Cut.rows`` asks for.
    """
    try:
        found = list(ask(first, second))
    except UNUSABLE:
        first, second = first.begun(), second.begun()
        found = list(ask(first, second))
    mine = [row for row in found if is_first(row)]
    others = [row for row in found if not is_first(row)]
    return first.page(mine), second.page(others)


#: Fields, size, whether it is the end of an earlier page, whether it begins behind a row.
Shape = tuple[tuple[str, ...], int, bool, bool]


@dataclass(frozen=True, slots=True)
class Cut(Generic[M]):
    """Where one page of a list begins, and how long it is; ``back`` is the end of an earlier one."""

    whole: QuerySet[M]
    sort: str
    fields: tuple[str, ...]
    size: int
    back: list[Any] | None = None
    start: list[Any] | None = None

    def begun(self) -> Cut[M]:
        """Give the first page of the same list."""
        return replace(self, back=None, start=None)

    def rows(self) -> QuerySet[M]:
        """Give the rows of the page and one more, which tells whether there is another page."""
        order = reverse(self.fields) if self.back else self.fields
        rows = self.whole.order_by(*order)
        return begin(rows, order, self.back or self.start)[: self.size + 1]

    @property
    def shape(self) -> Shape:
        """Give what of the query of ``rows`` does not depend on the place where it begins."""
        return (self.fields, self.size, bool(self.back), bool(self.start))

    @property
    def place(self) -> list[Any]:
        """Give the key of the row from which the page begins, none on the first page."""
        values = self.back or self.start or []
        kinds = [kind_of(self.whole, field.lstrip("-")) for field in self.fields]
        return [
            kind.get_db_prep_value(kind.to_python(value), connection) if kind else value
            for kind, value in zip(kinds, values, strict=False)
        ]

    def page(self, found: list[M]) -> Rows[M]:
        """Make the page of what ``rows`` found."""
        more, page = len(found) > self.size, found[: self.size]
        if self.back:
            page.reverse()
        sides = neighbours(
            page, self.fields, self.sort, more=more, back=self.back, start=self.start
        )
        return Rows(page, self.sort, *sides)


def cut_of(
    rows: QuerySet[M],
    query: QueryDict,
    allowed: Mapping[str, tuple[str, ...]],
    size: int = SIZE,
    *,
    name: str = "",
) -> Cut[M]:
    """Read which page is asked for, as ``keyset`` says."""
    sort = sort_of(query, allowed)
    fields = with_key(allowed[sort])
    back = read_cursor(query.get(f"{name}before", ""), sort, len(fields))
    start = None if back else read_cursor(query.get(f"{name}after", ""), sort, len(fields))
    return Cut(rows, sort, fields, size_of(query, size), back, start)


def begin(rows: QuerySet[M], order: tuple[str, ...], place: list[Any] | None) -> QuerySet[M]:
    """Leave out what comes up to the place."""
    return behind(rows, order, place) if place else rows


def neighbours(
    page: list[M],
    fields: tuple[str, ...],
    sort: str,
    *,
    more: bool,
    back: list[Any] | None,
    start: list[Any] | None,
) -> tuple[str, str]:
    """Return the cursors for the next and for the previous page."""
    if not page:
        return "", ""
    has_next = bool(back) or more
    has_previous = more if back else bool(start)
    return (
        write_cursor(page[-1], fields, sort) if has_next else "",
        write_cursor(page[0], fields, sort) if has_previous else "",
    )


def with_key(fields: tuple[str, ...]) -> tuple[str, ...]:
    """Add the primary key in the direction of the other fields, so that no two rows are equal."""
    if any(field.lstrip("-") in ("pk", "id") for field in fields):
        return fields
    return (*fields, "-pk" if all(field.startswith("-") for field in fields) else "pk")


def reverse(fields: tuple[str, ...]) -> tuple[str, ...]:
    """Return the opposite order."""
    return tuple(field[1:] if field.startswith("-") else f"-{field}" for field in fields)


class RowAfter(Func):
    """`(a, b) > (x, y)`: one comparison, to which an index in this order can jump."""

    output_field = BooleanField()

    def __init__(self, *halves: Any, sign: str) -> None:
        """Take the columns first, then as many values."""
        super().__init__(*halves)
        self.sign = sign

    def as_sql(self, compiler: Any, connection: Any, *_: Any, **__: Any) -> tuple[str, Any]:
        """Write both rows in brackets."""
        parts = [compiler.compile(each) for each in self.get_source_expressions()]
        half = len(parts) // 2
        left, right = (", ".join(sql for sql, _ in each) for each in (parts[:half], parts[half:]))
        values = tuple(value for _, given in parts for value in given)
        return f"({left}) {self.sign} ({right})", values


def behind(rows: QuerySet[M], fields: tuple[str, ...], values: list[Any]) -> QuerySet[M]:
    """Keep the rows that come after `values` in this order.

    Where all fields go the same way the database jumps to the place, however deep it lies.
    """
    names = [field.lstrip("-") for field in fields]
    kinds = [kind_of(rows, name) for name in names]
    down = {field.startswith("-") for field in fields}
    if len(down) > 1 or None in kinds:
        return rows.filter(beyond(fields, values))
    given = [
        value if isinstance(value, Expression) else Value(kind.to_python(value), output_field=kind)
        for kind, value in zip(kinds, values, strict=True)
        if kind is not None
    ]
    return rows.filter(RowAfter(*map(F, names), *given, sign="<" if True in down else ">"))


def kind_of(rows: QuerySet[Any], name: str) -> Field[Any, Any] | None:
    """Return the type of a column or an annotation of these rows; None for one of others."""
    if name in rows.query.annotations:
        found: Field[Any, Any] = rows.query.annotations[name].output_field
        return found
    meta = rows.model._meta
    try:
        field = meta.pk if name == "pk" else meta.get_field(name)
    except FieldDoesNotExist:
        return None
    return field if isinstance(field, Field) and not field.is_relation else None


def beyond(fields: tuple[str, ...], values: list[Any]) -> Q:
    """Return the condition for the rows that come after `values` in this order."""
    condition = Q()
    equal: dict[str, Any] = {}
    for field, value in zip(fields, values, strict=True):
        name = field.lstrip("-")
        side = "lt" if field.startswith("-") else "gt"
        condition |= Q(**equal, **{f"{name}__{side}": value})
        equal[name] = value
    return condition


def write_cursor(row: Model, fields: tuple[str, ...], sort: str) -> str:
    """Write the place of a row as a short text for a URL."""
    return pack(sort, [plain(value_of(row, field.lstrip("-"))) for field in fields])


def pack(sort: str, values: list[Any]) -> str:
    """Write a sort and values as a short text for a URL."""
    packed = json.dumps([sort, *values], separators=(",", ":"), ensure_ascii=False)
    return base64.urlsafe_b64encode(packed.encode()).decode().rstrip("=")


def read_cursor(text: str, sort: str, count: int) -> list[Any] | None:
    """Read a place back; None when it is missing, broken or of another sort."""
    if not text or len(text) > LONGEST_CURSOR:
        return None
    try:
        packed = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        values = json.loads(packed)
    except (binascii.Error, ValueError, RecursionError):
        return None
    if not isinstance(values, list) or len(values) != count + 1 or values[0] != sort:
        return None
    if not all(isinstance(value, (str, int, bool)) for value in values):
        return None
    return values[1:]


def value_of(row: Model, path: str) -> Any:
    """Follow `a__b` through relations."""
    value: Any = row
    for name in path.split("__"):
        value = getattr(value, name)
    return value


def plain(value: Any) -> str | int:
    """Return a value as JSON can hold it without loss."""
    if isinstance(value, (datetime.datetime, datetime.date)):
        return value.isoformat()
    if isinstance(value, (decimal.Decimal, float)):
        return str(value)
    return value if isinstance(value, int) else str(value)
