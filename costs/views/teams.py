"""A pool's month by tenant, stacked by day: the largest nine and the others, on one basis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from fractions import Fraction
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from costs.facts import Pool
from costs.selectors.generated import generated
from costs.selectors.months import DAY
from costs.selectors.pool_month import pools_of
from costs.selectors.pricing import Book, offered
from costs.selectors.teams import PRICES, Of, Team, Teams, teams
from costs.selectors.tenant_month import Place
from costs.times import HOUR, Span, moment
from costs.views import files, places, sections, shown
from costs.views.asked import Asked, asked, query
from costs.views.chart import ceiling, percent
from costs.views.words import hours, hours_text, money_text, share_text, unit
from portal.web.pages import page
from portal.web.wording import DASH, number
from tenants import access

HEAD: Final = ("day", "tenant", "cluster", "flavor", "resource", "basis", "unit", "amount")
BASES: Final = {
    Of.COMMITTED: gettext_lazy("Committed"), Of.HELD: gettext_lazy("Held"),
    Of.ADMITTED: gettext_lazy("Admitted"), Of.BORROWED: gettext_lazy("Borrowed"),
    Of.IDLE: gettext_lazy("Idle"), Of.USED: gettext_lazy("Used"),
}  # fmt: skip
HEIGHT: Final = 220
_TOP: Final = 12
_WEEK: Final = 7
OTHERS: Final = "*others"


class Chosen(NamedTuple):
    """What the chart is of: a basis, and hours or the money of a book."""

    of: Of
    book: Book | None

    @property
    def currency(self) -> str:
        """Return the currency; empty for hours."""
        return self.book.prices.currency if self.book else ""

    def text(self, amount: Fraction) -> str:
        """Return an amount for the eye."""
        return money_text(amount, self.currency) if self.currency else hours_text(amount)


class Box(NamedTuple):
    """One tenant's part of a day."""

    colour: str
    y: int
    height: int
    title: str


class Column(NamedTuple):
    """One day of the chart."""

    x: str
    width: str
    slot_x: str
    slot_width: str
    middle: str
    label: str
    gap: bool
    boxes: list[Box]


class TeamRow(NamedTuple):
    """One tenant of the table."""

    colour: str
    name: str
    url: str
    total: str
    share: str
    width: str


class DayRow(NamedTuple):
    """One day of the numbers."""

    date: date
    values: list[str]
    total: str
    gap: str


@require_safe
@login_required
def cluster(request: HttpRequest, slug: str) -> HttpResponse:
    """Show a month of a pool by tenant."""
    row = access.cluster(request.user, slug, "cluster.details")
    wanted = places.of_one_cluster(asked(request), slug)
    pools = pools_of(row.pk, wanted.month)
    here = places.chosen(slug, wanted, pools)
    using = offered(wanted.month, internal=True)
    chosen = _chosen(request, using)
    found = Teams([], {}, set())
    if here:
        pool = Pool(here.flavor, here.resource)
        found = teams(row.pk, wanted.month, pool, chosen.of, chosen.book, wanted.now)
    begun = [at for at in range(*wanted.month.span, DAY) if at < wanted.now]
    context: dict[str, Any] = {
        "cluster": row, "asked": wanted, "place": here, "chosen": chosen,
        "date": moment(wanted.month.span.starts).date(),
        "unit": chosen.currency or (unit(here.resource) if here else ""),
        "places": [
            each | {"url": f"{each['url']}{_more(chosen.of, chosen.book)}"}
            for each in places.of_cluster(slug, wanted, pools, here)
        ],
        "links": {key: url + _more(chosen.of, chosen.book) for key, url in places.months(wanted, wanted.place).items()},
        "sections": sections.of_cluster(slug, "cluster-teams", query(wanted.month, wanted.place)),
        "bases": _bases(wanted, here, chosen), "units": _units(wanted, here, chosen, using),
        "found": found, "counted": bool(pools), "columns": columns(found, wanted.month.span, chosen),
        "grid": _grid(found, chosen), "teams": _teams(found, wanted, here, chosen),
        "days": [_day(at, found, chosen) for at in begun], "height": HEIGHT,
        "total": chosen.text(sum((team.total for team in found.teams), Fraction(0))),
        "csv": reverse("cluster-teams-csv", args=[slug]) + query(wanted.month, here) + _more(chosen.of, chosen.book),
        "crumbs": [
            {"label": _("Clusters"), "url": reverse("clusters")},
            {"label": str(row), "url": reverse("cluster", args=[slug])},
        ],
    }  # fmt: skip
    return page(request, "costs/teams.html", context)


@require_safe
@login_required
def cluster_csv(request: HttpRequest, slug: str) -> HttpResponse:
    """Give what the chart shows as a file, a row for each day and tenant."""
    row = access.cluster(request.user, slug, "cluster.details")
    wanted = places.of_one_cluster(asked(request), slug)
    using = offered(wanted.month, internal=True)
    chosen = _chosen(request, using)
    asked_for = (request.GET.get("basis", chosen.of), request.GET.get("book", _key(chosen.book)))
    if wanted.wrong or asked_for != (chosen.of, _key(chosen.book)):
        raise Http404(_("No such month, pool, basis or book."))
    here = places.chosen(slug, wanted, pools_of(row.pk, wanted.month))
    found = Teams([], {}, set())
    if here:
        pool = Pool(here.flavor, here.resource)
        found = teams(row.pk, wanted.month, pool, chosen.of, chosen.book, wanted.now)
    name = ["teams", *(here or (slug,)), chosen.of, str(wanted.month)]
    made = generated().within(wanted.month.span, [slug])
    return files.response(name, HEAD, _cells(found, here, chosen), made=made)


def _chosen(request: HttpRequest, using: Sequence[Book]) -> Chosen:
    """Read basis and book; what cannot be one is held hours."""
    wanted = request.GET.get("basis", "")
    of = Of(wanted) if wanted in list(Of) else Of.HELD
    named = [book for book in using if _key(book) == request.GET.get("book")]
    return Chosen(of, named[0] if named and of in PRICES else None)


def _key(book: Book | None) -> str:
    return book.name if book else ""


def _more(of: Of, book: Book | None) -> str:
    """Return the rest of the query of an address: what the chart is of."""
    parts = {"basis": str(of)} | ({"book": book.name} if book and of in PRICES else {})
    return f"&{urlencode(parts)}"


def _bases(wanted: Asked, here: Place | None, chosen: Chosen) -> list[dict[str, object]]:
    return [
        {"label": label, "current": of is chosen.of,
         "url": query(wanted.month, here) + _more(of, chosen.book)}
        for of, label in BASES.items()
    ]  # fmt: skip


def _units(
    wanted: Asked, here: Place | None, chosen: Chosen, using: Sequence[Book]
) -> list[dict[str, object]]:
    """Return hours and the books in which the basis can be priced."""
    if chosen.of not in PRICES:
        return []
    found: list[tuple[str, Book | None]] = [(_("Hours"), None)]
    found += [(f"{book.prices.currency} · {book.name}", book) for book in using]
    return [
        {"label": label, "current": book == chosen.book,
         "url": query(wanted.month, here) + _more(chosen.of, book)}
        for label, book in found
    ]  # fmt: skip


def _colour(number_: int, team: Team) -> str:
    return "rest" if team.others or not team.slug else str(number_)


def _name(team: Team) -> str:
    if team.others:
        return _("%(n)s others") % {"n": number(team.others)}
    return team.name or _("no tenant")


def _top(found: Teams, chosen: Chosen) -> int:
    """Return the height of the scale in hours, or in whole money."""
    days = {day for team in found.teams for day in team.days}
    sums = [
        sum((team.days.get(day, Fraction(0)) for team in found.teams), Fraction(0)) for day in days
    ]
    highest = max(sums, default=Fraction(0)) * (1 if chosen.currency else Fraction(1, HOUR))
    return ceiling(max(1, -(-highest.numerator // highest.denominator)))


def _y(amount: Fraction, top: int, chosen: Chosen) -> int:
    whole = top if chosen.currency else top * HOUR
    return HEIGHT - round(amount * (HEIGHT - _TOP) * Fraction(1, whole))


def _grid(found: Teams, chosen: Chosen) -> list[tuple[int, int, int]]:
    if not found.teams:
        return []
    top = _top(found, chosen)
    whole = 1 if chosen.currency else HOUR
    return [(y, n, y + 4) for n in (top, top // 2) for y in [_y(Fraction(n * whole), top, chosen)]]


def columns(found: Teams, span: Span, chosen: Chosen) -> list[Column]:
    """Draw the days; the largest tenant stands at the bottom of each."""
    top = _top(found, chosen)
    slot = Fraction(10_000 * DAY, span.seconds)
    drawn: list[Column] = []
    for place, at in enumerate(range(*span, DAY)):
        boxes: list[Box] = []
        below = Fraction(0)
        for n, team in enumerate(found.teams):
            amount = team.days.get(at, Fraction(0))
            bottom, upper = _y(below, top, chosen), _y(below + amount, top, chosen)
            if upper < bottom:
                title = f"{moment(at):%F} {_name(team)}: {chosen.text(amount)}"
                boxes.append(Box(_colour(n, team), upper, bottom - upper, title))
            below += amount
        left, day = slot * place, moment(at).day
        drawn.append(
            Column(
                percent(left + slot * Fraction(12, 100)), percent(slot * Fraction(76, 100)),
                percent(left), percent(slot), percent(left + slot * Fraction(1, 2)),
                str(day) if day % _WEEK == 1 else "", at in found.missing or at in found.unknown, boxes,
            )
        )  # fmt: skip
    return drawn


def _teams(found: Teams, wanted: Asked, here: Place | None, chosen: Chosen) -> list[TeamRow]:
    whole = sum((team.total for team in found.teams), Fraction(0))
    most = max((team.total for team in found.teams), default=Fraction(0))
    return [
        TeamRow(
            _colour(n, team), _name(team),
            reverse("tenant-costs", args=[team.slug]) + query(wanted.month, here) if team.slug else "",
            chosen.text(team.total), share_text(Fraction(team.total, whole)) if whole else DASH,
            percent(Fraction(team.total * 10_000, most)) if most else "0",
        )
        for n, team in enumerate(found.teams)
    ]  # fmt: skip


def _day(at: int, found: Teams, chosen: Chosen) -> DayRow:
    values = [team.days.get(at, Fraction(0)) for team in found.teams]
    words = []
    if at in found.missing:
        words.append(_("%(n)s hours missing") % {"n": number(found.missing[at])})
    if at in found.unknown:
        words.append(_("not known in part"))
    return DayRow(
        moment(at).date(), [chosen.text(each) if each else DASH for each in values],
        chosen.text(sum(values, Fraction(0))), " · ".join(words),
    )  # fmt: skip


def _cells(found: Teams, here: Place | None, chosen: Chosen) -> Iterator[list[files.Cell]]:
    for team in found.teams:
        for at, amount in sorted(team.days.items()):
            value = shown.exact(amount) if chosen.currency else hours(amount)
            yield [
                moment(at).date(), OTHERS if team.others else team.slug, *(here or ("", "", "")),
                chosen.of, chosen.currency or "h", value,
            ]  # fmt: skip
