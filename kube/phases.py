"""The words of a Workload's history: phases, bounds of time, spans, and what one step yields."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, NamedTuple

from kube.evictions import Evicted
from kube.lifecycle_facts import NO_FLIP, Flip, Flips, Held


class Phase(StrEnum):
    """Where a Workload stands; exactly one at a time until it has ended."""

    QUEUED = "queued"
    RESERVED = "reserved"
    ADMITTED = "admitted"
    DRAINING = "draining"
    EVICTED = "evicted"
    DEACTIVATED = "deactivated"


#: In these phases a Workload holds quota.
HOLDING: Final = frozenset({Phase.RESERVED, Phase.ADMITTED, Phase.DRAINING})


class Quality(StrEnum):
    """How well a time is known: by a condition, as seen on a live line, between two looks, not."""

    EXACT = "exact"
    SEEN = "seen"
    BOUNDED = "bounded"
    UNKNOWN = "unknown"


#: On a live line a change is seen within this time after it happened.
LIVE: Final = timedelta(seconds=2)
#: A condition may be this much ahead of our clock before the clocks are called apart.
SKEW: Final = timedelta(seconds=5)


class Bound(NamedTuple):
    """A time in whole seconds. ``earliest`` and ``latest`` are None when it is exact."""

    at: datetime
    quality: Quality = Quality.EXACT
    earliest: datetime | None = None
    latest: datetime | None = None


class Moment(NamedTuple):
    """When a look was taken, and the last moment before which everything had been delivered."""

    now: datetime
    since: datetime


class Open(NamedTuple):
    """The phase that has begun and not ended."""

    phase: Phase
    start: Bound
    attempt: int = 0
    held: Held = ()
    queue: str = ""
    cohort: str = ""
    cause: str = ""
    preemptor_uid: str = ""


class Span(NamedTuple):
    """A phase that is over; ``ended_by`` is the next phase, or what ended it."""

    open: Open
    end: Bound
    ended_by: str


class Loss(NamedTuple):
    """A Workload lost its place. ``running_since`` is None if it was not admitted then."""

    attempt: int
    at: Bound
    evicted: Evicted
    held: Held
    running_since: datetime | None


@dataclass(frozen=True, slots=True)
class Recorded:
    """What is on record of a Workload: enough to go on from, without the earlier object.

    ``losses`` are the evictions on record, ``counted`` those that Kueue had counted,
    ``past_seconds`` its seconds admitted in attempts that are over.
    """

    open: Open | None
    attempt: int = 0
    losses: int = 0
    counted: int = 0
    past_seconds: int = 0
    running_since: datetime | None = None
    conditions: Flips = field(default_factory=dict)
    noted_at: datetime | None = None
    finished_at: datetime | None = None

    def condition(self, name: str) -> Flip:
        """Return a condition as last noted, an empty one if it was not there."""
        return self.conditions.get(name, NO_FLIP)


@dataclass(frozen=True, slots=True)
class Step:
    """What one look adds: spans that are over, evictions, and what is on record from now on."""

    after: Recorded
    spans: tuple[Span, ...] = ()
    losses: tuple[Loss, ...] = ()
    skewed: bool = False


def between(lo: datetime, hi: datetime, quality: Quality | None = None) -> Bound:
    """Return the time of something that happened between two looks.

    On a live line the look itself is the time; else the middle, whole seconds.
    """
    hi = max(lo, hi)
    if quality is None:
        quality = Quality.SEEN if hi - lo <= LIVE else Quality.BOUNDED
    at = hi if quality is Quality.SEEN else lo + timedelta(seconds=(hi - lo).total_seconds() // 2)
    return Bound(at, quality, lo, hi)


def not_before(bound: Bound, least: datetime) -> Bound:
    """Move a bound that lies before what came first; it is then no longer exact."""
    if bound.at >= least:
        return bound
    quality = bound.quality if bound.quality is not Quality.EXACT else Quality.BOUNDED
    earliest = bound.earliest or bound.at
    return Bound(least, quality, min(earliest, least), max(bound.latest or bound.at, least))


def not_after(bound: Bound, now: datetime) -> Bound:
    """Move a bound that a fast clock has set into the future."""
    if bound.at <= now + SKEW:
        return bound
    return Bound(now, Quality.BOUNDED, now, bound.latest or bound.at)
