"""What the contract of a priority bears: so many preemptions a day, so long a wait."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from tenants.models import Priority

#: Where a contract names no bound of its own.
PREEMPTIONS_PER_DAY: Final = 3
LONGEST_WAIT: Final = timedelta(hours=24)
#: The columns that ``contract_of`` reads.
BOUNDS: Final = ("name", "preemptions_per_day", "longest_wait_hours", "contract")


@dataclass(frozen=True, slots=True)
class Contract:
    """The bounds of one priority beyond which somebody should look; ``text`` is its contract."""

    preemptions_per_day: int = PREEMPTIONS_PER_DAY
    longest_wait: timedelta = LONGEST_WAIT
    text: str = ""


def contracts(wanted: Iterable[tuple[int, str]]) -> dict[tuple[int, str], Contract]:
    """Give the contracts of priorities, by (cluster, name), in one query; unknown ones too."""
    keys = set(wanted)
    rows = Priority.objects.filter(
        cluster__in={cluster for cluster, _ in keys}, name__in={name for _, name in keys}
    )
    found = {(row.cluster_id, row.name): contract_of(row) for row in rows}
    return {key: found.get(key, Contract()) for key in keys}


def contract_of(row: Priority) -> Contract:
    """Read the bounds of a priority."""
    hours = row.longest_wait_hours
    return Contract(
        row.preemptions_per_day or PREEMPTIONS_PER_DAY,
        timedelta(hours=hours) if hours else LONGEST_WAIT,
        row.contract,
    )
