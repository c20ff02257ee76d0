"""Moves rows of the reconciliation from state to state, by their table and one UPDATE.

It is the move of :mod:`tenants.models.states` without its signal: what hears that one looks for
the quota request that a row belongs to, and these belong to none.
"""

from __future__ import annotations

from typing import Any, TypeVar

from django.db.models import F
from django.utils.translation import gettext as _

from portal.web.errors import Stale
from tenants.models.states import StateRow

Row = TypeVar("Row", bound=StateRow)


def move(row: Row, to: str, **fields: Any) -> Row:
    """Move ``row`` to the state ``to`` and set ``fields`` in the same UPDATE.

    ``Stale`` when it is not in a state from which ``to`` may be reached, or no longer.
    """
    model = type(row)
    found = model._default_manager.filter(pk=row.pk, state__in=model.sources(to))
    changed = found.update(state=to, version=F("version") + 1, **fields)
    row.refresh_from_db()
    if not changed:
        sentence = _("This is in the state %(state)s by now.")
        facts = {"state": row.state}
        raise Stale(sentence % facts, code="GP-5104", details=facts)
    return row
