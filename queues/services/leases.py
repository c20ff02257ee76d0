"""Rows as a queue: claim with a lease and a fencing number, keep it alive, give it back.

All times are the database's: workers may disagree about the hour, PostgreSQL does not.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, Generic, TypeVar

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from queues.models import Apply, Plan
from tenants.models.states import moved

LEASE: Final = timedelta(seconds=60)
#: Workers that may be lost on one row before a person has to look at it.
MAX_LOST: Final = 5
#: Orderly returns because of the cluster's own trouble; with the back-off about 50 minutes.
MAX_RETURNS: Final = 60
_FIRST_PAUSE: Final = 2.0
_LONGEST_PAUSE: Final = 60.0
#: Its own source: nothing else in the process sees or sets its state.
_RANDOM: Final = random.SystemRandom()

Row = TypeVar("Row", Plan, Apply)


class LeaseLost(Exception):
    """Another worker holds the row now; whoever sees this writes nothing more."""


@dataclass(slots=True)
class Lease(Generic[Row]):
    """A claimed row and the number that proves the claim."""

    row: Row
    fence: int

    def mine(self) -> models.QuerySet[Row]:
        """Return the row, as long as the claim is still ours."""
        return type(self.row)._default_manager.filter(
            pk=self.row.pk, fence=self.fence, lease_until__isnull=False
        )

    def beat(self) -> None:
        """Prolong the lease, or learn that it is lost."""
        if not self.mine().update(lease_until=Now() + LEASE):
            raise LeaseLost

    def check(self) -> None:
        """Lock the row inside a transaction, or learn that the lease is lost."""
        if not self.mine().select_for_update().exists():
            raise LeaseLost


def due() -> Q:
    """Return the condition of rows that may be claimed now, also after a lost worker."""
    free = Q(lease_until__isnull=True) | Q(lease_until__lt=Now())
    return free & (Q(next_try_at__isnull=True) | Q(next_try_at__lte=Now()))


def claim(row: Row, *, states: tuple[str, ...], to: str) -> Lease[Row] | None:
    """Take the row in one conditional UPDATE; ``None`` when somebody else was quicker."""
    model: type[Any] = type(row)
    taken = model._default_manager.filter(due(), pk=row.pk, state__in=states).update(
        state=to,
        version=F("version") + 1,
        fence=F("fence") + 1,
        attempts=F("attempts") + 1,
        lease_until=Now() + LEASE,
        next_try_at=None,
    )
    if not taken:
        return None
    row.refresh_from_db()
    moved.send(model, row=row)
    return Lease(row, row.fence)


def worn_out(row: Plan | Apply) -> bool:
    """Tell whether no further attempt should be made without a person."""
    return lost_too_often(row) or row.returns >= MAX_RETURNS


def lost_too_often(row: Plan | Apply) -> bool:
    """Tell whether workers keep dying on this row."""
    return row.attempts - row.returns > MAX_LOST


def pause(returns: int, retry_after: float | None = None) -> timedelta:
    """Return how long to wait: doubling, with jitter, never less than the cluster asks for."""
    grown = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** min(returns, 10))
    jittered = grown * _RANDOM.uniform(0.75, 1.25)
    asked = min(retry_after or 0.0, 3600.0)
    return timedelta(seconds=max(jittered, asked + _RANDOM.uniform(0, 1)))


def returned(row: Plan | Apply, code: str, message: str, after: float | None) -> dict[str, Any]:
    """Return the fields of a row that goes back into the queue until its next try."""
    return {
        "lease_until": None,
        "returns": F("returns") + 1,
        "next_try_at": Now() + pause(row.returns, after),
        "error": message,
        "error_code": code,
        "held_since": row.held_since or Now(),
    }


def finished(error: str = "", code: str = "") -> Mapping[str, Any]:
    """Return the fields of a row that nobody needs to claim again."""
    return {
        "lease_until": None,
        "next_try_at": None,
        "error": error,
        "error_code": code,
        "held_since": None,
    }
