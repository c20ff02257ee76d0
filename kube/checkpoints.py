"""What a job says about its checkpoints, and the work that an eviction costs it.

A job says so with annotations, on itself or, where they never change, on its pod template:

* ``gpuportal.io/checkpointed-at``: when it last wrote a checkpoint (RFC 3339, with a zone);
* ``gpuportal.io/checkpoint-every``: how often it writes one, such as ``30m`` or ``1h30m``.

The first goes before the second. A time outside the run counts for nothing, and a job that says
nothing has lost everything since the run began.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from kube.lenient import moment

CHECKPOINTED_AT: Final = "gpuportal.io/checkpointed-at"
CHECKPOINT_EVERY: Final = "gpuportal.io/checkpoint-every"
LONGEST: Final = timedelta(days=31)
_DURATION: Final = re.compile(r"(?:([0-9]{1,3})h)?(?:([0-9]{1,5})m)?(?:([0-9]{1,7})s)?", re.ASCII)


class Checkpoints(NamedTuple):
    """What is known of a job's checkpoints."""

    last: datetime | None = None
    every: timedelta | None = None


def read_checkpoints(annotations: Iterable[Mapping[str, Any]]) -> Checkpoints:
    """Read several maps of annotations; the first that says something sensible counts."""
    last: datetime | None = None
    every: timedelta | None = None
    for found in annotations:
        text = found.get(CHECKPOINTED_AT)
        # A time without a zone could be anybody's.
        if last is None and isinstance(text, str) and _has_zone(text):
            last = moment(text)
        every = every or duration(found.get(CHECKPOINT_EVERY))
    return Checkpoints(last, every)


def _has_zone(text: str) -> bool:
    return text.endswith(("Z", "z")) or re.search(r"[+-][0-9]{2}:?[0-9]{2}$", text) is not None


def duration(text: object) -> timedelta | None:
    """Read hours, minutes and seconds in this order; ``None`` for anything else, zero too."""
    match = _DURATION.fullmatch(text) if isinstance(text, str) and text else None
    if match is None:
        return None
    hours, minutes, seconds = (int(part or 0) for part in match.groups())
    found = timedelta(hours=hours, minutes=minutes, seconds=seconds)
    return found if timedelta(0) < found <= LONGEST else None


def saved_until(known: Checkpoints, began: datetime, ended: datetime) -> datetime:
    """Return from when on the work of a run is lost: a checkpoint, or its beginning."""
    if known.last is not None and began < known.last <= ended:
        return known.last
    if known.every is not None and ended > began:
        return ended - (ended - began) % known.every
    return began


def lost_seconds(devices: int, since: datetime, ended: datetime) -> int:
    """Return lost device-seconds, never less than none."""
    return max(0, devices * int((ended - since).total_seconds()))
