"""A hash of facts or costs, equal exactly when they are: how a run shows that it is the same."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, is_dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any


def digest(things: Iterable[Any]) -> str:
    """Return the SHA-256 of dataclasses, named tuples and plain values, in their order."""
    found = hashlib.sha256()
    for each in things:
        found.update(canonical(each).encode())
        found.update(b"\n")
    return found.hexdigest()


def canonical(thing: Any) -> str:
    """Return one way to write a thing down: keys sorted, amounts as exact text.

    ``TypeError`` for what has no exact text, such as a binary fraction.
    """
    return json.dumps(_plain(thing), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _plain(thing: Any) -> Any:
    if is_dataclass(thing) and not isinstance(thing, type):
        return {key: _plain(value) for key, value in asdict(thing).items()}
    match thing:
        case Enum():
            return thing.value
        case str() | bool() | int() | None:
            return thing
        case Decimal():
            return format(thing.normalize(), "f")
        case Fraction():
            return str(thing)
        case dict():
            return {str(key): _plain(value) for key, value in thing.items()}
        case tuple() | list():
            return [_plain(each) for each in thing]
    message = f"{type(thing).__name__} has no exact text"
    raise TypeError(message)
