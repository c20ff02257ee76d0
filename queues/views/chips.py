"""How many jobs there are in each state, as links that show just those."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from django.http import HttpRequest
from django.utils.translation import gettext as _

#: The order in which people ask; the first two are shown also when there are none.
STATES: Final = ("waiting", "running", "starting", "stopping", "deactivated", "finished")
ALWAYS: Final = STATES[:2]


class Chip(NamedTuple):
    """One state: how it looks, how many, and where only those are."""

    state: str
    word: str
    number: int
    url: str
    current: bool


def chips(request: HttpRequest, numbers: Mapping[str, int]) -> list[Chip]:
    """Give a link for each state that there is, and one for all."""
    asked = request.GET.get("state", "")
    known = [state for state in STATES if numbers.get(state) or state in (*ALWAYS, asked)]
    rows = [
        Chip(state, "", numbers.get(state, 0), _url(request, state), asked == state)
        for state in known
    ]
    every = Chip("", _("All"), sum(numbers.values()), _url(request, ""), asked not in STATES)
    return [every, *rows]


def _url(request: HttpRequest, state: str) -> str:
    """Give the address of the first page of these jobs, with the other filters as they are."""
    query = request.GET.copy()
    for name in ("state", "after", "before", "seen"):
        query.pop(name, None)
    if state:
        query["state"] = state
    return f"{request.path}?{query.urlencode()}" if query else request.path
