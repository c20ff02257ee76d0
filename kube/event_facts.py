"""Events of a cluster in one form: ``v1`` and ``events.k8s.io/v1`` name their fields differently."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from kube.lenient import Object, mapping, moment, text

_LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Event:
    """One event: about which object, its reason, its text, when it was last seen."""

    kind: str
    namespace: str
    name: str
    reason: str
    note: str
    warning: bool
    seen: datetime | None

    def about(self, kind: str, name: str) -> bool:
        """Return whether it speaks of that object."""
        return (self.kind, self.name) == (kind, name)


def read_events(events: Iterable[Object]) -> tuple[Event, ...]:
    """Return events from the newest to the oldest; equal times go by text, never by place."""
    found = [_event(mapping(each)) for each in events]
    return tuple(sorted(found, key=_newest, reverse=True))


def _newest(event: Event) -> tuple[datetime, str, str, str]:
    return event.seen or _LONG_AGO, event.reason, event.note, event.name


def _event(found: Object) -> Event:
    about = mapping(found, "regarding") or mapping(found, "involvedObject")
    times = (
        text(found, "series", "lastObservedTime"), text(found, "eventTime"),
        text(found, "lastTimestamp"), text(found, "deprecatedLastTimestamp"),
    )  # fmt: skip
    return Event(
        kind=text(about, "kind"),
        namespace=text(about, "namespace"),
        name=text(about, "name"),
        reason=text(found, "reason"),
        note=text(found, "note") or text(found, "message"),
        warning=text(found, "type") == "Warning",
        seen=next((when for when in map(moment, times) if when), None),
    )
