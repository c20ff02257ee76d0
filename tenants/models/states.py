"""State machines: a table, one conditional UPDATE, a check constraint.

A model with states inherits ``StateRow``, names its ``State`` choices and its ``TRANSITIONS``.
``move`` is the only way from one state to another.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, TypeVar

from django.db import models
from django.db.models import F
from django.dispatch import Signal
from django.utils import timezone
from django.utils.translation import gettext as _

from portal.web.errors import Stale

# Sent when a row looks different to people, inside the transaction. Argument: row.
moved = Signal()


class StateRow(models.Model):
    """A row with a state and a version that counts its changes."""

    TRANSITIONS: ClassVar[Mapping[str, frozenset[str]]] = {}

    state = models.CharField(max_length=16)
    version = models.PositiveIntegerField(default=1, editable=False)

    class Meta:
        abstract = True

    @classmethod
    def sources(cls, to: str) -> list[str]:
        """Return the states from which ``to`` may be reached."""
        return sorted(source for source, targets in cls.TRANSITIONS.items() if to in targets)


Row = TypeVar("Row", bound=StateRow)


def move(row: Row, to: str, **fields: Any) -> Row:
    """Move ``row`` to the state ``to`` and set ``fields`` in the same UPDATE.

    Raises ``Stale`` when the row is not in a state from which ``to`` may be reached, which is
    also how the second of two racing movers learns that it lost.
    """
    model = type(row)
    if any(each.name == "updated_at" for each in model._meta.concrete_fields):
        # An UPDATE of a queryset leaves auto_now alone, and lists show the time of this step.
        fields.setdefault("updated_at", timezone.now())
    changed = model._default_manager.filter(pk=row.pk, state__in=model.sources(to)).update(
        state=to, version=F("version") + 1, **fields
    )
    row.refresh_from_db()
    if not changed:
        words = dict(model._meta.get_field("state").flatchoices)  # type: ignore[union-attr]
        sentence = _("This is “%(state)s” by now, so it cannot become “%(to)s”.")
        facts = {"state": words.get(row.state, row.state), "to": words.get(to, to)}
        raise Stale(sentence % facts, code="GP-1101", details={"state": row.state})
    moved.send(model, row=row)
    return row
