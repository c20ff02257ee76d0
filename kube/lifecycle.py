"""From looks at a Workload to the intervals of its life: a pure function, restartable anywhere.

Kueue keeps of each condition only its last flip, and an eviction wipes what was held. So each
look is joined to what is on record (:mod:`kube.lifecycle_marks`): the flips since then are the
bounds, to the second in which Kueue wrote them. All phases of a Workload together cover its life
from its creation to its end, without gaps, and never overlap.

``advance(record, sight, moment)`` gives the next record; the same look again adds nothing.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Final

from kube.lifecycle_facts import NO_FLIP, Sight
from kube.lifecycle_marks import FINISHED, RESIZED, Join, Mark
from kube.phases import (
    HOLDING,
    Bound,
    Moment,
    Open,
    Phase,
    Recorded,
    Span,
    Step,
    between,
    not_after,
    not_before,
)

DELETED: Final = "deleted"
VANISHED: Final = "vanished"
MOVED: Final = "moved"


def advance(
    was: Recorded | None, sight: Sight, moment: Moment, *, queue: str = "", cohort: str = ""
) -> Step:
    """Join a look to what is on record; ``was`` is None at the first look.

    ``queue`` is the ClusterQueue that its LocalQueue points to, for the time that it waits.
    """
    moment = _whole(moment)
    if was is None and (step := _plain(sight, moment, sight.queue or queue, cohort)):
        return step
    return joined(was or Recorded(open=None), sight, moment, queue=queue, cohort=cohort)


def joined(was: Recorded, sight: Sight, moment: Moment, *, queue: str, cohort: str) -> Step:
    """Join a look to what is on record, whatever has happened; times in whole seconds."""
    begun = was.open or _beginning(was, sight, moment)
    if begun is None:
        return Step(replace(was, conditions=sight.conditions, noted_at=moment.now))
    if was.open is None and was.noted_at is not None:
        was = replace(was, running_since=None, finished_at=None)
    join = Join(was, begun, sight, moment)
    join.run()
    tiling = _Tiling(begun, moment, sight.queue or queue, cohort)
    for mark in join.marks:
        tiling.add(mark)
    tiling.follow(join.lo)
    finished = join.marks[-1].at.at if join.marks and join.marks[-1].phase is None else None
    after = Recorded(
        open=tiling.open,
        attempt=join.attempt,
        losses=was.losses + len(join.losses),
        counted=max(was.counted, sight.evictions),
        past_seconds=sight.past_seconds or 0,
        running_since=join.running if tiling.open else None,
        conditions=sight.conditions,
        noted_at=moment.now,
        finished_at=finished,
    )
    return Step(after, tuple(tiling.spans), tuple(join.losses), tiling.skewed)


def _plain(sight: Sight, moment: Moment, queue: str, cohort: str) -> Step | None:
    """Read the first look at an ordinary life: it waited, was admitted, has ended, no more.

    Nearly all Workloads of a cluster are like that, and a start must read all of them. ``None``
    for any other, and for times that are not in order: :func:`joined` gives the same, and more.
    """
    found = sight.conditions
    if not _is_ordinary(sight) or sight.created > moment.now:
        return None
    reserved, admitted = found.get("QuotaReserved", NO_FLIP), found.get("Admitted", NO_FLIP)
    finished = found.get("Finished", NO_FLIP)
    phases: list[tuple[Phase | None, datetime | None]] = [(Phase.QUEUED, sight.created)]
    if reserved.true:
        phases.append((Phase.RESERVED, reserved.since))
        if admitted.true:
            phases.append((Phase.ADMITTED, admitted.since))
    if finished.true:
        phases.append((None, finished.since))
    spans: list[Span] = []
    now: Open | None = None
    for phase, at in phases:
        if at is None or at > moment.now or (now is not None and at < now.start.at):
            return None
        bound = Bound(at)
        if now is not None and at > now.start.at:
            spans.append(Span(now, bound, phase or FINISHED))
        if phase is None:
            now = None
        elif phase is Phase.QUEUED:
            now = Open(phase, bound, 0, (), queue, cohort if queue else "")
        else:
            now = Open(phase, bound, 1, sight.held, queue, cohort)
    after = Recorded(
        now, int(reserved.true), 0, 0, 0, admitted.since if now and admitted.true else None,
        found, moment.now, finished.since if finished.true else None,
    )  # fmt: skip
    return Step(after, tuple(spans))


def _is_ordinary(sight: Sight) -> bool:
    """Say whether nothing has ever taken its place from it."""
    counters = sight.counted or sight.past_seconds is not None or sight.reclaimable
    found = sight.conditions
    return sight.active and not counters and "Evicted" not in found and "Requeued" not in found


def end(was: Recorded, moment: Moment, *, unseen: bool, deleting: datetime | None = None) -> Step:
    """Close what is on record: the object is gone, now or (``unseen``) at some time before.

    ``deleting`` is when its deletion was asked for, which is not earlier than its end.
    """
    moment = _whole(moment)
    if was.open is None:
        return Step(was)
    lo = max(moment.since, was.noted_at or moment.since, was.open.start.at)
    if deleting is not None:
        lo = max(lo, min(deleting, moment.now))
    bound = not_before(between(min(lo, moment.now), moment.now), was.open.start.at)
    span = Span(was.open, bound, VANISHED if unseen else DELETED)
    spans = (span,) if bound.at > was.open.start.at else ()
    return Step(replace(was, open=None, running_since=None, noted_at=moment.now), spans)


def _beginning(was: Recorded, sight: Sight, moment: Moment) -> Open | None:
    """Return the phase before any condition: queued since its creation, or since it came back."""
    if was.noted_at is None:
        return Open(Phase.QUEUED, not_after(Bound(sight.created), moment.now))
    if sight.condition("Finished").true:
        return None
    # It had ended and is there again: a cluster that was restored from a backup.
    ended = max(was.finished_at or was.noted_at, was.noted_at)
    return Open(Phase.QUEUED, between(min(ended, moment.now), moment.now), was.attempt)


def _whole(moment: Moment) -> Moment:
    """Cut to whole seconds, as Kueue cuts the times of conditions."""
    now = moment.now.replace(microsecond=0)
    return Moment(now, min(moment.since.replace(microsecond=0), now))


class _Tiling:
    """Turns marks into spans that touch; what has no length leaves no span."""

    def __init__(self, begun: Open, moment: Moment, queue: str, cohort: str) -> None:
        """Begin with the open phase; a queue that was not known yet is known from now on."""
        self.open: Open | None = begun
        if queue and not begun.queue:
            self.open = begun._replace(queue=queue, cohort=cohort)
        self.moment, self.queue, self.cohort = moment, queue, cohort
        self.spans: list[Span] = []
        self.skewed = False

    def add(self, mark: Mark) -> None:
        """End the open phase where the mark says, and begin the next."""
        now = self.open
        if now is None or (mark.phase is now.phase and self._same(now, mark)):
            return
        at = not_after(mark.at, self.moment.now)
        self.skewed = self.skewed or at is not mark.at
        at = not_before(at, now.start.at)
        if at.at > now.start.at:
            self.spans.append(Span(now, at, mark.by))
        if mark.phase is None:
            self.open = None
            return
        told = mark.told
        self.open = Open(
            mark.phase, at, mark.attempt, mark.held, self.queue, self.cohort,
            str(told.cause) if told else "", told.preemptor_uid if told else "",
        )  # fmt: skip

    @staticmethod
    def _same(now: Open, mark: Mark) -> bool:
        return mark.by != RESIZED and now.attempt == mark.attempt and now.held == mark.held

    def follow(self, lo: datetime) -> None:
        """Split a wait whose entry points to another queue now; the time of that is nowhere."""
        now = self.open
        if now is None or now.phase in HOLDING or self.queue in ("", now.queue):
            return
        at = not_before(between(min(lo, self.moment.now), self.moment.now), now.start.at)
        if at.at > now.start.at:
            self.spans.append(Span(now, at, MOVED))
            now = now._replace(start=at)
        self.open = now._replace(queue=self.queue, cohort=self.cohort)
