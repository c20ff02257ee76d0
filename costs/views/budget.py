"""A tenant's budget of a month: what is spent of it, what it will be, and how to set it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final, NamedTuple, cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_safe

from costs.forms.budget import TIME, BudgetForm
from costs.models import Budget, PriceBook
from costs.money import places as decimals
from costs.selectors.budget import Spending, charging, spending
from costs.selectors.generated import generated
from costs.selectors.months import DAY, Month
from costs.services import budgets
from costs.spending import NEAR, Alarm, alarms
from costs.times import HOUR, moment
from costs.views import files, places, sections, shown
from costs.views.asked import Asked, asked, exactly, query
from costs.views.chart import percent
from costs.views.words import hours, hours_text, money_text, share_text
from portal.web.errors import DomainError
from portal.web.pages import page
from portal.web.wording import DASH
from tenants import access
from tenants.models import Tenant, User

HEAD: Final = ("day", "tenant", "unit", "spent", "spent_in_total", "left", "hours_known")
HEIGHT: Final = 200
_TOP: Final = 12

_SAID: Final = {
    Alarm.OVER: ("bad", "octagon", gettext_lazy("The budget is spent")),
    Alarm.NEAR: ("wait", "half", gettext_lazy("More than 80 % of the budget is spent")),
    Alarm.FORECAST: ("wait", "clash", gettext_lazy("The month is likely to cost more than its budget")),
    Alarm.MAYBE: ("wait", "question", gettext_lazy("The month may cost more than its budget")),
}  # fmt: skip


class DayRow(NamedTuple):
    """One day of the table."""

    date: Any
    spent: str
    total: str
    left: str
    known: int
    partly: bool


class Burn(NamedTuple):
    """The picture: what is left at the end of each day, and the wedge of the forecast."""

    width: int
    line: str
    even: str
    wedge: str
    likely: str
    zero: int
    ticks: list[tuple[int, str, int]]
    days: list[tuple[str, int]]
    today: str
    height: int = HEIGHT


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def budget(request: HttpRequest, slug: str) -> HttpResponse:
    """Show a budget and what is spent of it; set one with a POST."""
    posted = request.method == "POST"
    row = access.tenant(request.user, slug, "tenant.budget" if posted else "tenant.costs")
    wanted = asked(request)
    books = list(charging())
    form = BudgetForm(request.POST, offered=books) if posted else None
    if form is not None and form.is_valid() and _set(request, row, wanted.month, form):
        messages.success(request, _("The budget is set."))
        return redirect(reverse("tenant-budget", args=[slug]) + query(wanted.month, None))
    found = spending(row.pk, wanted.month, wanted.now)
    context = _context(request, row, wanted, found) | {
        "form": form or _form(found.budget, books),
        "may_set": (posted or wanted.month >= wanted.current)
        and access.can(request.user, "tenant.budget", row),
    }  # fmt: skip
    return page(request, "costs/budget.html", context, status=422 if posted else 200)


def _set(request: HttpRequest, row: Tenant, month: Month, form: BudgetForm) -> bool:
    """Set what was sent; what a rule has against it stands beside its field."""
    try:
        budgets.set_budget(
            actor=cast(User, request.user), tenant=row, month=moment(month.span.starts).date(),
            book=form.book, amount=form.cleaned_data["amount"],
        )  # fmt: skip
    except DomainError as refusal:
        form.add_error(
            refusal.field if refusal.field in form.fields else None, str(refusal.message)
        )
        return False
    return True


def _form(found: Budget | None, books: Sequence[PriceBook]) -> BudgetForm:
    initial: dict[str, Any] = {"unit": TIME}
    if found:
        initial = {"unit": str(found.book_id) if found.book_id else TIME, "amount": _plain(found)}
    return BudgetForm(offered=books, initial=initial)


def _plain(found: Budget) -> str:
    amount = found.amount or Decimal(0)
    return str(round(amount, decimals(found.book.currency) if found.book else 1))


@require_safe
@login_required
def budget_csv(request: HttpRequest, slug: str) -> HttpResponse:
    """Give the days of the page as a file."""
    row = access.tenant(request.user, slug, "tenant.costs")
    wanted = exactly(request)
    found = spending(row.pk, wanted.month, wanted.now)
    made = generated().within(wanted.month.span)
    return files.response(["budget", slug, str(wanted.month)], HEAD, _cells(row, found), made=made)


class Words(NamedTuple):
    """How amounts of a budget are written: money, or hours of what is in seconds."""

    currency: str

    def text(self, amount: Fraction) -> str:
        """Return an amount for the eye."""
        return money_text(amount, self.currency) if self.currency else hours_text(amount)

    def cell(self, amount: Fraction) -> Decimal:
        """Return an amount for a file."""
        return shown.exact(amount) if self.currency else hours(amount)

    @property
    def unit(self) -> str:
        """Return what amounts are of."""
        return self.currency or _("GPU-h held")


def _words(found: Spending) -> Words:
    return Words(found.budget.book.currency if found.budget and found.budget.book else "")


def limit(found: Spending) -> Fraction | None:
    """Return the budget in the unit of what is spent: resource-seconds, or money."""
    if found.budget is None or found.budget.amount is None:
        return None
    whole = Fraction(found.budget.amount)
    return whole if found.budget.book else whole * HOUR


def _context(request: HttpRequest, row: Tenant, wanted: Asked, found: Spending) -> dict[str, Any]:
    words, most = _words(found), limit(found)
    return {
        "tenant": row, "asked": wanted, "date": moment(wanted.month.span.starts).date(),
        "links": places.months(wanted, None), "found": found, "unit": words.unit,
        "sections": sections.of_tenant(request, row, "tenant-budget", query(wanted.month, wanted.place)),
        "csv": reverse("tenant-budget-csv", args=[row.slug]) + query(wanted.month, None),
        "figures": _figures(found, words, most),
        "alarms": [
            (each, *_SAID[each]) for each in (alarms(most, found.spent, found.forecast) if most else [])
        ],
        "burn": burn(found, most, words, wanted.now) if most else None,
        "rows": list(_rows(found, words, most, wanted.now)),
        "known": any(day.known for day in found.days),
        "crumbs": [{"label": str(row), "url": reverse("tenant", args=[row.slug])}],
    }  # fmt: skip


def _figures(found: Spending, words: Words, most: Fraction | None) -> list[shown.Figure]:
    spent = shown.Figure("spent", _("Spent"), words.text(found.spent), words.unit)
    if most is None:
        return [spent]
    part = Fraction(found.spent, most)
    key = "alarm" if part >= 1 else "spent"
    expected = found.forecast
    figures = [
        shown.Figure("budget", _("Budget"), words.text(most), words.unit),
        spent._replace(key=key, note=_("%(part)s of the budget") % {"part": share_text(part)}),
        shown.Figure("left", _("Left"), words.text(most - found.spent), words.unit),
    ]
    if expected is None:
        note = _("too few whole days are known")
        return [*figures, shown.Figure("forecast", _("Forecast"), DASH, note)]
    band = _("%(low)s to %(high)s, by the last %(n)s days") % {
        "low": words.text(expected.low), "high": words.text(expected.high), "n": expected.days,
    }  # fmt: skip
    over = "alarm" if expected.likely > most else "forecast"
    return [*figures, shown.Figure(over, _("Forecast"), words.text(expected.likely), band)]


def _rows(found: Spending, words: Words, most: Fraction | None, now: int) -> Iterator[DayRow]:
    so_far = Fraction(0)
    for day in found.days:
        if day.starts >= now:
            return
        so_far += day.amount or 0
        yield DayRow(
            moment(day.starts).date(),
            DASH if day.amount is None else words.text(day.amount),
            words.text(so_far),
            DASH if most is None else words.text(most - so_far),
            day.known,
            day.known + day.ahead < DAY // HOUR or day.amount is None,
        )


def _cells(row: Tenant, found: Spending) -> Iterator[list[files.Cell]]:
    words, most, so_far = _words(found), limit(found), Fraction(0)
    for day in found.days:
        if day.known == 0 and day.ahead == DAY // HOUR:
            return
        so_far += day.amount or 0
        yield [
            moment(day.starts).date(), row.slug, words.currency or TIME,
            None if day.amount is None else words.cell(day.amount), words.cell(so_far),
            None if most is None else words.cell(most - so_far), day.known,
        ]  # fmt: skip


def burn(found: Spending, most: Fraction, words: Words, now: int) -> Burn:
    """Draw what is left of a budget: known days as a line, the rest of the month as a wedge."""
    left = [most]
    begun = [day for day in found.days if day.starts < now]
    for day in begun:
        left.append(left[-1] - (day.amount or 0))
    ends = [left[-1]]
    if found.forecast:
        ends += [most - each for each in found.forecast[1:]]
    lowest = min(Fraction(0), *left, *ends)
    size = most - lowest

    def y(amount: Fraction) -> int:
        return _TOP + round(Fraction((most - amount) * (HEIGHT - _TOP), size))

    width, at = len(found.days), len(begun)
    points = [f"{n} {y(amount)}" for n, amount in enumerate(left)]
    wedge = likely = ""
    if found.forecast and at < width:
        here, low, high = y(left[-1]), y(most - found.forecast.low), y(most - found.forecast.high)
        wedge = f"M{at} {here}L{width} {low}V{high}Z"
        likely = f"M{at} {here}L{width} {y(most - found.forecast.likely)}"
    marks = [most, most * (1 - NEAR), Fraction(0)]
    slot = Fraction(10_000, max(1, width))
    return Burn(
        width=width, line="M" + "L".join(points), even=f"M0 {y(most)}L{width} {y(Fraction(0))}",
        wedge=wedge, likely=likely, zero=y(Fraction(0)),
        ticks=[(y(each), words.text(each), y(each) + 4) for each in marks],
        days=[(percent(slot * n), n + 1) for n in range(0, width, 7)],
        today=percent(slot * at) if at < width else "",
    )  # fmt: skip
