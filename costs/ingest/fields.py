"""Reads single values of a bill: both forms of nothing, amounts, times, and texts in JSON."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final, NamedTuple

from costs.money import WIDE, NotMoney, imported

NOTHING: Final = frozenset({"", "NULL", "null", "None"})
DECIMALS: Final = 12
_UNIT: Final = Decimal(1).scaleb(-DECIMALS)
_ODD: Final = "\N{REPLACEMENT CHARACTER}"
_LARGEST: Final = Decimal(10) ** 12
#: No bill is of another time; far ones end in times that cannot be reckoned with.
_YEARS: Final = range(2000, 2101)


class Amount(NamedTuple):
    """An amount as it is stored, and whether it had more places than that."""

    value: Decimal
    rounded: bool


class Moment(NamedTuple):
    """A time, and whether its zone was only assumed."""

    at: datetime
    assumed: bool


def amount(text: str) -> Amount:
    """Read an amount of at most 12 places; ``NotMoney`` for what is none, or too large."""
    found = imported(text)
    if abs(found) >= _LARGEST:
        message = f"too large: {text}"
        raise NotMoney(message)
    value = found.quantize(_UNIT, context=WIDE)
    return Amount(value, value != found)


@lru_cache(maxsize=4096)
def moment(text: str) -> Moment:
    """Read a time; without a zone it counts as UTC. ``ValueError`` for what is none."""
    if len(text) < len("2026-01-01"):
        message = f"not a time: {text}"
        raise ValueError(message)
    found = datetime.fromisoformat(text)
    if found.year not in _YEARS:
        message = f"not a time of a bill: {text}"
        raise ValueError(message)
    if found.tzinfo is None:
        return Moment(found.replace(tzinfo=UTC), assumed=True)
    return Moment(found.astimezone(UTC), assumed=False)


def texts(text: str) -> dict[str, str]:
    """Read a JSON object into texts; ``ValueError`` for what is none.

    Numbers stay as they are written: a tag is a name, not a quantity.
    """
    found = _JSON.decode(text)
    if not isinstance(found, dict):
        message = "not an object"
        raise ValueError(message)
    return {_as_text(key): _as_text(value) for key, value in found.items()}


def _as_text(value: Any) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    # JSON may hold what neither UTF-8 nor the database can.
    return text.replace("\0", _ODD).encode(errors="replace").decode()


def _refuse(name: str) -> str:
    message = f"not a value: {name}"
    raise ValueError(message)


def whole(text: str) -> int | None:
    """Return a count such as ``8`` or ``8.000``; ``None`` for what is none."""
    try:
        found = imported(text)
    except NotMoney:
        return None
    if found != found.to_integral_value() or not 0 <= found < _LARGEST:
        return None
    return int(found)


# NaN is no JSON, though Python reads it.
_JSON: Final = json.JSONDecoder(parse_float=str, parse_int=str, parse_constant=_refuse)
