"""What happened to a queue, in the words of one viewer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from portal.web.wording import gpus, plain, shown, visible
from queues.access import Sight
from queues.models import Eviction, ObjectResult
from queues.selectors.events import EVICTED, Event
from queues.selectors.queues import Readable
from queues.views.progress import path_in_words
from tenants.models import Queue

#: Why a job lost its place; what is not here is told without a cause.
CAUSES: Final[Mapping[str, str | Promise]] = {
    "preempted_in_queue": lazy("to a job of higher priority in this queue"),
    "preempted_reclaim": lazy("because another queue took back what it had lent"),
    "preempted_while_borrowing": lazy("because it was on borrowed quota that another queue needs"),
    "preempted_fair_sharing": lazy("because this queue held more than its fair share"),
    "preempted": lazy("to another job"),
    "pods_ready_timeout": lazy("because its pods were not ready in time"),
    "node_failure": lazy("because a machine failed"),
    "check": lazy("because an admission check no longer agreed"),
    "queue_stopped": lazy("because the queue was emptied"),
    "entry_stopped": lazy("because its entry was emptied"),
    "deactivated": lazy("because somebody switched it off"),
    "deactivated_check": lazy("because an admission check refused it"),
    "deactivated_retries": lazy("because it was started again too often"),
    "deactivated_time_limit": lazy("because it ran for as long as it may"),
    "manager_cluster": lazy("because the manager cluster took it back"),
    "flavor_migration": lazy("to move to a better flavor"),
}
NAMED: Final = 3


@dataclass(frozen=True, slots=True)
class Told:
    """One line of the list: its state picks icon and colour."""

    when: datetime
    state: str
    word: str
    text: SafeString
    note: str = ""
    url: str = ""


def told(events: Iterable[Event], queue: Queue, sight: Sight, seen: Readable) -> list[Told]:
    """Put events into words; jobs that the viewer may not read have no name."""
    return [
        _evicted(each.row, seen) if each.source == EVICTED else _written(each.row, queue, sight)
        for each in events
    ]


# --- who lost a place -----------------------------------------------------------------------------


def _evicted(row: Eviction, seen: Readable) -> Told:
    job = row.lifetime
    name = visible(job.job_name or job.name)
    who = (
        format_html("<b>{}</b>", name)
        if job.namespace in seen
        else _("A job that is not shown to you by name")
    )
    text = format_html(
        _("{who} lost its place ({size}) {why}"),
        who=who, size=gpus(row.devices), why=CAUSES.get(row.cause, ""),
    )  # fmt: skip
    word = _("Preempted") if row.cause.startswith("preempted") else _("Evicted")
    return Told(row.at, "preempted", word, text, _lost(row))


def _lost(row: Eviction) -> str:
    """Say what the work since the last checkpoint, or since the start, comes to."""
    if not row.lost_seconds:
        return ""
    hours = {"n": plain(row.lost_seconds / 3600, 1)}
    if row.checkpoint_at is not None:
        return _("lost since its last checkpoint: %(n)s GPU h") % hours
    return _("lost since its start, as no checkpoint is known: %(n)s GPU h") % hours


# --- what was written -----------------------------------------------------------------------------


def _written(row: ObjectResult, queue: Queue, sight: Sight) -> Told:
    """Tell of a write; the request behind it only to those who may see it."""
    request, number = row.apply.request, row.apply.revision.number
    own = sight.sees_all or request.tenant_id == queue.tenant_id
    url = reverse("request", args=[request.pk]) if own else ""
    if row.state != ObjectResult.State.APPLIED:
        said = _("Revision {number} was not written here: {state}")
        text = format_html(said, number=number, state=row.get_state_display())
        return Told(row.at or request.updated_at, "failed", _("Not written"), text, url=url)
    what = ", ".join(_changes(row.object.changes))
    said = (
        _("Revision {number} was written: {what}") if what else _("Revision {number} was written")
    )
    text = format_html(said, number=number, what=what)
    note = _("asked for by %(person)s") % {"person": request.author} if own else ""
    return Told(row.at or request.updated_at, "applied", _("Written"), text, note, url)


def _changes(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Name the changed fields; CPU and memory follow the devices and are told without them only."""
    found = [(str(row.get("path", "")), row) for row in rows]
    chosen = [row for row in found if "[cpu]" not in row[0] and "[memory]" not in row[0]] or found
    said = [
        f"{path_in_words(path)} {shown(row.get('before'))} → {shown(row.get('after'))}"
        for path, row in chosen[:NAMED]
    ]
    return [*said, "…"] if len(chosen) > NAMED else said
