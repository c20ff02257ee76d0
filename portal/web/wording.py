"""Numbers, times and texts in words, as every page says them."""

from __future__ import annotations

import json
import unicodedata
from datetime import date, datetime, timedelta
from decimal import Decimal, InvalidOperation

from django.utils import timezone
from django.utils.formats import date_format, number_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

DASH = "\N{EN DASH}"
MINUS = "\N{MINUS SIGN}"
MINUTE, HOUR, DAY = 60, 3600, 86400
MOST_DIGITS = 24
BINARY = (("Pi", 2**50), ("Ti", 2**40), ("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10))


def spell(seconds: float) -> str:
    """A span of time in its one largest unit that still says enough."""
    seconds = max(0, int(seconds))
    if seconds < MINUTE:
        return _("%(n)s s") % {"n": seconds}
    if seconds < HOUR:
        return _("%(n)s min") % {"n": seconds // MINUTE}
    if seconds < 2 * DAY:
        return _("%(n)s h") % {"n": seconds // HOUR}
    return _("%(n)s d") % {"n": seconds // DAY}


def exact(when: datetime) -> str:
    """The full local time with its zone, for titles."""
    local = timezone.localtime(when) if timezone.is_aware(when) else when
    return f"{local.isoformat(' ')[:19]} {local.tzname() or ''}".strip()


def freshness_class(seconds: float, period: float) -> str:
    """fresh up to twice the interval, late up to ten times, old beyond."""
    if seconds > 10 * period:
        return "is-old"
    return "is-late" if seconds > 2 * period else "is-fresh"


def moment(value: datetime | date | None) -> str | SafeString:
    """A point in time as a machine-readable element: "29 Nov 14:02"."""
    if value is None:
        return DASH
    if not isinstance(value, datetime):
        return format_html(
            '<time datetime="{}">{}</time>', value.isoformat(), date_format(value, "j M Y")
        )
    local = timezone.localtime(value) if timezone.is_aware(value) else value
    return _time(value, local, _day(local) + " H:i")


def clock(value: datetime) -> SafeString:
    """When something happened, to the second if it was today: "14:02:41", else "28 Nov 14:02"."""
    local = timezone.localtime(value)
    today = local.date() == timezone.localdate()
    return _time(value, local, "H:i:s" if today else _day(local) + " H:i")


def _day(local: datetime) -> str:
    return "j M" if local.year == timezone.localdate().year else "j M Y"


def _time(value: datetime, local: datetime, style: str) -> SafeString:
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        value.isoformat(),
        exact(value),
        date_format(local, style),
    )


def duration(value: float | timedelta | None) -> str:
    """Seconds or a timedelta as "41 min"."""
    if value is None:
        return DASH
    return spell(value.total_seconds() if isinstance(value, timedelta) else float(value))


def decimal(value: object) -> Decimal | None:
    """Read anything as a number that can be written out, or as none.

    A cluster may hold a text like 1e999999; rounding that fails, and no page could show it.
    """
    if value is None or value == "":
        return None
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        return None
    return number if number.is_finite() and number.adjusted() < MOST_DIGITS else None


def plain(value: object, places: int = 2) -> str:
    """A number with grouped thousands and no trailing zeros; a dash when there is none."""
    if isinstance(value, int) and 0 <= value < 1000:  # most numbers of a page
        return str(int(value))
    number = decimal(value)
    if number is None:
        return DASH
    rounded = round(number, places)
    if rounded == rounded.to_integral_value():
        return number_format(int(rounded), force_grouping=True)
    return number_format(rounded.normalize(), force_grouping=True)


def gpus(value: object) -> str:
    """A count of GPUs with its unit: "16 GPUs", "1 GPU"."""
    number = decimal(value)
    if number is None:
        return DASH
    one_or_more = 1 if number == 1 else 2
    return ngettext("%(n)s GPU", "%(n)s GPUs", one_or_more) % {"n": plain(number)}


def is_resource(unit: str) -> bool:
    """Tell a resource name, whose amounts carry their own unit, from a word for a unit."""
    return "/" in unit or unit in {"cpu", "memory", "ephemeral-storage", "bytes"}


def quantity(value: object, resource: str = "") -> str:
    """A resource amount, given in its smallest unit, in the unit that people use.

    `resource` is a Kubernetes resource name: "memory" is bytes and reads as GiB, "cpu" is
    thousandths and reads as CPUs, any device reads as a count of GPUs. Without it, or with any
    other word, the bare number stays.
    """
    number = decimal(value)
    if number is None:
        return DASH
    if resource in {"memory", "ephemeral-storage", "bytes"}:
        return _bytes(number)
    if resource == "cpu":
        return _("%(n)s CPU") % {"n": plain(number / 1000)}
    if resource.lower() in {"gpu", "gpus"} or "/" in resource:
        return gpus(number)
    return plain(number)


def _bytes(number: Decimal) -> str:
    for unit, size in BINARY:
        if abs(number) >= size:
            return f"{plain(number / size)} {unit}B"
    return f"{plain(number, 0)} B"


def number(value: object) -> str:
    """A bare number with grouped thousands."""
    return plain(value)


def signed(value: object) -> str:
    """A difference with its sign, zero included."""
    amount = decimal(value)
    if amount is None:
        return DASH
    sign = "+" if amount > 0 else MINUS if amount < 0 else "±"
    return f"{sign}{plain(abs(amount))}"


def visible(text: object) -> str:
    """Text in which characters that hide or turn other text, or command a terminal, are codes."""
    said = str(text)
    if said.isprintable():  # has none of them, as nearly every text
        return said
    return "".join(f"\\u{ord(char):04x}" if _is_hidden(char) else char for char in said)


def _is_hidden(char: str) -> bool:
    return unicodedata.category(char) in ("Cf", "Cc") and char not in "\n\t"


def shown(value: object) -> str:
    """A value of a diff as text: nothing is a dash, a switch is yes or no."""
    if value is None or value == "":
        return DASH
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if isinstance(value, int | Decimal):
        return plain(value, 6)
    return visible(value if isinstance(value, str) else json.dumps(value, default=str))
