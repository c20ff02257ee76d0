"""How a queue's line moves, and how sure its places are, in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from kube.queue_order import Strategy
from queues.models import QueueOrder
from queues.selectors.ahead import Sure, certainty


@dataclass(frozen=True, slots=True)
class Note:
    """One remark, with the icon that stands before it."""

    icon: str
    text: str


SURE: Final[Mapping[Sure, tuple[str, str | Promise]]] = {
    Sure.KUEUE: ("check", _("Kueue lists the same places.")),
    Sure.OWN: ("", _("The places follow Kueue's rules and were not compared lately.")),
    Sure.ESTIMATE: (
        "question",
        _("The places are an estimate: the cluster does not show all they depend on."),
    ),
}
BY_USE: Final = _("Entries that used little of late come first, then priority, then age.")
BY_AGE: Final = _("The highest priority comes first, then the oldest.")
STRICT: Final = _("Strictly in order: nobody passes the first, even when it waits for long.")
PASSING: Final = _("A job further back starts first when it fits and those before it do not.")


def told(order: QueueOrder | None, agreed: str) -> list[Note]:
    """Say by which rule the line moves (``agreed``: as the catalog has it), and how sure it is."""
    sure = certainty(order)
    strict = (order.strategy if order and order.strategy else agreed) == Strategy.STRICT
    rule = f"{BY_USE if sure.by_use else BY_AGE} {STRICT if strict else PASSING}"
    icon, words = SURE[sure.sure]
    return [Note("", rule), *([Note(icon, str(words))] if order else [])]
