"""A month of a pool for the platform: who had it, what was sold of it, where its time went."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, NamedTuple

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from costs.facts import Pool
from costs.selectors.hours import Sums
from costs.selectors.odd_pods import odd_pods
from costs.selectors.pool_month import Devices, Fall, PoolMonth, TenantRow, pool_month
from costs.selectors.tenant_month import Place
from costs.times import moment
from costs.used import Use
from costs.views import exports, odd, places, sections, shown, unknown
from costs.views.asked import asked, query
from costs.views.chart import percent
from costs.views.words import hours_text, money_text, seen_text, share_text, unit, use_text
from costs.waterfall import Row
from portal.web.pages import page
from tenants import access

_USED: Final = "used"
_NAME: Final = "tenant"
FIRST: Final = "-committed"
_OF: Final = dict(shown.QUANTITIES)

#: What stands in each row, from the top down.
ROWS: Final = {
    Row.UNWATCHED: (gettext_lazy("Missing hours"), gettext_lazy("nobody watched or counted them: what became of the devices is not known")),
    Row.GAP: (gettext_lazy("Billing gap"), gettext_lazy("billed beyond what was seen of the nodes")),
    Row.ORPHAN: (gettext_lazy("Not in the cluster"), gettext_lazy("machines that are billed and were no nodes")),
    Row.DOWN: (gettext_lazy("Down"), gettext_lazy("nodes that were not ready")),
    Row.UNSOLD: (gettext_lazy("Unsold"), gettext_lazy("promised to nobody, cordoned devices too")),
    Row.POOL: (gettext_lazy("Departments' own"), gettext_lazy("their own quota, not borrowed")),
    Row.IDLE: (gettext_lazy("Idle"), gettext_lazy("quota of tenants that nobody had")),
    Row.WAITING: (gettext_lazy("Waiting"), gettext_lazy("reserved, an admission check is open")),
    Row.STARTING: (gettext_lazy("Starting"), gettext_lazy("admitted, no pod runs yet")),
    Row.ADMITTED: (gettext_lazy("Admitted"), gettext_lazy("pods were not watched: what of it ran is not known")),
    Row.TERMINATING: (gettext_lazy("Terminating"), gettext_lazy("pods whose quota is gone")),
    Row.UNMANAGED: (gettext_lazy("Without quota"), gettext_lazy("pods that bypass Kueue")),
    Row.WASTE: (gettext_lazy("Running, not used"), gettext_lazy("devices of pods that did nothing")),
    Row.USED: (gettext_lazy("Used"), gettext_lazy("as the devices measured it")),
    Row.USED_UNKNOWN: (gettext_lazy("Running"), gettext_lazy("how much of it was used is not known")),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Line:
    """One tenant of the table."""

    row: TenantRow
    url: str
    values: list[str]
    used: str
    seen: str


class Step(NamedTuple):
    """One row of the waterfall: where its bar begins, how long it is, in percent."""

    key: str
    label: str
    note: str
    hours: str
    share: str
    x: str
    width: str
    money: str = ""


@require_safe
@login_required
def costs(request: HttpRequest, slug: str) -> HttpResponse:
    """Show a month of a pool with all its tenants."""
    row = access.cluster(request.user, slug, "cluster.details")
    wanted = places.of_one_cluster(asked(request), row.slug)
    place = wanted.place
    pool = Pool(place.flavor, place.resource) if place else None
    found = pool_month(row.pk, wanted.month, pool, wanted.now)
    here = Place(slug, *found.pool) if found.pool else None
    strange = odd_pods(row.pk)
    context: dict[str, Any] = {
        "cluster": row, "asked": wanted, "found": found, "date": moment(wanted.month.span.starts).date(),
        "links": places.months(wanted, wanted.place),
        "sections": sections.of_cluster(slug, "cluster-costs", query(wanted.month, wanted.place)),
        "places": places.of_cluster(slug, wanted, found.pools, here), "place": here, "sorts": _sorts(),
        "odd": strange, "pods": odd.rows(strange.pods), "orphans": odd.rows(strange.orphans),
        "crumbs": [
            {"label": _("Clusters"), "url": reverse("clusters")},
            {"label": str(row), "url": reverse("cluster", args=[slug])},
        ],
    }  # fmt: skip
    if here and found.counted:
        context |= {
            "unit": unit(here.resource),
            "files": exports.of_cluster(row, found.month),
            "figures": _figures(found.devices),
            "lines": lines(found, here, request.GET.get("sort", "")),
            "total": _values(found.total),
            **unknown.context(found.unknown, found.guess, _both(found)),
            "steps": steps(found.fall, found.total.use),
            "crowded": unknown.clocks(found.fall.crowded),
            "unwatched": unknown.clocks(found.fall.unwatched),
            "whole": hours_text(found.fall.whole),
            "whole_width": percent(Fraction(found.fall.whole, extent(found.fall) or 1) * 10_000),
        }
        if found.fall.currency:
            context |= _money(found.fall)
    return page(request, "costs/cluster.html", context)


def _sorts() -> list[tuple[str, str]]:
    """Return the columns that have a number, in their order."""
    return [(key, str(shown.LABELS[key])) for key in (*_OF, _USED)]


def lines(found: PoolMonth, here: Place, sort: str) -> list[Line]:
    """Return the tenants in the order of a column; any other word is the first order."""
    return [
        Line(row, _url(row, found, here), *_values(row.sums))
        for row in ordered(found.tenants, sort)
    ]


def ordered(rows: Sequence[TenantRow], sort: str) -> list[TenantRow]:
    """Sort tenants by a column, ``-`` before it for the largest first; equal ones by name."""
    key = sort.removeprefix("-")
    by = _OF.get(key) or (_used if key == _USED else None)
    named = sorted(rows, key=lambda row: (row.name, row.slug))
    if key == _NAME:
        return named[::-1] if sort.startswith("-") else named
    if by is None:
        return ordered(rows, FIRST)
    measured: Callable[[Sums], Fraction | int] = by
    back = sort.startswith("-")
    return sorted(named, key=lambda row: measured(row.sums), reverse=back)


def _used(sums: Sums) -> Fraction:
    """Return used time to sort by; what is not known comes below all that is."""
    return sums.use.least if sums.use and sums.use.known else Fraction(-1)


def _url(row: TenantRow, found: PoolMonth, here: Place) -> str:
    if not row.slug:
        return ""
    return reverse("tenant-costs", args=[row.slug]) + query(found.month, here)


def _values(sums: Sums) -> tuple[list[str], str, str]:
    used, _words = use_text(sums.use)
    return [hours_text(of(sums)) for of in _OF.values()], used, seen_text(sums.use)


def _both(found: PoolMonth) -> list[unknown.Both]:
    noted = found.guess.sums if found.guess else Sums()
    names = ("committed", "held", "borrowed", "lent")
    return unknown.both(
        [(str(shown.LABELS[key]), getattr(found.total, key), getattr(noted, key)) for key in names]
    )


def _figures(devices: Devices) -> list[shown.Figure]:
    found = [
        ("ready", _("Ready"), devices.ready, _("devices of nodes that take pods")),
        ("cordoned", _("Cordoned"), devices.cordoned, _("of nodes that take no new pods")),
        ("down", _("Down"), devices.down, _("of nodes that were not ready")),
        ("committed", _("Committed"), devices.committed, _("quota of all tenants")),
    ]
    if devices.departments:
        said = _("quota of departments themselves")
        found.append(("departments", _("Departments"), devices.departments, said))
    over = devices.unsold < 0
    note = _("more is promised than is ready") if over else _("ready and promised to nobody")
    key = "unsold alarm" if over else "unsold"
    found.append((key, _("Unsold"), devices.unsold, note))
    return [shown.Figure(key, label, hours_text(of), note) for key, label, of, note in found]


def _named(row: Row, fall: Fall, use: Use | None) -> tuple[str, str]:
    """Return label and note of a row; a gap below nothing is one of the bill."""
    known = use.least - fall.rows[Row.USED] if use else Fraction(0)
    if row is Row.USED_UNKNOWN and 0 < known <= fall.rows[row]:
        said = _("not seen of all devices: at least %(used)s was used, as tenants have it above")
        return _("Running"), said % {"used": hours_text(known)}
    if row is Row.GAP and fall.rows[row] < 0:
        return _("Not billed"), _("seen in the cluster beyond what is billed")
    label, note = ROWS[row]
    return str(label), str(note)


def steps(fall: Fall, use: Use | None = None) -> list[Step]:
    """Return the rows that are not nothing, each beginning where the one above it ends.

    ``use`` is that of all tenants: the row of running devices says how much of it is theirs.
    What the rows leave over is one too: then the counts contradict each other. A row below
    nothing is the last, and goes back over the end of the others.
    """
    parts = [
        (row.value, *_named(row, fall, use), fall.rows[row], fall.money.get(row)) for row in ROWS
    ]
    left = fall.whole - sum((part for *_words, part, _cost in parts), Fraction(0))
    words = _("Not explained"), _("the counts contradict each other")
    parts.append(("unexplained", *words, left, None))
    found: list[Step] = []
    at, over = Fraction(0), extent(fall)
    for key, label, note, part, cost in sorted(parts, key=lambda each: each[3] < 0):
        if part and fall.whole:
            share, length = Fraction(part, fall.whole), Fraction(part, over)
            x, width = percent(min(at, at + length) * 10_000), percent(abs(length) * 10_000)
            money = money_text(cost, fall.currency) if cost is not None else ""
            found.append(
                Step(key, label, note, hours_text(part), share_text(share), x, width, money)
            )
            at += length
    return found


def extent(fall: Fall) -> Fraction:
    """Return how far the rows reach: to the whole, and beyond it where one is below nothing."""
    return fall.whole - sum((min(Fraction(0), part) for part in fall.rows.values()), Fraction(0))


def _money(fall: Fall) -> dict[str, str]:
    """Return what was billed for the pool, and what of it stands in no row."""
    return {
        "currency": fall.currency,
        "cost": money_text(fall.cost, fall.currency),
        "elsewhere": money_text(fall.elsewhere, fall.currency) if fall.elsewhere else "",
    }
