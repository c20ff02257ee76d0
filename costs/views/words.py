"""Quantities and money in words. Exact numbers are rounded here, for the eye alone."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from django.utils.formats import number_format
from django.utils.translation import gettext as _

from costs.money import places, rounded, shown
from costs.times import HOUR
from costs.used import GOOD_FROM, Use
from portal.web.wording import DASH, MINUS

DECIMALS = 1
#: Stands after used time that rests on a metric which says that a GPU was busy, not how busy.
FALLBACK = "*"


def hours(seconds: Fraction | int) -> Decimal:
    """Return resource-hours to six places, as files have them."""
    return shown(Fraction(seconds) * Fraction(1, HOUR))


def hours_text(seconds: Fraction | int, decimals: int = DECIMALS) -> str:
    """Return resource-hours as pages show them: "5,376.0"."""
    found = shown(Fraction(seconds) * Fraction(1, HOUR), decimals)
    text = number_format(abs(found), decimal_pos=decimals, force_grouping=True)
    return f"{MINUS}{text}" if found < 0 else text


def fine_hours_text(seconds: Fraction | int) -> str:
    """Return resource-hours of single jobs, of which some minutes may be all: "0.04"."""
    return hours_text(seconds, 2)


def devices_text(number: Fraction) -> str:
    """Return a mean number of devices with one decimal: "13.5"."""
    return hours_text(number * HOUR)


def money_text(amount: Fraction | Decimal, currency: str) -> str:
    """Return an amount with the decimal places of its currency, without its code."""
    found = rounded(amount, currency)
    text = number_format(abs(found), decimal_pos=places(currency), force_grouping=True)
    return f"{MINUS}{text}" if found < 0 else text


def rate_text(rate: Decimal) -> str:
    """Return a rate without zeros at its end, and with two places at least."""
    plain = rate.normalize()
    exponent = plain.as_tuple().exponent
    decimals = max(2, -exponent if isinstance(exponent, int) else 0)
    return number_format(rate, decimal_pos=decimals, force_grouping=True)


def percent_text(part: Fraction) -> str:
    """Return a part of the whole as a percentage without decimals, never rounded up to 100."""
    whole = int(part * 100) if part < 1 else round(part * 100)
    return _("%(n)s %%") % {"n": number_format(whole)}


def share_text(part: Fraction) -> str:
    """Return a part of the whole as a percentage with one decimal."""
    found = shown(part * 100, DECIMALS)
    text = number_format(abs(found), decimal_pos=DECIMALS)
    return _("%(n)s %%") % {"n": f"{MINUS}{text}" if found < 0 else text}


def seen_text(use: Use | None) -> str:
    """Return how much of the running time was looked at."""
    return DASH if use is None or use.coverage is None else percent_text(use.coverage)


def use_text(use: Use | None) -> tuple[str, str]:
    """Return used time, and beside it how much of the running time was looked at.

    Below the coverage that allows a number there is none. One that rests on a worse metric has
    a mark.
    """
    if use is None or use.coverage is None:
        return DASH, _("not measured")
    seen = percent_text(use.coverage)
    if not use.known:
        return DASH, _("only %(part)s seen, too little for a number") % {"part": seen}
    said = _("at least; %(part)s seen") if use.coverage < GOOD_FROM else _("%(part)s seen")
    note, text = said % {"part": seen}, hours_text(use.least)
    if not use.fallback:
        return text, note
    part = percent_text(Fraction(use.fallback, use.seen))
    worse = _("%(seen)s, %(part)s of it by utilisation alone") % {"seen": note, "part": part}
    return f"{text}{FALLBACK}", worse


def unit(resource: str) -> str:
    """Return the unit of a pool's hours: whole GPUs, or whatever its device is called."""
    if resource.endswith("/gpu"):
        return _("GPU-h")
    return _("h of %(resource)s") % {"resource": resource.rpartition("/")[2]}
