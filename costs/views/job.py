"""One job from the queue to its cost: phases on a line, device-hours of each, and the price."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any, Final, NamedTuple

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_safe

from costs.rates import Basis
from costs.selectors import job_costs as select
from costs.selectors.generated import generated
from costs.selectors.job_costs import HOLDING, LISTED, WAITING, Cost, JobLife, Stretch
from costs.selectors.months import Month
from costs.selectors.pricing import books
from costs.times import Span, instant, moment
from costs.views import files, shown
from costs.views.chart import percent
from costs.views.words import hours, hours_text, money_text, rate_text, use_text
from portal.web.pages import page
from portal.web.wording import DASH, duration, number
from queues import access as own
from queues.history_texts import cause as cause_text
from queues.models import Lifetime, Phase, Workload
from tenants import access
from tenants.models import Entry, Tenant

HEAD: Final = (
    "from", "to", "lasts", "phase", "attempt", "queue", "flavors", "devices", "seconds", "held_s",
    "held_h", "cause",
)  # fmt: skip
#: The rows of the time line, from the top down.
ROWS: Final = (
    (Phase.QUEUED, gettext_lazy("Queued"), (Phase.QUEUED,)),
    (Phase.RESERVED, gettext_lazy("Reserved"), (Phase.RESERVED,)),
    (Phase.ADMITTED, gettext_lazy("Admitted"), (Phase.ADMITTED,)),
    (Phase.DRAINING, gettext_lazy("Being stopped"), (Phase.DRAINING,)),
    (Phase.EVICTED, gettext_lazy("Evicted"), (Phase.EVICTED, Phase.DEACTIVATED)),
)
_WORDS: Final = {phase: label for _key, label, phases in ROWS for phase in phases}
_BASES: Final = {
    Basis.COMMITTED: gettext_lazy("Held, at the rate of committed quota"),
    Basis.ADMITTED: gettext_lazy("Admitted"),
}
_TICKS: Final = 5
_LEAST: Final = 20  # hundredths of a percent: no phase is too short to be seen


class Bar(NamedTuple):
    """One phase on its row."""

    x: str
    width: str
    title: str
    lasts: bool


class TimeRow(NamedTuple):
    """One kind of phase: how long in all, and what was held in it."""

    key: str
    label: str
    bars: list[Bar]
    lasted: str
    held: str


class PhaseLine(NamedTuple):
    """One phase of the table."""

    starts: datetime
    ends: datetime | None
    what: str
    sub: str
    lasted: str
    devices: str
    held: str


class CostRow(NamedTuple):
    """One basis in words."""

    basis: str
    hours: str
    rate: str
    amount: str
    gap: str


@require_safe
@login_required
def job(request: HttpRequest, cluster: str, namespace: str, name: str) -> HttpResponse:
    """Show the time and the cost of a job; money only to those who may read it."""
    row = _fetch(request, cluster, namespace, name)
    now = timezone.now()
    life = select.job_life(row.cluster_id, row.namespace, row.uid, row.job_uid, now)
    tenant = _tenant(row)
    sees_money = tenant is not None and access.can(request.user, "tenant.costs", tenant)
    address = [row.cluster.slug, row.namespace, row.name]
    context: dict[str, Any] = {
        "job": row, "title": row.job_name or row.name, "tenant": tenant, "sees_money": sees_money,
        "life": life, "rows": rows(life), "marks": list(_marks(life)), "ticks": list(_ticks(life)),
        **_pods(row.cluster_id, life),
        "lines": [_line(each) for each in reversed(life.stretches[-LISTED:])],
        "more": max(0, len(life.stretches) - LISTED),
        "csv": reverse("job-costs-csv", args=address),
        "crumbs": [
            {"label": _("My jobs"), "url": reverse("jobs")},
            {"label": row.job_name or row.name, "url": reverse("job", args=address)},
        ],
    }  # fmt: skip
    if sees_money and life.stretches:
        internal = bool(access.rights(request.user).platform)
        using = books(Month(now.year, now.month), internal=internal)
        priced = [(book, select.costs(life, book)) for book in using]
        context["books"] = [
            {"name": book.name, "currency": book.prices.currency, "version": book.version,
             "rows": [_cost(each, book.prices.currency) for each in found]}
            for book, found in priced if found
        ]  # fmt: skip
    return page(request, "costs/job.html", context)


@require_safe
@login_required
def job_csv(request: HttpRequest, cluster: str, namespace: str, name: str) -> HttpResponse:
    """Give every phase of a job as a file."""
    row = _fetch(request, cluster, namespace, name)
    life = select.job_life(row.cluster_id, row.namespace, row.uid, row.job_uid, timezone.now())
    made = life.span is not None and generated().within(life.span, [cluster])
    return files.response(["job", row.namespace, row.name], HEAD, _cells(life.stretches), made=made)


def _fetch(request: HttpRequest, cluster: str, namespace: str, name: str) -> Workload | Lifetime:
    """Return a job that the viewer may see, also one that the cluster has forgotten."""
    sight = own.sight(request.user)
    try:
        return own.job(sight, namespace, name, cluster)
    except access.Hidden:
        return own.lifetime(sight, namespace, name, cluster)


def _tenant(row: Workload | Lifetime) -> Tenant | None:
    entries = Entry.objects.filter(cluster=row.cluster_id, namespace=row.namespace)
    found = entries.select_related("queue__tenant").first()
    return found.queue.tenant if found else None


def _pods(cluster_id: int, life: JobLife) -> dict[str, Any]:
    """Return what pods had and used, and the figures; nothing of a job without a phase."""
    if not life.stretches:
        return {}
    ran, used = select.job_ran(cluster_id, life), use_text(select.job_use(cluster_id, life))
    borrowed = select.job_borrowed(cluster_id, life)
    return {
        "ran": hours_text(ran) if ran else "", "used": used,
        "figures": _figures(life, borrowed, *used),
    }  # fmt: skip


def _figures(life: JobLife, borrowed: int | None, value: str, note: str) -> list[shown.Figure]:
    found = [
        shown.Figure("waited", _("Waited"), duration(life.seconds(*WAITING)), _("without a place")),
        shown.Figure("held", _("Held"), hours_text(life.held(*HOLDING)), _own(life, borrowed)),
        shown.Figure("admitted", _("Admitted"), hours_text(life.held(Phase.ADMITTED)), _("GPU-h of it")),
        shown.Figure("used", _("Used"), value, note),
    ]  # fmt: skip
    if life.evictions:
        times = len(life.evictions)
        said = ngettext(
            "GPU-h of work, in %(n)s eviction", "GPU-h of work, in %(n)s evictions", times
        )
        note = said % {"n": number(times)}
        found.append(shown.Figure("alarm", _("Lost"), hours_text(life.lost), note))
    return found


def _own(life: JobLife, borrowed: int | None) -> str:
    """Say how much of what a job held was above the quota of its queue."""
    if borrowed is None:
        return _("GPU-h of quota")
    own = hours_text(life.held(*HOLDING) - borrowed)
    return _("GPU-h: %(own)s own, %(borrowed)s borrowed") % {
        "own": own, "borrowed": hours_text(borrowed)
    }  # fmt: skip


def rows(life: JobLife) -> list[TimeRow]:
    """Return the kinds of phases that there were, with their bars."""
    if life.span is None:
        return []
    return [
        TimeRow(
            key, str(label),
            [_bar(each, life.span) for each in life.stretches[-LISTED:] if each.phase in phases],
            duration(life.seconds(*phases)),
            hours_text(life.held(*phases)) if key in HOLDING else DASH,
        )
        for key, label, phases in ROWS if life.seconds(*phases)
    ]  # fmt: skip


def _at(at: int, whole: Span) -> Fraction:
    return Fraction((at - whole.starts) * 10_000, max(1, whole.seconds))


def _bar(each: Stretch, whole: Span) -> Bar:
    left, right = _at(each.span.starts, whole), _at(each.span.ends, whole)
    width = max(Fraction(_LEAST), right - left)
    said = f"{moment(each.span.starts):%Y-%m-%d %H:%M} UTC · {duration(each.span.seconds)}"
    return Bar(percent(min(left, 10_000 - width)), percent(width), said, each.lasts)


def _marks(life: JobLife) -> Iterator[tuple[str, str]]:
    """Yield where places were lost, and why."""
    if life.span:
        for each in life.evictions[-LISTED:]:
            at = min(max(instant(each.at), life.span.starts), life.span.ends)
            yield percent(_at(at, life.span)), capfirst(cause_text(each.cause))


def _ticks(life: JobLife) -> Iterator[tuple[str, datetime, str]]:
    if life.span:
        for n in range(_TICKS):
            at = life.span.starts + life.span.seconds * n // (_TICKS - 1)
            anchor = "end" if n == _TICKS - 1 else "start" if n == 0 else "middle"
            yield percent(_at(at, life.span)), moment(at).astimezone(UTC), anchor


def _line(each: Stretch) -> PhaseLine:
    flavors = ", ".join(sorted({pool.flavor for pool in each.parts if pool.flavor}))
    why = capfirst(cause_text(each.cause)) if each.cause else ""
    return PhaseLine(
        moment(each.span.starts), None if each.lasts else moment(each.span.ends),
        str(_WORDS.get(Phase(each.phase), each.phase)), " · ".join(filter(None, [each.queue, flavors, why])),
        duration(each.span.seconds), number(sum(each.parts.values())) if each.phase in HOLDING else DASH,
        hours_text(each.held) if each.phase in HOLDING else DASH,
    )  # fmt: skip


def _cost(found: Cost, currency: str) -> CostRow:
    edges = sorted(found.rates)
    rates = dict.fromkeys(map(rate_text, (edges[0], edges[-1])))
    gap = _("%(n)s without a price") % {"n": hours_text(found.unpriced)} if found.unpriced else ""
    return CostRow(
        str(_BASES[found.basis]), hours_text(found.seconds), f" {DASH} ".join(rates),
        money_text(found.amount, currency), gap,
    )  # fmt: skip


def _cells(stretches: Sequence[Stretch]) -> Iterator[list[files.Cell]]:
    for each in stretches:
        times = [f"{moment(at):%Y-%m-%dT%H:%M:%SZ}" for at in each.span]
        flavors = " ".join(sorted({pool.flavor for pool in each.parts}))
        devices = sum(each.parts.values()) if each.phase in HOLDING else 0
        yield [
            times[0], None if each.lasts else times[1], "yes" if each.lasts else "no", each.phase,
            each.attempt, each.queue, flavors, devices, each.span.seconds, each.held,
            hours(each.held), each.cause,
        ]  # fmt: skip
