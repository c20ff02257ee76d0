"""Notes what happened to Workloads, in the transaction that writes how they stand now."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

import structlog

from kube import condition_log
from kube.checkpoints import lost_seconds, read_checkpoints, saved_until
from kube.lenient import items, mapping
from kube.lifecycle import advance, end
from kube.lifecycle_facts import NO_FLIP, Sight, devices, read_sight
from kube.phases import HOLDING, LIVE, Loss, Moment, Recorded, Span, Step
from queues.models import ConditionChange, Eviction, Interval, Lifetime, Stream
from queues.services import ledger, lives
from queues.services.lives import Life
from tenants.models import Cluster

log = structlog.get_logger(__name__)

WARN_EVERY: Final = 600.0  # seconds
_next_warning: dict[int, float] = {}


@dataclass(frozen=True, slots=True)
class Change:
    """A Workload that came, changed or went.

    ``workload`` is the object as it is now, or its last state when it went; ``None`` when it
    ended unseen, which is what a fresh list tells that no longer holds it. ``queue`` is the
    ClusterQueue that holds it or that its LocalQueue points to, ``cohort`` that queue's cohort.
    ``annotations`` are those of its job, where the job is known. ``listed``: it came with a
    list, which counts even where versions have gone back.
    """

    uid: str
    workload: Mapping[str, Any] | None
    gone: bool = False
    queue: str = ""
    cohort: str = ""
    annotations: Mapping[str, Any] = field(default_factory=dict)
    listed: bool = False


def note(
    cluster: Cluster, changes: Iterable[Change], now: datetime, *, since: datetime | None = None
) -> int:
    """Bring the lifetimes of these Workloads up to date; return how many rows were written.

    Call it inside the transaction of the observed rows, with all changes of a window at once,
    in their order. A few statements serve any number of changes; what is noted already writes
    nothing, so the same list may come twice. ``since`` is the last moment before which
    everything had been delivered: give it after a gap; without it the line counts as live (two
    seconds).
    """
    found = list(changes)
    if not found:
        return 0
    ledger.lock(cluster.pk)
    moment = Moment(now, since or now - LIVE)
    book = _Book(cluster, moment, lives.read(cluster, {change.uid for change in found}))
    for change in found:
        book.take(change)
    return book.write()


def _warn_of_skew(cluster: Cluster, number: int) -> None:
    """Say that the cluster's clock is ahead of ours, but not for each Workload again."""
    now = time.monotonic()
    if now >= _next_warning.get(cluster.pk, 0.0):
        _next_warning[cluster.pk] = now + WARN_EVERY
        log.warning("observer_clock_skew", cluster=cluster.slug, workloads=number)


class _Book:
    """What one call adds, until it is written."""

    def __init__(self, cluster: Cluster, moment: Moment, known: dict[str, Life]) -> None:
        """Know the lifetimes that there are."""
        self.cluster, self.moment, self.lives = cluster, moment, known
        self.spans: list[tuple[Life, lives.Who, Span]] = []
        self.losses: list[tuple[Life, int, Loss, Sight, Change]] = []
        self.lines: list[tuple[Life, condition_log.Change]] = []
        self.skewed = 0
        self._went_back: datetime | bool | None = False

    def take(self, change: Change) -> None:
        """Take one change in."""
        life = self.lives.get(change.uid)
        if change.workload is not None and not self._is_old(life, change):
            life = self._look(life, change, read_sight(change.workload))
        if change.gone and life is not None and life.gone_at is None:
            self._end(life, change)

    def _is_old(self, life: Life | None, change: Change) -> bool:
        """Say whether that state, or a later one, is on record already.

        After a restored backup versions begin anew: what a list says then counts, and so does
        what comes after the observer has noticed it.
        """
        if life is None or life.gone_at is not None:
            return False
        version = str(mapping(change.workload, "metadata").get("resourceVersion", ""))
        if version == life.version:
            return not _has_moved(life, change)
        older = _number(version) < _number(life.version)
        return older and not change.listed and not self._restored_since(life.noted_at)

    def _restored_since(self, noted_at: datetime) -> bool:
        if self._went_back is False:
            line = Stream.objects.filter(cluster=self.cluster, kind="Workload").first()
            self._went_back = line.went_back_at if line else None
        return isinstance(self._went_back, datetime) and self._went_back >= noted_at

    def _look(self, life: Life | None, change: Change, sight: Sight) -> Life:
        who = lives.who_is(sight)
        if life is None:
            life = self.lives[change.uid] = Life(
                0, change.uid, who, None, {}, sight.created, self.moment.now, self.moment.now,
                sight.version,
            )  # fmt: skip
        step = advance(life.record, sight, self.moment, queue=change.queue, cohort=change.cohort)
        lines, fresh = condition_log.changes(life.log, sight)
        self._keep(life, step)
        if step.losses:
            first = step.after.losses - len(step.losses) + 1
            for number, loss in enumerate(step.losses, first):
                self.losses.append((life, number, loss, sight, change))
        self.lines += [(life, line) for line in lines]
        if fresh is not None:
            life.log, life.dirty = fresh, True
        if life.gone_at is not None or who != life.who:
            life.who, life.gone_at, life.dirty = who, None, True
        finished = sight.conditions.get("Finished", NO_FLIP)
        life.outcome = finished.reason[:128] if finished.true else ""
        self._noted(life, sight.version)
        self.skewed += step.skewed
        return life

    def _keep(self, life: Life, step: Step) -> None:
        before = life.record
        self.spans += [(life, life.who, span) for span in step.spans]
        life.dirty = life.dirty or before is None or _differ(before, step.after)
        life.record = step.after

    def _noted(self, life: Life, version: str) -> None:
        if life.dirty:
            life.noted_at, life.version = self.moment.now, version

    def _end(self, life: Life, change: Change) -> None:
        record = life.record
        if record is None:
            return
        asked = read_sight(change.workload).deleting if change.workload else None
        unseen = change.workload is None
        self._keep(life, end(record, self.moment, unseen=unseen, deleting=asked))
        life.gone_at, life.dirty = self.moment.now, True
        self._noted(life, life.version)

    # -- writing ---------------------------------------------------------------------------

    def write(self) -> int:
        """Write everything; lifetimes first, for the other rows point to them."""
        new = [life for life in self.lives.values() if life.new]
        for life, pk in zip(new, ledger.next_ids(len(new)), strict=True):
            life.pk = pk
        changed = [life for life in self.lives.values() if life.dirty and not life.new]
        here = self.cluster.pk
        if self.skewed:
            _warn_of_skew(self.cluster, self.skewed)
        return (
            ledger.append(Lifetime, [lives.columns(here, x, as_text=True) for x in new])
            + ledger.update([lives.columns(here, x, as_text=False) for x in changed])
            + ledger.append(Interval, [self._interval(*each) for each in self.spans])
            + ledger.append(Eviction, [self._eviction(*each) for each in self.losses])
            + ledger.append(ConditionChange, [self._line(*each) for each in self.lines])
        )

    def _interval(self, life: Life, who: lives.Who, span: Span) -> ledger.Row:
        begun, start, stop = span.open, span.open.start, span.end
        return (
            self.cluster.pk, life.pk, begun.phase, begun.attempt, start.at, start.quality,
            start.earliest, start.latest, stop.at, stop.quality, stop.earliest, stop.latest,
            span.ended_by, begun.queue[:253], begun.cohort[:253], who.priority_class,
            who.priority, begun.cause, begun.preemptor_uid, devices(begun.held),
            lives.as_json(lives.held_rows(begun.held)),
        )  # fmt: skip

    def _eviction(
        self, life: Life, number: int, loss: Loss, sight: Sight, change: Change
    ) -> ledger.Row:
        told, held = loss.evicted, devices(loss.held)
        saved, lost = None, 0
        if loss.running_since is not None:
            known = read_checkpoints([change.annotations, *_annotations(sight)])
            since = saved_until(known, loss.running_since, loss.at.at)
            saved = since if since != loss.running_since else None
            lost = lost_seconds(held, since, loss.at.at)
        return (
            self.cluster.pk, life.pk, number, loss.attempt, loss.at.at, loss.at.quality,
            loss.at.earliest, loss.at.latest, told.cause, told.detail[:128], told.preemptor_uid,
            told.preemptor_job_uid, told.preemptor_path[:1024], told.preemptee_path[:1024],
            told.message[: condition_log.LONGEST], (sight.queue or change.queue)[:253],
            life.who.priority_class, life.who.priority, held, loss.running_since, saved, lost,
        )  # fmt: skip

    def _line(self, life: Life, line: condition_log.Change) -> ledger.Row:
        return (
            life.pk, line.type, line.status, line.reason, line.message, line.at, self.moment.now,
        )  # fmt: skip


def _differ(before: Recorded, after: Recorded) -> bool:
    """Say whether a row must be written: the conditions and the time of a look alone do not."""
    return (
        before.open, before.attempt, before.losses, before.counted, before.past_seconds,
        before.finished_at,
    ) != (
        after.open, after.attempt, after.losses, after.counted, after.past_seconds,
        after.finished_at,
    )  # fmt: skip


def _has_moved(life: Life, change: Change) -> bool:
    """Say whether its wait is in another queue than on record: its entry was not known then."""
    now = life.record.open if life.record else None
    waits = now is not None and now.phase not in HOLDING
    return waits and change.queue not in ("", now.queue if now else "")


def _annotations(sight: Sight) -> list[Mapping[str, Any]]:
    """Return the annotations of a Workload and of its pod templates."""
    return [
        mapping(sight.body, "metadata", "annotations"),
        *(
            mapping(each, "template", "metadata", "annotations")
            for each in items(sight.body, "spec", "podSets")
        ),
    ]


def _number(version: str) -> int:
    return int(version) if version.isdecimal() else 0
