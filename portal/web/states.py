"""How each state looks: one tone, one icon shape and one word, the same on every page.

A tone is a colour token of portal.css; an icon is a symbol of parts/sprite.html. Colour never
stands alone, so every row has a shape and a word of its own.
"""

from __future__ import annotations

from typing import NamedTuple

from django.utils.functional import Promise
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _


class Look(NamedTuple):
    """How one state is drawn."""

    tone: str
    icon: str
    word: str | Promise


STATES: dict[str, Look] = {
    # jobs
    "waiting": Look("wait", "clock", _("Waiting")),
    "cannot_run": Look("bad", "octagon", _("Cannot run")),
    "making_room": Look("wait", "apart", _("Making room")),
    "being_stopped": Look("wait", "down", _("Being stopped")),
    "starting": Look("run", "start", _("Starting")),
    "running": Look("run", "play", _("Running")),
    "preempted": Look("wait", "return", _("Preempted, waiting")),
    "stopped": Look("off", "pause", _("Stopped")),
    "on_hold": Look("off", "pause", _("On hold")),
    "deactivated": Look("off", "power", _("Deactivated")),
    "finished": Look("done", "check", _("Finished")),
    "failed": Look("bad", "cross", _("Failed")),
    # requests and plans
    "draft": Look("off", "pen", _("Draft")),
    "submitted": Look("info", "up", _("Submitted")),
    "planned": Look("wait", "scale", _("Waiting for a decision")),
    "approved": Look("info", "tick", _("Approved")),
    "applying": Look("info", "arrow", _("Being applied")),
    "applied": Look("run", "check", _("In the cluster")),
    "partial": Look("wait", "half", _("Partly applied")),
    "stale": Look("wait", "hourglass", _("Out of date")),
    "conflict": Look("bad", "clash", _("Conflict")),
    "unknown": Look("wait", "question", _("Unknown")),
    "refused": Look("bad", "octagon", _("Refused")),
    "rejected": Look("bad", "cross", _("Rejected")),
    "withdrawn": Look("off", "return", _("Withdrawn")),
    "expired": Look("off", "hourglass", _("Expired")),
    "abandoned": Look("off", "cross", _("Abandoned")),
    # results of single objects
    "queued": Look("off", "clock", _("Queued")),
    "planning": Look("info", "arrow", _("Plan is being made")),
    "ready": Look("run", "tick", _("Ready")),
    "succeeded": Look("run", "check", _("Done")),
    "created": Look("run", "plus", _("Created")),
    "changed": Look("info", "tilde", _("Changed")),
    "unchanged": Look("off", "equal", _("Unchanged")),
    "deleted": Look("off", "minus", _("Removed")),
    "skipped": Look("off", "skip", _("Skipped")),
    "in_sync": Look("run", "check", _("In sync")),
    "drifted": Look("wait", "tilde", _("Drifted")),
    "missing": Look("bad", "minus", _("Missing")),
    # clusters, rules, people
    "fresh": Look("run", "check", _("Live")),
    "late": Look("wait", "clock", _("Late")),
    "old": Look("bad", "octagon", _("Too old")),
    "unreachable": Look("bad", "octagon", _("Not reachable")),
    "never": Look("off", "question", _("Never seen")),
    "disconnected": Look("off", "pause", _("Not connected")),
    "active": Look("run", "check", _("Active")),
    "inactive": Look("off", "pause", _("Inactive")),
    "closed": Look("off", "pause", _("Closed")),
    "green": Look("run", "check", _("Met")),
    "amber": Look("wait", "half", _("Partly met")),
    "red": Look("bad", "octagon", _("Not met")),
}

ALIASES = {
    "impossible": "cannot_run",
    "blocked": "cannot_run",
    "pending": "waiting",
    "queue_held": "on_hold",
    "admitted": "starting",
    "stopping": "being_stopped",
    "evicted": "preempted",
    "waiting_for_decision": "planned",
    "in_the_cluster": "applied",
    "partly_applied": "partial",
    "out_of_date": "stale",
    "done": "succeeded",
    "success": "succeeded",
    "ok": "succeeded",
    "error": "failed",
    "updated": "changed",
    "removed": "deleted",
    "met": "green",
    "partly_met": "amber",
    "not_met": "red",
}


def look(state: object) -> Look:
    """The look of a state; a state without a row shows its own name, never nothing."""
    key = str(getattr(state, "value", state) or "unknown").strip().lower()
    key = key.replace("-", "_").replace(" ", "_")
    key = ALIASES.get(key, key)
    if key in STATES:
        return STATES[key]
    return Look("off", "dot", capfirst(key.replace("_", " ")))
