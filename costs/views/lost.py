"""GPU-hours that jobs have lost with their places, by cause, and who bears them."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final, NamedTuple

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from costs.lost import FAILED, PREEMPTED, LostRule
from costs.money import PLACES
from costs.money import shown as places_of
from costs.selectors.generated import generated
from costs.selectors.lost import (
    NOTHING,
    LostMonth,
    Worth,
    lost_month,
    rule_of,
)
from costs.selectors.pricing import book_of
from costs.times import moment
from costs.views import files, places, sections, shown
from costs.views.asked import asked, exactly, query
from costs.views.chart import percent
from costs.views.lost_rows import FIRST, amount, given, groups
from costs.views.policy_words import lost_text
from costs.views.words import fine_hours_text, hours, share_text
from portal.web.pages import page
from portal.web.wording import number
from queues.history_texts import cause as cause_text
from tenants import access
from tenants.models import Tenant

HEAD: Final = (
    "at", "tenant", "cluster", "queue", "namespace", "job", "workload", "cause", "flavor",
    "devices", "ran_since", "checkpoint_at", "lost_s", "lost_h", "given_back_s", "given_back_by",
    "why", "worth", "given_back", "currency",
)  # fmt: skip


class CauseRow(NamedTuple):
    """One cause with its bar."""

    label: str
    note: str
    evictions: str
    hours: str
    share: str
    width: str
    key: str


@require_safe
@login_required
def lost(request: HttpRequest, slug: str) -> HttpResponse:
    """Show what a tenant's jobs have lost in a month."""
    row = access.tenant(request.user, slug, "tenant.numbers")
    wanted = asked(request)
    book = book_of(wanted.month)
    found = lost_month(row, wanted.month, book=book)
    names = access.can(request.user, "tenant.jobs", row)
    money = book.prices.currency if book and access.can(request.user, "tenant.costs", row) else ""
    rule = rule_of(book, wanted.month)
    alike = groups(found, money, names=names)
    context: dict[str, Any] = {
        "tenant": row, "asked": wanted, "date": moment(wanted.month.span.starts).date(),
        "links": places.months(wanted, wanted.place),
        "sections": sections.of_tenant(request, row, "tenant-lost", query(wanted.month, wanted.place)),
        "csv": reverse("tenant-lost-csv", args=[slug]) + query(wanted.month, None),
        "figures": _figures(found, rule, money) if found.evictions else [],
        "causes": causes(found, money), "book": book, "money": money,
        "gives": rule.gives or bool(found.whole.back), "words": lost_text(rule) if book else [],
        "groups": alike, "first": alike[:FIRST], "others": alike[FIRST:], "evictions": found.evictions, "names": names,
        "more": found.evictions - sum(each.count for each in alike),
        "crumbs": [{"label": str(row), "url": reverse("tenant", args=[slug])}],
    }  # fmt: skip
    return page(request, "costs/lost.html", context)


@require_safe
@login_required
def lost_csv(request: HttpRequest, slug: str) -> HttpResponse:
    """Give every eviction of the month as a file."""
    row = access.tenant(request.user, slug, "tenant.numbers")
    wanted = exactly(request)
    book = book_of(wanted.month)
    found = lost_month(row, wanted.month, None, book)
    names = access.can(request.user, "tenant.jobs", row)
    money = book.prices.currency if book and access.can(request.user, "tenant.costs", row) else ""
    cells, made = _cells(row, found, money, names=names), generated().within(wanted.month.span)
    return files.response(["lost", slug, str(wanted.month)], HEAD, cells, made=made)


def _figures(found: LostMonth, rule: LostRule, money: str) -> list[shown.Figure]:
    whole = found.whole
    figures = [
        shown.Figure("lost", _("Lost"), fine_hours_text(found.lost), _("GPU-h since the last known checkpoint")),
        shown.Figure("evictions", _("Evictions"), number(found.evictions), _("jobs lost their place")),
    ]  # fmt: skip
    if money:
        note = _("%(currency)s at the list price of the hour") % {"currency": money}
        figures.append(shown.Figure("worth", _("Worth"), amount(whole.amount, money), note))
    if rule.gives or whole.back:
        part = _("%(hours)s GPU-h") % {"hours": fine_hours_text(whole.back)}
        value = amount(whole.credit, money) if money else fine_hours_text(whole.back)
        note = _("%(currency)s for %(part)s") % {"currency": money, "part": part} if money else _("GPU-h by the policy")  # fmt: skip
        figures.append(shown.Figure("back", _("Given back"), value, note))
    return figures


def causes(found: LostMonth, money: str = "") -> list[CauseRow]:
    """Return the causes with the part of the loss that each has."""
    most = max((each.lost for each in found.causes), default=0)
    return [
        CauseRow(
            label=capfirst(cause_text(each.cause)),
            note=_note(each.worth, money),
            evictions=number(each.evictions),
            hours=fine_hours_text(each.lost),
            share=share_text(Fraction(each.lost, found.lost)) if found.lost else "",
            width=percent(Fraction(each.lost * 10_000, most)) if most else "0",
            key=_kind(each.cause),
        )
        for each in found.causes
    ]


def _note(worth: Worth, money: str) -> str:
    """Say what the work of a cause is worth, and what of it is given back."""
    said = []
    if money:
        said.append(_("worth %(amount)s %(currency)s") % {"amount": amount(worth.amount, money), "currency": money})  # fmt: skip
    if worth.back:
        unit = money or _("GPU-h")
        said.append(_("%(amount)s %(unit)s given back") % {"amount": given(worth, money), "unit": unit})  # fmt: skip
    return " · ".join(said)


def _kind(cause: str) -> str:
    """Return whose doing a cause is, which colours its bar."""
    if cause in FAILED:
        return "platform"
    return "taker" if cause in PREEMPTED else "tenant"


def _cells(
    tenant: Tenant, found: LostMonth, money: str, *, names: bool
) -> Iterator[list[files.Cell]]:
    for each in found.rows:
        worth = found.worth.get(each.pk, NOTHING)
        job = [each.namespace, each.job, each.workload] if names else ["", "", ""]
        times = [
            None if at is None else f"{at:%Y-%m-%dT%H:%M:%SZ}"
            for at in (each.ran_since, each.saved_at)
        ]
        by = "" if not worth.back else "taker" if worth.taker else "platform"
        yield [
            f"{each.at:%Y-%m-%dT%H:%M:%SZ}", tenant.slug, each.cluster, each.queue, *job, each.cause,
            each.flavor, each.devices, *times, each.lost, hours(each.lost), worth.back, by,
            worth.why if each.lost else "", *(_plain(part, money) for part in (worth.amount, worth.credit)),
            money or None,
        ]  # fmt: skip


def _plain(amount: Fraction | None, money: str) -> Decimal | None:
    return None if amount is None or not money else places_of(amount, PLACES)
