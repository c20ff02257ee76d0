"""GPU-hours that jobs have lost with their places, by cause, and who bears them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from fractions import Fraction
from typing import Any, Final, NamedTuple

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from costs.lost import LostCredit, Payer, payer
from costs.selectors.lost import SHOWN, Lost, LostMonth, lost_month
from costs.times import moment
from costs.views import files, places, sections, shown
from costs.views.asked import asked, exactly, query
from costs.views.chart import percent
from costs.views.words import hours, hours_text, share_text
from portal.web.pages import page
from portal.web.wording import number
from queues.history_texts import cause as cause_text
from queues.history_texts import taker
from tenants import access
from tenants.models import Tenant

HEAD: Final = (
    "at", "tenant", "cluster", "queue", "namespace", "job", "workload", "cause", "flavor",
    "devices", "ran_since", "checkpoint_at", "lost_s", "lost_h", "borne_by",
)  # fmt: skip
#: What is given back for lost work: nothing so far, to nobody; it is always shown.
RULE: Final = LostCredit()
_PAYERS: Final = {
    Payer.TENANT: (gettext_lazy("this tenant"), gettext_lazy("its own jobs, or time that was borrowed")),
    Payer.TAKER: (gettext_lazy("who took the place"), gettext_lazy("the policy helps borrowers")),
    Payer.PLATFORM: (gettext_lazy("the platform"), gettext_lazy("machines, and queues that were stopped")),
    Payer.UNKNOWN: (gettext_lazy("not known"), gettext_lazy("nobody saw why")),
}  # fmt: skip


class CauseRow(NamedTuple):
    """One cause with its bar."""

    label: str
    borne: str
    note: str
    evictions: str
    hours: str
    share: str
    width: str
    key: str


class LostRow(NamedTuple):
    """One eviction in words; no job's name for who may not read it."""

    at: datetime
    url: str
    job: str
    sub: str
    cause: str
    by: str
    since: datetime | None
    saved: bool
    devices: str
    hours: str
    borne: str


@require_safe
@login_required
def lost(request: HttpRequest, slug: str) -> HttpResponse:
    """Show what a tenant's jobs have lost in a month."""
    row = access.tenant(request.user, slug, "tenant.numbers")
    wanted = asked(request)
    found = lost_month(row, wanted.month)
    names = access.can(request.user, "tenant.jobs", row)
    context: dict[str, Any] = {
        "tenant": row, "asked": wanted, "date": moment(wanted.month.span.starts).date(),
        "links": places.months(wanted, wanted.place),
        "sections": sections.of_tenant(request, row, "tenant-lost", query(wanted.month, wanted.place)),
        "csv": reverse("tenant-lost-csv", args=[slug]) + query(wanted.month, None),
        "figures": _figures(found) if found.evictions else [],
        "causes": causes(found),
        "rows": [_row(each, names=names) for each in found.rows],
        "more": max(0, found.evictions - SHOWN), "names": names,
        "crumbs": [{"label": str(row), "url": reverse("tenant", args=[slug])}],
    }  # fmt: skip
    return page(request, "costs/lost.html", context)


@require_safe
@login_required
def lost_csv(request: HttpRequest, slug: str) -> HttpResponse:
    """Give every eviction of the month as a file."""
    row = access.tenant(request.user, slug, "tenant.numbers")
    wanted = exactly(request)
    found = lost_month(row, wanted.month, None)
    names = access.can(request.user, "tenant.jobs", row)
    return files.response(
        ["lost", slug, str(wanted.month)], HEAD, _cells(row, found.rows, names=names)
    )


def _figures(found: LostMonth) -> list[shown.Figure]:
    borne = {
        each: sum(x.lost for x in found.causes if payer(x.cause, RULE) is each) for each in Payer
    }
    figures = [
        shown.Figure("lost", _("Lost"), hours_text(found.lost), _("GPU-h since the last known checkpoint")),
        shown.Figure("evictions", _("Evictions"), number(found.evictions), _("jobs lost their place")),
    ]  # fmt: skip
    for each, seconds in borne.items():
        if seconds:
            label, note = _PAYERS[each]
            title = _("Borne by %(who)s") % {"who": label}
            figures.append(shown.Figure(each, title, hours_text(seconds), str(note)))
    return figures


def causes(found: LostMonth) -> list[CauseRow]:
    """Return the causes with the part of the loss that each has."""
    most = max((each.lost for each in found.causes), default=0)
    return [
        CauseRow(
            label=capfirst(cause_text(each.cause)),
            borne=str(_PAYERS[payer(each.cause, RULE)][0]),
            note=each.cause,
            evictions=number(each.evictions),
            hours=hours_text(each.lost),
            share=share_text(Fraction(each.lost, found.lost)) if found.lost else "",
            width=percent(Fraction(each.lost * 10_000, most)) if most else "0",
            key=payer(each.cause, RULE),
        )
        for each in found.causes
    ]


def _row(each: Lost, *, names: bool) -> LostRow:
    args = [each.cluster, each.namespace, each.workload]
    return LostRow(
        at=each.at,
        url=reverse("job", args=args) if names else "",
        job=each.job if names else _("a job"),
        sub=" · ".join(filter(None, [each.queue, each.flavor])),
        cause=capfirst(cause_text(each.cause)),
        by=taker(each.by if names else "", of_other=each.by_other),
        since=each.saved_at or each.ran_since,
        saved=each.saved_at is not None,
        devices=number(each.devices),
        hours=hours_text(each.lost),
        borne=str(_PAYERS[payer(each.cause, RULE)][0]),
    )


def _cells(tenant: Tenant, rows: list[Lost], *, names: bool) -> Iterator[list[files.Cell]]:
    for each in rows:
        job = [each.namespace, each.job, each.workload] if names else ["", "", ""]
        times = [
            None if at is None else f"{at:%Y-%m-%dT%H:%M:%SZ}"
            for at in (each.ran_since, each.saved_at)
        ]
        yield [
            f"{each.at:%Y-%m-%dT%H:%M:%SZ}", tenant.slug, each.cluster, each.queue, *job, each.cause,
            each.flavor, each.devices, *times, each.lost, hours(each.lost), payer(each.cause, RULE),
        ]  # fmt: skip
