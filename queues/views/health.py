"""A cluster's health as a page draws it: streams, rights, credentials, capacity."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _

from portal.web.parts import MeterLine
from queues.models import Credential, Link, Stream
from queues.selectors.clusters import ClusterNow, ClusterRow, PoolNow
from queues.selectors.freshness import is_lost

# A line gives a sign of life at least this often, a link is checked this often; in seconds.
INTERVAL = 15
CHECKED_EVERY = 600
STEP = 10


def state_of(row: ClusterRow) -> str:
    """Give the one word for how well we hear a cluster."""
    if row.link is None:
        return "disconnected"
    if not row.streams:
        return "never"
    if row.lost or row.link.check_error:
        return "unreachable"
    return by_age(row.alive_at)


def by_age(alive_at: datetime | None) -> str:
    """Give the state of a line by its last sign of life."""
    if alive_at is None:
        return "never"
    seconds = (timezone.now() - alive_at).total_seconds()
    if seconds > 10 * INTERVAL:
        return "old"
    return "late" if seconds > 2 * INTERVAL else "fresh"


def _step(at: datetime | None) -> int:
    return int(at.timestamp()) // STEP if at else 0


class ListLine:
    """One cluster in the list."""

    interval = INTERVAL

    def __init__(self, row: ClusterRow) -> None:
        """Read its state."""
        self.row = row
        self.cluster = row.cluster

    @cached_property
    def state(self) -> str:
        """Give the one word for how well we hear it."""
        return state_of(self.row)

    @property
    def stamp(self) -> tuple[object, ...]:
        """Give what moves when the line looks different."""
        row = self.row
        return (
            row.cluster.pk, row.cluster.display_name, row.cluster.writing, self.state,
            _step(row.alive_at), row.queues, row.running, row.waiting, row.drifted,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class StreamLine:
    """The observer's line to one kind."""

    kind: str
    alive_at: datetime | None
    listed_at: datetime | None
    lost_since: datetime | None
    lost: bool
    error: str

    @property
    def state(self) -> str:
        """Give the badge; a short break shows as late."""
        if self.lost:
            return "unreachable"
        return "late" if self.lost_since else by_age(self.alive_at)


@dataclass(frozen=True, slots=True)
class Identity:
    """One of the portal's two identities: what it lacks, what it has too much."""

    name: str
    word: str
    user: str
    checked: bool
    missing: list[str]
    surplus: list[str]
    incomplete: str
    credential: Credential | None

    @property
    def state(self) -> str:
        """Give the badge."""
        if not self.checked:
            return "never"
        return "red" if self.missing else "amber" if self.surplus or self.incomplete else "green"

    @property
    def state_word(self) -> str:
        """Say the state in a word of its own."""
        words = {
            "green": _("In order"), "amber": _("More than needed"), "red": _("Rights missing"),
            "never": _("Not checked yet"),
        }  # fmt: skip
        return words[self.state]


class Health:
    """Everything about the way into a cluster, as far as the viewer may know it."""

    interval = INTERVAL
    check_interval = CHECKED_EVERY

    def __init__(self, now: ClusterNow, *, details: bool) -> None:
        """Take the facts."""
        self.now = now
        self.details = details
        self.link: Link | None = now.row.link

    @cached_property
    def state(self) -> str:
        """Give the one word for how well we hear it."""
        return state_of(self.now.row)

    @cached_property
    def streams(self) -> list[StreamLine]:
        """Give the lines; the text of an error is for the platform."""
        return [self._stream(row) for row in self.now.row.streams]

    @property
    def ailing(self) -> list[StreamLine]:
        """Give the lines that somebody should look at."""
        return [line for line in self.streams if line.state != "fresh"]

    @property
    def live(self) -> list[StreamLine]:
        """Give the lines that are as they should be."""
        return [line for line in self.streams if line.state == "fresh"]

    def _stream(self, row: Stream) -> StreamLine:
        error = row.error if self.details else ""
        return StreamLine(
            row.kind, row.alive_at, row.listed_at, row.lost_since, is_lost(row.lost_since), error
        )

    @cached_property
    def identities(self) -> list[Identity]:
        """Give reader and applier with their rights."""
        if self.link is None or not self.details:
            return []
        words = {"reader": _("reads"), "applier": _("writes")}
        return [self._identity(name, word) for name, word in words.items()]

    def _identity(self, name: str, word: str) -> Identity:
        report: dict[str, Any] = (self.link.preflight if self.link else {}).get(name) or {}
        held = {row.purpose: row for row in self.now.credentials}
        return Identity(
            name=name,
            word=word,
            user=str(report.get("user", "")),
            checked=bool(report),
            missing=list(map(str, report.get("missing") or ())),
            surplus=list(map(str, report.get("surplus") or ())),
            incomplete=_("The cluster did not list all rights.")
            if report.get("incomplete")
            else "",
            credential=held.get(name),
        )

    @property
    def ready(self) -> bool:
        """Say whether writing could be switched on."""
        return bool(self.link and self.link.preflight.get("ok"))

    @property
    def stamp(self) -> tuple[object, ...]:
        """Give what moves when this part of the page looks different."""
        cluster, link = self.now.row.cluster, self.link
        return (
            ListLine(self.now.row).stamp, self.details, cluster.writing,
            [(row.kind, _step(row.alive_at), row.lost_since, row.state, row.error) for row in self.streams],
            link and (link.preflight, link.capabilities, link.checked_at, link.check_error),
            [(row.purpose, row.expires_at, row.problem) for row in self.now.credentials],
            self.now.head and self.now.head.number, self.now.drifted,
        )  # fmt: skip


class PoolLine:
    """The devices of one flavor with a bar: held against what there is."""

    def __init__(self, pool: PoolNow) -> None:
        """Draw the bar."""
        self.pool = pool
        spec = pool.pool.spec
        self.flavor = pool.pool.flavor
        self.resource = pool.pool.resource
        self.model = str(spec.get("model", ""))
        self.capability = str(spec.get("capability", ""))
        self.free = max(0, pool.capacity - pool.held)
        self.over = max(0, -pool.uncommitted)
        self.short = max(0, pool.capacity - pool.observed)
        self.meter = MeterLine(
            label=pool.pool.flavor, unit=_("GPUs"), nominal=pool.capacity, held=pool.held,
            lending_limit=0, borrowing_limit=0, borrowable_now=0,
        )  # fmt: skip

    def __repr__(self) -> str:
        """Give the numbers: this text is part of a page's stamp."""
        pool = self.pool
        return (
            f"{self.flavor}:{pool.nodes}/{pool.ready}:{pool.observed}/{pool.capacity}"
            f":{pool.committed}:{pool.held}"
        )
