"""Where the phases of a Workload begin, joined from what is on record and one look.

``Join`` walks forward from the open phase. What the conditions tell is exact. What they no longer
tell (an attempt that came and went between two looks) lies between the looks, and is as long as
Kueue's counter of admitted seconds says. That counter runs until the quota is given back.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final, NamedTuple

from kube.evictions import PREVIOUSLY, Cause, Evicted, read_eviction
from kube.lifecycle_facts import Held, Sight, asked, full
from kube.phases import (
    HOLDING,
    Bound,
    Loss,
    Moment,
    Open,
    Phase,
    Quality,
    Recorded,
    between,
)

FINISHED: Final = "finished"
RESIZED: Final = "resized"
NOT_TOLD: Final = Evicted()
_DEACTIVATED: Final = "Deactivated"


class Mark(NamedTuple):
    """A phase begins here, or the life ends (``phase`` None). ``by`` ended the phase before."""

    phase: Phase | None
    at: Bound
    by: str
    attempt: int = 0
    held: Held = ()
    told: Evicted | None = None


class Join:
    """The marks and losses that one look adds to a record whose phase is open."""

    def __init__(self, was: Recorded, begun: Open, sight: Sight, moment: Moment) -> None:
        """Begin at the open phase."""
        self.was, self.sight, self.moment = was, sight, moment
        self.marks: list[Mark] = []
        self.losses: list[Loss] = []
        self.phase, self.attempt, self.held = begun.phase, was.attempt, begun.held
        self.last_held = begun.held
        self.running = was.running_since
        self.latest = begun.start.at
        #: It began before anybody looked; who came during a gap has a past that is bounded by it.
        self.before = was.noted_at is None and begun.start.at < moment.since
        #: What has no time of its own has happened after this.
        self.lo = begun.start.at if self.before else max(moment.since, was.noted_at or moment.since)
        self.lo = min(max(self.lo, begun.start.at), moment.now)
        self.reserved = sight.condition("QuotaReserved")
        self.admitted = sight.condition("Admitted")
        self.evicted = sight.condition("Evicted")
        before = was.condition("Evicted")
        again = not before.true or before.since != self.evicted.since
        #: An eviction that stands in the conditions and not on record, and how many more there were.
        self.newly = self.evicted.true and again
        self.unseen = max(0, sight.evictions - was.counted - self.newly)
        #: Seconds admitted in attempts that ended since, as far as Kueue has kept count.
        self.timed = sight.past_seconds is not None and sight.past_seconds >= was.past_seconds
        self.seconds = (sight.past_seconds or 0) - was.past_seconds if self.timed else 0

    def run(self) -> None:
        """Walk from the open phase to the present one."""
        if self.reserved.true:
            self._holding()
        else:
            self._waiting()
        finished = self.sight.condition("Finished")
        end = finished.since if finished.true else None
        self._resize(end or self.moment.now)
        if finished.true:
            self.marks.append(Mark(None, Bound(end) if end else self.seen(), FINISHED))

    def seen(self) -> Bound:
        """Return the bound of something that has no time of its own."""
        return self._between(self.lo, self.moment.now)

    def _between(self, lo: datetime, hi: datetime) -> Bound:
        return between(min(lo, hi), hi, Quality.UNKNOWN if self.before else None)

    # -- it holds quota --------------------------------------------------------------------

    def _holding(self) -> None:
        since = self.reserved.since or self.moment.now
        if not self._same_attempt():
            self._unseen(since)
            self.attempt += 1
            self._begin(Phase.RESERVED, Bound(since), held=full(self.sight))
            if self.admitted.true:
                self._begin(Phase.ADMITTED, Bound(self.admitted.since or since))
        elif self.admitted.true and self.phase is Phase.RESERVED:
            self._begin(Phase.ADMITTED, Bound(self.admitted.since or since))
        elif self.admitted.false and self.phase is Phase.ADMITTED and not self.evicted.true:
            # A check has taken its word back; the quota is still held.
            self._begin(Phase.RESERVED, Bound(self.admitted.since or since))
        if self.evicted.true and self.phase is not Phase.DRAINING:
            self._drain(Bound(self.evicted.since or since))

    def _same_attempt(self) -> bool:
        """Say whether it holds what it held; within one second only the eviction tells it."""
        before, evicted = self.was.condition("QuotaReserved"), self.was.condition("Evicted")
        same = before.true and before.since == self.reserved.since
        over = self.evicted.false and (evicted.true or evicted.since != self.evicted.since)
        return self.phase in HOLDING and same and not over and not self.unseen

    def _resize(self, before: datetime) -> None:
        """Some pods are done, or came, or it was switched off; the time of that is nowhere."""
        if self.reserved.true and self.phase in HOLDING and self.held != self.sight.held:
            at = self._between(max(self.lo, self.latest), before)
            self._begin(self.phase, at, held=self.sight.held, by=RESIZED)

    # -- it waits --------------------------------------------------------------------------

    def _waiting(self) -> None:
        if self.phase in HOLDING or self._ran_unseen():
            self._released()
        elif self.newly:
            # Switched off while it waited: there was no place to lose.
            at = Bound(self.evicted.since or self.moment.now)
            self._lose(at, self._told())
            self._rest(at)
        else:
            self._rest(None)

    def _ran_unseen(self) -> bool:
        """Say whether a whole attempt came and went since the last look."""
        before = self.was.condition("QuotaReserved")
        if self.reserved.false and before.false:
            return self.reserved.since != before.since
        forced = self.newly and not self.evicted.reason.startswith(_DEACTIVATED)
        return self.seconds > 0 or forced

    def _released(self) -> None:
        """Its place was taken: by an eviction, or as a reservation that did not last."""
        freed = self._freed()
        lost = Bound(self.evicted.since) if self.newly and self.evicted.since else freed
        again = self.newly and (self.unseen > 0 or self.phase is Phase.DRAINING)
        if self.phase not in HOLDING or again:
            self._unseen(lost.at, freed=freed.at)
        elif self.phase is Phase.RESERVED and self.seconds:
            started = freed.at - timedelta(seconds=self.seconds)
            self._begin(Phase.ADMITTED, Bound(started, Quality.BOUNDED, started, started))
        if self.newly:
            self._drain(lost)
        elif self.phase is not Phase.DRAINING:
            self._lose(lost, self._past_eviction() or Evicted(Cause.RESERVATION_LOST))
        self._rest(freed)

    def _freed(self) -> Bound:
        """Return when the quota was given back."""
        before = self.was.condition("QuotaReserved")
        since = self.reserved.since if self.reserved.false else None
        if since is None or (before.false and before.since == since):
            return self.seen()
        return Bound(since)

    def _rest(self, at: Bound | None) -> None:
        """Enter the phase in which it waits now; ``at`` is when it lost its place, if it did."""
        off = self.evicted.true and self.evicted.reason.startswith(_DEACTIVATED)
        if at is not None and self.evicted.true:
            phase = Phase.DEACTIVATED if off else Phase.EVICTED
            self._begin(phase, at, told=self._told())
        elif at is not None:
            self._begin(Phase.QUEUED, at)
        if not self.sight.active:
            if self.phase is not Phase.DEACTIVATED:
                self._begin(Phase.DEACTIVATED, self.seen())
        elif self.phase is Phase.DEACTIVATED:
            requeued = self.sight.condition("Requeued")
            told = requeued.since if requeued.true and requeued.reason == "Reactivated" else None
            self._begin(Phase.QUEUED, Bound(told) if told else self.seen())

    # -- what nobody saw -------------------------------------------------------------------

    def _unseen(self, until: datetime, *, freed: datetime | None = None) -> None:
        """Place what came and went unseen before ``until``, where a new attempt begins.

        With ``freed``, the last of these attempts ended at ``until`` and its quota was free then.
        """
        lo, left = min(self.lo, until), self.seconds
        count = self.unseen - (freed is not None and not self.newly)
        told, first_loss = self._past_eviction(), len(self.losses)
        if self.phase in HOLDING:
            alone = freed is None and count <= (self.phase is not Phase.DRAINING)
            if self.phase is Phase.RESERVED and left:
                latest = max(lo, until - timedelta(seconds=left))
                self._begin(Phase.ADMITTED, Bound(lo, Quality.BOUNDED, lo, latest))
            drained = int((freed - until).total_seconds()) if freed is not None else 0
            at = self._closing(lo, until, self.seconds - drained, alone=alone)
            if self.running is not None:
                left -= int((at.at - self.running).total_seconds())
            if self.phase is not Phase.DRAINING:
                self._lose(at, NOT_TOLD)
                count -= 1
            self._begin(Phase.EVICTED, at, told=told)
        if left > 0:
            self._run_unseen(lo, until, left, freed)
            count -= freed is None
        elif freed is not None:
            self.attempt += 1
        for _ in range(count):
            self.attempt += 1
            self._lose(self._between(lo, until), NOT_TOLD)
        if told and freed is None and len(self.losses) > first_loss:
            self.losses[-1] = self.losses[-1]._replace(evicted=told)

    def _closing(self, lo: datetime, until: datetime, seconds: int, *, alone: bool) -> Bound:
        """Return when a run ended that held when it was last seen.

        Alone, Kueue's counter tells when its quota was free; the eviction was not later.
        """
        if self.running is None or not self.timed:
            return self._between(lo, until)
        freed = max(self.latest, min(until, self.running + timedelta(seconds=max(0, seconds))))
        if self.phase is Phase.DRAINING:
            at = freed if alone else max(lo, self.latest)
            return Bound(at, Quality.BOUNDED, at if alone else self.latest, at if alone else until)
        known = alone and self.running == self.was.running_since
        return Bound(freed, Quality.BOUNDED, min(lo, freed), freed if known else until)

    def _run_unseen(
        self, lo: datetime, until: datetime, seconds: int, freed: datetime | None
    ) -> None:
        """Place runs of which only the length is known, as one."""
        requeued = self.sight.condition("Requeued")
        end = freed or until
        if freed is None and requeued.true and requeued.since and lo < requeued.since < until:
            end = requeued.since
        start = max(end - timedelta(seconds=seconds), min(lo, end))
        quality = Quality.UNKNOWN if self.before else Quality.BOUNDED
        exactly = freed is not None and self.unseen == (not self.newly)
        bound = Bound(start, quality, start if exactly else lo, start if exactly else end)
        self.attempt += 1
        carried = self.sight.held or self.last_held or asked(self.sight)
        self._begin(Phase.ADMITTED, bound, held=carried)
        if freed is None:
            ended = Bound(end, quality, start, until)
            self._lose(ended, NOT_TOLD)
            self._begin(Phase.EVICTED, ended, told=self._past_eviction())

    def _told(self) -> Evicted:
        return read_eviction(self.sight.conditions, self.sight.counted)

    def _past_eviction(self) -> Evicted | None:
        """Return the last eviction, if it is over and only remembered."""
        past = self.evicted.false and self.evicted.message.startswith(PREVIOUSLY)
        return self._told() if past else None

    # -- writing ---------------------------------------------------------------------------

    def _begin(
        self,
        phase: Phase,
        at: Bound,
        *,
        held: Held | None = None,
        told: Evicted | None = None,
        by: str = "",
    ) -> None:
        if held is not None:
            self.held = self.last_held = held
        elif phase not in HOLDING:
            self.held = ()
        if phase is Phase.ADMITTED and by != RESIZED:
            self.running = at.at
        elif phase not in (Phase.ADMITTED, Phase.DRAINING):
            self.running = None
        self.phase = phase
        self.latest = max(self.latest, at.at)
        self.marks.append(Mark(phase, at, by or str(phase), self.attempt, self.held, told))

    def _drain(self, at: Bound) -> None:
        told = self._told()
        if self.phase not in HOLDING:
            self.held = self.last_held or asked(self.sight)
        self._lose(at, told)
        self._begin(Phase.DRAINING, at, held=self.held, told=told)

    def _lose(self, at: Bound, told: Evicted) -> None:
        running = self.running if self.phase is Phase.ADMITTED else None
        lost = self.held
        if not lost and not self.sight.active:
            # Its quota was free when it was switched off, its work is lost only now.
            lost = full(self.sight) or asked(self.sight)
        self.losses.append(Loss(self.attempt, at, told, lost, running))
