"""What happened to one job, in words: phases, lost places, and every change of its conditions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple

from django.utils.translation import gettext as _

from portal.web.parts import Moment
from portal.web.wording import duration, number
from queues import change_texts, history_texts, sentences
from queues.access import Sight
from queues.models import Phase, Workload
from queues.selectors import jobs as select
from queues.selectors.history import JobHistory, Line, Stretch, job_history
from queues.sentences import Viewer

#: How each phase is drawn.
TONES: Final[Mapping[str, str]] = {
    Phase.QUEUED: "wait", Phase.RESERVED: "info", Phase.ADMITTED: "run",
    Phase.DRAINING: "bad", Phase.EVICTED: "wait", Phase.DEACTIVATED: "off",
}  # fmt: skip
#: Lines that are open; the older ones fold.
NEWEST: Final = 12


class Span(NamedTuple):
    """A phase as a part of the bar, in percent of the whole life."""

    tone: str
    x: str
    width: str


class PhaseRow(NamedTuple):
    """A phase as a row of the table under the bar."""

    starts: datetime
    text: str
    quality: str
    devices: int


@dataclass(frozen=True, slots=True)
class Past:
    """The history of one job as a page draws it, the newest first."""

    alarms: list[str]
    figures: list[tuple[str, str, str]]
    losses: list[Moment]
    chain: list[str]
    took: str
    spans: list[Span]
    phases: list[PhaseRow]
    newest: list[Moment]
    older: list[Moment]

    @property
    def known(self) -> bool:
        """Say whether anything is known at all."""
        return bool(self.phases or self.newest)


def history_of(sight: Sight, job: Workload) -> JobHistory:
    """Read what happened to a job that the viewer may see."""
    return job_history(job, sight.tenants, sees_all=sight.sees_all)


def words_of(history: JobHistory) -> set[str]:
    """Give every word of the cluster's texts that could be the name of something."""
    return sentences.words_in(line.message for line in history.lines)


def past(sight: Sight, history: JobHistory, foreign: frozenset[str] | None = None) -> Past:
    """Tell what happened to a job; ``foreign`` are the names of others in its texts, if known."""
    if foreign is None:
        words = set() if sight.sees_all else words_of(history)
        foreign = select.foreign(words, sight.tenants)
    moments = _moments(history.lines, Viewer(sees_all=sight.sees_all, foreign=foreign))
    return Past(
        alarms=history_texts.alarms(history),
        figures=_figures(history),
        losses=[
            Moment(loss.at, history_texts.loss(loss), "preempted", _said(loss.quality))
            for loss in reversed(history.losses)
        ],
        chain=[history_texts.link(each) for each in history.chain],
        took=history_texts.took(history),
        spans=_spans(history.stretches),
        phases=[_row(each) for each in reversed(history.stretches)],
        newest=moments[:NEWEST],
        older=moments[NEWEST:],
    )


def _figures(history: JobHistory) -> list[tuple[str, str, str]]:
    """Give the sums of a life as (key, label, amount)."""
    if not history.stretches:
        return []
    rows = [
        ("waited", _("Waited"), duration(history.waited)),
        ("admitted", _("Admitted"), duration(history.admitted)),
        ("held", _("GPU-hours held"), history_texts.gpu_hours(history.held_seconds)),
    ]
    if history.requeues:
        rows.append(("requeues", _("Times stopped"), number(history.requeues)))
    if history.losses:
        key = "alarm" if history.lost_seconds else "lost"
        rows.append((key, _("GPU-hours lost"), history_texts.gpu_hours(history.lost_seconds)))
    return rows


def _moments(lines: Iterable[Line], viewer: Viewer) -> list[Moment]:
    """Put each change into words, the newest first."""
    rows = sorted(lines, key=lambda line: (line.at, change_texts.rank(line.type, line.status)))
    found: list[Moment] = []
    told: set[tuple[datetime, str]] = set()
    for line in rows:
        # Kueue writes one message into several conditions of one moment: once is enough to read.
        again = (line.at, line.message) in told
        told.add((line.at, line.message))
        found.append(
            Moment(
                when=line.at,
                text=change_texts.change(line.type, line.status, line.reason),
                state=change_texts.look(line.type, line.status),
                note=_note(line, viewer, again=again),
            )
        )
    return found[::-1]


def _note(line: Line, viewer: Viewer, *, again: bool) -> str:
    """Give the cluster's own words, and whether the time is only when it was seen."""
    old = again or line.message.startswith(change_texts.BEFORE)
    words = "" if old else sentences.cleaned(line.message, viewer)
    return words if line.exact else " · ".join(filter(None, [words, _("time as seen")]))


def _said(quality: str) -> str:
    return "" if quality == "exact" else str(history_texts.QUALITIES.get(quality, ""))


def _row(stretch: Stretch) -> PhaseRow:
    return PhaseRow(
        stretch.starts, history_texts.phase(stretch), _said(stretch.quality), stretch.devices
    )


def _spans(stretches: Iterable[Stretch]) -> list[Span]:
    """Lay the phases one behind the other; a phase too short to be seen is a line."""
    rows = list(stretches)
    whole = sum(each.seconds for each in rows)
    if not whole:
        return []
    found, at = [], 0
    for each in rows:
        found.append(
            Span(
                TONES.get(each.phase, "off"),
                f"{100 * at / whole:.2f}%",
                f"{max(0.2, 100 * each.seconds / whole):.2f}%",
            )
        )
        at += each.seconds
    return found
