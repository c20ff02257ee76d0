"""Which changes of a Workload belong on its time line, and what was last put there.

A condition is news when its status flips, or its time, or when it says something that it has not
said since its last flip: Kueue swaps two texts back and forth several times a second, and names
another of several scarce resources in each cycle. So each text is kept once per flip, and no
more than a few of them. The first look is not written out: it is told when it is overwritten.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple
from zlib import crc32

from kube.lenient import items, moment, text
from kube.lifecycle_facts import Flip, Flips, Sight

#: Different texts of one condition between two flips.
MOST_TEXTS: Final = 16
LONGEST: Final = 4000
CHECK: Final = "Check/"


class Change(NamedTuple):
    """One line: a condition, check or setting has this value from ``at`` on, where known."""

    type: str
    status: str
    reason: str
    message: str
    at: datetime | None


def first(sight: Sight) -> dict[str, Flip]:
    """Return what a look shows: everything that can have a line of its own."""
    found = {name: _storable(each) for name, each in sight.conditions.items()}
    status = sight.body.get("status") or {}
    if "admissionChecks" in status:
        for each in items(status, "admissionChecks"):
            name = f"{CHECK}{text(each, 'name')}"[:128]
            since, message = moment(each.get("lastTransitionTime")), plain(text(each, "message"))
            found[name] = Flip(text(each, "state")[:32], "", message, since)
    if "requeueState" in status and (again := text(status, "requeueState", "requeueAt")):
        found["RequeueAt"] = Flip(again[:32])
    if not sight.active:
        found["Active"] = Flip("False")
    if sight.reclaimable:
        found["PodsDone"] = Flip(str(sum(count for _, count in sight.reclaimable)))
    if sight.orphaned:
        found["Owner"] = Flip("False")
    found["Priority"] = Flip(str(sight.priority), sight.priority_class[:128])
    return found


def _storable(flip: Flip) -> Flip:
    """Return a condition as a database holds it; nearly always the same object."""
    status, reason, message = flip[:3]
    if len(status) <= 32 and len(reason) <= 128 and plain(message) is message:
        return flip
    return Flip(status[:32], reason[:128], plain(message), flip.since)


def plain(message: str) -> str:
    """Return a message as a database holds it: without null characters, and not without end."""
    if "\0" in message or len(message) > LONGEST:
        message = message.replace("\0", "")[:LONGEST]
    return message


def changes(log: Flips, sight: Sight) -> tuple[list[Change], dict[str, Flip] | None]:
    """Return the new lines and the log from now on; ``None`` for a log that stays as it is."""
    present = first(sight)
    if not log:
        return [], present
    found: list[Change] = []
    fresh: dict[str, Flip] = dict(log)
    for name, now in present.items():
        before = log.get(name)
        if before is None:
            fresh[name] = now._replace(told=True)
            found.append(_line(name, now))
        elif before[:4] != now[:4] and _is_news(before, now):
            found += [] if before.told else [_line(name, before)]
            found.append(_line(name, now))
            same = (before.status, before.since) == (now.status, now.since)
            texts = (*before.texts, _mark(before)) if same else ()
            fresh[name] = now._replace(texts=texts, told=True)
    for name in log.keys() - present.keys():
        before = fresh.pop(name)
        found += [] if before.told else [_line(name, before)]
        found.append(Change(name, "", "", "", None))
    return found, fresh if found else None


def untold(log: Flips) -> list[Change]:
    """Return what the first look showed and nothing has overwritten since."""
    return [_line(name, each) for name, each in log.items() if not each.told]


def _is_news(before: Flip, now: Flip) -> bool:
    if (before.status, before.since) != (now.status, now.since):
        return True
    return len(before.texts) < MOST_TEXTS - 1 and _mark(now) not in before.texts


def _line(name: str, value: Flip) -> Change:
    return Change(name, *value[:4])


def _mark(value: Flip) -> int:
    return crc32(f"{value.reason}\0{value.message}".encode("utf-8", "surrogatepass"))


def load(stored: Mapping[str, Any]) -> dict[str, Flip]:
    """Read a log from JSON, where each condition is a list of its parts."""
    return {
        name: Flip(each[0], each[1], each[2], moment(each[3]), tuple(each[4]), bool(each[5]))
        for name, each in stored.items()
    }
