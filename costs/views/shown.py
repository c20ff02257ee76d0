"""A tenant's month as its page says it: figures, days, hours by quality, amounts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Final, NamedTuple

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from costs.facts import Quality
from costs.money import shown as places
from costs.policy import Base
from costs.reason_texts import BASES
from costs.selectors.hours import Sums
from costs.selectors.months import Day
from costs.selectors.pricing import Line, Priced
from costs.times import moment
from costs.views.words import hours_text, money_text, rate_text, seen_text, use_text
from portal.web.wording import DASH

QUANTITIES: Final[Sequence[tuple[str, Callable[[Sums], int]]]] = (
    ("committed", lambda sums: sums.committed),
    ("held", lambda sums: sums.held),
    ("own", lambda sums: sums.own),
    ("borrowed", lambda sums: sums.borrowed),
    ("lent", lambda sums: sums.lent),
    ("idle", lambda sums: sums.idle),
)
LABELS: Final = {
    "committed": gettext_lazy("Committed"),
    "held": gettext_lazy("Held"),
    "own": gettext_lazy("Own"),
    "borrowed": gettext_lazy("Borrowed"),
    "lent": gettext_lazy("Lent out"),
    "idle": gettext_lazy("Idle"),
    "used": gettext_lazy("Used"),
}
NOTES: Final = {
    "committed": gettext_lazy("quota of the tenant's queues"),
    "held": gettext_lazy("own and borrowed"),
    "own": gettext_lazy("held within the quota"),
    "borrowed": gettext_lazy("held above the quota"),
    "lent": gettext_lazy("unused quota that others had"),
    "idle": gettext_lazy("quota that nobody had"),
}
QUALITIES: Final = {
    Quality.OBSERVED: gettext_lazy("observed"),
    Quality.ESTIMATED: gettext_lazy("estimated"),
    Quality.PARTIAL: gettext_lazy("partly observed"),
    Quality.MISSING: gettext_lazy("missing"),
}


class Figure(NamedTuple):
    """One large number with what it is."""

    key: str
    label: str
    value: str
    note: str


@dataclass(frozen=True, slots=True)
class DayRow:
    """One day of the table; a day of which nothing is known has no numbers at all."""

    day: Day
    date: date
    values: list[str]
    used: str
    seen: str
    hours: str


@dataclass(frozen=True, slots=True)
class Row:
    """One basis with its price and amount; ``gap`` says what is not in the amount."""

    basis: str
    quantity: str
    rate: str
    amount: str
    charged: bool
    gap: str


@dataclass(frozen=True, slots=True)
class Shown:
    """What hours cost by one book, and why there is no sum where there is none."""

    name: str
    purpose: str
    version: int
    currency: str
    rows: list[Row]
    due: str
    why_not: str


def exact(part: Fraction) -> Decimal:
    """Return a part of the whole as files have it, to six places."""
    return places(part)


def figures(sums: Sums) -> list[Figure]:
    """Return the seven quantities."""
    found = [
        Figure(key, str(LABELS[key]), hours_text(of(sums)), str(NOTES[key]))
        for key, of in QUANTITIES
    ]
    used, seen = use_text(sums.use)
    return [*found, Figure("used", str(LABELS["used"]), used, seen)]


def day_rows(days: Sequence[Day]) -> list[DayRow]:
    """Return the days that have begun."""
    return [_day(day) for day in days if day.counted or day.missing or day.late]


def _day(day: Day) -> DayRow:
    values = [hours_text(of(day.sums)) if day.sums else DASH for _key, of in QUANTITIES]
    use = day.sums.use if day.sums else None
    used, _words = use_text(use)
    return DayRow(day, moment(day.starts).date(), values, used, seen_text(use), _hours(day))


def _hours(day: Day) -> str:
    found = [(day.counted, _("counted"))] if day.counted else []
    words = {each: str(QUALITIES[each]) for each in (Quality.ESTIMATED, Quality.PARTIAL)}
    found += [(day.known[each], word) for each, word in words.items() if day.known[each]]
    found += [(day.missing, str(QUALITIES[Quality.MISSING]))] if day.missing else []
    found += [(day.late, _("not counted yet"))] if day.late else []
    return " · ".join(f"{number} {word}" for number, word in found)


def amounts(found: Priced) -> Shown:
    """Return what hours cost by a book; charged amounts are rounded so that they add up."""
    currency = found.book.prices.currency
    rounded = found.settled()
    return Shown(
        name=found.book.name,
        purpose=found.book.purpose,
        version=found.book.version,
        currency=currency,
        rows=[_row(line, rounded.get(line.basis), currency) for line in found.lines],
        due="" if found.due is None else money_text(found.due, currency),
        why_not="" if found.due is not None else _why_not(found),
    )


def _row(line: Line, charged: Decimal | None, currency: str) -> Row:
    exact = line.charged if charged is None else charged
    amount = line.amount if exact is None else exact
    return Row(
        basis=str(BASES[line.basis]),
        quantity=hours_text(line.seconds) if line.seconds or not line.unknown else DASH,
        rate=_rate(line),
        amount=money_text(amount, currency) if line.priced else "",
        charged=line.charged is not None,
        gap=_gap(line),
    )


def _rate(line: Line) -> str:
    """Return the rate, or the lowest and the highest of those that held."""
    edges = sorted(line.rates)
    return f" {DASH} ".join(dict.fromkeys(map(rate_text, (edges[0], edges[-1])))) if edges else DASH


def _gap(line: Line) -> str:
    found = []
    if line.unpriced and line.rates:
        found.append(_("%(n)s without a price") % {"n": hours_text(line.unpriced)})
    if line.unknown:
        found.append(_("%(n)s hours not measured") % {"n": line.unknown})
    return " · ".join(found)


def _why_not(found: Priced) -> str:
    """Say why nothing is due that could be named."""
    if found.policy is None or found.without_policy:
        return _("No policy says what tenants pay in all of these hours, so nothing is added up.")
    if found.policy.base is Base.HELD:
        return _(
            "The policy charges held time as a part of the pool's bill; a price list cannot tell it."
        )
    missing = [str(BASES[x.basis]) for x in found.lines if x.charged is not None and not x.whole]
    return _("No sum: what is charged has no price or was not measured (%(bases)s).") % {
        "bases": ", ".join(missing)
    }
