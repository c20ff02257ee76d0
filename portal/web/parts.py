"""Small frozen shapes that the template tags draw; pages build them, nothing here knows a domain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal, TypeAlias

Number: TypeAlias = int | float | Decimal
StepState: TypeAlias = Literal["done", "now", "todo", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MeterLine:
    """One flavor of one queue: what it holds against what it was promised.

    `held` is everything in use, the borrowed part included. A borrowing limit of None means
    that only the cohort's free room limits it; a lending limit of None means that all that is
    idle may be lent. `borrowable_now` is what the cohort could still give at this moment.
    """

    label: str
    unit: str
    nominal: Number
    held: Number
    borrowed: Number = 0
    lent: Number = 0
    borrowing_limit: Number | None = None
    lending_limit: Number | None = None
    borrowable_now: Number | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a change: who did it and when, or why it has not happened."""

    label: str
    state: StepState = "todo"
    person: str = ""
    when: datetime | None = None
    note: str = ""
    url: str = ""


@dataclass(frozen=True, slots=True)
class Change:
    """One field of one object in a diff; `kind` is +, ~ or - and belongs to the object."""

    object: str
    path: str
    before: Any = None
    after: Any = None
    kind: str = "~"
    effect: str = ""
    raw: str = ""


@dataclass(frozen=True, slots=True)
class Moment:
    """One dot on a time line."""

    when: datetime
    text: str
    state: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Impact:
    """One consequence of a plan: the count first, the list folded under it."""

    count: int
    text: str
    tone: str = "off"
    items: Sequence[str] = ()
    note: str = ""
