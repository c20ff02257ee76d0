"""Which changes of a Workload belong on its time line, and what was last put there.

A condition is news when its status flips, or its time, or when it says something that it has not
said since its last flip: Kueue swaps two texts back and forth several times a second, and names
another of several scarce resources in each cycle. So each text is kept once per flip, and no
more than a few of them. The first look is not written out: it is told when it is overwritten.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple
from zlib import crc32

from kube.lenient import moment
from kube.lifecycle_facts import Sight
from kube.workload_facts import Condition

#: Different texts of one condition between two flips.
MOST_TEXTS: Final = 16
LONGEST: Final = 4000
CHECK: Final = "Check/"


class Logged(NamedTuple):
    """A condition as last put on the time line; ``texts`` are marks of what it said since."""

    status: str
    reason: str
    message: str
    since: datetime | None
    texts: tuple[int, ...] = ()
    told: bool = False


class Change(NamedTuple):
    """One line: a condition, check or setting has this value from ``at`` on, where known."""

    type: str
    status: str
    reason: str
    message: str
    at: datetime | None


Log = Mapping[str, Logged]


def changes(log: Log, sight: Sight) -> tuple[list[Change], dict[str, Logged] | None]:
    """Return the new lines and the log from now on; ``None`` for a log that stays as it is."""
    present = dict(_values(sight))
    found: list[Change] = []
    fresh: dict[str, Logged] = dict(log)
    for name, now in present.items():
        before = log.get(name)
        if before is None:
            fresh[name] = now._replace(texts=(_mark(now),), told=bool(log))
            found += [_line(name, now)] if log else []
        elif _is_news(before, now):
            found += [] if before.told else [_line(name, before)]
            found.append(_line(name, now))
            same = (before.status, before.since) == (now.status, now.since)
            texts = (*(before.texts if same else ()), _mark(now))
            fresh[name] = now._replace(texts=texts, told=True)
    for name in log.keys() - present.keys():
        before = fresh.pop(name)
        found += [] if before.told else [_line(name, before)]
        found.append(Change(name, "", "", "", None))
    return found, fresh if found or not log else None


def untold(log: Log) -> list[Change]:
    """Return what the first look showed and nothing has overwritten since."""
    return [_line(name, each) for name, each in log.items() if not each.told]


def _is_news(before: Logged, now: Logged) -> bool:
    if (before.status, before.since) != (now.status, now.since):
        return True
    if (before.reason, before.message) == (now.reason, now.message):
        return False
    return len(before.texts) < MOST_TEXTS and _mark(now) not in before.texts


def _line(name: str, value: Logged) -> Change:
    return Change(name, value.status, value.reason, value.message, value.since)


def _mark(value: Logged) -> int:
    return crc32(f"{value.reason}\0{value.message}".encode())


def _text(message: str) -> str:
    """Return a message as a database holds it: without null characters, and not without end."""
    return message[:LONGEST].replace("\0", "")


def _values(sight: Sight) -> Iterator[tuple[str, Logged]]:
    """Yield everything that has a line of its own."""
    for name, each in sight.conditions.items():
        yield (
            name[:128],
            Logged(each.status[:32], each.reason[:128], _text(each.message), each.since),
        )
    for name, state, message, since in sight.checks:
        yield f"{CHECK}{name}"[:128], Logged(state[:32], "", _text(message), since)
    if not sight.active:
        yield "Active", Logged("False", "", "", None)
    if sight.requeue_at:
        yield "RequeueAt", Logged(sight.requeue_at[:32], "", "", None)
    if sight.reclaimable:
        yield "PodsDone", Logged(str(sum(count for _, count in sight.reclaimable)), "", "", None)
    if sight.orphaned:
        yield "Owner", Logged("False", "", "", None)
    yield "Priority", Logged(str(sight.priority), sight.priority_class[:128], "", None)


def dump(log: Log) -> dict[str, list[Any]]:
    """Return a log in a form for JSON."""
    return {
        name: [*each[:3], each.since.isoformat() if each.since else None, each.texts, each.told]
        for name, each in log.items()
    }


def load(stored: Mapping[str, Any]) -> dict[str, Logged]:
    """Read what ``dump`` gave."""
    return {
        name: Logged(each[0], each[1], each[2], moment(each[3]), tuple(each[4]), bool(each[5]))
        for name, each in stored.items()
    }


def conditions(log: Log) -> dict[str, Condition]:
    """Return the conditions of a log, as far as the history of places reads them."""
    return {
        name: Condition(each.status, each.reason, each.message, each.since)
        for name, each in log.items()
    }
