"""What each reason reads as, as tables: one code, one or more templates.

The first template whose every value is known is used, so the fullest comes first and the last
one needs nothing that could be missing. Values appear in bold; a template holds no markup.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from queues.reason_texts.help import HELP
from queues.reason_texts.holding import CHECK, TOPOLOGY
from queues.reason_texts.running import ENDED, RUNNING, STOPPED
from queues.reason_texts.waiting import ORDER, QUOTA, REQUEST, ROUTING, VARIANTS

Texts = tuple[str | Promise, ...]

MAKING_ROOM: Final = {
    0: _("Jobs are being stopped to make room."),
    1: _("One job is being stopped to make room."),
    2: _("{preempting} jobs are being stopped to make room."),
}

#: What is said behind the sentence when a parameter is there.
BEHIND: Final[Mapping[str, Texts]] = {
    "over": (_("The queue holds {over} more than it may by now."),),
    "deadline": (_("It has time until {deadline}."),),
}

TEXTS: Final[Mapping[str, Texts]] = {
    **RUNNING, **ENDED, **STOPPED, **ROUTING, **REQUEST, **QUOTA, **CHECK, **TOPOLOGY, **ORDER,
}  # fmt: skip

# Why a job was stopped for another, in the middle of a sentence.
BECAUSE: Final[Mapping[str, str | Promise]] = {
    "priority": _("for a job of higher priority in its queue"),
    "reclaimed": _("because another queue took back what it had lent"),
    "fair_sharing": _("because its queue held more than its fair share"),
    "reclaimed_while_borrowing": _("because it was on borrowed quota that another queue needs"),
    "unknown": _("for another job"),
    # The cluster's own words for the same.
    "prioritization in the ClusterQueue": _("for a job of higher priority in its queue"),
    "reclamation within the cohort": _("because another queue took back what it had lent"),
    "reclamation within the cohort while borrowing": _(
        "because it was on borrowed quota that another queue needs"
    ),
    "Fair Sharing within the cohort": _("because its queue held more than its fair share"),
    "UNKNOWN": _("for another job"),
}

# What a waiting job waits for, by the stage at which it stands.
WAITS_FOR: Final[Mapping[str, str | Promise]] = {
    "order": _("Waiting for its turn"),
    "quota": _("Waiting for quota"),
    "check": _("Waiting for a check"),
    "topology": _("Waiting for a place"),
    "pods": _("Waiting for pods"),
}

__all__ = [
    "BECAUSE", "BEHIND", "HELP", "MAKING_ROOM", "TEXTS", "VARIANTS", "WAITS_FOR", "Texts",
]  # fmt: skip
