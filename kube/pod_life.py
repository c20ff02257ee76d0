"""From looks at a pod to the times in which it had its devices: pure functions.

A pod *runs* from the moment in which its containers were started until its deletion was asked
for; from then on it is *terminating*, and keeps its devices until it has ended. A pod that waits,
for its image or for a machine, has none of these times.

Starts and requests of deletion are in the object, to the second of the cluster's clock. When a
pod has gone no object is left, so its end is known as a look tells it: see :mod:`kube.phases`.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, NamedTuple

from kube.lenient import Object, items, mapping, moment, text, whole
from kube.phases import Bound, Quality, between, not_after, not_before

#: What ends a time: the next one, an end that the pod itself tells, one that was seen, or was not.
ENDED: Final = "ended"
DELETED: Final = "deleted"
VANISHED: Final = "vanished"


class Kind(StrEnum):
    """How a pod has its devices."""

    RUNNING = "running"
    TERMINATING = "terminating"


class Begun(NamedTuple):
    """A time that has begun and not ended."""

    kind: Kind
    start: Bound


class Over(NamedTuple):
    """A time that is over, and what ended it."""

    begun: Begun
    end: Bound
    ended_by: str


class Glance(NamedTuple):
    """When a pod was looked at, and the last moment before which everything had been delivered.

    ``since`` is ``None`` at the first look at a cluster.
    """

    now: datetime
    since: datetime | None


class Life(NamedTuple):
    """What a look adds, and what is open after it."""

    open: Begun | None
    over: tuple[Over, ...]


def kind_of(pod: Object) -> Kind | None:
    """Return how a pod has its devices now; ``None`` if it has none or has ended."""
    if text(pod, "status", "phase") != "Running" or not text(pod, "spec", "nodeName"):
        return None
    return Kind.TERMINATING if text(pod, "metadata", "deletionTimestamp") else Kind.RUNNING


def advance(
    was: Begun | None, pod: Object | None, at: Glance, *, gone: bool, least: datetime | None = None
) -> Life:
    """Join a look to what is open; the same look again adds nothing.

    ``pod`` is the object as it is, or as it was last when it has ``gone``; ``None`` when nobody
    saw it go. What begins does not begin before ``least``, where the time before it has ended.
    """
    at = _whole(at)
    if pod is None:
        return _closed(was, between(_since(was, at), at.now), VANISHED) if was else Life(None, ())
    kind = kind_of(pod)
    if was is None:
        if kind is None:
            return Life(None, ())
        start = _started(pod, at)
        was = Begun(Kind.RUNNING, not_before(start, least) if least else start)
    over: tuple[Over, ...] = ()
    if was.kind is Kind.RUNNING and text(pod, "metadata", "deletionTimestamp"):
        asked = _asked(pod, was, at)
        over = _closed(was, asked, str(Kind.TERMINATING)).over
        was = Begun(Kind.TERMINATING, not_before(asked, was.start.at))
    if kind is not None and not gone:
        return Life(was, over)
    told = None if kind else _ended(pod)
    end = Bound(told) if told else between(_since(was, at), at.now)
    return Life(None, over + _closed(was, end, ENDED if told else DELETED).over)


def _closed(was: Begun, end: Bound, ended_by: str) -> Life:
    """End what is open; what has no length leaves nothing."""
    end = not_before(end, was.start.at)
    return Life(None, (Over(was, end, ended_by),) if end.at > was.start.at else ())


def _whole(at: Glance) -> Glance:
    """Cut to whole seconds, as the times of the cluster are."""
    now = at.now.replace(microsecond=0)
    return Glance(now, min(at.since.replace(microsecond=0), now) if at.since else None)


def _since(was: Begun, at: Glance) -> datetime:
    return max(was.start.at, at.since) if at.since else was.start.at


def _started(pod: Object, at: Glance) -> Bound:
    """Return when the containers of a pod were started.

    Those that were started again tell only of the last time; then it is between the moment in
    which the node took the pod and the first start that is still told.
    """
    found = list(_starts(pod))
    again = any(
        whole(each.get("restartCount")) for each in items(pod, "status", "containerStatuses")
    )
    if found and not again:
        return not_after(Bound(max(found)), at.now)
    taken = moment(text(pod, "status", "startTime")) or moment(
        text(pod, "metadata", "creationTimestamp")
    )
    first = min([*found, at.now])
    if again or not at.since:
        return between(min(taken or first, first), first, None if taken else Quality.UNKNOWN)
    return between(max(min(taken or at.since, at.now), at.since), at.now)


def _starts(pod: Object) -> Iterator[datetime]:
    for each in items(pod, "status", "containerStatuses"):
        for state in ("running", "terminated"):
            at = moment(text(mapping(each, "state", state), "startedAt"))
            if at is not None:
                yield at


def _asked(pod: Object, was: Begun, at: Glance) -> Bound:
    """Return when the deletion of a pod was asked for: its deadline less the time it was given."""
    meta = mapping(pod, "metadata")
    deadline = moment(text(meta, "deletionTimestamp"))
    given = meta.get("deletionGracePeriodSeconds")
    if deadline is None or not isinstance(given, int) or isinstance(given, bool) or given < 0:
        return between(_since(was, at), at.now)
    return not_after(Bound(deadline - timedelta(seconds=min(given, _LONGEST))), at.now)


#: No pod is given more time than this to end; a larger number is none.
_LONGEST: Final = 10**8


def _ended(pod: Object) -> datetime | None:
    """Return when the last container of a pod ended, if the pod says so."""
    found = [
        moment(text(mapping(each, "state", "terminated"), "finishedAt"))
        for each in items(pod, "status", "containerStatuses")
    ]
    times = [each for each in found if each is not None]
    return max(times) if times and len(times) == len(found) else None
