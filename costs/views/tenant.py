"""A tenant's month: how much of its quota it had, what others had of it, and what that costs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from costs.facts import Quality
from costs.selectors.generated import generated
from costs.selectors.hours import Sums
from costs.selectors.months import Day
from costs.selectors.pricing import all_priced
from costs.selectors.tenant_month import TenantMonth, tenant_month
from costs.times import moment
from costs.views import exports, files, places, sections, shown, unknown
from costs.views.asked import asked, exactly, query
from costs.views.chart import chart
from costs.views.statement import listed
from costs.views.words import hours, unit
from portal.web.pages import page
from tenants import access
from tenants.models import Tenant

_SECONDS: Final = tuple(f"{key}_s" for key, _of in shown.QUANTITIES)
_HOURS: Final = tuple(f"{key}_h" for key, _of in shown.QUANTITIES)
#: What was noted of missing hours, which are in no other column: a statement counts it too.
_GUESSED: Final = ("committed", "held", "borrowed", "lent")
_MISSING: Final = tuple(f"missing_{key}_s" for key in _GUESSED)
HEAD: Final = (
    "day", "tenant", "cluster", "flavor", "resource", *_SECONDS, *_HOURS, "used_h", "used_seen_s",
    "used_expected_s", "hours_counted", "hours_estimated", "hours_partial", "hours_missing",
    "hours_not_counted_yet", *_MISSING,
)  # fmt: skip


@require_safe
@login_required
def costs(request: HttpRequest, slug: str) -> HttpResponse:
    """Show a month of a tenant in one pool; money only to those who may read it."""
    row = access.tenant(request.user, slug, "tenant.numbers")
    wanted = asked(request)
    found = tenant_month(row.pk, wanted.month, wanted.place, wanted.now)
    sees_money = access.can(request.user, "tenant.costs", row)
    context: dict[str, Any] = {
        "tenant": row, "asked": wanted, "found": found, "sees_money": sees_money,
        "places": places.of_tenant(wanted, found), "date": moment(wanted.month.span.starts).date(),
        "links": places.months(wanted, wanted.place and found.place), "csv": reverse("tenant-costs-csv", args=[slug]) + query(wanted.month, found.place),
        "sections": sections.of_tenant(request, row, "tenant-costs", query(wanted.month, wanted.place)),
        "crumbs": [{"label": str(row), "url": reverse("tenant", args=[slug])}],
    }  # fmt: skip
    if found.days:
        cluster = found.place.cluster if found.place else ""
        context |= _month(found)
        context["files"] = exports.of_tenant(request, row, wanted.month, cluster)
    if sees_money:
        context["statements"] = listed(row)
        internal = bool(access.rights(request.user).platform)
        priced = all_priced(wanted.month, found.facts, internal=internal) if found.facts else []
        context["books"] = [shown.amounts(each) for each in priced if each.lines]
    return page(request, "costs/tenant.html", context)


def _month(found: TenantMonth) -> dict[str, Any]:
    total, known = found.total, found.known
    return {
        "figures": shown.figures(total) if total else [],
        "chart": chart(found.days),
        "over": total is not None and total.over > 0,
        "rows": shown.day_rows(found.days),
        "labels": [shown.LABELS[key] for key, _of in shown.QUANTITIES],
        "unit": unit(found.place.resource) if found.place else "",
        "qualities": [(each, known[each], shown.QUALITIES[each]) for each in Quality],
        "missing": known[Quality.MISSING],
        "partial": known[Quality.PARTIAL],
        **unknown.context(found.unknown, found.guess, _both(found)),
        "late": sum(day.late for day in found.days),
        "counted_to": moment(found.counted_to) if found.counted_to else None,
    }


def _both(found: TenantMonth) -> list[unknown.Both]:
    """Return what a statement may count: of the hours that were watched, and of the missing ones."""
    watched, noted = found.total, found.guess.sums if found.guess else Sums()
    return unknown.both(
        [
            (
                str(shown.LABELS[key]),
                getattr(watched, key) if watched else None,
                getattr(noted, key),
            )
            for key in _GUESSED
        ]
    )


@require_safe
@login_required
def costs_csv(request: HttpRequest, slug: str) -> HttpResponse:
    """Give the table of the page as a file, a row for each day that has begun."""
    row = access.tenant(request.user, slug, "tenant.numbers")
    wanted = exactly(request)
    found = tenant_month(row.pk, wanted.month, wanted.place, wanted.now)
    name = ["costs", slug, *(found.place or ()), str(wanted.month)]
    made = generated().within(wanted.month.span, places.clusters(found.place))
    return files.response(name, HEAD, _rows(row, found), made=made)


def _rows(tenant: Tenant, found: TenantMonth) -> Iterator[list[files.Cell]]:
    for each in shown.day_rows(found.days):
        guess = found.guesses.get(each.day.starts)
        noted = [getattr(guess.sums, key) if guess else None for key in _GUESSED]
        yield [each.date, tenant.slug, *(found.place or ()), *_cells(each.day), *noted]


def _cells(day: Day) -> list[files.Cell]:
    """Return the numbers of a day; those that are not known are empty, never 0."""
    sums = day.sums
    seconds = [of(sums) if sums else None for _key, of in shown.QUANTITIES]
    use = sums.use if sums else None
    return [
        *seconds,
        *(None if each is None else hours(each) for each in seconds),
        hours(use.least) if use and use.known else None,
        use.seen if use else None,
        use.expected if use else None,
        day.counted,
        day.known[Quality.ESTIMATED],
        day.known[Quality.PARTIAL],
        day.missing,
        day.late,
    ]
