"""How much of the admitted time was used, and how much of it anybody looked at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import date
from fractions import Fraction
from typing import Any, Final, NamedTuple

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_safe

from costs.facts import Pool
from costs.selectors import efficiency as select
from costs.selectors.efficiency import Ratio, TenantRatio
from costs.selectors.generated import generated
from costs.selectors.months import DAY
from costs.selectors.pool_month import pools_of
from costs.selectors.tenant_month import Place, TenantMonth, tenant_month
from costs.times import hours as hours_of
from costs.times import moment
from costs.used import GOOD_FROM
from costs.views import files, places, sections, shown
from costs.views.asked import Asked, asked, exactly, query
from costs.views.chart import percent
from costs.views.words import hours, hours_text, percent_text, share_text, unit
from portal.web.pages import page
from portal.web.wording import DASH
from tenants import access

HEAD: Final = (
    "day", "tenant", "cluster", "flavor", "resource", "admitted_h", "used_least_h", "used_most_h",
    "efficiency_least", "efficiency_most", "seen_s", "expected_s",
)  # fmt: skip
HEAD_MONTH: Final = ("month", *HEAD[1:])
HEIGHT: Final = 180
_WEEK: Final = 7


class Line(NamedTuple):
    """One day or tenant in words."""

    label: Any
    url: str
    admitted: str
    used: str
    share: str
    note: str
    seen: str
    unused: str
    bar: tuple[str, str, str]


class Column(NamedTuple):
    """One day of the chart: used for certain, what may be used above it, or not known at all."""

    x: str
    width: str
    slot_x: str
    slot_width: str
    middle: str
    label: str
    known: bool
    missing: bool
    least: int
    rest: int
    title: str


@require_safe
@login_required
def tenant(request: HttpRequest, slug: str) -> HttpResponse:
    """Show a month of a tenant in one pool by day."""
    row = access.tenant(request.user, slug, "tenant.numbers")
    wanted = asked(request)
    found = tenant_month(row.pk, wanted.month, wanted.place, wanted.now)
    days = select.by_day(found.facts)
    whole = select.ratio(found.facts)
    context: dict[str, Any] = {
        "tenant": row, "asked": wanted, "place": found.place,
        "date": moment(wanted.month.span.starts).date(),
        "places": places.of_tenant(wanted, found),
        "links": places.months(wanted, wanted.place and found.place),
        "sections": sections.of_tenant(request, row, "tenant-efficiency", query(wanted.month, wanted.place)),
        "csv": reverse("tenant-efficiency-csv", args=[slug]) + query(wanted.month, found.place),
        "unit": unit(found.place.resource) if found.place else "",
        "crumbs": [{"label": str(row), "url": reverse("tenant", args=[slug])}],
    }  # fmt: skip
    if days:
        missing = _missing(found)
        context |= {
            "figures": _figures(whole),
            "measured": whole.use is not None,
            "height": HEIGHT,
            "columns": list(_columns(wanted, days)),
            "lines": [
                _line(_date(start), "", each, missing.get(start, 0)) for start, each in days.items()
            ],
            "total": _line(_("Month"), "", whole, sum(missing.values())),
        }
    return page(request, "costs/efficiency.html", context)


@require_safe
@login_required
def tenant_csv(request: HttpRequest, slug: str) -> HttpResponse:
    """Give the table of the page as a file, a row for each day with a known hour."""
    row = access.tenant(request.user, slug, "tenant.numbers")
    wanted = exactly(request)
    found = tenant_month(row.pk, wanted.month, wanted.place, wanted.now)
    name = ["efficiency", slug, *(found.place or ()), str(wanted.month)]
    made = generated().within(wanted.month.span, places.clusters(found.place))
    return files.response(name, HEAD, _cells(row.slug, found), made=made)


@require_safe
@login_required
def cluster(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the tenants of a pool, those that leave the most unused first."""
    row = access.cluster(request.user, slug, "cluster.details")
    wanted = places.of_one_cluster(asked(request), slug)
    pools = pools_of(row.pk, wanted.month)
    here = places.chosen(slug, wanted, pools)
    found = []
    if here:
        found = select.by_tenant(row.pk, wanted.month, Pool(here.flavor, here.resource))
    whole = select.total(found)
    context = {
        "cluster": row, "asked": wanted, "place": here,
        "date": moment(wanted.month.span.starts).date(),
        "places": places.of_cluster(slug, wanted, pools, here),
        "links": places.months(wanted, wanted.place),
        "sections": sections.of_cluster(slug, "cluster-efficiency", query(wanted.month, wanted.place)),
        "csv": reverse("cluster-efficiency-csv", args=[slug]) + query(wanted.month, here),
        "unit": unit(here.resource) if here else "",
        "figures": _figures(whole) if found else [], "measured": whole.use is not None,
        "lines": [_line(each.name, _url(each, wanted, here), each.ratio) for each in found],
        "total": _line(_("All"), "", whole),
        "crumbs": [
            {"label": _("Clusters"), "url": reverse("clusters")},
            {"label": str(row), "url": reverse("cluster", args=[slug])},
        ],
    }  # fmt: skip
    return page(request, "costs/efficiency.html", context)


@require_safe
@login_required
def cluster_csv(request: HttpRequest, slug: str) -> HttpResponse:
    """Give the tenants of a pool as a file."""
    row = access.cluster(request.user, slug, "cluster.details")
    wanted = places.of_one_cluster(exactly(request), slug)
    if wanted.wrong:
        raise Http404(_("No such month or pool."))
    here = places.chosen(slug, wanted, pools_of(row.pk, wanted.month))
    found = []
    if here:
        found = select.by_tenant(row.pk, wanted.month, Pool(here.flavor, here.resource))
    cells = ([str(wanted.month), *_numbers(each.slug, here, each.ratio)] for each in found)
    name = ["efficiency", *(here or (slug,)), str(wanted.month)]
    made = generated().within(wanted.month.span, [slug])
    return files.response(name, HEAD_MONTH, cells, made=made)


def _url(row: TenantRatio, wanted: Asked, here: Any) -> str:
    if not row.slug:
        return ""
    return reverse("tenant-efficiency", args=[row.slug]) + query(wanted.month, here)


def _missing(found: TenantMonth) -> Counter[int]:
    """Return how many hours of each day nobody watched, by its start: they are in no sum."""
    gone = (hour for each in found.unknown if not each.heard for hour in hours_of(each.span))
    return Counter(hour.starts - hour.starts % DAY for hour in gone)


def _date(start: int) -> date:
    return moment(start).date()


def _figures(whole: Ratio) -> list[shown.Figure]:
    known = whole.use if whole.share is not None else None
    return [
        shown.Figure("share", _("Efficiency"), _share(whole), _("used by admitted time")),
        shown.Figure("admitted", _("Admitted"), hours_text(whole.admitted), _("jobs had their place")),
        shown.Figure("used", _("Used"), hours_text(known.least) if known else DASH, _note(whole)),
        shown.Figure("unused", _("Not used"), hours_text(whole.unused) if whole.unused is not None else DASH, _("admitted and not used, at most")),
    ]  # fmt: skip


def _share(found: Ratio) -> str:
    return DASH if found.share is None else share_text(found.share)


def _note(found: Ratio) -> str:
    """Say how well a ratio is known."""
    if not found.admitted:
        return _("nothing was admitted")
    if found.coverage is None:
        return _("not measured")
    seen = percent_text(found.coverage)
    if found.share is None:
        return _("only %(part)s seen, too little for a number") % {"part": seen}
    if found.coverage < GOOD_FROM:
        return _("at least; %(part)s seen") % {"part": seen}
    return _("%(part)s seen") % {"part": seen}


def _with_missing(note: str, hours: int) -> str:
    """Add how many hours are in no sum of a line."""
    if not hours:
        return note
    said = ngettext("%(n)s hour missing", "%(n)s hours missing", hours) % {"n": hours}
    return f"{note} · {said}"


def _line(label: Any, url: str, found: Ratio, missing: int = 0) -> Line:
    known = found.use if found.share is not None else None
    return Line(
        label=label, url=url, admitted=hours_text(found.admitted),
        used=hours_text(known.least) if known else DASH,
        share=_share(found), note=_with_missing(_note(found), missing),
        seen=DASH if found.coverage is None else percent_text(found.coverage),
        unused=DASH if found.unused is None else hours_text(found.unused),
        bar=_bar(found),
    )  # fmt: skip


def _bar(found: Ratio) -> tuple[str, str, str]:
    """Return where a bar of used time ends, and how far that may be off."""
    least, most = _cut(found.share), _cut(found.most)
    return percent(least * 10_000), percent(least * 10_000), percent((most - least) * 10_000)


def _cut(share: Fraction | None) -> Fraction:
    return min(Fraction(1), max(Fraction(0), share or Fraction(0)))


def _columns(wanted: Asked, days: dict[int, Ratio]) -> Iterator[Column]:
    span = wanted.month.span
    slot = Fraction(10_000 * DAY, span.seconds)
    for number, start in enumerate(range(span.starts, span.ends, DAY)):
        found = days.get(start)
        least, most = (_cut(found.share), _cut(found.most)) if found else (Fraction(0),) * 2
        day = _date(start)
        left = slot * number
        yield Column(
            x=percent(left + slot * Fraction(12, 100)), width=percent(slot * Fraction(76, 100)),
            slot_x=percent(left), slot_width=percent(slot),
            middle=percent(left + slot * Fraction(1, 2)),
            label=str(day.day) if day.day % _WEEK == 1 else "",
            known=found is not None and found.share is not None,
            missing=start < wanted.now and (found is None or (found.share is None and found.admitted > 0)),
            least=round(least * HEIGHT), rest=round(most * HEIGHT) - round(least * HEIGHT),
            title=f"{day:%F}: {_share(found)} {_note(found)}" if found else f"{day:%F}",
        )  # fmt: skip


def _cells(slug: str, found: TenantMonth) -> Iterator[list[files.Cell]]:
    for start, each in select.by_day(found.facts).items():
        yield [_date(start), *_numbers(slug, found.place, each)]


def _numbers(slug: str, place: Place | None, each: Ratio) -> list[files.Cell]:
    """Return the numbers of a line; those that are not known are empty, never 0."""
    known = each.use if each.share is not None else None
    ratios = [None if x is None else shown.exact(x) for x in (each.share, each.most)]
    return [
        slug, *(place or ("", "", "")), hours(each.admitted),
        hours(known.least) if known else None, hours(known.most) if known else None, *ratios,
        each.use.seen if each.use else None, each.use.expected if each.use else None,
    ]  # fmt: skip
