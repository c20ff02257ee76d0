"""Reading objects that somebody else wrote: what has another type than expected is not there.

An explanation must never fail on one odd object of a cluster, so nothing here raises.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final

from kube.catalog import CPU
from kube.problems import Refused
from kube.quantity import INT64_MAX, canonical

Object = Mapping[str, Any]
NOTHING: Final[Object] = {}


def mapping(value: object, *path: str) -> Object:
    """Return the object at the end of a path of keys, an empty one if there is none."""
    for key in path:
        value = value.get(key) if type(value) is dict else _get(value, key)
    return value if type(value) is dict or isinstance(value, Mapping) else NOTHING


def _get(value: object, key: str) -> object:
    """Return a value of any mapping; plain dicts are asked before: this takes ten times as long."""
    return value.get(key) if isinstance(value, Mapping) else None


def items(value: object, *path: str) -> list[Object]:
    """Return the objects in the list at the end of a path; anything else in it is left out."""
    found = _list(value, path)
    return [each for each in found if type(each) is dict or isinstance(each, Mapping)]


def texts(value: object, *path: str) -> list[str]:
    """Return the texts in the list at the end of a path."""
    return [each for each in _list(value, path) if isinstance(each, str)]


def _list(value: object, path: tuple[str, ...]) -> Sequence[Any]:
    for key in path:
        value = value.get(key) if type(value) is dict else _get(value, key)
    return value if isinstance(value, (list, tuple)) else ()


def text(value: object, *path: str) -> str:
    """Return the text at the end of a path, or an empty one."""
    for key in path:
        value = value.get(key) if type(value) is dict else _get(value, key)
    return value if isinstance(value, str) else ""


def whole(value: object, default: int = 0) -> int:
    """Return a whole number of 64 bits, or the default."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= INT64_MAX:
        return value
    return default


def moment(value: object) -> datetime | None:
    """Return a Kubernetes time in UTC, or ``None`` for anything else."""
    written = str(value) if value else ""
    return _moment(written) if 0 < len(written) <= _LONGEST else None


@lru_cache(maxsize=16_384)
def _moment(written: str) -> datetime | None:
    """Many conditions share the second in which they flipped."""
    try:
        return datetime.fromisoformat(written).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def amount(resource: str, value: object) -> int:
    """Return a quantity in the smallest unit (milli-CPU, bytes, devices), rounded up.

    What cannot be read counts as nothing, and what is too large as the largest number.
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return 0
    return _amount(resource == CPU, str(value)) if len(str(value)) <= _LONGEST else 0


@lru_cache(maxsize=16_384)
def _amount(milli: bool, written: str) -> int:
    """The same few amounts stand in most objects, and reading one exactly takes its time."""
    try:
        number = canonical(written)
    except Refused:
        return 0
    number = number * 1000 if milli else number
    return max(-INT64_MAX, min(INT64_MAX, -int(-number // 1)))


#: No quantity and no time is longer; a longer text is not worth keeping.
_LONGEST: Final = 64


def amounts(value: object, *path: str) -> dict[str, int]:
    """Return a map of resources as numbers in their smallest units."""
    found = mapping(value, *path)
    return {name: amount(name, found[name]) for name in found if isinstance(name, str)}
