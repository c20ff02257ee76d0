"""How much of a quota, and of a pool's devices, was held: over a month, and by hour of the week."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, Final, NamedTuple

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from costs.facts import Pool
from costs.selectors.generated import generated
from costs.selectors.slots import Cell, Slot
from costs.selectors.tenant_month import Place, tenant_month
from costs.selectors.utilisation import Utilisation, of_pool, of_tenant
from costs.times import HOUR, moment
from costs.views import files, places, sections, shown
from costs.views.asked import Asked, asked, exactly, query
from costs.views.chart import percent
from costs.views.steps import steps
from costs.views.words import devices_text, hours, hours_text, share_text, unit
from portal.web.pages import page
from portal.web.wording import DASH
from tenants import access

HEAD: Final = (
    "starts", "ends", "of", "cluster", "flavor", "resource", "hours_known", "own_h", "borrowed_h",
    "held_h", "committed_h", "most_h", "lent_h", "idle_h",
)  # fmt: skip
WEEKDAYS: Final = (
    gettext_lazy("Mon"), gettext_lazy("Tue"), gettext_lazy("Wed"), gettext_lazy("Thu"),
    gettext_lazy("Fri"), gettext_lazy("Sat"), gettext_lazy("Sun"),
)  # fmt: skip
#: Shades of the heat map, each a tenth of the whole; above the whole there is a hatch.
_SHADES: Final = 10
_CELL: Final = 26
#: All of them for the key.
_KEY: Final = (
    *((str(n), f"{n * 10}{DASH}{n * 10 + 9}") for n in range(_SHADES)), (str(_SHADES), "100"),
)  # fmt: skip


class Row(NamedTuple):
    """One slot of the table, in mean devices."""

    starts: Any
    values: list[str]
    known: int
    of: int


class Heat(NamedTuple):
    """One hour of the week: where it lies, how dark it is, and what it says."""

    x: str
    width: str
    y: int
    shade: str
    text: str
    dark: bool
    title: str


class HeatRow(NamedTuple):
    """One day of the week as a row of the table."""

    day: str
    y: int
    text: int
    cells: list[Heat]


@require_safe
@login_required
def tenant(request: HttpRequest, slug: str) -> HttpResponse:
    """Show how much of its quota a tenant held in a month, in one pool."""
    row = access.tenant(request.user, slug, "tenant.numbers")
    wanted = asked(request)
    month = tenant_month(row.pk, wanted.month, wanted.place, wanted.now)
    found = of_tenant(month, row.slug)
    here = query(wanted.month, month.place)
    context = _context(wanted, found) | {
        "tenant": row, "place": month.place, "places": places.of_tenant(wanted, month),
        "links": places.months(wanted, wanted.place and month.place),
        "sections": sections.of_tenant(request, row, "tenant-utilisation", query(wanted.month, wanted.place)),
        "csv": reverse("tenant-utilisation-csv", args=[slug]) + here,
        "other": _("lent out"), "most": _("at most with borrowing"),
        "unit": unit(month.place.resource) if month.place else "",
        "crumbs": [{"label": str(row), "url": reverse("tenant", args=[slug])}],
    }  # fmt: skip
    return page(request, "costs/utilisation.html", context)


@require_safe
@login_required
def tenant_csv(request: HttpRequest, slug: str) -> HttpResponse:
    """Give the slots of the chart as a file."""
    row = access.tenant(request.user, slug, "tenant.numbers")
    wanted = exactly(request)
    month = tenant_month(row.pk, wanted.month, wanted.place, wanted.now)
    found = of_tenant(month, row.slug)
    name = ["utilisation", slug, *(month.place or ()), str(wanted.month)]
    made = generated().within(wanted.month.span, places.clusters(month.place))
    return files.response(name, HEAD, _cells(found.slots, row.slug, month.place), made=made)


@require_safe
@login_required
def cluster(request: HttpRequest, slug: str) -> HttpResponse:
    """Show how much of a pool's devices was held in a month."""
    row = access.cluster(request.user, slug, "cluster.details")
    wanted = places.of_one_cluster(asked(request), slug)
    pools, found = of_pool(row.pk, wanted.month, _pool(wanted))
    here = places.chosen(slug, wanted, pools)
    context = _context(wanted, found) | {
        "cluster": row, "place": here, "places": places.of_cluster(slug, wanted, pools, here),
        "links": places.months(wanted, wanted.place),
        "sections": sections.of_cluster(slug, "cluster-utilisation", query(wanted.month, wanted.place)),
        "csv": reverse("cluster-utilisation-csv", args=[slug]) + query(wanted.month, here),
        "other": _("lent to borrowers"), "most": _("devices that were ready"),
        "unit": unit(here.resource) if here else "",
        "crumbs": [
            {"label": _("Clusters"), "url": reverse("clusters")},
            {"label": str(row), "url": reverse("cluster", args=[slug])},
        ],
    }  # fmt: skip
    return page(request, "costs/utilisation.html", context)


@require_safe
@login_required
def cluster_csv(request: HttpRequest, slug: str) -> HttpResponse:
    """Give the slots of a pool as a file."""
    row = access.cluster(request.user, slug, "cluster.details")
    wanted = places.of_one_cluster(exactly(request), slug)
    if wanted.wrong:
        raise Http404(_("No such month or pool."))
    pools, found = of_pool(row.pk, wanted.month, _pool(wanted))
    here = places.chosen(slug, wanted, pools)
    name = ["utilisation", *(here or (slug,)), str(wanted.month)]
    made = generated().within(wanted.month.span, [slug])
    return files.response(name, HEAD, _cells(found.slots, "*", here), made=made)


def _pool(wanted: Asked) -> Pool | None:
    return Pool(wanted.place.flavor, wanted.place.resource) if wanted.place else None


def _context(wanted: Asked, found: Utilisation) -> dict[str, Any]:
    return {
        "asked": wanted,
        "date": moment(wanted.month.span.starts).date(),
        "found": found,
        "chart": steps(found.slots, wanted.now),
        "rows": [_row(slot) for slot in found.slots if slot.span.starts < wanted.now],
        "figures": _figures(found),
        "heat": heat(found.week),
        "shades": _KEY,
        "missing": sum(
            slot.span.seconds // HOUR - slot.known
            for slot in found.slots
            if slot.span.ends <= wanted.now
        ),
    }


def _figures(found: Utilisation) -> list[shown.Figure]:
    total = found.total
    if total is None:
        return []
    known = [slot for slot in found.slots if slot.sums]
    peak = max(slot.average(slot.sums.held) for slot in known if slot.sums)
    share = Fraction(total.held, total.committed) if total.committed else None
    return [
        shown.Figure("share", _("Held of quota"), DASH if share is None else share_text(share), _("held by committed hours")),
        shown.Figure("peak", _("Most at once"), devices_text(peak), _("mean of three hours")),
        shown.Figure("own", str(shown.LABELS["own"]), hours_text(total.own), str(shown.NOTES["own"])),
        shown.Figure("borrowed", str(shown.LABELS["borrowed"]), hours_text(total.borrowed), str(shown.NOTES["borrowed"])),
        shown.Figure("lent", str(shown.LABELS["lent"]), hours_text(total.lent), str(shown.NOTES["lent"])),
        shown.Figure("idle", str(shown.LABELS["idle"]), hours_text(total.idle), str(shown.NOTES["idle"])),
    ]  # fmt: skip


def _parts(slot: Slot) -> list[int | None]:
    """Return the numbers of a slot in their order; nothing where nobody knows them."""
    sums = slot.sums
    if sums is None:
        return [None] * 7
    return [
        sums.own, sums.borrowed, sums.held, sums.committed, slot.most, sums.lent, sums.idle
    ]  # fmt: skip


def _row(slot: Slot) -> Row:
    values = [DASH if each is None else devices_text(slot.average(each)) for each in _parts(slot)]
    return Row(moment(slot.span.starts), values, slot.known, slot.span.seconds // HOUR)


def _cells(slots: Sequence[Slot], of: str, place: Place | None) -> Iterator[list[files.Cell]]:
    for slot in slots:
        times = [f"{moment(at):%Y-%m-%dT%H:%MZ}" for at in slot.span]
        numbers = [None if each is None else hours(each) for each in _parts(slot)]
        yield [*times, of, *(place or ("", "", "")), slot.known, *numbers]


def heat(week: Sequence[Sequence[Cell]]) -> list[HeatRow]:
    """Draw the hours of a week; each cell says its share in words too."""
    return [
        HeatRow(
            str(WEEKDAYS[day]),
            day * _CELL,
            day * _CELL + 17,
            [_heat(day, hour, cell) for hour, cell in enumerate(cells)],
        )
        for day, cells in enumerate(week)
    ]


def _heat(day: int, hour: int, cell: Cell) -> Heat:
    slot = Fraction(10_000, 24)
    share = cell.share
    if share is None:
        shade, text = ("none", DASH) if cell.held == 0 else ("over", "")
    else:
        tenth = min(_SHADES, int(share * _SHADES))
        shade = "over" if share > 1 else str(tenth)
        text = str(round(share * 100))
    said = _("%(day)s %(hour)s:00 UTC: %(share)s") % {
        "day": WEEKDAYS[day], "hour": f"{hour:02}", "share": DASH if share is None else share_text(share),
    }  # fmt: skip
    dark = shade == "over" or (shade.isdigit() and int(shade) >= 6)
    return Heat(percent(slot * hour), percent(slot), day * _CELL, shade, text, dark, said)
