"""What a part of a GPU is of the whole: MIG slices and replicas, as exact fractions.

Facts stay in native units; a weight turns them into whole devices where they are priced. A MIG
profile takes compute slices and memory slices, and which of the two counts is a choice of the
price book: two 3g.20gb leave one compute slice of an A100 that nobody can have (*stranded*).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum
from fractions import Fraction
from typing import Final

#: Compute slices of a whole device, by what its model is called; the first that fits counts.
_COMPUTE: Final = (
    ("A100", 7), ("A30", 4), ("H100", 7), ("H200", 7), ("B200", 7), ("RTX PRO 6000", 4),
    ("RTX PRO 5000", 2),
)  # fmt: skip
_MEMORY_PARTS: Final = 8
_PROFILE: Final = re.compile(r"([0-9]{1,2})g\.([0-9]{1,4})gb(\+[a-z.]+)?")


class Weigh(StrEnum):
    """Which part of a profile counts."""

    COMPUTE = "compute"
    LARGER = "larger"


class NotAPart(ValueError):
    """A profile, model or number of replicas of which no share of a device is known."""


def replica(replicas: int) -> Fraction:
    """Return the share of one replica of a device that is shared in time."""
    if replicas < 1:
        message = f"a device cannot be shared by {replicas}"
        raise NotAPart(message)
    return Fraction(1, replicas)


def slices(model: str, profile: str, weigh: Weigh = Weigh.COMPUTE, memory_gb: int = 0) -> Fraction:
    """Return the share of a MIG profile such as ``3g.20gb``.

    ``memory_gb`` of the whole device is needed to weigh memory, which comes in eighths.
    """
    match = _PROFILE.fullmatch(profile)
    whole = compute_slices(model)
    if match is None or not 0 < int(match[1]) <= whole:
        message = f"{profile!r} is no part of {model!r}"
        raise NotAPart(message)
    compute = Fraction(int(match[1]), whole)
    if weigh is Weigh.COMPUTE:
        return compute
    return max(compute, _memory(int(match[2]), memory_gb))


def _memory(part_gb: int, whole_gb: int) -> Fraction:
    """Return how many eighths a part takes; what it says it has is a little less than it takes."""
    if whole_gb < 1 or part_gb > whole_gb:
        message = f"{part_gb} GB are no part of {whole_gb} GB"
        raise NotAPart(message)
    return Fraction(-(-part_gb * _MEMORY_PARTS // whole_gb), _MEMORY_PARTS)


def compute_slices(model: str) -> int:
    """Return the compute slices of a whole device; ``NotAPart`` if the model is not known."""
    name = re.sub(r"[^a-zA-Z0-9]+", " ", model).upper()
    for known, count in _COMPUTE:
        if known in name:
            return count
    message = f"the slices of {model!r} are not known"
    raise NotAPart(message)


def stranded(model: str, profiles: Iterable[str]) -> Fraction:
    """Return the share of a device that these profiles leave, for nobody if none fits in it."""
    return 1 - sum((slices(model, profile) for profile in profiles), Fraction(0))
