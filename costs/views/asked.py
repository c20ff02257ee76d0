"""Which month and pool an address asks for."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from django.http import Http404, HttpRequest, QueryDict
from django.utils import timezone
from django.utils.translation import gettext as _

from costs.selectors.months import Month
from costs.selectors.tenant_month import Place
from costs.times import instant

# ASCII alone, and years that have a neighbour on both sides.
_MONTH: Final = re.compile(r"(20[0-9]{2}|21[0-9]{2})-(0[1-9]|1[0-2])")
_PLACE: Final = re.compile(r"([a-z0-9-]{1,40})/([a-z0-9.-]{1,253})/([A-Za-z0-9./_-]{1,317})")


class Asked(NamedTuple):
    """What was asked for; ``wrong`` names the parameters that cannot be what they say.

    ``now`` is in seconds of UTC, ``current`` the month that it is in.
    """

    month: Month
    place: Place | None
    now: int
    current: Month
    wrong: tuple[str, ...]

    @property
    def previous(self) -> Month | None:
        """Return the month before, unless there cannot be one."""
        return self.month.moved(-1) if self.month > _EARLIEST else None

    @property
    def following(self) -> Month | None:
        """Return the month after, as long as it has begun."""
        return self.month.moved(1) if self.month < self.current else None


_EARLIEST: Final = Month(2000, 1)
KEYS: Final = ("month", "pool")


def asked(request: HttpRequest) -> Asked:
    """Read month and pool; what cannot be one is left out and named, and never an error."""
    now = timezone.now()
    current = Month(now.year, now.month)
    month, place = _month(request.GET), _place(request.GET)
    given = {"month": month, "pool": place}
    wrong = tuple(key for key, found in given.items() if request.GET.get(key) and found is None)
    return Asked(month or current, place, instant(now), current, wrong)


def exactly(request: HttpRequest) -> Asked:
    """Read what a program asks for, once and not empty: it must not get what it has not named."""
    wanted = asked(request)
    odd = any(request.GET.getlist(key)[1:] or request.GET.get(key) == "" for key in KEYS)
    if wanted.wrong or odd:
        raise Http404(_("No such month or pool."))
    return wanted


def _month(query: QueryDict) -> Month | None:
    match = _MONTH.fullmatch(query.get("month", ""))
    return Month(int(match[1]), int(match[2])) if match else None


def _place(query: QueryDict) -> Place | None:
    match = _PLACE.fullmatch(query.get("pool", ""))
    return Place(*match.groups()) if match else None


def query(month: Month, place: Place | None) -> str:
    """Return the query of an address for a month and a pool."""
    found = QueryDict(mutable=True)
    found["month"] = str(month)
    if place:
        found["pool"] = str(place)
    return f"?{found.urlencode(safe='/')}"
