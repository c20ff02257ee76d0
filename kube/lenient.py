"""Reading objects that somebody else wrote: what has another type than expected is not there.

An explanation must never fail on one odd object of a cluster, so nothing here raises.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from kube.catalog import CPU
from kube.problems import Refused
from kube.quantity import INT64_MAX, canonical

Object = Mapping[str, Any]
NOTHING: Final[Object] = {}


def mapping(value: object, *path: str) -> Object:
    """Return the object at the end of a path of keys, an empty one if there is none."""
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if isinstance(value, Mapping) else NOTHING


def items(value: object, *path: str) -> list[Object]:
    """Return the objects in the list at the end of a path; anything else in it is left out."""
    return [each for each in _list(value, path) if isinstance(each, Mapping)]


def texts(value: object, *path: str) -> list[str]:
    """Return the texts in the list at the end of a path."""
    return [each for each in _list(value, path) if isinstance(each, str)]


def _list(value: object, path: tuple[str, ...]) -> Sequence[Any]:
    found = mapping(value, *path[:-1]).get(path[-1]) if path else value
    return found if isinstance(found, list | tuple) else ()


def text(value: object, *path: str) -> str:
    """Return the text at the end of a path, or an empty one."""
    found = mapping(value, *path[:-1]).get(path[-1]) if path else value
    return found if isinstance(found, str) else ""


def whole(value: object, default: int = 0) -> int:
    """Return a whole number of 64 bits, or the default."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= INT64_MAX:
        return value
    return default


def moment(value: object) -> datetime | None:
    """Return a Kubernetes time in UTC, or ``None`` for anything else."""
    try:
        return datetime.fromisoformat(str(value)).astimezone(UTC) if value else None
    except (ValueError, OverflowError):
        return None


def amount(resource: str, value: object) -> int:
    """Return a quantity in the smallest unit (milli-CPU, bytes, devices), rounded up.

    What cannot be read counts as nothing, and what is too large as the largest number.
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return 0
    try:
        number = canonical(value)
    except Refused:
        return 0
    number = number * 1000 if resource == CPU else number
    return max(-INT64_MAX, min(INT64_MAX, -int(-number // 1)))


def amounts(value: object, *path: str) -> dict[str, int]:
    """Return a map of resources as numbers in their smallest units."""
    found = mapping(value, *path)
    return {name: amount(name, found[name]) for name in found if isinstance(name, str)}
