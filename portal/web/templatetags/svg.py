"""Pictures drawn on the server: they work without JavaScript, print, and are tested as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django import template
from django.utils.translation import gettext as _

from portal.web.parts import MeterLine
from portal.web.wording import is_resource, quantity

register = template.Library()


@dataclass(frozen=True, slots=True)
class Span:
    """One stretch of a bar in percent of its width."""

    part: str
    x: str
    width: str


@dataclass(frozen=True, slots=True)
class Shares:
    """What a meter line comes to: every part at least zero, whatever the cluster reported."""

    nominal: Decimal
    own: Decimal
    borrowed: Decimal
    over: Decimal
    lent: Decimal
    ghost: Decimal

    @property
    def held(self) -> Decimal:
        """Everything in use."""
        return self.own + self.borrowed + self.over

    @property
    def scale(self) -> Decimal:
        """What the whole width of the bar stands for."""
        return max(self.nominal, self.held) + self.ghost or Decimal(1)


def shares(line: MeterLine) -> Shares:
    """Split what is held into own, borrowed and over quota, and find what may still be borrowed."""

    def amount(value: object) -> Decimal:
        return max(Decimal(0), Decimal(str(value or 0)))

    nominal, held = amount(line.nominal), amount(line.held)
    outside = min(held, amount(line.borrowed))
    own = min(held - outside, nominal)
    allowed = outside
    if line.borrowing_limit is not None:
        allowed = min(outside, amount(line.borrowing_limit))
    if line.borrowable_now is not None:
        ghost = amount(line.borrowable_now)
    else:
        ghost = max(Decimal(0), amount(line.borrowing_limit) - allowed)
    return Shares(
        nominal=nominal,
        own=own,
        borrowed=allowed,
        over=held - own - allowed,
        lent=min(amount(line.lent), nominal),
        ghost=ghost,
    )


def spans(parts: Shares) -> list[Span]:
    """Where each part of the bar lies, ghost and lent first so that what is held covers them."""
    rows = [
        ("ghost", max(parts.nominal, parts.held), parts.ghost),
        ("own", Decimal(0), parts.own),
        ("lent", max(parts.own, parts.nominal - parts.lent), min(parts.lent, _idle(parts))),
        ("borrowed", parts.own, parts.borrowed),
        ("over", parts.own + parts.borrowed, parts.over),
    ]
    return [
        Span(part, _percent(start, parts.scale), _percent(size, parts.scale))
        for part, start, size in rows
        if size > 0
    ]


def _idle(parts: Shares) -> Decimal:
    return max(Decimal(0), parts.nominal - parts.own)


def _percent(value: Decimal, scale: Decimal) -> str:
    return f"{value / scale * 100:.2f}%"


def words(line: MeterLine, parts: Shares) -> list[str]:
    """The same numbers in words: "12 of 16 held", "0 borrowed", "may borrow 8", "lends up to 4"."""

    def say(value: object) -> str:
        return quantity(value, line.unit if is_resource(line.unit) and "/" not in line.unit else "")

    said = [
        _("%(held)s of %(nominal)s held") % {"held": say(line.held), "nominal": say(line.nominal)},
        _("%(n)s borrowed") % {"n": say(line.borrowed)},
    ]
    if parts.over:
        said.append(_("%(n)s over quota") % {"n": say(parts.over)})
    if line.borrowing_limit is None:
        said.append(_("may borrow what is free"))
    elif line.borrowing_limit:
        said.append(_("may borrow %(n)s") % {"n": say(line.borrowing_limit)})
    else:
        said.append(_("may not borrow"))
    if line.borrowable_now is not None and line.borrowing_limit != 0:
        said.append(_("%(n)s free to borrow now") % {"n": say(line.borrowable_now)})
    if line.lending_limit is None:
        said.append(_("lends all that is idle"))
    elif line.lending_limit:
        said.append(_("lends up to %(n)s") % {"n": say(line.lending_limit)})
    else:
        said.append(_("lends nothing"))
    if line.lent:
        said.append(_("%(n)s lent now") % {"n": say(line.lent)})
    return said


@register.inclusion_tag("parts/meter.html")
def meter(line: MeterLine) -> dict[str, Any]:
    """A quota bar: own, borrowed, over quota, lent and what could still be borrowed."""
    parts = shares(line)
    device = "/" in line.unit
    return {
        "line": line,
        "unit": "GPU" if device else "" if is_resource(line.unit) else line.unit,
        "resource": line.unit if is_resource(line.unit) and not device else "",
        "spans": spans(parts),
        "tick": _percent(parts.nominal, parts.scale),
        "over": parts.over,
        "words": words(line, parts),
    }


@dataclass(frozen=True, slots=True)
class Sample:
    """One step of a history: from this label on, so much was held."""

    label: str
    held: float
    quota: float


@register.inclusion_tag("parts/stepchart.html")
def stepchart(samples: Sequence[Any], title: str, unit: str = "") -> dict[str, Any]:
    """A step line with the quota line above it; the same numbers as a table under it."""
    top = max((max(s.held, s.quota) for s in samples), default=0) or 1
    wide, high = 1000.0, 160.0
    step = wide / max(1, len(samples))

    def y(value: float) -> float:
        return high - float(value) / float(top) * (high - 12)

    def path(values: Sequence[float]) -> str:
        points = [f"M0 {y(values[0]):.1f}"] if values else []
        for index, value in enumerate(values):
            points.append(f"V{y(value):.1f}H{(index + 1) * step:.1f}")
        return "".join(points)

    held = [s.held for s in samples]
    over = [
        (f"{i * step:.1f}", f"{step:.1f}", f"{y(s.held):.1f}", f"{y(s.quota) - y(s.held):.1f}")
        for i, s in enumerate(samples)
        if s.held > s.quota
    ]
    line = path(held)
    return {
        "samples": samples,
        "title": title,
        "unit": unit,
        "top": top,
        "held": line,
        "area": f"{line}V{high:.0f}H0Z" if line else "",
        "quota": path([s.quota for s in samples]),
        "over": over,
    }
