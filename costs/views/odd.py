"""What should not hold devices, in words for the page of a pool."""

from __future__ import annotations

from datetime import timedelta
from typing import NamedTuple

from django.utils import timezone

from costs.selectors.odd_pods import Odd
from costs.views.words import hours_text


class OddRow(NamedTuple):
    """One line of a list."""

    of: Odd
    hours: str


def rows(found: list[Odd]) -> list[OddRow]:
    """Return lines with the device-hours that each has taken up to now."""
    now = timezone.now()
    return [
        OddRow(each, hours_text(each.devices * max(0, (now - each.since) // timedelta(seconds=1))))
        for each in found
    ]
